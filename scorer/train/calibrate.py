"""Fitting the maps of a calibrated bundle on out-of-fold scores, by design weights.

Both methods make a line on the logit scale, which always rises: works that the heads tell apart
stay apart, in their order. `isotonic` is centred isotonic regression (Oron and Flournoy, 2017): the
blocks of isotonic regression, joined from centre to centre instead of in steps. `platt` is a
logistic regression on the logit (Platt, 1999).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import LogisticRegression

from scorer.labels.sample import Labels
from scorer.policy.fit import ENOUGH_POSITIVES, Booleans, Floats, Scores, Weights
from scorer.policy.reliability import STEPS, rates, step_sums
from scorer.student.calibration import Calibration, Method, ScoreMap
from scorer.targets import Targets
from scorer.train.folds import Fold
from scorer.train.learner import Predicted

_LEAST_SLOPE: Final = 0.02
"""Of a map on the logit scale. 1 / 1024 of a logit, an n-gram student's smallest step, then still
moves a calibrated score by more than float32 rounds."""
_LOWEST, _HIGHEST, _STEP = -36.0, 17.0, 0.25
"""Logits between which a map has knots: outside, float32 scores are all but 0 or 1."""
_TRUSTED: Final = 17.0
"""Logits farther out count as that far: 0 stands for a fold in which no head could be fitted."""
_ROUNDING: Final = 1e-12
"""Of a share: blocks of yes alone, put together, may come to a little less than 1."""

Line = tuple[Floats, Floats]
"""A rising line on the logit scale: logits of scores, and those of calibrated scores."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Out-of-fold scores after calibration, if there was one."""

    unseen: Predicted
    calibration: Calibration | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    """For the manifest: nothing, or `calibration`: method, errors a pair, steps over all pairs."""


def calibrate(
    labels: Labels,
    targets: Targets,
    unseen: Predicted,
    method: Method | None,
    folds: Sequence[Fold],
) -> Calibrated:
    """Fit a map for each head and target that can be scored, and apply it; None: change nothing.

    The figures after calibration are honest ones: in each of `folds` the map is fitted on its other
    works alone.
    """
    if method is None:
        return Calibrated(unseen)
    scores, maps = unseen.scores.copy(), {}
    errors: dict[str, dict[str, Any]] = {}
    before, after = np.zeros((3, STEPS)), np.zeros((3, STEPS))
    for head, target, column in _columns(targets, unseen):
        judged = labels.judged(head, target)
        positive, weight = labels.positive(head, target), labels.weight
        score = unseen.scores[:, column]
        maps[head, target] = found = fit_map(
            method, score[judged], positive[judged], weight[judged]
        )
        scores[:, column] = found.of(score)
        crossed = score.copy()
        for train, test in folds:
            rows = train[judged[train]]
            if len(rows):
                one = fit_map(method, score[rows], positive[rows], weight[rows])
                crossed[test] = one.of(score[test])
        known = judged, positive[judged], weight[judged]
        sums = [step_sums(s[known[0]], known[1], known[2]) for s in (score, crossed)]
        before, after = before + sums[0], after + sums[1]
        errors[f"{head}/{target}"] = {
            "n_pos": int(positive[judged].sum()),
            "error_before": _error(sums[0]),
            "error_after": _error(sums[1]),
        }
    return Calibrated(
        unseen=replace(unseen, scores=scores),
        calibration=Calibration(method, maps),
        metrics={"calibration": _summary(method, errors, before, after)},
    )


def fit_map(method: Method, score: Scores, positive: Booleans, weight: Weights) -> ScoreMap:
    """Return the map of a head's scores, float32 [works] with the works' yes and design weights."""
    at = np.clip(logit(score.astype(np.float64)), -_TRUSTED, _TRUSTED)
    line = _isotonic if method == "isotonic" else _platt
    return _knots(*line(at, positive, weight))


def _isotonic(at: Floats, positive: Booleans, weight: Weights) -> Line:
    """Return the centres of isotonic regression's blocks: mean logit, logit of the share of yes.

    A block without a yes, or without a no, stands at half a work's: its share is no 0 and no 1.
    """
    places, inverse = np.unique(at, return_inverse=True)
    weights = np.bincount(inverse, weight)
    said = np.bincount(inverse, weight * positive) / weights
    fitted = isotonic_regression(said, sample_weight=weights, y_min=0.0, y_max=1.0)
    block = np.cumsum(np.diff(fitted, prepend=fitted[0]) > 0)
    of_block = np.bincount(block, weights)
    centre = np.bincount(block, weights * places) / of_block
    share = fitted[np.searchsorted(block, np.arange(len(of_block)))]
    works = of_block**2 / np.bincount(block[inverse], weight**2)  # Kish's effective number
    half = 0.5 / (works + 1)
    following, before = np.append(share[1:], 1.0), np.append(0.0, share[:-1])
    share = np.where(share <= 0, np.minimum(half, following / 2), share)
    share = np.where(share >= 1 - _ROUNDING, np.maximum(1 - half, (1 + before) / 2), share)
    return centre, _rising(centre, logit(share))


