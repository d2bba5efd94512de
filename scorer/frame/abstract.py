"""De-inversion: an abstract kept as word -> positions, back into running text.

This is the one place of the program with Python code per work (contract 2).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from pydantic_core import from_json

from scorer.errors import InputError


def deinvert(indexes: pl.Series, ids: pl.Series) -> pl.Series:
    """Return the running text of each inverted index.

    `indexes`: JSON strings, structs (one field a word) or maps (lists of key and value), or null;
    `ids`: the works' ids, for the error text. Words come back in position order, gaps close up; an
    empty or null index gives null. Raises `InputError` that names the first work that fails.
    """
    parse = _parser(indexes.dtype)
    texts: list[str | None] = []
    for index, work in zip(indexes, ids, strict=True):
        try:
            texts.append(None if index is None else _in_order(parse(index)))
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(
                f"work {work}: its abstract_inverted_index is not of the form "
                '{"word": [positions]}' + f" ({error}).\nMend or empty that cell."
            ) from error
    return pl.Series("abstract", texts, dtype=pl.String)


def _parser(dtype: pl.DataType) -> Any:  # noqa: ANN401 - one of three callables below
    if dtype in (pl.String, pl.Categorical):
        return lambda text: from_json(text).items()
    if isinstance(dtype, pl.Struct):
        return lambda row: ((word, at) for word, at in row.items() if at is not None)
    return _map_entries


def _map_entries(
    entries: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Iterable[tuple[str, Any]]:
    """Return the entries of an Arrow map, which Polars gives as a mapping or a list of pairs."""
    if isinstance(entries, Mapping):
        return entries.items()
    return ((entry["key"], entry["value"]) for entry in entries)


def _in_order(entries: Iterable[tuple[str, Sequence[int]]]) -> str | None:
    placed: list[tuple[int, str]] = []
    for word, positions in entries:
        if isinstance(positions, str):
            raise TypeError("positions in a string")
        placed += ((int(position), word) for position in positions)
    placed.sort(key=lambda pair: pair[0])
    return " ".join(word for _, word in placed) or None
