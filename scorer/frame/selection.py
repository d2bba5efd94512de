"""Which works are kept when a frame is converted, and for what reason each other one is not."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.frame.lookup import IdLookup
from scorer.frame.readers.openalex_gone import is_deleted
from scorer.frame.where import Where

REASONS: Final = ("null_id", "duplicate", "deleted", "merged_away", "where")
"""In this order; a work that is left out counts once, for the first that applies."""


@dataclass(slots=True)
class Selection:
    """What to leave out, and how many works were left out so far.

    `surplus`: rows of ids that occur again, ascending; `merged`: works that OpenAlex merged into
    others. Deleted and merged works are counted, and dropped where `drop_gone` says so.
    """

    surplus: npt.NDArray[np.int64]
    merged: IdLookup | None = None
    drop_gone: bool = False
    where: Where | None = None
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    deleted: int = 0
    """Works titled as deleted so far, whether dropped or not."""
    merged_away: int = 0

    def keep(self, start: int, works: pl.DataFrame) -> pl.Series:
        """Tell which works to keep (Boolean).

        `works`: those from row `start` on, with all columns that `where` names. Works without an id
        are dropped: where that is an error, it was one before.
        """
        kept = works["id"].is_not_null()
        self.dropped["null_id"] += int((~kept).sum())
        kept = self._narrowed("duplicate", kept, ~self._surplus(start, works.height))
        deleted = works.select(is_deleted(pl.col("id"), pl.col("title"))).to_series()
        self.deleted += int(deleted.sum())
        merged = self._merged(works["id"])
        self.merged_away += int(merged.sum())
        if self.drop_gone:
            kept = self._narrowed("deleted", kept, ~deleted)
            kept = self._narrowed("merged_away", kept, ~merged)
        if self.where is not None:
            kept = self._narrowed("where", kept, self.where.holds(works))
        return kept

    def _narrowed(self, reason: str, kept: pl.Series, fits: pl.Series) -> pl.Series:
        self.dropped[reason] += int((kept & ~fits).sum())
        return kept & fits

    def _surplus(self, start: int, rows: int) -> pl.Series:
        first, end = np.searchsorted(self.surplus, (start, start + rows))
        found = np.zeros(rows, bool)
        found[self.surplus[first:end] - start] = True
        return pl.Series(found)

    def _merged(self, ids: pl.Series) -> pl.Series:
        found = np.zeros(len(ids), bool)
        if self.merged is not None:
            there = ids.is_not_null().to_numpy()
            found[there] = self.merged.find(ids.filter(there)) >= 0
        return pl.Series(found)
