"""Compares the library with the reader of pure.py: what both read, and how fast.

    PYTHONPATH=python/src SOTTO_LIBRARY=c/dist/libsotto.so python3 interop/native/testdata/speed.py

It prints how much of the kit the rival reads right, checks that both read the measured replies
alike, and prints the best of several rounds. SOTTO_ROUNDS is how many.
"""

import json
import os
import pathlib
import random
import sys
import time

import pure
import sotto

DATA = pathlib.Path(__file__).parents[3] / "testdata"


def careful():
    """How many replies of the default dialect the rival reads as the kit says, among those that have only reasoning tags, and all."""
    only = right = every = every_right = 0
    replies, wanted = ((DATA / name).read_text("utf-8").splitlines() for name in ("conformance.jsonl", "conformance.want.jsonl"))
    for reply, want in zip(map(json.loads, replies), map(json.loads, wanted)):
        if reply["dialect"] != "default":
            continue
        raw = reply["raw"] if "raw" in reply else "".join(reply["deltas"])
        good = pure.parse(raw, reply["start"], reply["end"]) == (want["visible"], want["reasoning"])
        every, every_right = every + 1, every_right + good
        if not any(name in raw.lower() for name in ("output", "narrate", "answer>", "tool")):
            only, right = only + 1, right + good
    return only, right, every, every_right


def replies(n):
    """Replies of about 2.5 kB: two of three have a thought, some have code, formulas and comparisons."""
    r = random.Random(47)
    words = "the sum of these numbers is less than we said so let me check it again with a < b and see why that holds here".split()
    prose = lambda k: ". ".join(" ".join(r.choices(words, k=9)).capitalize() for _ in range(k)) + "."
    made = []
    for i in range(n):
        parts = []
        if i % 3:
            parts.append(f"<think>\n{prose(24)}\n\n{prose(8)}\n</think>\n\n")
        parts.append(prose(6) + "\n")
        if i % 4 == 0:
            parts.append(f"```python\nif a < b:\n    print('{i}')\n```\n")
        if i % 16 == 0:
            parts.append("Write `<think>` before a thought.\n")
        made.append("".join(parts) + prose(5))
    return made


def pair(ours, theirs, rounds):
    """The shortest time of two runs that take turns, in seconds of this process, over all its threads."""
    least = [float("inf")] * 2
    for _ in range(rounds):
        for i, run in enumerate((ours, theirs)):
            begin = time.process_time()
            run()
            least[i] = min(least[i], time.process_time() - begin)
    return least


def streamed(raw, splitter):
    for at in range(0, len(raw), 16):
        splitter.feed(raw[at : at + 16])
    splitter.close()


def main():
    only, right, every, every_right = careful()
    print(f"kit: the rival reads {right} of {only} replies with reasoning tags alone, {every_right} of all {every}")
    if right < 0.95 * only:
        sys.exit("that is not careful")
    rounds = int(os.environ.get("SOTTO_ROUNDS", "5"))
    texts = replies(600)
    long = ["<think>\n" + "\n".join(texts[2::3]) .replace("<", "&lt;") + "\n</think>\n\n" + "\n".join(texts[::12])]
    for group in (texts, long):
        for raw, reply, text in zip(group, sotto.parse_many(group), sotto.strip_many(group)):
            if pure.parse(raw) != (reply.visible, reply.reasoning) or pure.strip(raw) != text:
                sys.exit(f"the two read this differently: {raw[:300]!r}")
    size = lambda group: sum(len(t) for t in group) / 1e6
    both = lambda r: (r.visible, r.reasoning)
    for name, ours, theirs in (
        ("strip_many of 600 replies", lambda: sotto.strip_many(texts), lambda: [pure.strip(t) for t in texts]),
        ("strip, a call each", lambda: [sotto.strip(t) for t in texts], lambda: [pure.strip(t) for t in texts]),
        ("parse_many of 600 replies", lambda: [both(r) for r in sotto.parse_many(texts)], lambda: [pure.parse(t) for t in texts]),
        ("parse, a call each", lambda: [both(sotto.parse(t)) for t in texts], lambda: [pure.parse(t) for t in texts]),
        ("strip of one long reply", lambda: sotto.strip(long[0]), lambda: pure.strip(long[0])),
    ):
        one, other = pair(ours, theirs, rounds)
        n = size(long if "long" in name else texts)
        print(f"{name}: {n / one:.1f} MB/s, pure Python {n / other:.1f} MB/s, ratio {other / one:.1f}")
    few = texts[:100]
    ours, theirs = pair(lambda: [streamed(t, sotto.Splitter()) for t in few], lambda: [streamed(t, pure.Stream()) for t in few], rounds)
    print(f"deltas of 16 characters: {size(few) / ours:.1f} MB/s, a splitter of tags alone {size(few) / theirs:.1f} MB/s, ratio {theirs / ours:.2f}")


if __name__ == "__main__":
    main()
