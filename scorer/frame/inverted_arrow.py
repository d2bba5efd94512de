"""Inverted indexes kept as Arrow structs, or as lists of keys and values, flattened by column."""

from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.frame.placed import LARGEST_POSITION, Ints, Placed, Unreadable

_DIGITS: Final = r"\A[0-9]{1,9}\z"


def flat_struct(indexes: pl.Series) -> Placed:
    """Return the words of structs with their places: a field is a word, null where it is absent.

    Raises `Unreadable` for positions that are none.
    """
    words = pa.array([f"{word} " for word in indexes.struct.schema], pa.large_string())
    every = np.arange(len(indexes))
    columns = [_lists(column, every) for column in _arrow(indexes).flatten()]
    parents = [pc.list_parent_indices(column).to_numpy() for column in columns]
    rows = np.concatenate([np.empty(0, np.int64), *parents])
    owners = np.repeat(np.arange(len(columns)), np.array([len(p) for p in parents], np.int64))
    positions = _positions(_together([column.flatten() for column in columns]), rows)
    return Placed(words, owners, rows, positions)


def flat_pairs(indexes: pl.Series) -> Placed:
    """Return the words of lists of structs (`key`: the word, `value`: its positions).

    Raises `Unreadable` for an entry without word or list, and for positions that are none.
    """
    entries = _arrow(indexes)
    entry_rows = pc.list_parent_indices(entries).to_numpy()
    fields = dict(zip(indexes.explode().struct.schema, entries.flatten().flatten(), strict=True))
    nothing = pa.nulls(len(entry_rows))
    words, lists = fields.get("key", nothing), fields.get("value", nothing)
    missing = pc.or_(words.is_null(), lists.is_null()).to_numpy(zero_copy_only=False)
    if missing.any():
        raise Unreadable(int(entry_rows[missing][0]), "a word or its positions are missing")
    lists = _lists(lists, entry_rows)
    owners = pc.list_parent_indices(lists).to_numpy()
    rows = entry_rows.take(owners)
    nothing, space = (pa.scalar(sign, pa.large_string()) for sign in ("", " "))
    words = pc.binary_join_element_wise(words.cast(pa.large_string()), nothing, space)
    return Placed(words, owners, rows, _positions(lists.flatten(), rows))


def _arrow(series: pl.Series) -> pa.Array:
    array = series.to_arrow()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _lists(column: pa.Array, rows: Ints) -> pa.Array:
    """Return a column that must hold lists; `rows`: the index that each of its items is of."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.large_list(pa.int64()))
    if not pa.types.is_large_list(column.type):
        given = column.is_valid().to_numpy(zero_copy_only=False)
        if given.any():
            raise Unreadable(int(rows[given][0]), f"positions are {column.type}, no list")
        return pa.nulls(len(column), pa.large_list(pa.int64()))
    return column


def _together(values: list[pa.Array]) -> pa.Array:
    """Return lists' values end to end, as digits where their types differ."""
    types = {column.type for column in values if not pa.types.is_null(column.type)}
    if not types:
        return pa.nulls(sum(map(len, values)), pa.int64())
    if len(types) == 1:
        (common,) = types
    elif all(pa.types.is_primitive(kind) or pa.types.is_large_string(kind) for kind in types):
        common = pa.large_string()
    else:
        common = pa.null()
        values = [pa.nulls(len(column)) for column in values]
    return pa.concat_arrays([column.cast(common) for column in values])


def _positions(values: pa.Array, rows: Ints) -> Ints:
    """Return positions as int64; raise `Unreadable` for the first index that has another value."""
    given = pl.Series(values)
    whole = pl.repeat(None, len(given), dtype=pl.Int64, eager=True)
    if given.dtype.is_integer():
        whole = given.cast(pl.Int64, strict=False)
    elif given.dtype.is_float():
        whole = given.set(given != given.floor(), None).cast(pl.Int64, strict=False)
    elif given.dtype == pl.String:
        whole = given.set(~given.str.contains(_DIGITS), None).cast(pl.Int64, strict=False)
    fits = whole.is_between(0, LARGEST_POSITION).fill_null(False).to_numpy()
    if not fits.all():
        places = np.flatnonzero(~fits)
        first = places[np.argmin(rows.take(places))]
        raise Unreadable(int(rows[first]), f"position {str(given[int(first)])[:40]}")
    positions: Ints = whole.to_numpy()
    return positions
