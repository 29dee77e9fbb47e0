"""Whole replies."""

from __future__ import annotations

import json
from itertools import count, repeat
from typing import Any, Iterable, Mapping, NamedTuple, Protocol, Sequence

from ._backend import backend
from ._types import Channel, Diagnostic, Ending, ending_number, options_json, utf8


class Segment(NamedTuple):
    """A longest run of the reply on one channel."""

    channel: Channel
    #: Bytes of the reply as UTF-8; the end is not part of it.
    start: int
    end: int
    #: The same places in characters, for a slice of a ``str``.
    first: int
    last: int


class Found(Protocol):
    """The readings of a list of replies, by their places in it."""

    visible: list[str]
    reasonings: list[list[str]]

    def narration(self, i: int) -> list[str]: ...
    def segments(self, i: int) -> list[tuple[Channel, int, int]]: ...
    def diagnostics(self, i: int) -> list[tuple[str, int, str]]: ...
    def more_diagnostics(self, i: int) -> int: ...
    def dialect(self, i: int) -> str: ...
    def start(self, i: int) -> str: ...


class Reply:
    """The reading of a whole reply.

    Replies of one list share memory, which is free when the last of them is.
    """

    __slots__ = ("raw", "visible", "reasoning", "_found", "_i")

    def __init__(self, raw: str | bytes, visible: str, reasoning: list[str], found: Found, i: int) -> None:
        #: The reply as it was given.
        self.raw = raw
        #: What the user sees.
        self.visible = visible
        #: The thoughts, one text per block.
        self.reasoning = reasoning
        self._found = found
        self._i = i

    @property
    def narration(self) -> list[str]:
        return self._found.narration(self._i)

    @property
    def dialect(self) -> str:
        """The dialect in which the reply was read."""
        return self._found.dialect(self._i)

    @property
    def start(self) -> str:
        """Where the reply begins, as it was read."""
        return self._found.start(self._i)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return [Diagnostic(*d) for d in self._found.diagnostics(self._i)]

    @property
    def more_diagnostics(self) -> int:
        """How many are counted only."""
        return self._found.more_diagnostics(self._i)

    @property
    def segments(self) -> list[Segment]:
        """The segments, in order. Joined, they are the reply. Each use makes the list again."""
        return _segments(self._found.segments(self._i), self.raw)

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
    """Read whole replies with the same options. It costs less time than a call for each."""
    raw, read = list(replies), []
    for found in backend().parse_many(options_json(model, dialect, start, inline, None, tools), raw, ending_number(end)):
        read += map(Reply, raw[len(read) :], found.visible, found.reasonings, repeat(found), count())
    return read


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
    """Return the visible texts of whole replies. It costs less time than a call for each."""
    return backend().strip(options_json(model, dialect, start, inline, None, tools), list(replies))


def next_request(request: Mapping[str, Any], api: str = "chat") -> dict[str, Any]:
    """Return a request as it should go to the model that it names.

    Earlier reasoning that the model's family does not need back is taken out, and what its
    provider requires stays or is added. ``request`` is the body as the SDK sends it, with at
    least ``model`` and the messages. ``api`` is ``chat``, ``responses``, ``messages``,
    ``ollama``, ``gemini``, ``cohere`` or ``bedrock``.

        client.chat.completions.create(**sotto.next_request({"model": name, "messages": messages}))
    """
    return json.loads(backend().next_request(api, json.dumps(request).encode()))


#: Where the request of each API has its messages.
_HISTORY = {"chat": "messages", "responses": "input", "messages": "messages", "ollama": "messages", "gemini": "contents", "cohere": "messages", "bedrock": "messages"}


def for_next_prompt(messages: Sequence[Mapping[str, Any]], model: str, api: str = "chat") -> list[dict[str, Any]]:
    """Return the messages that should go to a model with the next request.

    It is :func:`next_request` for the messages alone, as a client holds them: those of chat
    completions, Anthropic's messages, Ollama, Cohere and Bedrock's Converse, the input items of
    ``responses``, and the contents of ``gemini``. Use it on each request, with all messages.

        client.chat.completions.create(model=name, messages=sotto.for_next_prompt(messages, name))
    """
    member = _HISTORY.get(api)
    if member is None:
        raise ValueError(f"unknown API {api!r}: want {', '.join(_HISTORY)}")
    return next_request({"model": model, member: list(messages)}, api)[member]
