"""Streams of the Python SDKs of model providers, read as Sotto's deltas.

Each function takes what the SDK gives when you ask for a stream, and yields the deltas of one
reply: visible text, reasoning, calls in the text, and its end. Reasoning that the server has
separated already comes as reasoning, too. The SDKs are not imported: an object with the same
attributes, or a dictionary with the same keys, will do.

    for d in sotto.providers.openai(client.chat.completions.create(..., stream=True), model=name):
        if isinstance(d, sotto.Text):
            print(d.text, end="")

For asynchronous clients there is a function of the same name with ``_async``.
"""

from __future__ import annotations

from typing import Any, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator

from ._stream import Splitter
from ._types import Delta, Ending, Reasoning, ReasoningEnd

#: Finish reasons of the providers. Others are unknown, which is always safe.
_ENDINGS: dict[str, Ending] = {
    "stop": "stopped",
    "tool_calls": "stopped",
    "function_call": "stopped",
    "end_turn": "stopped",
    "stop_sequence": "stopped",
    "tool_use": "stopped",
    "length": "cut",
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "content_filter": "aborted",
    "refusal": "aborted",
}


def _get(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    return getattr(value, key, None)


class _Reply:
    """One reply: texts that Sotto splits, and reasoning that the server has split."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.splitter = Splitter(**options)
        self.end: Ending = "unknown"
        # Blocks of the server count from 0 down, so that no number is used twice.
        self._block = 0
        self._open = False

    def reasoning(self, text: str) -> Iterator[Delta]:
        if text:
            self._open = True
            yield Reasoning(text, self._block)

    def text(self, text: str) -> Iterator[Delta]:
        if text:
            yield from self.reasoning_ends(True)
            yield from self.splitter.feed(text)

    def reasoning_ends(self, closed: bool) -> Iterator[Delta]:
        if self._open:
            self._open = False
            yield ReasoningEnd(self._block, closed)
            self._block -= 1

    def finish(self, reason: Any) -> None:
        if isinstance(reason, str):
            self.end = _ENDINGS.get(reason, "unknown")

    def close(self) -> Iterator[Delta]:
        yield from self.reasoning_ends(self.end == "stopped")
        yield from self.splitter.close(self.end)


_Reader = Callable[[_Reply, Any], Iterator[Delta]]


def _openai(reply: _Reply, chunk: Any) -> Iterator[Delta]:
    for choice in _get(chunk, "choices") or []:
        if _get(choice, "index"):
            raise ValueError("the stream has more than one choice: ask for n=1, or give each choice a Splitter")
        delta = _get(choice, "delta")
        for key in ("reasoning_content", "reasoning"):
            thought = _get(delta, key)
            if isinstance(thought, str) and thought:
                yield from reply.reasoning(thought)
                break
        yield from reply.text(_get(delta, "content") or "")
        reply.finish(_get(choice, "finish_reason"))


def _responses(reply: _Reply, event: Any) -> Iterator[Delta]:
    kind = _get(event, "type")
    if kind == "response.output_text.delta":
        yield from reply.text(_get(event, "delta") or "")
    elif kind in ("response.reasoning_text.delta", "response.reasoning_summary_text.delta"):
        yield from reply.reasoning(_get(event, "delta") or "")
    elif kind == "response.completed":
        reply.end = "stopped"
    elif kind == "response.incomplete":
        details = _get(_get(event, "response"), "incomplete_details")
        reply.end = "cut" if _get(details, "reason") == "max_output_tokens" else "aborted"
    elif kind == "response.failed":
        reply.end = "aborted"


def _anthropic(reply: _Reply, event: Any) -> Iterator[Delta]:
    kind = _get(event, "type")
    if kind == "content_block_delta":
        delta = _get(event, "delta")
        yield from reply.text(_get(delta, "text") or "" if _get(delta, "type") == "text_delta" else "")
        yield from reply.reasoning(_get(delta, "thinking") or "" if _get(delta, "type") == "thinking_delta" else "")
    elif kind == "content_block_stop":
        yield from reply.reasoning_ends(True)
    elif kind == "message_delta":
        reply.finish(_get(_get(event, "delta"), "stop_reason"))


def _ollama(reply: _Reply, part: Any) -> Iterator[Delta]:
    message = _get(part, "message")
    if message is None:  # of generate
        yield from reply.reasoning(_get(part, "thinking") or "")
        yield from reply.text(_get(part, "response") or "")
    else:
        yield from reply.reasoning(_get(message, "thinking") or "")
        yield from reply.text(_get(message, "content") or "")
    if _get(part, "done"):
        reply.finish(_get(part, "done_reason") or "stop")


def _read(read: _Reader, stream: Iterable[Any], options: dict[str, Any]) -> Iterator[Delta]:
    reply = _Reply(options)
    with reply.splitter:
        for part in stream:
            yield from read(reply, part)
        yield from reply.close()


async def _read_async(read: _Reader, stream: AsyncIterable[Any], options: dict[str, Any]) -> AsyncIterator[Delta]:
    reply = _Reply(options)
    with reply.splitter:
        async for part in stream:
            for d in read(reply, part):
                yield d
        for d in reply.close():
            yield d


def openai(stream: Iterable[Any], **options: Any) -> Iterator[Delta]:
    """Chunks of ``chat.completions.create(stream=True)``, of any server with this API."""
    return _read(_openai, stream, options)


def openai_async(stream: AsyncIterable[Any], **options: Any) -> AsyncIterator[Delta]:
    """``openai`` for an asynchronous client."""
    return _read_async(_openai, stream, options)


def responses(stream: Iterable[Any], **options: Any) -> Iterator[Delta]:
    """Events of ``responses.create(stream=True)``."""
    return _read(_responses, stream, options)


def responses_async(stream: AsyncIterable[Any], **options: Any) -> AsyncIterator[Delta]:
    """``responses`` for an asynchronous client."""
    return _read_async(_responses, stream, options)


def anthropic(stream: Iterable[Any], **options: Any) -> Iterator[Delta]:
    """Events of ``messages.create(stream=True)`` or ``messages.stream(...)``."""
    return _read(_anthropic, stream, options)


def anthropic_async(stream: AsyncIterable[Any], **options: Any) -> AsyncIterator[Delta]:
    """``anthropic`` for an asynchronous client."""
    return _read_async(_anthropic, stream, options)


def ollama(stream: Iterable[Any], **options: Any) -> Iterator[Delta]:
    """Parts of ``chat(stream=True)`` or ``generate(stream=True)``."""
    return _read(_ollama, stream, options)


def ollama_async(stream: AsyncIterable[Any], **options: Any) -> AsyncIterator[Delta]:
    """``ollama`` for an asynchronous client."""
    return _read_async(_ollama, stream, options)
