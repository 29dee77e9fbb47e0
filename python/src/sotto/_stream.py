"""Replies that stream in."""

from __future__ import annotations

from typing import Any, AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence

from ._backend import backend
from ._types import (
    Delta,
    Diagnostic,
    End,
    Ending,
    Narration,
    Reasoning,
    ReasoningEnd,
    SottoError,
    Text,
    Tool,
    ending_number,
    options_json,
)


class Splitter:
    """Reads one reply as it streams in. It belongs to one thread at a time.

    >>> with Splitter(model="qwen3:8b") as s:
    ...     s.feed("<think>6 × 7</think>Forty") + s.close("stopped")
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        dialect: str | Mapping[str, Any] | None = None,
        start: str | None = None,
        inline: Sequence[str] | None = None,
        max_hold: int | None = None,
        tools: Sequence[str] | None = None,
    ) -> None:
        """``max_hold`` is the longest text that is held in doubt, in bytes; negative for no bound."""
        self._stream = backend().stream(options_json(model, dialect, start, inline, max_hold, tools))
        self._closed = False
        self._half = ""  # the first half of a pair of surrogates

    def feed(self, chunk: str | bytes) -> list[Delta]:
        """Read a part of the reply, cut anywhere."""
        if self._closed:
            raise SottoError("feed after close: a splitter reads one reply")
        if isinstance(chunk, str):
            chunk, self._half = self._half + chunk, ""
            if chunk and "\ud800" <= chunk[-1] < "\udc00":
                chunk, self._half = chunk[:-1], chunk[-1]
            data = _join(chunk)
        else:
            data, self._half = _join(self._half) + bytes(chunk), ""
        return [_delta(*p) for p in self._stream.feed(data)] if data else []

    def close(self, end: Ending = "unknown") -> list[Delta]:
        """End the reply. The last delta is its end."""
        if self._closed:
            raise SottoError("close twice: a splitter reads one reply")
        number = ending_number(end)
        last = [_delta(*p) for p in self._stream.feed(_join(self._half))] if self._half else []
        self._closed = True
        pieces, found, more = self._stream.close(number)
        last += [_delta(*p) for p in pieces]
        last.append(End(end, [Diagnostic(*d) for d in found], more))
        self._stream.free()
        return last

    def dispose(self) -> None:
        """Drop a reply that is not read to its end."""
        if not self._closed:
            self._closed = True
            self._stream.free()

    def __enter__(self) -> Splitter:
        return self

    def __exit__(self, *_: object) -> None:
        self.dispose()


def _join(text: str) -> bytes:
    """The bytes of a text, in which two halves of a pair are one character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _delta(kind: int, block: int, text: str) -> Delta:
    if kind == 0:
        return Text(text)
    if kind == 1:
        return Reasoning(text, block)
    if kind in (2, 3):
        return ReasoningEnd(block, kind == 2)
    return Narration(text, block) if kind == 4 else Tool(text, block)


def deltas(chunks: Iterable[str | bytes], *, end: Ending = "unknown", **options: Any) -> Iterator[Delta]:
    """Read an iterable of texts, and give the deltas. ``options`` are those of a Splitter."""
    with Splitter(**options) as s:
        for chunk in chunks:
            yield from s.feed(chunk)
        yield from s.close(end)


async def deltas_async(chunks: AsyncIterable[str | bytes], *, end: Ending = "unknown", **options: Any) -> AsyncIterator[Delta]:
    """``deltas`` for an asynchronous iterable."""
    with Splitter(**options) as s:
        async for chunk in chunks:
            for d in s.feed(chunk):
                yield d
        for d in s.close(end):
            yield d
