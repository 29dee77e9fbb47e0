"""The shared library, by ctypes."""

from __future__ import annotations

import codecs
import ctypes
import os
import struct
import sys
import threading
from array import array
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from ._types import Channel, Found, SottoError

_NAMES = {"darwin": "libsotto.dylib", "win32": "sotto.dll"}


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 512)]


class _Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Deltas(ctypes.Structure):
    _fields_ = [
        ("list", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("diagnostics", ctypes.c_void_p),
        ("diagnostic_count", ctypes.c_size_t),
        ("more_diagnostics", ctypes.c_size_t),
    ]


# size_t in an array, and the structures of sotto.h.
_SIZE = next(code for code in "ILQ" if array(code).itemsize == ctypes.sizeof(ctypes.c_size_t))
_TEXT = struct.Struct("@PN")
_SEGMENT = struct.Struct("@IINN")
_REPLY = struct.Struct("@PNPNPNPNPNNPNPN")
_DELTA = struct.Struct("@IIPN")
_DIAGNOSTIC = struct.Struct("@PNPNN")


_CHANNELS: tuple[Channel, ...] = ("text", "reasoning", "narration", "tool", "aside", "markup")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Each byte that is no UTF-8 is a character, as in Go. Python's own handler joins some."""
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("sotto.replace", _replaced)


def _at(data: int, size: int) -> str:
    return ctypes.string_at(data, size).decode("utf-8", "sotto.replace") if size else ""


def _texts(table: int, count: int) -> list[str]:
    return [_at(data, size) for data, size in _TEXT.iter_unpack(ctypes.string_at(table, count * _TEXT.size))] if count else []


def _diagnostics(table: int, count: int) -> list[tuple[str, int, str]]:
    found = ctypes.string_at(table, count * _DIAGNOSTIC.size) if count else b""
    return [(_at(c, cn), offset, _at(r, rn)) for c, cn, r, rn, offset in _DIAGNOSTIC.iter_unpack(found)]


def _segments(table: bytes) -> list[tuple[Channel, int, int]]:
    return [(_CHANNELS[channel], start, end) for channel, _, start, end in _SEGMENT.iter_unpack(table)]


def library_path() -> Path:
    """Where the shared library is: ``SOTTO_LIBRARY``, or beside this file."""
    named = os.environ.get("SOTTO_LIBRARY")
    return Path(named) if named else Path(__file__).with_name(_NAMES.get(sys.platform, "libsotto.so"))


class Library:
    """The functions of sotto.h."""

    def __init__(self, path: Path) -> None:
        c = ctypes.CDLL(str(path))
        text, error, stream, size = ctypes.POINTER(_Text), ctypes.POINTER(_Error), ctypes.c_void_p, ctypes.c_size_t

        def function(name: str, result: Any, *arguments: Any) -> Any:
            f = getattr(c, name)
            f.restype, f.argtypes = result, arguments
            return f

        self.version = function("sotto_version", ctypes.c_char_p)
        self._reader_new = function("sotto_reader_new", ctypes.c_void_p, ctypes.c_char_p, error)
        self._parse = function("sotto_parse", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, size, ctypes.c_int, error)
        self._strip = function("sotto_strip", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, size, error)
        self._next_request = function("sotto_next_request", text, ctypes.c_char_p, ctypes.c_char_p, size, error)
        self._free = function("sotto_free", None, ctypes.c_void_p)
        self._stream_new = function("sotto_stream_new", stream, ctypes.c_void_p, error)
        self._stream_free = function("sotto_stream_free", None, stream)
        self._feed = function("sotto_feed", ctypes.c_bool, stream, ctypes.c_char_p, size, ctypes.POINTER(_Deltas), error)
        self._close = function("sotto_close", ctypes.c_bool, stream, ctypes.c_int, ctypes.POINTER(_Deltas), error)
        # A reader is a few hundred bytes. There are as many as there are sets of options, and
        # they stay: a program has few.
        self._readers: dict[str, int] = {}
        self.pid = os.getpid()
        self._lock = threading.Lock()

    def _reader(self, options: str) -> int:
        reader = self._readers.get(options)
        if reader is None:
            error = _Error()
            reader = self._reader_new(options.encode(), ctypes.byref(error))
            if not reader:
                raise SottoError(_message(error))
            with self._lock:
                if len(self._readers) < 1024:
                    reader = self._readers.setdefault(options, reader)
        return reader

    def parse(self, options: str, data: bytes, end: int) -> Found:
        error = _Error()
        result = self._parse(self._reader(options), data, len(data), end, ctypes.byref(error))
        if not result:
            raise SottoError(_message(error))
        try:
            (visible, size, thoughts, thought_count, narration, narration_count, segments, segment_count,
             diagnostics, diagnostic_count, more, dialect, dialect_size, start, start_size) = _REPLY.unpack(ctypes.string_at(result, _REPLY.size))  # fmt: skip
            return Found(
                visible=_at(visible, size),
                reasoning=_texts(thoughts, thought_count),
                narration=_texts(narration, narration_count),
                segments=partial(_segments, ctypes.string_at(segments, segment_count * _SEGMENT.size) if segment_count else b""),
                diagnostics=_diagnostics(diagnostics, diagnostic_count),
                more_diagnostics=more,
                dialect=_at(dialect, dialect_size),
                start=_at(start, start_size),
            )
        finally:
            self._free(result)

    def strip(self, options: str, replies: list[bytes]) -> list[str]:
        # The texts lie behind each other, so that one address and a list of sizes describe them.
        count, sizes = len(replies), [len(data) for data in replies]
        all_texts = b"".join(replies)
        address = ctypes.cast(all_texts, ctypes.c_void_p).value
        texts = array(_SIZE, bytes(2 * count * ctypes.sizeof(ctypes.c_size_t)))
        texts[0::2] = array(_SIZE, accumulate(sizes[:-1], initial=address)) if count else array(_SIZE)
        texts[1::2] = array(_SIZE, sizes)
        error = _Error()
        result = self._strip(self._reader(options), texts.buffer_info()[0], count, ctypes.byref(error))
        if not result:
            raise SottoError(_message(error))
        try:
            return _texts(result, count)
        finally:
            self._free(result)

    def next_request(self, api: str, body: bytes) -> bytes:
        error = _Error()
        result = self._next_request(api.encode(), body, len(body), ctypes.byref(error))
        if not result:
            raise SottoError(_message(error))
        try:
            return ctypes.string_at(result[0].data, result[0].size)
        finally:
            self._free(result)

    def stream(self, options: str) -> Stream:
        error = _Error()
        handle = self._stream_new(self._reader(options), ctypes.byref(error))
        if not handle:
            raise SottoError(_message(error))
        return Stream(self, handle)


def _message(error: _Error) -> str:
    return error.text.decode("utf-8", "replace")


class Stream:
    """A stream of the library. Its pieces are tuples of a kind, a block and a text."""

    def __init__(self, library: Library, handle: int) -> None:
        self._library, self._handle = library, handle
        self._out, self._error = _Deltas(), _Error()
        self._out_at, self._error_at = ctypes.byref(self._out), ctypes.byref(self._error)
        self._pid = os.getpid()

    def feed(self, data: bytes) -> list[tuple[int, int, str]]:
        self._usable()
        if not self._library._feed(self._handle, data, len(data), self._out_at, self._error_at):
            raise SottoError(_message(self._error))
        return self._pieces() if self._out.count else []

    def close(self, end: int) -> tuple[list[tuple[int, int, str]], list[tuple[str, int, str]], int]:
        self._usable()
        if not self._library._close(self._handle, end, self._out_at, self._error_at):
            raise SottoError(_message(self._error))
        out = self._out
        return self._pieces() if out.count else [], _diagnostics(out.diagnostics, out.diagnostic_count), out.more_diagnostics

    def _usable(self) -> None:
        if self._pid != os.getpid():
            raise SottoError("this splitter belongs to the process that this one was forked from")

    def _pieces(self) -> list[tuple[int, int, str]]:
        table = ctypes.string_at(self._out.list, self._out.count * _DELTA.size)
        return [(kind, block, _at(data, size)) for kind, block, data, size in _DELTA.iter_unpack(table)]

    def free(self) -> None:
        handle, self._handle = self._handle, None
        # In a forked child the threads of the library are gone, and with them its locks.
        if handle and self._pid == os.getpid():
            self._library._stream_free(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.free()


@lru_cache(maxsize=None)
def load(path: Path) -> Library:
    return Library(path)
