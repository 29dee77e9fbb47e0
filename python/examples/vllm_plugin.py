"""A reasoning parser for vLLM from a file, where the package's own entry point is not wanted:

    vllm serve MODEL --reasoning-parser-plugin vllm_plugin.py --reasoning-parser sotto_qwen

It is the package's parser with a model that is named here, whatever the folder of the weights is
called. It was tried with a stand-in for vLLM's classes, and never ran in vLLM.
"""

from vllm.entrypoints.openai.protocol import DeltaMessage  # type: ignore[import-not-found]
from vllm.reasoning import ReasoningParser, ReasoningParserManager  # type: ignore[import-not-found]

import sotto.vllm


class Named:
    """A tokenizer with another name."""

    def __init__(self, tokenizer, name):
        self._tokenizer, self.name_or_path = tokenizer, name

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)


@ReasoningParserManager.register_module("sotto_qwen")
class QwenParser(sotto.vllm.parser_class(ReasoningParser, DeltaMessage)):
    def __init__(self, tokenizer, *args, **kwargs):
        super().__init__(Named(tokenizer, "qwen3:8b"), *args, **kwargs)
