"""Ids that stand in a frame more than once: which, how often, and which of their rows to leave out.

64-bit hashes find them, 8 bytes a work; the ids themselves are held for equal hashes alone.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import InputError

# Hashes held at a time: 128 MB. A larger frame's ids are read again for each further share.
_HASHES_HELD: Final = 16_000_000
_SHOWN: Final = 5

Ids = Callable[[], Iterable[pl.Series]]
"""Gives the ids of a frame anew at each call, in batches of String."""


def check_no_null(read: Ids, where: str, remedy: str) -> None:
    """Raise `InputError` where an id is null, with the count and the first five rows.

    `remedy`: what else can be done about it.
    """
    count, rows = null_ids(read)
    if count:
        shown = ", ".join(str(row) for row in rows)
        raise InputError(
            f"{where}: null ids: {count:,}, first in rows {shown} (counted from 0).\n"
            f"Every work needs an id: give these rows one, or leave them out{remedy}."
        )


def check_none_repeated(read: Ids, rows: int, where: str, remedy: str) -> None:
    """Raise `InputError` where an id occurs more than once, with the count and the first five."""
    repeated = repeated_ids(read, rows)
    if repeated.height:
        shown = repeated.head(_SHOWN).iter_rows()
        first = ", ".join(f"{work} ({count} times)" for work, count in shown)
        raise InputError(
            f"{where}: ids that occur more than once: {repeated.height:,}, first: {first}.\n"
            "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same)"
            f"{remedy}."
        )


def null_ids(read: Ids) -> tuple[int, list[int]]:
    """Return how many ids are null, and the first five rows of them."""
    count = start = 0
    rows: list[int] = []
    for ids in read():
        if ids.null_count():
            count += ids.null_count()
            rows += [start + row for row in ids.is_null().arg_true().head(_SHOWN)]
        start += len(ids)
    return count, rows[:_SHOWN]


def repeated_ids(read: Ids, rows: int) -> pl.DataFrame:
    """Return `id` and `count` of the ids that occur more than once, in order of first occurrence.

    `rows`: how many ids there are.
    """
    found = [pl.Series("id", [], dtype=pl.String)]
    suspects = _repeated_hashes(read, rows)
    if len(suspects):
        found += [ids.filter(_among(ids, suspects)).rename("id") for ids in read()]
    counts = pl.concat(found).to_frame().group_by("id", maintain_order=True).len("count")
    return counts.filter(pl.col("count") > 1)


def surplus_rows(
    read: Ids,
    rows: int,
    keep: Literal["first", "last"],
    dates: Callable[[], Iterable[pl.Series]] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the rows to leave out so that each id stays once, ascending.

    `dates`: when each work was updated, in batches of any size. With them `last` keeps the newest
    row of an id, without them, and among equal ones, that which comes last.
    """
    suspects = _repeated_hashes(read, rows)
    if not len(suspects):
        return np.empty(0, np.int64)
    places, ids = [np.empty(0, np.int64)], [pl.Series("id", [], dtype=pl.String)]
    start = 0
    for batch in read():
        among = np.flatnonzero(_among(batch, suspects))
        places.append(among + start)
        ids.append(batch.gather(among).rename("id"))
        start += len(batch)
    row = np.concatenate(places)
    table = pl.DataFrame([pl.Series("row", row), pl.concat(ids)])
    if dates is not None and keep == "last":
        table = table.with_columns(_at(dates(), row).alias("date")).sort(
            "date", nulls_last=False, maintain_order=True
        )
    kept = table.unique("id", keep=keep, maintain_order=True)["row"].to_numpy()
    return np.setdiff1d(row, kept, assume_unique=True)


def _repeated_hashes(read: Ids, rows: int) -> npt.NDArray[np.uint64]:
    """Return the hashes that more than one id has, ascending; ids that are null have none."""
    shares = max(1, -(-rows // _HASHES_HELD))
    suspects = [np.empty(0, np.uint64)]
    for share in range(shares):
        parts = [np.empty(0, np.uint64)]
        for ids in read():
            part = ids.drop_nulls().hash().to_numpy()
            parts.append(part if shares == 1 else part[part % shares == share])
        hashes = np.concatenate(parts)
        hashes.sort()
        suspects.append(np.unique(hashes[1:][hashes[1:] == hashes[:-1]]))
    return np.sort(np.concatenate(suspects))


def _among(ids: pl.Series, suspects: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    hashes = ids.hash().to_numpy()
    at = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
    found: npt.NDArray[np.bool_] = (suspects[at] == hashes) & ids.is_not_null().to_numpy()
    return found


def _at(batches: Iterable[pl.Series], rows: npt.NDArray[np.int64]) -> pl.Series:
    """Return the values that stand in these rows, as text: ISO dates sort as such."""
    found = [pl.Series("date", [], dtype=pl.String)]
    start = 0
    for batch in batches:
        first, end = np.searchsorted(rows, (start, start + len(batch)))
        found.append(batch.gather(rows[first:end] - start).cast(pl.String).rename("date"))
        start += len(batch)
    return pl.concat(found)
