"""Ids that stand in a frame more than once: which, how often, which of their rows to leave out."""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.frame.ids import (
    Ids,
    Nulls,
    refuse_repeated,
    repeated_among,
    repeated_hashes,
    with_hashes,
)


def check_no_null(read: Ids, where: str, remedy: str) -> None:
    """Raise `InputError` where an id is null, with the count and the first five rows.

    `remedy`: what else can be done about it.
    """
    null_ids(read).refuse(where, remedy)


def check_none_repeated(read: Ids, rows: int, where: str, remedy: str) -> None:
    """Raise `InputError` where an id occurs more than once, with the count and the first five."""
    refuse_repeated(repeated_ids(read, rows), where, remedy)


def null_ids(read: Ids) -> Nulls:
    """Return how many ids are null, and the first five rows of them."""
    nulls = Nulls()
    for ids in read():
        nulls.look(ids)
    return nulls


def repeated_ids(read: Ids, rows: int) -> pl.DataFrame:
    """Return `id` and `count` of the ids that occur more than once, in order of first occurrence.

    `rows`: how many ids there are.
    """
    return repeated_among(read, repeated_hashes(read, rows))


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
    suspects = repeated_hashes(read, rows)
    if not len(suspects):
        return np.empty(0, np.int64)
    places, ids = [np.empty(0, np.int64)], [pl.Series("id", [], dtype=pl.String)]
    start = 0
    for batch in read():
        among = np.flatnonzero(with_hashes(batch, suspects))
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


def _at(batches: Iterable[pl.Series], rows: npt.NDArray[np.int64]) -> pl.Series:
    """Return the values that stand in these rows, as text: ISO dates sort as such."""
    found = [pl.Series("date", [], dtype=pl.String)]
    start = 0
    for batch in batches:
        first, end = np.searchsorted(rows, (start, start + len(batch)))
        found.append(batch.gather(rows[first:end] - start).cast(pl.String).rename("date"))
        start += len(batch)
    return pl.concat(found)
