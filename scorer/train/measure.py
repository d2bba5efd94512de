"""What a round is measured by, on the works held out: average precision, churn, rank correlation.

Works stand in the order of their ids, so that a stable sort settles ties by id.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from scorer.targets import Targets
from scorer.train.holdout import UNJUDGED, YES

Scores = Mapping[str, Sequence[float]]
"""Target -> the heads' mean score of each work held out."""
Answers = Mapping[str, str]
"""Target -> the heads' majority, a character a work."""


def mean_scores(
    scores: npt.NDArray[np.float32], targets: Targets, names: Sequence[str]
) -> dict[str, tuple[float, ...]]:
    """Return the mean over the heads, for some targets, of scores float32 [works, outputs]."""
    width = scores.shape[1] // len(targets.heads)
    of_heads = scores.reshape(len(scores), len(targets.heads), width).astype(np.float64)
    means = of_heads.mean(axis=1)
    return {name: tuple(means[:, targets.binary_names.index(name)].tolist()) for name in names}


def mean_average_precision(scores: Scores, answers: Answers) -> float:
    """Return scikit-learn's average precision against the majority, the mean over the targets."""
    found = []
    for target, of_works in scores.items():
        judged, positive = _judged(answers[target]), _positive(answers[target])
        found.append(average_precision_score(positive[judged], np.array(of_works)[judged]))
    return round(float(np.mean(found)), 6)


def churn(now: Scores, before: Scores, answers: Answers) -> float:
    """Return 1 - |A and B| / |A or B| of the positive sets of two rounds."""
    one, other = positive_set(now, answers), positive_set(before, answers)
    return round(1 - len(one & other) / len(one | other), 4)


def positive_set(scores: Scores, answers: Answers) -> set[tuple[str, int]]:
    """Return (target, work): of each target the k best works that were judged.

    k is the number of the majority's positives; ties are settled by id.
    """
    found = set()
    for target, of_works in scores.items():
        judged = np.flatnonzero(_judged(answers[target]))
        best = np.argsort(-np.array(of_works)[judged], kind="stable")
        found |= {(target, int(work)) for work in judged[best[: answers[target].count(YES)]]}
    return found


def rank_correlation(now: Scores, before: Scores, answers: Answers) -> float:
    """Return Spearman's correlation between two rounds' scores, the mean over the targets."""
    found = []
    for target, of_works in now.items():
        judged = _judged(answers[target])
        one, other = np.array(of_works)[judged], np.array(before[target])[judged]
        # Scores that are all the same rank nothing, so they agree with nothing.
        ranks = np.ptp(one) > 0 and np.ptp(other) > 0
        found.append(float(spearmanr(one, other).statistic) if ranks else 0.0)
    return round(float(np.mean(found)), 4)


def _judged(said: str) -> npt.NDArray[np.bool_]:
    return np.array([answer != UNJUDGED for answer in said], bool)


def _positive(said: str) -> npt.NDArray[np.bool_]:
    return np.array([answer == YES for answer in said], bool)
