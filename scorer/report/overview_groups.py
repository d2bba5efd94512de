"""Calls by year, field and language: counted a batch at a time, added up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.policy.calls import CANDIDATE, CONSENSUS

BY: Final = ("year", "field", "lang")
"""What calls are counted by."""
ANY: Final = "any"
"""Beside the names of targets: called for whichever category."""
KINDS: Final = (CANDIDATE, CONSENSUS)

Bits = npt.NDArray[np.uint64]


@dataclass(slots=True)
class Groups:
    """Works, and those called, by the columns of `BY`."""

    _parts: dict[str, pl.DataFrame] = field(default_factory=dict)

    def add(
        self,
        records: pl.DataFrame,
        sets: Mapping[str, Bits],
        names: Sequence[str],
        categories: Sequence[str],
    ) -> None:
        """Count a batch. `sets`: of each of `KINDS`, bit `i` for `names[i]`, uint64 [works].

        `categories`: those of the names whose calls `ANY` speaks of.
        """
        works = records.with_columns(pl.Series(kind, sets[kind]) for kind in KINDS)
        masks = {ANY: sum(1 << names.index(name) for name in categories)}
        masks |= {name: 1 << place for place, name in enumerate(names)}
        counts = [pl.len().cast(pl.Int64).alias("works")]
        counts += [
            (pl.col(kind) & pl.lit(mask, pl.UInt64) != 0)
            .sum()
            .cast(pl.Int64)
            .alias(f"{kind} {name}")
            for name, mask in masks.items()
            for kind in KINDS
        ]
        for by in BY:
            parts = [works.group_by(by).agg(counts).with_columns(pl.col(by).cast(_key(by)))]
            if by in self._parts:
                parts.append(self._parts[by])
            self._parts[by] = pl.concat(parts).group_by(by).sum()

    def of(self, by: str) -> pl.DataFrame:
        """Return the counts by a column, most works first, years in order.

        Columns: `by` (null: not known), `works`, and `<kind> <name>` for each kind and for `ANY`
        and every target, Int64. Empty where nothing was counted.
        """
        if by not in self._parts:
            return pl.DataFrame(schema={by: _key(by), "works": pl.Int64})
        counted = self._parts[by]
        if by == "year":
            return counted.sort(by, nulls_last=True)
        return counted.sort("works", by, descending=[True, False], nulls_last=True)


def _key(by: str) -> pl.DataType:
    return pl.Int32() if by == "year" else pl.String()
