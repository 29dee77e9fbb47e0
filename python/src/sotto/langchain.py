"""LangChain: give a chain what the model says, and not what it thinks.

    from langchain_core.runnables import RunnableGenerator
    chain = model | RunnableGenerator(sotto.langchain.visible(model="qwen3:8b"))

LangChain is not imported: a message is anything with ``content``, or a text.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator

from ._stream import Splitter
from ._types import Text


def _text(message: Any) -> str:
    content = getattr(message, "content", message)
    if isinstance(content, str):
        return content
    # A list of parts, of which the texts count.
    return "".join(p if isinstance(p, str) else p.get("text", "") if p.get("type") == "text" else "" for p in content or [])


def visible(**options: Any) -> Callable[[Iterable[Any]], Iterator[str]]:
    """A generator for ``RunnableGenerator``: messages of one reply in, visible text out."""

    def transform(messages: Iterable[Any]) -> Iterator[str]:
        with Splitter(**options) as s:
            for m in messages:
                yield from (d.text for d in s.feed(_text(m)) if isinstance(d, Text))
            yield from (d.text for d in s.close() if isinstance(d, Text))

    return transform
