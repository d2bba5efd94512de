"""Drawing works for a sample in one pass, before it is known how many each stratum gets.

Each combination of levels, a cell, keeps the works with the smallest random keys, as many as the
whole sample at most. Strata are cells put together, and the smallest keys of a stratum are among
those of its cells.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.review.cells import own_texts
from scorer.review.sample_keys import seeded_keys

# Works held before those that cannot be drawn any more are let go.
_HELD = 1 << 19


class Drawing:
    """The works that may be drawn, and how many there are of each cell."""

    def __init__(self, names: Sequence[str], works: int, seed: int, targets: int) -> None:
        """`names`: of the levels; `works`: in the sample; `targets`: whose scores are summed."""
        self._names = list(names)
        self._works = works
        self._seed = seed
        self._codes: dict[tuple[str, ...], int] = {}
        self._sizes = np.zeros(0, np.int64)
        self._sums = np.zeros((0, targets))
        self._limits = np.zeros(0, np.uint64)
        """The largest key that a cell still takes."""
        self._held = [pl.DataFrame(schema={"id": pl.String, "key": pl.UInt64, "cell": pl.Int64})]
        self._waiting, self._most = 0, _HELD

    def add(self, ids: pl.Series, levels: pl.DataFrame, scores: npt.NDArray[np.float64]) -> None:
        """See more works; `levels`: a column for each name; `scores`: float64 [works, targets]."""
        cells = self._cells(levels)
        self._sizes += np.bincount(cells, minlength=len(self._codes))
        for target in range(scores.shape[1]):
            found = np.bincount(cells, scores[:, target], minlength=len(self._codes))
            self._sums[:, target] += found
        keys = seeded_keys(ids, self._seed)
        low = np.flatnonzero(keys <= self._limits[cells])
        kept = pl.DataFrame({"id": ids.gather(low), "key": keys[low], "cell": cells[low]})
        self._held.append(own_texts(kept))
        self._waiting += kept.height
        if self._waiting > self._most:
            self._prune()

    def cells(self) -> tuple[pl.DataFrame, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return levels, sizes int64 [cells] and sums of scores float64 [cells, targets]."""
        levels = pl.DataFrame(
            list(self._codes), schema=dict.fromkeys(self._names, pl.String), orient="row"
        )
        return levels, self._sizes, self._sums

    def drawn(self, stratum: npt.NDArray[np.int64], works: npt.NDArray[np.int64]) -> pl.DataFrame:
        """Return `id`, `key` and `stratum` of the works drawn, by stratum and key.

        `stratum`: int64 [cells], which one a cell belongs to; `works`: int64 [strata], how many.
        """
        held = pl.concat(self._held)
        of_work = stratum[held["cell"].to_numpy()]
        held = held.select("id", "key", stratum=of_work).sort("stratum", "key", "id")
        place = pl.int_range(pl.len()).over("stratum")
        return held.filter(place < pl.Series(works[held["stratum"].to_numpy()]))

    def _cells(self, levels: pl.DataFrame) -> npt.NDArray[np.int64]:
        """Return the code of each work's cell; new cells are numbered as they come."""
        here = levels.unique(maintain_order=True)
        codes = [self._codes.setdefault(cell, len(self._codes)) for cell in here.rows()]
        fresh = len(self._codes) - len(self._sizes)
        self._sizes = np.append(self._sizes, np.zeros(fresh, np.int64))
        self._sums = np.append(self._sums, np.zeros((fresh, self._sums.shape[1])), axis=0)
        self._limits = np.append(self._limits, np.full(fresh, np.iinfo(np.uint64).max, np.uint64))
        here = here.with_columns(cell=pl.Series(codes, dtype=pl.Int64))
        joined = levels.join(here, on=levels.columns, how="left", maintain_order="left")
        return joined["cell"].to_numpy()

    def _prune(self) -> None:
        """Let go of works that cannot be drawn any more, and take none like them again."""
        held = pl.concat(self._held).sort("cell", "key", "id")
        place = pl.int_range(pl.len()).over("cell")
        held = held.filter(place < self._works)
        full = held.group_by("cell").agg(pl.len(), pl.col("key").max())
        full = full.filter(pl.col("len") == self._works)
        self._limits[full["cell"].to_numpy()] = full["key"].to_numpy()
        self._held, self._waiting = [held], held.height
        self._most = max(_HELD, 2 * held.height)
