"""The shapes of what goes in and comes out."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Literal, Mapping, NamedTuple, Sequence, Union

#: How a reply ended, by the finish reason of its provider. ``unknown`` is always safe.
Ending = Literal["unknown", "stopped", "cut", "aborted"]

#: What a byte of a reply is.
Channel = Literal["text", "reasoning", "narration", "tool", "aside", "markup"]

ENDINGS = ("unknown", "stopped", "cut", "aborted")


class SottoError(Exception):
    """A wrong option, a splitter that is closed, or a library that cannot be used."""


class Diagnostic(NamedTuple):
    """A remark on the reading of a reply."""

    code: str
    #: Of the marker that it is about, in bytes of the reply as UTF-8.
    offset: int
    reason: str = ""


class Text(NamedTuple):
    """Visible text."""

    text: str


class Reasoning(NamedTuple):
    """Reasoning as it comes."""

    text: str
    block: int


class ReasoningEnd(NamedTuple):
    """A block of reasoning is over. ``closed`` is false if the reply ended in it."""

    block: int
    closed: bool


class Narration(NamedTuple):
    """Progress for the user."""

    text: str
    block: int


class Tool(NamedTuple):
    """A call in the text, with its markers."""

    text: str
    block: int


class End(NamedTuple):
    """The last part of a reply. ``more_diagnostics`` counts those that are not listed."""

    end: Ending
    diagnostics: list[Diagnostic]
    more_diagnostics: int


#: A part of what a stream gives.
Delta = Union[Text, Reasoning, ReasoningEnd, Narration, Tool, End]


def options_json(
    model: str | None,
    dialect: str | Mapping[str, Any] | None,
    start: str | None,
    inline: Sequence[str] | None,
    max_hold: int | None,
    tools: Sequence[str] | None,
) -> str:
    """The options as the library reads them."""
    if dialect is None and start is None and inline is None and max_hold is None and tools is None and (model is None or isinstance(model, str)):
        return _options_of(model)
    o: dict[str, Any] = {}
    for key, value in (("model", model), ("dialect", dialect), ("start", start), ("inline", inline), ("max_hold", max_hold), ("tools", tools)):
        if value is not None:
            o[key] = value if isinstance(value, (str, int, Mapping)) else list(value)
    try:
        return json.dumps(o)
    except (TypeError, ValueError) as err:
        raise SottoError(f"options: {err}") from err


@lru_cache(maxsize=256)
def _options_of(model: str | None) -> str:
    return "{}" if model is None else json.dumps({"model": model})


def ending_number(end: str) -> int:
    try:
        return ENDINGS.index(end)
    except ValueError:
        raise SottoError(f"unknown ending {end!r}: want {', '.join(ENDINGS)}") from None


def utf8(data: str | bytes) -> bytes:
    """The bytes of a reply. Half a pair of surrogates is no character, and counts as its three bytes."""
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    return bytes(data)


def joined(replies: Sequence[str | bytes]) -> tuple[bytes, list[int]]:
    """The bytes of replies behind each other, and their sizes."""
    try:
        text = "".join(replies)  # type: ignore[arg-type]
    except TypeError:
        text = "é"  # some are bytes
    if text.isascii():
        return text.encode(), list(map(len, replies))
    data = [utf8(r) for r in replies]
    return b"".join(data), list(map(len, data))
