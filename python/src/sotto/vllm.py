"""A reasoning parser for vLLM: ``vllm serve MODEL --reasoning-parser sotto``.

vLLM loads it as a plug-in when this package is installed. It reads the text alone, so it needs
no token of a tokenizer. The interface is that of ``vllm.reasoning.ReasoningParser``, which
does not say when a stream ends: what may still become a marker by then, a few bytes such as a
last ``<``, is not delivered.
"""

from __future__ import annotations

import os
from typing import Any, Sequence

from ._reading import parse
from ._stream import Splitter
from ._types import Delta, Reasoning, Text


def parser_class(base: type, message: Any) -> type:
    """The parser, as a subclass of vLLM's own; ``message`` makes what a stream gives."""

    class SottoReasoningParser(base):  # type: ignore[misc, valid-type]
        def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(tokenizer, *args, **kwargs)
            self._model = os.environ.get("SOTTO_MODEL") or getattr(tokenizer, "name_or_path", None) or None
            self._tokenizer = tokenizer
            self._splitter = Splitter(model=self._model)

        def is_reasoning_end(self, input_ids: Sequence[int], *_: Any) -> bool:
            reply = parse(self._tokenizer.decode(input_ids), model=self._model)
            return bool(reply.segments) and reply.segments[-1].channel == "text"

        def extract_content_ids(self, input_ids: list[int]) -> list[int]:
            """The ids from the first one that adds visible text."""
            with Splitter(model=self._model) as s:
                for i, token in enumerate(input_ids):
                    if any(isinstance(d, Text) for d in s.feed(self._tokenizer.decode([token]))):
                        return input_ids[i:]
            return []

        def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
            reply = parse(model_output, model=self._model)
            return "\n\n".join(reply.reasoning) or None, reply.visible or None

        extract_reasoning_content = extract_reasoning  # the name before vLLM 0.12

        def extract_reasoning_streaming(
            self,
            previous_text: str,
            current_text: str,
            delta_text: str,
            previous_token_ids: Sequence[int],
            current_token_ids: Sequence[int],
            delta_token_ids: Sequence[int],
        ) -> Any:
            if not previous_text:
                self._splitter.dispose()
                self._splitter = Splitter(model=self._model)
            return _message(message, self._splitter.feed(delta_text))

        extract_reasoning_content_streaming = extract_reasoning_streaming

    return SottoReasoningParser


def _message(make: Any, deltas: list[Delta]) -> Any:
    thought = "".join(d.text for d in deltas if isinstance(d, Reasoning))
    text = "".join(d.text for d in deltas if isinstance(d, Text))
    if not thought and not text:
        return None
    return make(reasoning=thought or None, content=text or None)


def register() -> None:
    """Called by vLLM when it loads its plug-ins."""
    from vllm.entrypoints.openai.protocol import DeltaMessage  # type: ignore[import-not-found]
    from vllm.reasoning import ReasoningParser, ReasoningParserManager  # type: ignore[import-not-found]

    ReasoningParserManager.register_module("sotto", force=True, module=parser_class(ReasoningParser, DeltaMessage))
