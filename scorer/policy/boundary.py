"""The k best works of a file of scores, exactly, in memory that does not grow with the file.

Scores are float32 in [0, 1], so their bits as whole numbers stand in the same order: one reading
counts the upper halves of the bits, a second the lower halves within the bucket where the k-th work
lies, a third takes the ids at the boundary's score. So the order of the rows cannot matter.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.policy.calls import COVERED

Read = Callable[[Sequence[str]], Iterable[pl.DataFrame]]
"""Gives columns of the file anew at each call, in batches; `segment` as its Enum."""

_HALF: Final = 16
_BUCKETS: Final = 1 << _HALF
_IDS_HELD: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Boundary:
    """The k-th best work: those over `value` are among the best, and at `value` ids up to `id`."""

    value: float
    id: str

    def holds(self, scores: pl.Series, ids: pl.Series) -> pl.Series:
        """Tell which works are among the best (Boolean)."""
        return (scores > self.value) | ((scores == self.value) & (ids <= self.id))


def count_covered(read: Read) -> int:
    """Return how many works are covered: the others are never called by their scores."""
    return sum(int((rows["segment"] == COVERED).sum()) for rows in read(["segment"]))


def boundaries(read: Read, wanted: Mapping[str, int]) -> dict[str, Boundary]:
    """Return the last of the k best covered works: by score descending, then id ascending.

    `wanted`: score column -> k, from 1 to the number of covered works. Ids compare as strings.
    Three readings of the file; memory is 0.5 MB a column, and at most half of the ids at a
    boundary's score.
    """
    ties = _ties(read, wanted)
    for rows in _covered(read, ["id", *wanted]) if wanted else ():
        for name, tied in ties.items():
            tied.add(rows["id"].filter(rows[name] == tied.value))
    return {name: Boundary(tied.value, tied.last()) for name, tied in ties.items()}


def kth_scores(read: Read, wanted: Mapping[str, int]) -> dict[str, float]:
    """Return the score of the k-th best covered work: `boundaries` without ids, in two readings."""
    return {name: tied.value for name, tied in _ties(read, wanted).items()}


def _ties(read: Read, wanted: Mapping[str, int]) -> "dict[str, _Ties]":
    """Return the boundaries' scores, their ids still to be read."""
    if not wanted:
        return {}
    upper = {name: _Descent(k) for name, k in wanted.items()}
    for rows in _covered(read, list(wanted)):
        for name, found in upper.items():
            found.count(_bits(rows[name]) >> _HALF)
    for found in upper.values():
        found.settle()
    lower = {name: _Descent(found.left) for name, found in upper.items()}
    for rows in _covered(read, list(wanted)):
        for name, found in lower.items():
            bits = _bits(rows[name])
            found.count(bits[bits >> _HALF == upper[name].bucket] & (_BUCKETS - 1))
    ties = {}
    for name, found in lower.items():
        found.settle()
        value = np.uint32(upper[name].bucket << _HALF | found.bucket).view(np.float32)
        ties[name] = _Ties(float(value), found.left, found.within)
    return ties


@dataclass(slots=True)
class _Descent:
    """Counts of 65,536 buckets, and where the `left`-th work from the top lies among them."""

    left: int
    bucket: int = 0
    within: int = 0
    _counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BUCKETS, np.int64))

    def count(self, buckets: npt.NDArray[np.integer]) -> None:
        """Add a batch."""
        self._counts += np.bincount(buckets, minlength=_BUCKETS)

    def settle(self) -> None:
        """Find the bucket, how many works it holds, and how many of those are still to be taken."""
        from_top = np.cumsum(self._counts[::-1])
        place = int(np.searchsorted(from_top, self.left))
        if place == _BUCKETS:
            raise ValueError(f"{self.left} more works are wanted than there are")
        self.within = int(self._counts[::-1][place])
        self.left -= int(from_top[place]) - self.within
        self.bucket = _BUCKETS - 1 - place


class _Ties:
    """The ids at the boundary's score, of which `taken` are called: the smallest ones."""

    def __init__(self, value: float, taken: int, among: int) -> None:
        self.value = value
        # The last one taken is the first of those that stay; whichever side is shorter is kept.
        self._largest = taken > among // 2
        self._kept = among - taken + 1 if self._largest else taken
        self._ids = pl.Series("id", [], pl.String)

    def add(self, ids: pl.Series) -> None:
        """Take a batch's ids, and let go of those that are surely on the wrong side."""
        self._ids = self._ids.append(ids)
        if len(self._ids) > 2 * max(self._kept, _IDS_HELD):
            self._ids = self._shortened()

    def last(self) -> str:
        """Return the largest id that is called."""
        return str(self._shortened()[-1])

    def _shortened(self) -> pl.Series:
        return self._ids.sort(descending=self._largest).head(self._kept).rechunk()


def _covered(read: Read, columns: Sequence[str]) -> Iterable[pl.DataFrame]:
    return (rows.filter(pl.col("segment") == COVERED) for rows in read(["segment", *columns]))


def _bits(scores: pl.Series) -> npt.NDArray[np.uint32]:
    """Return the bits of float32 scores from 0 to 1; -0 is 0, as it is where scores compare."""
    return (scores.to_numpy() + np.float32(0)).view(np.uint32)
