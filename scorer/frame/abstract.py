"""De-inversion: an abstract kept as word -> positions, back into running text.

JSON strings, Arrow maps and structs are flattened by column. Python code per work (contract 2) is
left for indexes of no regular form, for Python objects, and to tell what is wrong.
"""

import json
import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import InputError
from scorer.frame.inverted_arrow import flat_pairs, flat_struct
from scorer.frame.inverted_json import split_json, unwrapped
from scorer.frame.mojibake import well_formed
from scorer.frame.placed import LARGEST_POSITION, Unreadable, running_texts

_WRAPPED: Final = "InvertedIndex"  # MAG: {"IndexLength": n, "InvertedIndex": {…}}
_AT_ONCE: Final = 128  # indexes flattened together: their arrays stay in the processor's cache
_MANY: Final = 10_000  # from so many indexes on, loading the compiled loop pays

Loop = Callable[[pl.Series], tuple[pl.Series, npt.NDArray[np.bool_]]]


class _Loops:
    """The compiled loop, if the extra `fast` is there, once the program has met many indexes."""

    def __init__(self) -> None:
        self._met = 0
        self._loop: Loop | None = None

    @property
    def are_loaded(self) -> bool:
        """Whether they are in use."""
        return self._loop is not None

    def for_another(self, indexes: int) -> Loop | None:
        """Return the loop for so many more indexes, None where columns serve as well."""
        before, self._met = self._met, self._met + indexes
        if before < _MANY <= self._met:
            # Whatever keeps it from loading: the columns give the same texts.
            with suppress(Exception):
                from scorer.frame.inverted_loops import texts_of  # noqa: PLC0415 - an extra

                self._loop = texts_of
        return self._loop


_LOOPS: Final = _Loops()


def deinvert(indexes: pl.Series, ids: pl.Series) -> pl.Series:
    """Return the running text of each inverted index.

    `indexes`: JSON strings, structs (one field a word), maps (lists of key and value) or Python
    objects, each in MAG's wrapper or without, or null; `ids`: the works' ids, for the error text.
    Words come back in position order, gaps close up, words at one position keep their order; a
    null or empty index and an empty string give null.
    Raises `InputError` that names the first work that fails.
    """
    # A struct has a field for each word of the whole batch: it is gone through once.
    whole = isinstance(indexes.dtype, pl.Struct) or _LOOPS.are_loaded
    at_once = max(1, len(indexes)) if whole else _AT_ONCE
    texts = [pl.Series("abstract", [], dtype=pl.String)]
    for start in range(0, len(indexes), at_once):
        try:
            texts.append(_texts(indexes.slice(start, at_once)))
        except Unreadable as error:
            raise InputError(
                f"work {ids[start + error.row]}: its abstract_inverted_index is not of the form "
                '{"word": [positions]}' + f" ({error}).\nMend or empty that cell."
            ) from error
    return pl.concat(texts)


def _texts(indexes: pl.Series) -> pl.Series:
    """Return the texts of some indexes; raise `Unreadable` for the first that has none."""
    if not indexes.null_count():
        return _of_each(indexes)
    rows = indexes.is_not_null().arg_true()
    nothing = pl.repeat(None, len(indexes), dtype=pl.String, eager=True)
    try:
        return nothing.scatter(rows, _of_each(indexes.gather(rows)))
    except Unreadable as error:
        raise Unreadable(int(rows[error.row]), str(error)) from error


def _of_each(indexes: pl.Series) -> pl.Series:
    """Do the same for indexes none of which is null."""
    dtype = indexes.dtype
    if isinstance(dtype, pl.Struct):
        fields = {field.name: field.dtype for field in dtype.fields}
        # A list there means that an abstract held that very word.
        if isinstance(fields.get(_WRAPPED), pl.Struct | pl.Map | pl.String):
            return _texts(indexes.struct.field(_WRAPPED))
        return running_texts(flat_struct(indexes), len(indexes))
    if isinstance(dtype, pl.Map):
        pairs = pl.List(pl.Struct({"key": dtype.key, "value": dtype.value}))
        return running_texts(flat_pairs(indexes.cast(pairs)), len(indexes))
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        return running_texts(flat_pairs(indexes), len(indexes))
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return _of_json(indexes.cast(pl.String))
    return _one_by_one(indexes, range(len(indexes)))


