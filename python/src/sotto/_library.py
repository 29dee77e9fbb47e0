"""The shared library, by ctypes."""

from __future__ import annotations

import codecs
import ctypes
import os
import struct
import sys
import threading
from array import array
from functools import lru_cache
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Iterator, Sequence

from ._types import Channel, SottoError, joined

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
_WORD = ctypes.sizeof(ctypes.c_size_t)
_MEMBERS = _REPLY.size // _WORD
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


def _described(replies: Sequence[str | bytes]) -> tuple[bytes, array[int]]:
    """Replies behind each other, and their addresses and sizes as C reads them."""
    data, sizes = joined(replies)
    address = ctypes.cast(data, ctypes.c_void_p).value
    if len(sizes) == 1:
        return data, array(_SIZE, (address, sizes[0]))
    table = array(_SIZE, bytes(2 * len(sizes) * _WORD))
    table[0::2] = array(_SIZE, accumulate(sizes[:-1], initial=address))
    table[1::2] = array(_SIZE, sizes)
    return data, table


#: How many characters of a list of replies the library reads in one call. Buffers of this size
#: come from memory that was used before; larger ones come from the system each time.
_SHARE = 64 << 10


def _shares(replies: Sequence[str | bytes]) -> Iterator[Sequence[str | bytes]]:
    """A list in parts of about _SHARE characters."""
    if len(replies) == 1:
        yield replies
        return
    first = size = 0
    for last, reply in enumerate(replies, 1):
        size += len(reply)
        if size >= _SHARE or last == len(replies):
            yield replies[first:last]
            first, size = last, 0


def _divided(block: bytes, at: int, sizes: Sequence[int]) -> list[str]:
    """The texts that lie behind each other in a block, with a zero byte after each."""
    count = len(sizes)
    if not count:
        return []
    end = at + sum(sizes) + count - 1
    if block.count(0, at, end) == count - 1:  # none has a zero byte
        return block[at:end].decode("utf-8", "sotto.replace").split("\0")
    out = []
    for size in sizes:
        out.append(block[at : at + size].decode("utf-8", "sotto.replace"))
        at += size + 1
    return out


class Batch:
    """Readings of a list that is not empty, as the library gave them. What few callers ask for is read when they ask."""

    __slots__ = ("visible", "reasonings", "_block", "_base", "_fields")

    def __init__(self, block: bytes, base: int, count: int) -> None:
        self._block, self._base = block, base
        #: The members of the structures, each as a number.
        self._fields: Sequence[int] = _REPLY.unpack_from(block) if count == 1 else array(_SIZE, block[: count * _REPLY.size])
        self.visible = _divided(block, self._fields[0] - base, self._fields[1::_MEMBERS])
        self.reasonings = self._texts(2)

    def _texts(self, member: int) -> list[list[str]]:
        """The lists of texts of all replies."""
        if len(self._fields) == _MEMBERS:
            return [self._list(member)]
        counts = self._fields[member + 1 :: _MEMBERS]
        total = sum(counts)
        if not total:
            return [[] for _ in counts]
        first = next(at for at, n in zip(self._fields[member::_MEMBERS], counts) if n) - self._base
        table = array(_SIZE, self._block[first : first + total * _TEXT.size])
        texts = iter(_divided(self._block, table[0] - self._base, table[1::2]))
        return [[next(texts)] if n == 1 else list(islice(texts, n)) for n in counts]

    def _list(self, member: int) -> list[str]:
        """The texts whose place and number are two members."""
        at, count = self._fields[member : member + 2]
        return [self._text(*t) for t in self._structures(_TEXT, at, count)] if count else []

    def narration(self, i: int) -> list[str]:
        return self._list(i * _MEMBERS + 4)

    def segments(self, i: int) -> list[tuple[Channel, int, int]]:
        at, count = self._fields[i * _MEMBERS + 6 : i * _MEMBERS + 8]
        return [(_CHANNELS[channel], start, end) for channel, _, start, end in self._structures(_SEGMENT, at, count)]

    def diagnostics(self, i: int) -> list[tuple[str, int, str]]:
        at, count = self._fields[i * _MEMBERS + 8 : i * _MEMBERS + 10]
        return [(self._text(c, cn), offset, self._text(r, rn)) for c, cn, r, rn, offset in self._structures(_DIAGNOSTIC, at, count)]

    def more_diagnostics(self, i: int) -> int:
        return self._fields[i * _MEMBERS + 10]

    def dialect(self, i: int) -> str:
        return self._text(*self._fields[i * _MEMBERS + 11 : i * _MEMBERS + 13])

    def start(self, i: int) -> str:
        return self._text(*self._fields[i * _MEMBERS + 13 : i * _MEMBERS + 15])

    def _structures(self, kind: struct.Struct, at: int, count: int) -> Iterator[tuple[int, ...]]:
        at -= self._base
        return kind.iter_unpack(self._block[at : at + count * kind.size] if count else b"")

    def _text(self, at: int, size: int) -> str:
        at -= self._base
        return self._block[at : at + size].decode("utf-8", "sotto.replace") if size else ""


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
        self._parse_many = function(
            "sotto_parse_many", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, size, ctypes.c_int, ctypes.POINTER(size), error
        )
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

    def parse_many(self, options: str, replies: Sequence[str | bytes], end: int) -> Iterator[Batch]:
        reader, size, error = self._reader(options), ctypes.c_size_t(), _Error()
        for share in _shares(replies):
            data, table = _described(share)
            result = self._parse_many(reader, table.buffer_info()[0], len(share), end, ctypes.byref(size), ctypes.byref(error))
            if not result:
                raise SottoError(_message(error))
            try:
                yield Batch(ctypes.string_at(result, size.value), result, len(share))
            finally:
                self._free(result)

    def strip(self, options: str, replies: Sequence[str | bytes]) -> list[str]:
        reader, error, out = self._reader(options), _Error(), []
        for share in _shares(replies):
            data, table = _described(share)
            result = self._strip(reader, table.buffer_info()[0], len(share), ctypes.byref(error))
            if not result:
                raise SottoError(_message(error))
            try:
                found = array(_SIZE, ctypes.string_at(result, len(share) * _TEXT.size))
                out += _divided(ctypes.string_at(found[0], found[-2] + found[-1] - found[0]), 0, found[1::2])
            finally:
                self._free(result)
        return out

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
