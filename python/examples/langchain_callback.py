"""A LangChain callback that shows tokens as they come, without the thought.

    model.invoke("6 × 7?", config={"callbacks": [Visible(print, model="qwen3:8b")]})
"""

from __future__ import annotations

from typing import Any, Callable
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler  # type: ignore[import-not-found]

import sotto


class Visible(BaseCallbackHandler):
    """Gives a function the visible text of each run of a model. Runs may overlap."""

    def __init__(self, show: Callable[[str], Any], **options: Any) -> None:
        super().__init__()
        self._show, self._options = show, options
        self._open: dict[UUID, sotto.Splitter] = {}

    def on_llm_new_token(self, token: str, *, run_id: UUID, **_: Any) -> None:
        if run_id not in self._open:
            self._open[run_id] = sotto.Splitter(**self._options)
        self._give(self._open[run_id].feed(token))

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        if run_id in self._open:
            self._give(self._open.pop(run_id).close("stopped"))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        if run_id in self._open:
            self._give(self._open.pop(run_id).close("aborted"))

    def _give(self, deltas: list[sotto.Delta]) -> None:
        for d in deltas:
            if isinstance(d, sotto.Text):
                self._show(d.text)