def _of_json(texts: pl.Series) -> pl.Series:
    loops = _LOOPS.for_another(len(texts))
    if loops is None:
        return _by_columns(texts)
    found, unfit = loops(texts)
    left = np.flatnonzero(unfit)
    if not len(left):
        return found
    others = [pl.Series("abstract", [], dtype=pl.String)]
    for start in range(0, len(left), _AT_ONCE):
        rows = left[start : start + _AT_ONCE]
        try:
            others.append(_by_columns(texts.gather(rows)))
        except Unreadable as error:
            raise Unreadable(int(rows[error.row]), str(error)) from error
    return found.scatter(left, pl.concat(others))


def _by_columns(texts: pl.Series) -> pl.Series:
    placed, unfit = split_json(texts)
    found = running_texts(placed, len(texts))
    left = np.flatnonzero(unfit)
    if len(left):
        placed, unfit = split_json(unwrapped(texts.gather(left)))
        found = found.scatter(left, running_texts(placed, len(left)))
        left = left[unfit]
    if len(left):
        found = found.scatter(left, _one_by_one(texts.gather(left), left))
    return found


def _one_by_one(indexes: Iterable[Any], rows: Iterable[int]) -> pl.Series:
    """Return the texts of indexes that are JSON or Python objects, whatever their form.

    `rows`: where each of them is, for the error.
    """
    texts = []
    for index, row in zip(indexes, rows, strict=True):
        try:
            texts.append(_in_order(_entries(index)))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Unreadable(int(row), str(error)) from error
    return pl.Series("abstract", texts, dtype=pl.String)


def _entries(index: Any) -> Iterable[tuple[Any, Any]]:  # noqa: ANN401 - what a cell may hold
    """Return the words and positions of one index."""
    if isinstance(index, str):
        if not index.strip():
            return ()
        # Pairs, because a word may stand in the index twice.
        index = json.loads(index, strict=False, object_pairs_hook=tuple)
        if index is None:
            return ()
        if not isinstance(index, tuple):
            raise TypeError(f"{reprlib.repr(index)} is no object")
    if isinstance(index, Mapping):
        index = tuple(index.items())
    pairs = [_pair(entry) for entry in index]
    wrapped = dict(pairs).get(_WRAPPED)
    if isinstance(wrapped, tuple | Mapping):
        return _entries(wrapped)
    return pairs


def _pair(entry: Any) -> tuple[Any, Any]:  # noqa: ANN401 - an entry of what a cell may hold
    if isinstance(entry, Mapping):
        entry = entry.get("key"), entry.get("value")
    word, positions = entry
    if not isinstance(word, str):
        raise TypeError(f"{reprlib.repr(word)} is no word")
    return word, positions


def _in_order(entries: Iterable[tuple[str, Any]]) -> str | None:
    placed: list[tuple[int, str]] = []
    for word, positions in entries:
        if isinstance(positions, str | bytes | tuple | Mapping):
            raise TypeError(f"{reprlib.repr(positions)} is no list of positions")
        placed += ((_position(position), word) for position in positions)
    placed.sort(key=lambda pair: pair[0])
    return well_formed(" ".join(word for _, word in placed)) if placed else None


def _position(value: Any) -> int:  # noqa: ANN401 - an item of what a cell may hold
    """Return a position: a whole number, as digits too."""
    digits = isinstance(value, str) and value.isascii() and value.isdigit()
    if digits or (isinstance(value, float) and value.is_integer()):
        position = int(value)
    elif isinstance(value, str | float | bool):
        raise TypeError(f"{reprlib.repr(value)} is no position")
    else:
        position = operator.index(value)
    if not 0 <= position <= LARGEST_POSITION:
        raise ValueError(f"position {reprlib.repr(position)} is out of range")
    return position
