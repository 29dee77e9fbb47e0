"""The conformance kit (docs/conformance.md): every reply, whole and cut, against what the Go
library prints, by the library and by the program. SOTTO_EFFORT=2 takes every cut."""

import json
import os
import unittest
from pathlib import Path

import sotto
from sotto import _backend, _library, _process

KIT = Path(__file__).resolve().parents[2] / "testdata"
EFFORT = int(os.environ.get("SOTTO_EFFORT") or 1)
SPACE = " \t\n\v\f\r"


def lines(name):
    return [json.loads(line) for line in (KIT / name).read_text().splitlines()]


OWN = {d["name"]: d for d in json.loads((KIT / "conformance.dialects.json").read_text())}
CASES = list(zip(lines("conformance.jsonl"), lines("conformance.want.jsonl")))


def gather(deltas):
    """What the deltas of a stream say, as a reading of the whole would."""
    visible, thoughts, narration = "", {}, {}
    for d in deltas:
        if isinstance(d, sotto.Text):
            visible += d.text
        if isinstance(d, sotto.Reasoning):
            thoughts[d.block] = thoughts.get(d.block, "") + d.text
        if isinstance(d, sotto.Narration):
            narration[d.block] = narration.get(d.block, "") + d.text
    texts = lambda blocks: [t.strip(SPACE) for t in blocks.values() if t.strip(SPACE)]
    return visible, texts(thoughts), texts(narration), deltas[-1].diagnostics


def found(want):
    return [sotto.Diagnostic(d["code"], d["offset"], d.get("reason", "")) for d in want["diagnostics"]]


class Kit(unittest.TestCase):
    def test_whole(self):
        self.assertGreater(len(CASES), 100)
        for case, want in CASES:
            raw = case["raw"] if "raw" in case else "".join(case["deltas"])
            options = {"dialect": OWN.get(case["dialect"], case["dialect"]), "start": case["start"]}
            r = sotto.parse(raw, end=case["end"], **options)
            with self.subTest(case["id"]):
                self.assertEqual((r.visible, r.reasoning, r.narration), (want["visible"], want["reasoning"], want["narration"]))
                self.assertEqual((r.diagnostics, r.dialect, r.start), (found(want), want["dialect"], want["start"]))
                self.assertEqual([(s.channel, s.start, s.end) for s in r.segments], [(s["channel"], s["start"], s["end"]) for s in want["segments"]])
                self.assertEqual("".join(raw[s.first : s.last] for s in r.segments), raw)

    def test_cut(self):
        readings = 0
        for case, want in CASES:
            raw = case["raw"] if "raw" in case else "".join(case["deltas"])
            options = {"dialect": OWN.get(case["dialect"], case["dialect"]), "start": case["start"]}
            data = raw.encode()
            step = 1 if EFFORT > 1 or len(data) < 100 else 7
            cuts = [[data[:at], data[at:]] for at in range(0, len(data), step)]
            for parts in cuts + [list(raw), [data[i : i + 1] for i in range(len(data))]]:
                got = gather(list(sotto.deltas(parts, end=case["end"], **options)))
                self.assertEqual(got, (want["visible"], want["reasoning"], want["narration"], found(want)), (case["id"], parts))
                readings += 1
        self.assertGreater(readings, 1000)

    @unittest.skipUnless(_process.find(), "no program sotto")
    def test_program(self):
        """The program reads as the library does."""
        library = _library.load(_library.library_path())
        program = _process.Process(_process.find())
        for case, _ in CASES[:: 1 if EFFORT > 1 else 10]:
            if case["dialect"] in OWN:
                continue
            raw = (case["raw"] if "raw" in case else "".join(case["deltas"])).encode()
            options = json.dumps({"dialect": case["dialect"], "start": case["start"]})
            streams = [b.stream(options) for b in (program, library)]
            got = [[s.feed(raw[i : i + 5]) for i in range(0, len(raw), 5)] + [s.close(1)] for s in streams]
            self.assertEqual(got[0][-1][1:], got[1][-1][1:], case["id"])
            joined = [[p for pieces in g[:-1] + [g[-1][0]] for p in pieces] for g in got]
            self.assertEqual(texts(joined[0]), texts(joined[1]), case["id"])


    @unittest.skipUnless(_process.find(), "no program sotto")
    def test_program_many(self):
        """The program reads a list as the library does."""
        replies = ["<think>a</think>b", "", "é<narrate>n</narrate></think>x"]
        program, library = _process.Process(_process.find()), _library.load(_library.library_path())
        (a,), (b,) = (list(p.parse_many("{}", replies, 1)) for p in (program, library))
        self.assertEqual((a.visible, a.reasonings), (b.visible, b.reasonings))
        for i in range(3):
            for name in ("narration", "segments", "diagnostics", "more_diagnostics", "dialect", "start"):
                self.assertEqual(getattr(a, name)(i), getattr(b, name)(i), name)
        self.assertEqual(list(program.parse_many("{}", [], 1)), [])


def texts(pieces):
    """The texts of a stream by kind and block: the program sees characters, the library bytes."""
    out = {}
    for kind, block, text in pieces:
        out[kind, block] = out.get((kind, block), "") + text
    return out


if __name__ == "__main__":
    unittest.main()
