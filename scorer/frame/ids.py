"""Ids are the only thing that ties a row to a work: none may be null, none may occur twice."""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import polars as pl

from scorer.errors import InputError

# Hashes held at a time, 8 bytes each: 128 MB. A larger frame is read again for each further share,
# so that memory stays flat; reading ids alone runs at tens of millions a second.
_HASHES_HELD: Final = 16_000_000
# Of a frame of hundreds of millions more are held, or reading it again would take longer than
# scoring: 2 GB at two billion works.
_MOST_PASSES: Final = 8
_SHOWN: Final = 5


def check_ids(
    read: Callable[[], Iterable[pl.Series]], rows: int, where: str, *, held: int | None = None
) -> None:
    """Check that no id is null and none occurs twice.

    `read` gives the ids anew at each call, in batches of String; `rows` is how many there are, of
    which `held` are looked at together.
    Raises `InputError` with the count and the first five. Equal hashes alone prove nothing: the
    ids behind them are compared.
    """
    shares = passes(rows, held)
    suspects = []
    for share in range(shares):
        hashes = _hashes(read(), share, shares, where if share == 0 else None)
        hashes.sort()
        suspects.append(np.unique(hashes[1:][hashes[1:] == hashes[:-1]]))
    found = np.concatenate(suspects)
    if len(found):
        _refuse_duplicates(read(), pl.Series(found), where)


def passes(rows: int, held: int | None = None) -> int:
    """Return how often the ids of a frame are read; `held`: those looked at together."""
    if held is not None:
        return max(1, -(-rows // held))
    return min(_MOST_PASSES, max(1, -(-rows // _HASHES_HELD)))


def _hashes(
    batches: Iterable[pl.Series], share: int, shares: int, null_check: str | None
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    parts = [np.empty(0, np.uint64)]
    null_rows: list[int] = []
    nulls = start = 0
    for ids in batches:
        if null_check is not None and ids.null_count():
            nulls += ids.null_count()
            null_rows += [start + row for row in ids.is_null().arg_true().head(_SHOWN)]
        start += len(ids)
        part = ids.hash().to_numpy()
        parts.append(part if shares == 1 else part[part % shares == share])
    if nulls:
        rows = ", ".join(str(row) for row in null_rows[:_SHOWN])
        raise InputError(
            f"{null_check}: null ids: {nulls:,}, first in rows {rows} (counted from 0).\n"
            "Every work needs an id: give these rows one, or leave them out."
        )
    return np.concatenate(parts)


def _refuse_duplicates(batches: Iterable[pl.Series], suspects: pl.Series, where: str) -> None:
    same = [ids.filter(ids.hash().is_in(suspects.implode())).rename("id") for ids in batches]
    counts = pl.concat(same).value_counts(sort=False).filter(pl.col("count") > 1)
    if counts.is_empty():
        return
    order = pl.concat(same).unique(maintain_order=True).to_frame()
    shown = order.join(counts, on="id", how="inner", maintain_order="left").head(_SHOWN)
    first = ", ".join(f"{work} ({count} times)" for work, count in shown.iter_rows())
    raise InputError(
        f"{where}: ids that occur more than once: {counts.height:,}, first: {first}.\n"
        "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same)."
    )
