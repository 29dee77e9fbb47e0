"""The examples, with a model server over HTTP. LangChain and vLLM are stand-ins where they are not installed."""

import asyncio
import http.server
import importlib
import importlib.util
import json
import os
import pathlib
import sys
import threading
import types
import unittest
import uuid
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))


class Model(http.server.BaseHTTPRequestHandler):
    """Streams a reply in pieces of three characters, and notes the messages that it is sent."""

    sent: list = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.sent.append(body["messages"])
        self.send_response(200)
        self.end_headers()
        raw = "<think>\nsix times seven\n</think>\n\nForty-two."
        for at in range(0, len(raw), 3):
            part = {"choices": [{"index": 0, "delta": {"content": raw[at : at + 3]}}]}
            self.wfile.write(f"data: {json.dumps(part)}\n\n".encode())
        self.wfile.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

    def log_message(self, *_):
        pass


class Examples(unittest.TestCase):
    def test_route(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        user = {"role": "user", "content": "a"}
        body = json.dumps({"model": "qwen3:8b", "messages": [user, {"role": "assistant", "content": "<think>b</think>c"}, user]}).encode()
        got = []

        async def ask():
            parts = [{"type": "http.request", "body": body[:20], "more_body": True}, {"type": "http.request", "body": body[20:]}]

            async def receive():
                return parts.pop(0)

            async def send(message):
                got.append(message)

            await importlib.import_module("route").app({"type": "http"}, receive, send)

        with mock.patch.dict(os.environ, {"MODEL_SERVER": f"http://127.0.0.1:{server.server_port}"}):
            asyncio.run(ask())
        self.assertEqual(b"".join(m.get("body", b"") for m in got).decode().strip(), "Forty-two.")
        self.assertGreater(len(got), 4, "the text did not stream")
        self.assertEqual(Model.sent, [[user, {"role": "assistant", "content": "c"}, user]])

    def test_langchain_callback(self):
        modules = {}
        if not importlib.util.find_spec("langchain_core"):
            callbacks = types.ModuleType("langchain_core.callbacks")
            callbacks.BaseCallbackHandler = object
            modules = {"langchain_core": types.ModuleType("langchain_core"), "langchain_core.callbacks": callbacks}
        with mock.patch.dict(sys.modules, modules):
            visible = importlib.import_module("langchain_callback").Visible
        shown = []
        handler, one, two = visible(shown.append, model="qwen3:8b"), uuid.uuid4(), uuid.uuid4()
        for run, token in ((one, "<thi"), (two, "b"), (one, "nk>x</think>"), (two, "c <"), (one, "a")):
            handler.on_llm_new_token(token, run_id=run)
        self.assertEqual(shown, ["b", "c ", "a"])
        handler.on_llm_end(None, run_id=two)
        handler.on_llm_error(ValueError(), run_id=one)
        handler.on_llm_end(None, run_id=uuid.uuid4())
        self.assertEqual("".join(shown), "bc a<")

    def test_vllm_plugin(self):
        registered = {}

        class Manager:
            @staticmethod
            def register_module(name):
                return lambda c: registered.setdefault(name, c)

        class Parser:
            def __init__(self, tokenizer):
                self.model_tokenizer = tokenizer

        protocol, reasoning = types.ModuleType("vllm.entrypoints.openai.protocol"), types.ModuleType("vllm.reasoning")
        protocol.DeltaMessage = lambda **members: members
        reasoning.ReasoningParser, reasoning.ReasoningParserManager = Parser, Manager
        named = {name: types.ModuleType(name) for name in ("vllm", "vllm.entrypoints", "vllm.entrypoints.openai")}
        with mock.patch.dict(sys.modules, {**named, protocol.__name__: protocol, reasoning.__name__: reasoning}):
            importlib.import_module("vllm_plugin")
        parser = registered["sotto_qwen"](types.SimpleNamespace(name_or_path="/weights/7", vocab=3))
        self.assertEqual(parser.extract_reasoning("<think>a</think>b", None), ("a", "b"))
        self.assertEqual(parser.model_tokenizer.vocab, 3)
        self.assertEqual(parser.extract_reasoning_streaming("", "<think>a", "<think>a", [], [1], [1]), {"reasoning": "a", "content": None})


if __name__ == "__main__":
    unittest.main()
