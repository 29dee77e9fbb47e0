"""Separates what a language model thinks from what it says, in a whole reply or a stream.

    >>> import sotto
    >>> reply = sotto.parse("<think>6 × 7</think>Forty-two.", model="qwen3:8b")
    >>> reply.visible, reply.reasoning
    ('Forty-two.', ['6 × 7'])
"""

from ._reading import Reply, Segment, for_next_prompt, next_request, parse, parse_many, strip, strip_many
from ._stream import Splitter, deltas, deltas_async
from ._types import (
    Channel,
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
)

__all__ = [
    "Channel",
    "Delta",
    "Diagnostic",
    "End",
    "Ending",
    "Narration",
    "Reasoning",
    "ReasoningEnd",
    "Reply",
    "Segment",
    "SottoError",
    "Splitter",
    "Text",
    "Tool",
    "deltas",
    "deltas_async",
    "for_next_prompt",
    "next_request",
    "parse",
    "parse_many",
    "strip",
    "strip_many",
]
