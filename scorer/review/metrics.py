"""Figures as functions of sums of weights, by many columns of weights at a time.

A measure names the sums that it needs, one row of a sparse matrix each; the product with weights
[works, columns], doubles among the works, has them for the sample and all its replicates at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from scorer.engine.progress import Progress, Silence
from scorer.policy.fit import Booleans, Floats, Scores, fbeta
from scorer.review.bootstrap import Design

Key = TypeVar("Key")


class Measure(Protocol):
    """Figures of one set of works."""

    @property
    def sums(self) -> csr_array:
        """Which works each sum is over: 0 and 1, [sums, works]."""
        ...

    def figures(self, sums: Floats) -> Floats:
        """Return figures [figures, columns] of sums [sums, columns]; NaN where there is none."""
        ...


def replicated(
    measures: Mapping[Key, Measure],
    design: Design,
    replicates: int,
    seed: int,
    progress: Progress | None = None,
) -> dict[Key, Floats]:
    """Return the figures of each measure: float64 [figures, 1 + replicates], the sample's first.

    Progress goes by columns of weights times measures.
    """
    progress = progress or Silence()
    progress.start(len(measures) * (1 + replicates), 0)
    found: dict[Key, list[Floats]] = {key: [] for key in measures}
    for weight in design.blocks(replicates, seed):
        for key, measure in measures.items():
            with np.errstate(divide="ignore", invalid="ignore"):
                found[key].append(measure.figures(measure.sums @ weight))
            progress.advance(weight.shape[1])
    return {key: np.concatenate(blocks, axis=1) for key, blocks in found.items()}


def rows_of(sets: Sequence[Booleans]) -> csr_array:
    """Return the matrix whose rows sum over sets of works, bool [works] each."""
    places = [np.flatnonzero(members) for members in sets]
    return _matrix(places, len(sets[0]))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Average precision and area under the ROC curve, as scikit-learn defines them.

    Works of one score stand together. Average precision is the sum of precision times the gain in
    recall over the distinct scores, from the highest down, without interpolation; the area is the
    chance that a positive stands over a negative, half of it where they are equal (Hanley and
    McNeil, 1982).
    """

    sums: csr_array
    marks: int
    """Distinct scores that a positive has: only there does recall grow."""

    @classmethod
    def of(cls, score: Scores, positive: Booleans, known: Booleans) -> "Ranking":
        """Rank the known works; all arguments are over all works of the design.

        The sums: the works between one mark and the next, and those at it, by turns, from the
        highest score down; those under the last; then the positives at each mark.
        """
        works = np.flatnonzero(known)
        works = works[np.argsort(-score[works], kind="stable")]
        ordered = score[works]
        tie = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
        marked = np.unique(tie[positive[works]])
        starts, ends = np.searchsorted(tie, marked), np.searchsorted(tie, marked, side="right")
        pieces = np.split(works, np.column_stack([starts, ends]).ravel())
        hits = works[positive[works]]
        at = np.searchsorted(marked, tie[positive[works]])
        pieces += np.split(hits, np.searchsorted(at, np.arange(1, len(marked))))
        return cls(_matrix(pieces, len(score)), len(marked))

    def figures(self, sums: Floats) -> Floats:
        """Return average precision and area: [2, columns]."""
        so_far = np.cumsum(sums[: 2 * self.marks], axis=0)
        hits = sums[2 * self.marks + 1 :]
        hits_so_far = np.cumsum(hits, axis=0)
        positives = hits_so_far[-1]
        precision = hits_so_far / so_far[1::2]
        precision[hits == 0] = 0.0  # no gain in recall, whatever the precision
        average = (precision * hits).sum(axis=0) / positives
        negatives = so_far[-1] + sums[2 * self.marks] - positives
        equal = sums[1 : 2 * self.marks : 2] - hits
        above = so_far[::2] - (hits_so_far - hits)
        under = negatives - above - equal / 2
        area = (hits * under).sum(axis=0) / (positives * negatives)
        return np.stack([average, area])


@dataclass(frozen=True, slots=True)
class Calls:
    """Precision, recall and F-beta of a set of calls."""

    sums: csr_array
    beta: float

    @classmethod
    def of(cls, called: Booleans, positive: Booleans, known: Booleans, beta: float) -> "Calls":
        """Compare calls with what is known; bool [works] each."""
        return cls(rows_of([called & positive & known, called & known, positive & known]), beta)

    def figures(self, sums: Floats) -> Floats:
        """Return precision, recall and F-beta: [3, columns]."""
        hits, called, positives = sums
        return np.stack(
            [hits / called, hits / positives, fbeta(hits, called, positives, self.beta)]
        )


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of sets of works: prevalence, or the yes of each step of a score."""

    sums: csr_array

    @classmethod
    def of(cls, parts: Sequence[Booleans], wholes: Sequence[Booleans]) -> "Shares":
        """Return the share of each part in its whole; bool [works] each."""
        return cls(rows_of([*parts, *wholes]))

    def figures(self, sums: Floats) -> Floats:
        """Return the shares: [parts, columns]."""
        parts, wholes = np.split(sums, 2)
        return parts / wholes


def _matrix(rows: Sequence[npt.NDArray[np.int64]], works: int) -> csr_array:
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    places = np.concatenate(rows)
    return csr_array((np.ones(len(places)), places, ends), shape=(len(rows), works))
