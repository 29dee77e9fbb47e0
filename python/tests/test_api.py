"""What the package promises beyond the readings."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import threading
import types
import unittest

import sotto
import sotto.frames
import sotto.langchain
import sotto.providers
import sotto.vllm
from sotto import _process


def shape(value):
    """A dictionary as an object with attributes, as the SDKs give them."""
    if isinstance(value, dict):
        return types.SimpleNamespace(**{k: shape(v) for k, v in value.items()})
    return [shape(v) for v in value] if isinstance(value, list) else value


def said(deltas):
    """The visible text, the reasoning, and how the reply ended."""
    deltas = list(deltas)
    return (
        "".join(d.text for d in deltas if isinstance(d, sotto.Text)),
        "".join(d.text for d in deltas if isinstance(d, sotto.Reasoning)),
        deltas[-1].end,
    )


def chunk(content=None, finish=None, **more):
    return {"choices": [{"index": 0, "delta": {"content": content, **more}, "finish_reason": finish}]}


class Texts(unittest.TestCase):
    def test_offsets(self):
        raw = "é😀<think>ж</think>\u00a0x"
        for s in sotto.parse(raw).segments:
            self.assertEqual(raw[s.first : s.last].encode(), raw.encode()[s.start : s.end])

    def test_half_surrogates(self):
        raw = "a\ud83db<think>c</think>d"
        r = sotto.parse(raw)
        self.assertEqual("".join(raw[s.first : s.last] for s in r.segments), raw)
        self.assertEqual(r.reasoning, ["c"])
        s = sotto.Splitter()
        got = s.feed("\ud83d") + s.feed("\ude00") + s.close()
        self.assertEqual(said(got)[0], "😀")
        s = sotto.Splitter()
        self.assertEqual(said(s.feed("x\ud83d") + s.feed(b"y") + s.close())[0], "x\ufffdy")

    def test_invalid_bytes(self):
        r = sotto.parse(b"\xff<think>\xfe</think>\x80x")
        self.assertEqual((r.visible, r.reasoning), ("\ufffd\ufffdx", ["\ufffd"]))
        self.assertEqual(b"".join(r.raw[s.start : s.end] for s in r.segments), r.raw)

    def test_zero_bytes(self):
        self.assertEqual(sotto.strip("a\0b<think>\0</think>c"), "a\0bc")
        self.assertEqual(said(sotto.deltas(["a\0", "<think>\0x</think>\0"]))[:2], ("a\0\0", "\0x"))

    def test_many(self):
        self.assertEqual(sotto.strip_many([]), [])
        self.assertEqual(sotto.strip_many(["<think>a</think>b", b"c", ""]), ["b", "c", ""])
        self.assertEqual(sotto.parse_many([]), [])

    def test_many_are_as_one(self):
        """Replies of a list read as each alone: with other characters, zero bytes, bytes that are no UTF-8, and over the calls of a long list."""
        some = ["<think>a</think>b", "", "c", "<think>é😀</think>ü<think>x</think>", "<narrate>n</narrate>m</think>", "z\0<think>\0</think>\0", "é\ud800"]
        odd = [b"\xe2\x82<think>\xf0\x9f\x98</think>y\xff", bytearray(b"<think>a</think>b")]
        ascii_long = ["<think>" + "a " * n + "</think>" + "b < c " * n for n in range(0, 9000, 300)]
        for replies in (some, some[:1] * 3, some[1:2] * 3, some + odd, ascii_long, ascii_long + some * 9, iter(some)):
            replies = list(replies) if not isinstance(replies, list) else replies
            alone = [sotto.parse(r) for r in replies]
            for raw, a, b in zip(replies, alone, sotto.parse_many(iter(replies)), **({"strict": True} if sys.version_info >= (3, 10) else {})):
                for name in ("raw", "visible", "reasoning", "narration", "segments", "diagnostics", "more_diagnostics", "dialect", "start"):
                    self.assertEqual(getattr(a, name), getattr(b, name), (raw, name))
            self.assertEqual(sotto.strip_many(replies), [sotto.strip(r) for r in replies])


class Errors(unittest.TestCase):
    def test_options(self):
        for options, want in [
            ({"dialect": "nobody"}, 'unknown dialect "nobody"'),
            ({"start": "somewhere"}, "want outside, auto, inside or inside:NAME"),
            ({"inline": ["thoughts"]}, "thoughts"),
            ({"dialect": {"name": "x", "nonsense": 1}}, "nonsense: unknown key"),
            ({"dialect": {1, 2}}, "options"),
            ({"end": "over"}, "unknown ending 'over'"),
        ]:
            with self.assertRaisesRegex(sotto.SottoError, want):
                sotto.parse("x", **options)

    def test_closed(self):
        s = sotto.Splitter()
        s.close()
        for call in (s.close, lambda: s.feed("x")):
            with self.assertRaisesRegex(sotto.SottoError, "a splitter reads one reply"):
                call()
        s.dispose()

    def test_threads(self):
        raw = "<think>" + "a" * 5000 + "</think>b"
        failed = []

        def read():
            for _ in range(50):
                if sotto.strip(raw) != "b" or said(sotto.deltas([raw[:3000], raw[3000:]]))[0] != "b":
                    failed.append(1)

        threads = [threading.Thread(target=read) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(failed, [])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_forked(self):
        """A child of fork asks the program, or says what to do. It never hangs."""
        code = """if True:
            import os, sotto
            sotto.strip("x")
            s = sotto.Splitter()
            if os.fork() == 0:
                try:
                    print(sotto.strip("<think>a</think>b"), said := [d.text for d in sotto.deltas(["<think>a</think>b"]) if isinstance(d, sotto.Text)])
                except sotto.SottoError as err:
                    print(err)
                try:
                    s.feed("x")
                except sotto.SottoError as err:
                    print(err)
                os._exit(0)
            os.wait()
        """
        for program in (None, _process.find()):
            environ = {**os.environ, "PATH": "/nowhere", "SOTTO_PROGRAM": program or ""}
            out = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True).stdout
            self.assertIn("belongs to the process that this one was forked from", out)
            self.assertIn("b ['b']" if program else "use the start method spawn", out)


class Bytes(unittest.TestCase):
    def test_no_utf8(self):
        for raw, visible, thought in ((b"\xe2\x82<think>\xf0\x9f\x98</think>y\xff", "\ufffd\ufffdy\ufffd", "\ufffd" * 3), ("é\ud800<think>x</think>", "é" + "\ufffd" * 3, "x")):
            reply = sotto.parse(raw)
            self.assertEqual((reply.visible, reply.reasoning), (visible, [thought]))
            self.assertEqual(sotto.strip(raw), visible)


class History(unittest.TestCase):
    def test_next_request(self):
        user = {"role": "user", "content": "a"}
        said = {"role": "assistant", "content": "<think>b</think>c"}
        got = sotto.next_request({"model": "qwen3:8b", "messages": [user, said, user]})
        self.assertEqual(got, {"model": "qwen3:8b", "messages": [user, {"role": "assistant", "content": "c"}, user]})
        with self.assertRaisesRegex(sotto.SottoError, "unknown API"):
            sotto.next_request({"model": "x", "messages": []}, api="nobody")

    def test_for_next_prompt(self):
        user = {"role": "user", "content": "a"}
        call = {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
        result = {"role": "tool", "tool_call_id": "1", "content": "4"}
        self.assertEqual(sotto.for_next_prompt([user, call, result], "deepseek-v4"), [user, {"reasoning_content": "", **call}, result])
        self.assertEqual(sotto.for_next_prompt((user, call, result), "qwen3:8b"), [user, call, result])
        with self.assertRaisesRegex(ValueError, "unknown API 'nobody'"):
            sotto.for_next_prompt([], "x", api="nobody")

    def test_cases(self):
        """The cases that Go and JavaScript read too."""
        lines = (pathlib.Path(__file__).parents[2] / "testdata" / "nextrequest.jsonl").read_text("utf-8").splitlines()
        for case in map(json.loads, lines):
            request, want = json.loads(case["body"]), json.loads(case["want"])
            with self.subTest(case["name"]):
                self.assertEqual(json.dumps(sotto.next_request(request, case["api"])), json.dumps(want))
                key = next(k for k in ("messages", "input", "contents") if k in request)
                model = request.get("model") or request.get("modelId")
                self.assertEqual(sotto.for_next_prompt(request[key], model, case["api"]), want[key])

    def test_for_next_prompt_of_each_api(self):
        """What a client holds of each API, with a thought of an earlier turn that Qwen3 does not need back."""
        text = "<think>b</think>c"
        part = lambda t: [{"type": "text", "text": t}]
        for api, role, content in (
            ("chat", "assistant", lambda t: {"content": t}),
            ("messages", "assistant", lambda t: {"content": part(t)}),
            ("ollama", "assistant", lambda t: {"content": t}),
            ("cohere", "assistant", lambda t: {"content": part(t)}),
            ("bedrock", "assistant", lambda t: {"content": [{"text": t}]}),
            ("gemini", "model", lambda t: {"parts": [{"text": t}]}),
            ("responses", "assistant", lambda t: {"type": "message", "content": [{"type": "output_text", "text": t}]}),
        ):
            user = {"role": "user", **content("a")}
            if api == "responses":
                user["content"][0]["type"] = "input_text"
            held = [user, {"role": role, **content(text)}, user]
            self.assertEqual(sotto.for_next_prompt(held, "qwen3:8b", api), [user, {"role": role, **content("c")}, user], api)
            self.assertEqual(sotto.for_next_prompt(held, "gpt-oss:20b", api), held, api)


class Streams(unittest.TestCase):
    def test_openai(self):
        parts = [chunk("<thi"), chunk("nk>6 × 7</think>Forty"), chunk("-two <"), chunk(None, "stop"), {"choices": []}]
        for stream in (parts, [shape(p) for p in parts]):
            self.assertEqual(said(sotto.providers.openai(stream, model="qwen3")), ("Forty-two <", "6 × 7", "stopped"))
        apart = [chunk(reasoning_content="a"), chunk(reasoning="b", reasoning_content="b"), chunk("c", "length")]
        self.assertEqual(said(sotto.providers.openai(apart)), ("c", "ab", "cut"))
        with self.assertRaisesRegex(ValueError, "more than one choice"):
            list(sotto.providers.openai([{"choices": [{"index": 1, "delta": {"content": "x"}}]}]))

    def test_anthropic(self):
        events = [
            {"type": "message_start"},
            {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_stop"},
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "<think>6</think>7"}},
            {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{}"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        ]
        got = list(sotto.providers.anthropic([shape(e) for e in events]))
        self.assertEqual(said(got), ("7", "hm6", "stopped"))
        self.assertEqual([(d.block, d.closed) for d in got if isinstance(d, sotto.ReasoningEnd)], [(0, True), (1, True)])

    def test_ollama(self):
        chat = [{"message": {"content": "<think>a"}}, {"message": {"content": "</think>b"}}, {"message": {"content": ""}, "done": True, "done_reason": "length"}]
        self.assertEqual(said(sotto.providers.ollama(chat)), ("b", "a", "cut"))
        generate = [{"thinking": "a"}, {"response": "b"}, {"response": "", "done": True}]
        self.assertEqual(said(sotto.providers.ollama(generate)), ("b", "a", "stopped"))

    def test_responses(self):
        events = [{"type": "response.output_text.delta", "delta": "<think>a</think>b"}, {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}]
        self.assertEqual(said(sotto.providers.responses(events)), ("b", "a", "cut"))

    def test_broken(self):
        """A stream that fails gives its error, and what came before."""

        def stream():
            yield chunk("<think>a</think>b")
            raise ConnectionError("gone")

        got = []
        with self.assertRaises(ConnectionError):
            for d in sotto.providers.openai(stream()):
                got.append(d)
        self.assertIn(sotto.Text("b"), got)

    def test_async(self):
        async def stream():
            for text in ("<think>a</th", "ink>b"):
                yield chunk(text)

        async def texts():
            async for c in stream():
                yield c["choices"][0]["delta"]["content"]

        async def read():
            return [d async for d in sotto.providers.openai_async(stream())], [d async for d in sotto.deltas_async(texts())]

        for got in asyncio.run(read()):
            self.assertEqual(said(got), ("b", "a", "unknown"))


class Helpers(unittest.TestCase):
    def test_langchain(self):
        messages = [shape({"content": "<think>a"}), shape({"content": "</think>b"}), "c", types.SimpleNamespace(content=[{"type": "text", "text": "d"}, {"type": "image"}])]
        self.assertEqual("".join(sotto.langchain.visible()(messages)), "bcd")

    def test_frames(self):
        self.assertEqual(sotto.frames.visible(["<think>a</think>b", None, "c"]), ["b", None, "c"])
        self.assertEqual(sotto.frames.reasoning(["<think>a</think>b<think>d</think>", None]), ["a\n\nd", None])
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        column = pandas.Series(["<think>a</think>b", None], index=[7, 9], name="completion")
        got = sotto.frames.visible(column)
        self.assertEqual((list(got), list(got.index), got.name), (["b", None], [7, 9], "completion"))

    def test_vllm(self):
        """With a stand-in for vLLM's classes: the package cannot be installed here."""

        class Base:
            def __init__(self, tokenizer):
                self.model_tokenizer = tokenizer

        class Tokenizer:
            name_or_path = "Qwen/Qwen3-8B"

            def decode(self, ids):
                return "".join(map(chr, ids))

        p = sotto.vllm.parser_class(Base, lambda **m: m)(Tokenizer())
        self.assertEqual(p.extract_reasoning("<think>a</think>b", None), ("a", "b"))
        whole = "<think>a</think>bc"
        got, before = [], ""
        for c in whole:
            m = p.extract_reasoning_streaming(before, before + c, c, [], [], [])
            before += c
            got += [m] if m else []
        self.assertEqual(got, [{"reasoning": "a", "content": None}, {"reasoning": None, "content": "b"}, {"reasoning": None, "content": "c"}])
        ids = [ord(c) for c in whole]
        self.assertFalse(p.is_reasoning_end(ids[:8]))
        self.assertTrue(p.is_reasoning_end(ids))
        self.assertEqual(p.extract_content_ids(ids), ids[-2:])


if __name__ == "__main__":
    unittest.main()
