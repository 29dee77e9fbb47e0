"""Columns of pandas and Polars.

    df["answer"] = sotto.frames.visible(df["completion"], model="qwen3:8b")
    df = df.with_columns(pl.col("completion").map_batches(sotto.frames.visible, return_dtype=pl.String))

Neither library is imported: a column is anything that can be iterated, and made of a list by
its own class.
"""

from __future__ import annotations

from typing import Any

from ._reading import parse_many, strip_many


def visible(column: Any, **options: Any) -> Any:
    """The visible text of each reply in a column. A missing value stays missing."""
    return _apply(column, lambda replies: strip_many(replies, **options))


def reasoning(column: Any, **options: Any) -> Any:
    """The thoughts of each reply in a column, with an empty line between two of them."""
    return _apply(column, lambda replies: ["\n\n".join(r.reasoning) for r in parse_many(replies, **options)])


def _apply(column: Any, read: Any) -> Any:
    values = list(column)
    at = [i for i, v in enumerate(values) if isinstance(v, (str, bytes))]
    out: list[Any] = [None] * len(values)
    for i, text in zip(at, read([values[i] for i in at])):
        out[i] = text
    if hasattr(column, "index") and not callable(column.index):  # pandas
        return type(column)(out, index=column.index, name=column.name, dtype=object)
    if hasattr(column, "dtype"):  # Polars
        return type(column)(column.name, out)
    return out