def _platt(at: Floats, positive: Booleans, weight: Weights) -> Line:
    """Return two points of a logistic regression on the logit.

    Answers are drawn in as Platt does, (n + 1) / (n + 2) for a yes, by Kish's effective number n:
    scores that tell yes from no without an error would make a step otherwise.
    """
    toward = []
    for answer in (~positive, positive):
        of_answer = weight[answer]
        works = of_answer.sum() ** 2 / (of_answer**2).sum() if answer.any() else 0.0
        toward.append((works + 1) / (works + 2))
    yes = np.where(positive, toward[1], 1 - toward[0])
    slope = bias = 0.0
    if np.ptp(at) > 0:
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(
            np.tile(at, 2)[:, np.newaxis],
            np.repeat([1, 0], len(at)),
            sample_weight=np.concatenate([weight * yes, weight * (1 - yes)]) / weight.mean(),
        )
        slope, bias = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope < _LEAST_SLOPE:  # the head ranks no better than chance: all works stand near the mean
        middle = _LEAST_SLOPE * float(np.average(at, weights=weight))
        slope, bias = _LEAST_SLOPE, float(logit(np.average(yes, weights=weight))) - middle
    ends = np.array([_LOWEST, _HIGHEST])
    return ends, slope * ends + bias


def _rising(centre: Floats, value: Floats) -> Floats:
    """Return values that rise by the least slope at least, from each centre to the next."""
    least = _LEAST_SLOPE * (centre - centre[0])
    rising: Floats = np.maximum.accumulate(value - least) + least
    return rising


def _knots(centre: Floats, value: Floats) -> ScoreMap:
    """Return the map that follows a line, and the least slope beyond its ends."""
    ends = np.array([_LOWEST - 1, _HIGHEST + 1])
    beyond = value[[0, -1]] + _LEAST_SLOPE * (ends - centre[[0, -1]])
    inner = (centre > ends[0]) & (centre < ends[1])
    line = (
        np.concatenate([ends[:1], centre[inner], ends[1:]]),
        np.concatenate([beyond[:1], value[inner], beyond[1:]]),
    )
    at = np.union1d(np.arange(_LOWEST, _HIGHEST + _STEP, _STEP), centre)
    score, first = np.unique(expit(at).astype(np.float32), return_index=True)
    return ScoreMap.at(score, expit(np.interp(at, *line))[first])


def _columns(targets: Targets, unseen: Predicted) -> Iterator[tuple[str, str, int]]:
    """Yield (head, target, column of the scores) of all that has a fitted head."""
    width = unseen.scores.shape[1] // len(targets.heads)
    for number, head in enumerate(targets.heads):
        for place, target in enumerate(targets.binary_names):
            if target not in head.unavailable:
                yield head.name, target, number * width + place


def _error(sums: Floats) -> float:
    filled = sums[:, sums[0] > 0]
    return round(float(rates(*filled)[2]), 6)


def _summary(
    method: Method, errors: dict[str, dict[str, Any]], before: Floats, after: Floats
) -> dict[str, Any]:
    counted = [found for found in errors.values() if found["n_pos"] >= ENOUGH_POSITIVES]
    means = {
        f"mean_{name}": round(float(np.mean([found[name] for found in counted])), 6)
        if counted
        else None
        for name in ("error_before", "error_after")
    }
    return {
        "method": method,
        **means,
        "pairs": errors,
        "steps": {"before": _steps(before), "after": _steps(after)},
    }


def _steps(sums: Floats) -> list[dict[str, float]]:
    """Return the steps that hold a work, over all pairs: share of the weight, mean score, yes."""
    filled = np.flatnonzero(sums[0] > 0)
    rate, mean, _ = rates(*sums[:, filled])
    return [
        {
            "from": round(step / STEPS, 6),
            "to": round((step + 1) / STEPS, 6),
            "works": round(float(sums[0, step] / sums[0].sum()), 6),
            "mean_score": round(float(mean[place]), 6),
            "yes": round(float(rate[place]), 6),
        }
        for place, step in enumerate(filled.tolist())
    ]
