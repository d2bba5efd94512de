"""What is fitted at once: all binary outputs, and each head's axis, with what the teachers said."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from scorer.labels.sample import Labels
from scorer.targets import Targets
from scorer.train.fit import Recipe, Rows, answers, values
from scorer.train.soft import Evidence, Floats, Link, Small, Stop, fit_soft

_FEWEST_TO_FIT: Final = 2
"""Classes; with one alone there is nothing to learn."""

Columns = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """Outputs that one fit learns: all binary ones of all heads, or one axis of one head."""

    link: Link
    columns: Columns
    """Places among all outputs: those with two classes, or values, among the works."""
    shares: Small
    """float32 [works, columns]: 1 where the teacher said yes, or gave that value."""
    weights: Small
    """float32 [works, columns], for an axis [works, 1]: 0 where the teacher did not judge, else
    such that classes weigh the same (scikit-learn's "balanced")."""

    def with_more(self, shares: Small, weights: Small) -> "Question":
        """Return the question with further works, below the others."""
        return replace(
            self,
            shares=np.vstack([self.shares, shares]).astype(np.float32),
            weights=np.vstack([self.weights, weights]).astype(np.float32),
        )


def questions(labels: Labels, rows: Rows) -> list[Question]:
    """Return what can be learned from some of the labelled works, the binary outputs first."""
    targets = labels.targets
    binary, axes = [], []
    start = 0
    for head in targets.head_names:
        for place, target in enumerate(targets.binary_names, start):
            judged, positive = answers(labels, rows, head, target)
            if len(np.unique(positive[judged])) == _FEWEST_TO_FIT:
                binary.append((place, judged, positive))
        start += len(targets.binary)
        for axis in targets.axes:
            found = values(labels, rows, head, axis.name)
            seen = np.unique(found[found >= 0])
            if len(seen) >= _FEWEST_TO_FIT:
                axes.append(_of_axis(found, seen, start))
            start += len(axis.values)
    return ([_of_binary(binary)] if binary else []) + axes


def strength(targets: Targets, recipe: Recipe) -> Floats:
    """Return C of each output by a recipe: float64 [outputs]."""
    found: list[float] = []
    for head in targets.head_names:
        found += [recipe.c(head, target) for target in targets.binary_names]
        for axis in targets.axes:
            found += [recipe.c(head, axis.name)] * len(axis.values)
    return np.array(found)


def outputs(targets: Targets) -> int:
    """Return how many numbers a work gets: every head's binary targets and axis values."""
    axes = sum(len(axis.values) for axis in targets.axes)
    return len(targets.heads) * (len(targets.binary) + axes)


def learn(
    evidence: Evidence,
    asked: Sequence[Question],
    regularisation: Floats,
    *,
    stop: Stop | None = None,
) -> Floats:
    """Fit all questions; return float64 [features + 1, outputs], biases last.

    `regularisation`: C of each output, float64 [outputs]. A column of zeros with bias NaN is an
    output that cannot be learned.
    """
    found = np.zeros((evidence.features + 1, len(regularisation)))
    found[-1] = np.nan
    for question in asked:
        columns = question.columns
        found[:, columns] = fit_soft(
            evidence,
            question.shares,
            question.weights,
            regularisation[columns],
            link=question.link,
            stop=stop,
        )
    return found


def _of_binary(
    found: list[tuple[int, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]],
) -> Question:
    judged = np.stack([one for _, one, _ in found], axis=1)
    positive = np.stack([one for _, _, one in found], axis=1) & judged
    works, yes = judged.sum(axis=0), positive.sum(axis=0)
    weights = judged * np.where(positive, works / (2 * yes), works / (2 * (works - yes)))
    columns = np.array([place for place, _, _ in found])
    return Question("sigmoid", columns, positive.astype(np.float32), weights.astype(np.float32))


def _of_axis(found: Rows, seen: Rows, start: int) -> Question:
    shares = (found[:, None] == seen).astype(np.float32)
    counts = shares.sum(axis=0, dtype=np.float64)
    weights = (shares * (counts.sum() / (len(seen) * counts))).sum(axis=1, keepdims=True)
    return Question("softmax", start + seen, shares, weights.astype(np.float32))
