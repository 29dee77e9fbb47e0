"""The program sotto, where the shared library cannot be loaded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from typing import Any, Iterator, Sequence

from ._types import ENDINGS, Channel, SottoError, utf8

_KINDS = {"visible": 0, "reasoning": 1, "narration": 4, "tool": 5}


def find() -> str | None:
    """Where the program is: ``SOTTO_PROGRAM``, or in ``PATH``."""
    return os.environ.get("SOTTO_PROGRAM") or shutil.which("sotto")


def _flags(options: str) -> list[str]:
    """The options as flags."""
    o = json.loads(options)
    flags = []
    for key, flag in (("model", "--model"), ("dialect", "--dialect"), ("start", "--start")):
        value = o.pop(key, None)
        if isinstance(value, str):
            flags += [flag, value]
        elif value is not None:
            o[key] = value
    if o:
        raise SottoError(f"the program sotto reads no {', '.join(sorted(o))}: this needs the library")
    return flags


class Batch:
    """Readings of a list, as the program printed them."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        self._found = found
        self.visible = [f["visible"] for f in found]
        self.reasonings = [f["reasoning"] for f in found]

    def narration(self, i: int) -> list[str]:
        return self._found[i]["narration"]

    def segments(self, i: int) -> list[tuple[Channel, int, int]]:
        return [(s["channel"], s["start"], s["end"]) for s in self._found[i]["segments"]]

    def diagnostics(self, i: int) -> list[tuple[str, int, str]]:
        return [(d["code"], d["offset"], d.get("reason", "")) for d in self._found[i]["diagnostics"]]

    def more_diagnostics(self, i: int) -> int:
        return self._found[i].get("more_diagnostics", 0)

    def dialect(self, i: int) -> str:
        return self._found[i]["dialect"]

    def start(self, i: int) -> str:
        return self._found[i]["start"]


class Process:
    """Reads with the program sotto: one run for each whole reply, or list of them, and one
    process for all streams with the same options."""

    def __init__(self, program: str) -> None:
        self.pid = os.getpid()
        self._program = program
        self._streams: dict[str, _Streams] = {}
        self._lock = threading.Lock()

    def version(self) -> bytes:
        return self._run([], ["--version"])

    def parse_many(self, options: str, replies: Sequence[str | bytes], end: int) -> Iterator[Batch]:
        if not replies:
            return
        lines = "".join(json.dumps({"raw": _text(utf8(r)), "end": ENDINGS[end]}) + "\n" for r in replies)
        out = self._run(_flags(options), ["split", "--jsonl", "-"], lines.encode())
        yield Batch([json.loads(line) for line in out.splitlines()])

    def strip(self, options: str, replies: Sequence[str | bytes]) -> list[str]:
        if not replies:
            return []
        lines = "".join(json.dumps({"raw": _text(utf8(r))}) + "\n" for r in replies)
        out = self._run(_flags(options), ["strip", "--jsonl", "--field", "raw", "-"], lines.encode())
        return [json.loads(line)["raw"] for line in out.splitlines()]

    def next_request(self, api: str, body: bytes) -> bytes:
        raise SottoError("next_request needs the library")

    def _run(self, flags: list[str], arguments: list[str], data: bytes = b"") -> bytes:
        done = subprocess.run([self._program, *arguments[:1], *flags, *arguments[1:]], input=data, capture_output=True, check=False)
        if done.returncode != 0:
            raise SottoError(done.stderr.decode("utf-8", "replace").strip() or f"sotto exits with status {done.returncode}")
        return done.stdout

    def stream(self, options: str) -> Stream:
        with self._lock:
            streams = self._streams.get(options)
            if streams is None or not streams.alive():
                streams = self._streams[options] = _Streams([self._program, "split", "--stream", *_flags(options)])
        return Stream(streams)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class _Streams:
    """A process for streams. A second reply, which is empty, follows each delta: its end says
    that the events of the delta are complete."""

    def __init__(self, command: list[str]) -> None:
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock = threading.Lock()
        self._last = 0

    def alive(self) -> bool:
        return self._child.poll() is None

    def number(self) -> int:
        with self._lock:
            self._last += 1
            return self._last

    def ask(self, line: dict[str, Any]) -> list[dict[str, Any]]:
        with self._lock:
            self._last += 1
            mark = self._last
            text = json.dumps(line) + "\n" + json.dumps({"id": mark, "end": "unknown"}) + "\n"
            events = []
            try:
                assert self._child.stdin and self._child.stdout
                self._child.stdin.write(text.encode())
                self._child.stdin.flush()
                while True:
                    answer = self._child.stdout.readline()
                    if not answer:
                        raise SottoError("the program sotto ended")
                    event = json.loads(answer)
                    if "error" in event:
                        raise SottoError(event["error"])
                    if event["id"] == mark:
                        return events
                    events.append(event)
            except OSError as err:
                raise SottoError(f"the program sotto: {err}") from err


class Stream:
    """A stream of the program, with the methods of a stream of the library."""

    def __init__(self, streams: _Streams) -> None:
        self._streams, self._id = streams, streams.number()
        self._rest = b""  # of a character that is not complete
        self._open = True

    def feed(self, data: bytes) -> list[tuple[int, int, str]]:
        data = self._rest + data
        whole = len(data) - _incomplete(data)
        self._rest = data[whole:]
        if whole == 0:
            return []
        return _pieces(self._streams.ask({"id": self._id, "delta": _text(data[:whole])}))

    def close(self, end: int) -> tuple[list[tuple[int, int, str]], list[tuple[str, int, str]], int]:
        self._open = False
        events = self._streams.ask({"id": self._id, "delta": _text(self._rest), "end": ENDINGS[end]})
        last = events.pop()
        found = [(d["code"], d["offset"], d.get("reason", "")) for d in last["diagnostics"]]
        return _pieces(events), found, last.get("more_diagnostics", 0)

    def free(self) -> None:
        if self._open and self._streams.alive():
            self._open = False
            try:
                self._streams.ask({"id": self._id, "end": "aborted"})
            except SottoError:
                pass  # the process is gone, and the stream with it


def _pieces(events: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
    pieces = []
    for e in events:
        if e["event"] == "reasoning_end":
            pieces.append((2 if e["closed"] else 3, e["block"], ""))
        else:
            pieces.append((_KINDS[e["event"]], e.get("block", 0), e["text"]))
    return pieces


def _incomplete(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character."""
    for back in range(1, min(3, len(data)) + 1):
        b = data[-back]
        if b & 0xC0 != 0x80:
            need = 2 if b >> 5 == 0b110 else 3 if b >> 4 == 0b1110 else 4 if b >> 3 == 0b11110 else 1
            return back if need > back else 0
    return 0
