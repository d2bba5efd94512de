"""What a search chooses by: average precision of scores from inner folds, and a C for each pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score

from scorer.policy.fit import ENOUGH_POSITIVES
from scorer.train.fit import Floats, Rows
from scorer.train.search_fit import Answers, Booleans

Criterion = Literal["plain", "weighted", "both"]

SAID: Final[Mapping[Criterion, str]] = {
    "plain": "average precision",
    "weighted": "design-weighted average precision",
    "both": "plain and design-weighted average precision, half each",
}
"""A criterion in words."""
_WEIGHTED_SHARE: Final[Mapping[Criterion, float]] = {"plain": 0.0, "weighted": 1.0, "both": 0.5}


ERRORS: Final = 2.0
"""A recipe must be better than the one before by so many standard errors: of a dozen, some are
better by chance, and by design weights a few heavy works decide."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Average precision of each measured pair, plain and design-weighted."""

    plain: tuple[float, ...]
    weighted: tuple[float, ...]

    @property
    def average_precision(self) -> float:
        """The mean over the pairs, plain."""
        return round(float(np.mean(self.plain)), 6)

    @property
    def average_precision_weighted(self) -> float:
        """The mean over the pairs, design-weighted."""
        return round(float(np.mean(self.weighted)), 6)

    def of_pairs(self, criterion: Criterion) -> Floats:
        """Return what the criterion makes of each pair: float64 [pairs], more is better."""
        plain: Floats = np.array(self.plain)
        weighted: Floats = np.array(self.weighted)
        share = _WEIGHTED_SHARE[criterion]
        return (1 - share) * plain + share * weighted

    def value(self, criterion: Criterion) -> float:
        """Return the mean over the pairs of what the criterion makes of them."""
        return round(float(self.of_pairs(criterion).mean()), 6)


@dataclass(frozen=True, slots=True)
class Gain:
    """By how much one recipe is better than another: the mean over the pairs, and its error."""

    mean: float
    error: float
    """Standard error of the mean, the pairs taken as a sample; 0 for a single pair."""

    @classmethod
    def of(cls, new: Figures, old: Figures, criterion: Criterion) -> "Gain":
        """Compare pair by pair."""
        apart = new.of_pairs(criterion) - old.of_pairs(criterion)
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
        return cls(round(float(apart.mean()), 6), round(float(error), 6))

    @property
    def convincing(self) -> bool:
        """Tell whether the gain is more than chance would often give."""
        return self.mean > ERRORS * self.error


def measured_pairs(answers: Answers, rows: Rows) -> tuple[int, ...]:
    """Return the places of the pairs with enough positives among these works, and a negative."""
    judged = answers.judged[:, rows]
    yes = (judged & answers.positive[:, rows]).sum(axis=1)
    return tuple(np.flatnonzero((yes >= ENOUGH_POSITIVES) & (yes < judged.sum(axis=1))).tolist())


def figures(logits: Floats, answers: Answers, rows: Rows, pairs: Sequence[int]) -> Figures:
    """Return the figures of logits float64 [works, pairs] of these works and pairs."""
    found = [_of_pair(logits[:, column], answers, rows, pair) for column, pair in enumerate(pairs)]
    return Figures(tuple(plain for plain, _ in found), tuple(weighted for _, weighted in found))


@dataclass(frozen=True, slots=True)
class Ask:
    """Which pairs may choose a C of their own instead of the shared one, and by what."""

    answers: Answers
    pairs: Sequence[int]
    shared: float
    criterion: Criterion


def choose_c(ask: Ask, logits: Mapping[float, Floats], rows: Rows) -> list[float]:
    """Return the best C of each pair on these works, the shared one where none is better.

    `logits`: C -> float64 [works, pairs].
    """
    chosen = []
    for column, pair in enumerate(ask.pairs):
        judged, positive = ask.answers.judged[pair, rows], ask.answers.positive[pair, rows]
        best, highest = ask.shared, -1.0
        if (judged & positive).any():
            for c in (ask.shared, *sorted(logits.keys() - {ask.shared})):
                column_of = logits[c][:, [column]]
                found = figures(column_of, ask.answers, rows, (pair,)).value(ask.criterion)
                if found > highest:
                    best, highest = c, found
        chosen.append(best)
    return chosen


def with_own_c(
    ask: Ask, logits: Mapping[float, Floats], rows: Rows, folds: Sequence[Booleans]
) -> Floats:
    """Return logits in which each inner fold has the C's that the other inner folds chose.

    So a C for each pair is judged on works that did not choose it. `folds`: bool [works] each, the
    works that an inner fold scores.
    """
    made = np.empty_like(logits[ask.shared])
    for scored in folds:
        others = {c: of[~scored] for c, of in logits.items()}
        for column, c in enumerate(choose_c(ask, others, rows[~scored])):
            made[scored, column] = logits[c][scored, column]
    return made


def _of_pair(
    logit: npt.NDArray[np.float64], answers: Answers, rows: Rows, pair: int
) -> tuple[float, float]:
    known = answers.judged[pair, rows]
    positive, weight = answers.positive[pair, rows][known], answers.weight[rows][known]
    return (
        float(average_precision_score(positive, logit[known])),
        float(average_precision_score(positive, logit[known], sample_weight=weight)),
    )
