"""Whole replies."""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from ._backend import backend
from ._types import Channel, Diagnostic, Ending, Found, ending_number, options_json, utf8


class Segment(NamedTuple):
    """A longest run of the reply on one channel."""

    channel: Channel
    #: Bytes of the reply as UTF-8; the end is not part of it.
    start: int
    end: int
    #: The same places in characters, for a slice of a ``str``.
    first: int
    last: int


class Reply:
    """The reading of a whole reply."""

    __slots__ = ("raw", "_found", "_segments")

    def __init__(self, raw: str | bytes, found: Found) -> None:
        #: The reply as it was given.
        self.raw = raw
        self._found = found
        self._segments: list[Segment] | None = None

    @property
    def visible(self) -> str:
        """What the user sees."""
        return self._found.visible

    @property
    def reasoning(self) -> list[str]:
        """The thoughts, one text per block."""
        return self._found.reasoning

    @property
    def narration(self) -> list[str]:
        return self._found.narration

    @property
    def dialect(self) -> str:
        """The dialect in which the reply was read."""
        return self._found.dialect

    @property
    def start(self) -> str:
        """Where the reply begins, as it was read."""
        return self._found.start

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return [Diagnostic(*d) for d in self._found.diagnostics]

    @property
    def more_diagnostics(self) -> int:
        """How many are counted only."""
        return self._found.more_diagnostics

    @property
    def segments(self) -> list[Segment]:
        """The segments, in order. Joined, they are the reply."""
        if self._segments is None:
            self._segments = _segments(self._found.segments(), self.raw)
        return self._segments

    def __repr__(self) -> str:
        return f"Reply(visible={self.visible!r}, reasoning={self.reasoning!r}, dialect={self.dialect!r})"


def _segments(found: list[tuple[Channel, int, int]], raw: str | bytes) -> list[Segment]:
    data = utf8(raw)
    simple = len(data) == len(raw) and isinstance(raw, str)
    segments, last = [], 0
    for channel, start, end in found:
        first = last
        # Each character has one byte that is not a continuation.
        last = end if simple else first + len(data[start:end].decode("utf-8", "surrogatepass" if isinstance(raw, str) else "replace"))
        segments.append(Segment(channel, start, end, first, last))
    return segments


def parse(
    raw: str | bytes,
    *,
    model: str | None = None,
    dialect: str | Mapping[str, Any] | None = None,
    start: str | None = None,
    end: Ending = "unknown",
    inline: Sequence[str] | None = None,
    tools: Sequence[str] | None = None,
) -> Reply:
    """Read a whole reply.

    ``model`` is the name of the model, as a provider or a registry spells it. ``dialect`` counts
    more: the name of a dialect that comes with Sotto, or one of your own with the keys of a
    dialect file. Bytes that are no UTF-8 become U+FFFD in the texts.
    """
    return parse_many([raw], model=model, dialect=dialect, start=start, end=end, inline=inline, tools=tools)[0]


def parse_many(
    replies: Iterable[str | bytes],
    *,
    model: str | None = None,
    dialect: str | Mapping[str, Any] | None = None,
    start: str | None = None,
    end: Ending = "unknown",
    inline: Sequence[str] | None = None,
    tools: Sequence[str] | None = None,
) -> list[Reply]:
    """Read whole replies with the same options."""
    options, number, b = options_json(model, dialect, start, inline, None, tools), ending_number(end), backend()
    return [Reply(raw, b.parse(options, utf8(raw), number)) for raw in replies]


def strip(
    raw: str | bytes,
    *,
    model: str | None = None,
    dialect: str | Mapping[str, Any] | None = None,
    start: str | None = None,
    inline: Sequence[str] | None = None,
    tools: Sequence[str] | None = None,
) -> str:
    """Return the visible text of a whole reply, for history and memory."""
    return strip_many([raw], model=model, dialect=dialect, start=start, inline=inline, tools=tools)[0]


def strip_many(
    replies: Iterable[str | bytes],
    *,
    model: str | None = None,
    dialect: str | Mapping[str, Any] | None = None,
    start: str | None = None,
    inline: Sequence[str] | None = None,
    tools: Sequence[str] | None = None,
) -> list[str]:
    """Return the visible texts of whole replies, in one call."""
    return backend().strip(options_json(model, dialect, start, inline, None, tools), [utf8(r) for r in replies])


def next_request(request: Mapping[str, Any], api: str = "chat") -> dict[str, Any]:
    """Return a request as it should go to the model that it names.

    Earlier reasoning that the model's family does not need back is taken out, and what its
    provider requires stays or is added. ``request`` is the body as the SDK sends it, with at
    least ``model`` and the messages. ``api`` is ``chat``, ``responses``, ``messages``,
    ``ollama``, ``gemini``, ``cohere`` or ``bedrock``.

        client.chat.completions.create(**sotto.next_request({"model": name, "messages": messages}))
    """
    return json.loads(backend().next_request(api, json.dumps(request).encode()))


def for_next_prompt(messages: Sequence[Mapping[str, Any]], model: str, api: str = "chat") -> list[dict[str, Any]]:
    """Return the messages that should go to a model with the next request.

    It is :func:`next_request` for the messages alone: ``api`` is ``chat``, ``messages`` or
    ``ollama``. Use it on each request, with all messages.

        client.chat.completions.create(model=name, messages=sotto.for_next_prompt(messages, name))
    """
    if api not in ("chat", "messages", "ollama"):
        raise ValueError(f'unknown API {api!r}: want "chat", "messages" or "ollama"')
    return next_request({"model": model, "messages": list(messages)}, api)["messages"]
