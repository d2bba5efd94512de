"""Fitting a policy: support from design weights, thresholds from scores and labels."""

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from scorer.policy.policy import Support

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float32]
Sums = TypeVar("Sums", float, Floats)
"""Sums of weights: of one set of works, or of many."""

ENOUGH_POSITIVES: Final = 20
"""Head and target pairs with fewer positives stay out of a mean: their figures are noise."""
_ROUNDING: Final = 1e-12
"""Nine of ten works of equal weight are a recall of 0.9, though their summed weights may not be."""


def support(positive: Booleans, weight: Weights, asked: float | None = None) -> Support:
    """Return the support of a target over the works that a head judged.

    `positive`: bool [works]; `weight`: float64 [works], over 0. The effective sample size is
    Kish's: (sum w)^2 / sum w^2 over the positives. `asked`: the weight that the rate is a share of,
    where it is more than that of the works judged: those that the head declined count then as well.
    """
    of_positives = weight[positive]
    total = float(of_positives.sum())
    if total == 0:
        return Support(n_pos=0, ess_pos=0.0, top_share=0.0, rate=0.0)
    return Support(
        n_pos=int(positive.sum()),
        ess_pos=total**2 / float((of_positives**2).sum()),
        top_share=float(of_positives.max()) / total,
        rate=min(1.0, total / (float(weight.sum()) if asked is None else asked)),
    )


def quota_size(rate: float, covered: int) -> int:
    """Return how many works a prevalence makes of the covered ones: k = round(rate x covered)."""
    return round(rate * covered)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What every threshold would call: one point a distinct score, from the highest down.

    `threshold`: float32 [points]; `hits`, `called`: float64 [points], the weight of the positives
    and of all works with that score or a higher one; `positives`: the weight of all positives.
    """

    threshold: Scores
    hits: Floats
    called: Floats
    positives: float

    @property
    def precision(self) -> Floats:
        """Design-weighted share of the called that are positive, float64 [points]."""
        return self.hits / self.called

    @property
    def recall(self) -> Floats:
        """Design-weighted share of the positives that are called, float64 [points]."""
        return self.hits / self.positives

    def fbeta(self, beta: float) -> Floats:
        """Return F-beta, float64 [points]."""
        return fbeta(self.hits, self.called, self.positives, beta)


def fbeta(hits: Sums, called: Sums, positives: Sums | float, beta: float) -> Sums:
    """Return F-beta = (1 + b^2) TP / (b^2 (TP + FN) + (TP + FP)).

    All are sums of weights: of the positives called, the called, the positives (van Rijsbergen,
    1979).
    """
    squared = beta**2
    return (1 + squared) * hits / (squared * positives + called)


def sweep(score: Scores, positive: Booleans, weight: Weights) -> Sweep:
    """Return what every threshold would call; works with equal scores are called together.

    `score`: float32 [works]; at least one positive is needed. The order of the works is no matter:
    sums are taken in an order of their own.
    """
    order = np.lexsort((weight, positive, -score))
    ordered = score[order]
    hits = np.cumsum(np.where(positive[order], weight[order], 0.0))
    called = np.cumsum(weight[order])
    last_of_ties = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)
    return Sweep(ordered[last_of_ties], hits[last_of_ties], called[last_of_ties], float(hits[-1]))


@dataclass(frozen=True, slots=True)
class Reached:
    """A threshold, and the figure that it was looked for by."""

    threshold: float
    figure: float


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """No threshold reaches what was asked for; `most` is the most that any does."""

    most: float


def best_fbeta(
    score: Scores, positive: Booleans, weight: Weights, beta: float
) -> tuple[float, float]:
    """Return (threshold, F-beta): the distinct score that maximises the design-weighted F-beta.

    Of equally good thresholds the highest wins. At least one positive is needed.
    """
    points = sweep(score, positive, weight)
    fbeta = points.fbeta(beta)
    best = int(np.argmax(fbeta))
    return float(points.threshold[best]), float(fbeta[best])


def threshold_for_recall(
    score: Scores, positive: Booleans, weight: Weights, recall: float
) -> Reached:
    """Return the highest distinct score at which the design-weighted recall is `recall` or more.

    There is one for every recall up to 1: the lowest score calls all works.
    """
    points = sweep(score, positive, weight)
    first = int(np.argmax(points.recall >= recall - _ROUNDING))
    return Reached(float(points.threshold[first]), float(points.recall[first]))


def threshold_for_precision(
    score: Scores, positive: Booleans, weight: Weights, precision: float
) -> Reached | OutOfReach:
    """Return the lowest distinct score at which the design-weighted precision reaches `precision`.

    The lowest, because it calls the most works; a higher one between may fall short of it.
    """
    points = sweep(score, positive, weight)
    reached = np.flatnonzero(points.precision >= precision - _ROUNDING)
    if not len(reached):
        return OutOfReach(float(points.precision.max()))
    last = int(reached[-1])
    return Reached(float(points.threshold[last]), float(points.precision[last]))
