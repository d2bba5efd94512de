"""Ids are the only thing that ties a row to a work: none may be null, none may occur twice.

64-bit hashes find those that occur again, 8 bytes a work; the ids are held for equal hashes alone.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import InputError

# Hashes held at a time, 8 bytes each: 128 MB. A larger frame is read again for each further share,
# so that memory stays flat; reading ids alone runs at tens of millions a second.
_HASHES_HELD: Final = 16_000_000
# Of a frame of hundreds of millions more are held, or reading it again would take longer than
# scoring: 2 GB at two billion works.
_MOST_PASSES: Final = 8
_SHOWN: Final = 5


Ids = Callable[[], Iterable[pl.Series]]
"""Gives the ids of a frame anew at each call, in batches of String."""
Hashes = npt.NDArray[np.uint64]


def check_ids(read: Ids, rows: int, where: str, *, held: int | None = None) -> None:
    """Check that no id is null and none occurs twice.

    `rows`: how many there are, of which `held` are looked at together.
    Raises `InputError` with the count and the first five.
    """
    suspects = repeated_hashes(_without_null(read, where), rows, held)
    refuse_repeated(repeated_among(read, suspects), where)


def passes(rows: int, held: int | None = None) -> int:
    """Return how often the ids of a frame are read; `held`: those looked at together."""
    if held is not None:
        return max(1, -(-rows // held))
    return min(_MOST_PASSES, max(1, -(-rows // _HASHES_HELD)))


def repeated_hashes(read: Ids, rows: int, held: int | None = None) -> Hashes:
    """Return the hashes that more than one id has, ascending; ids that are null have none.

    `rows`: how many ids there are, of which `held` are looked at together.
    """
    shares = passes(rows, held)
    suspects = []
    for share in range(shares):
        parts = [np.empty(0, np.uint64)]
        for ids in read():
            part = ids.drop_nulls().hash().to_numpy()
            parts.append(part if shares == 1 else part[part % shares == share])
        hashes = np.concatenate(parts)
        hashes.sort()
        suspects.append(np.unique(hashes[1:][hashes[1:] == hashes[:-1]]))
    return np.sort(np.concatenate(suspects))


def with_hashes(ids: pl.Series, suspects: Hashes) -> npt.NDArray[np.bool_]:
    """Tell which ids have one of these hashes, of which there is one or more."""
    hashes = ids.hash().to_numpy()
    at = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
    found: npt.NDArray[np.bool_] = (suspects[at] == hashes) & ids.is_not_null().to_numpy()
    return found


def repeated_among(read: Ids, suspects: Hashes) -> pl.DataFrame:
    """Return `id` and `count` of the ids that occur more than once, in order of first occurrence.

    Equal hashes alone prove nothing: the ids behind them are compared.
    """
    found = [pl.Series("id", [], dtype=pl.String)]
    if len(suspects):
        found += [ids.filter(with_hashes(ids, suspects)).rename("id") for ids in read()]
    counts = pl.concat(found).to_frame().group_by("id", maintain_order=True).len("count")
    return counts.filter(pl.col("count") > 1)


def refuse_repeated(repeated: pl.DataFrame, where: str, remedy: str = "") -> None:
    """Raise `InputError` where ids occur more than once; `remedy`: what else can be done."""
    if repeated.is_empty():
        return
    shown = repeated.head(_SHOWN).iter_rows()
    first = ", ".join(f"{work} ({count} times)" for work, count in shown)
    raise InputError(
        f"{where}: ids that occur more than once: {repeated.height:,}, first: {first}.\n"
        "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same)"
        f"{remedy}."
    )


@dataclass(slots=True)
class Nulls:
    """Ids that are null, batch by batch: how many, and the first five rows, counted from 0."""

    count: int = 0
    rows: list[int] = field(default_factory=list)
    seen: int = 0

    def look(self, ids: pl.Series) -> None:
        """Look at the next ids."""
        if ids.null_count():
            self.count += ids.null_count()
            self.rows += [self.seen + row for row in ids.is_null().arg_true().head(_SHOWN)]
            self.rows = self.rows[:_SHOWN]
        self.seen += len(ids)

    def refuse(self, where: str, remedy: str = "") -> None:
        """Raise `InputError` where there are some; `remedy`: what else can be done."""
        if not self.count:
            return
        rows = ", ".join(str(row) for row in self.rows)
        raise InputError(
            f"{where}: null ids: {self.count:,}, first in rows {rows} (counted from 0).\n"
            f"Every work needs an id: give these rows one, or leave them out{remedy}."
        )


def _without_null(read: Ids, where: str) -> Ids:
    """Return `read`, but that its first reading ends in `InputError` where ids are null."""

    def first() -> Iterator[pl.Series]:
        nulls = Nulls()
        for ids in read():
            nulls.look(ids)
            yield ids
        nulls.refuse(where)

    readings = chain([first], repeat(read))

    def next_reading() -> Iterable[pl.Series]:
        return next(readings)()

    return next_reading
