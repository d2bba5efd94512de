"""Reliability: how often works of about the same score were labelled yes.

A score ranks works; it is no probability that a category is true. Steps of the score show how far
it is from the share of its teacher's yes.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from scorer.policy.fit import Booleans, Floats, Scores, Weights

STEPS: Final = 10
"""Steps of equal width from 0 to 1, as scikit-learn's `calibration_curve` makes them."""


def step_of(score: Scores) -> npt.NDArray[np.int64]:
    """Return the step of each score: int64 [works]; a step holds its upper end, the first 0 too."""
    ends = np.linspace(0.0, 1.0, STEPS + 1)
    return np.searchsorted(ends[1:-1], score.astype(np.float64))


def step_sums(score: Scores, positive: Booleans, weight: Weights) -> Floats:
    """Return what works weigh, their scores and their yes by weight, a step: float64 [3, steps]."""
    step = step_of(score)
    parts = (weight, weight * score, weight * positive)
    return np.stack([np.bincount(step, part, minlength=STEPS) for part in parts])


def rates(works: Floats, scores: Floats, yes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the share of yes, the mean score and the expected calibration error of steps.

    All are sums of weights, float64 [steps, …], of steps that hold a work. The error, float64 […],
    is the mean distance between the two, each step weighted by its works (Naeini, Cooper and
    Hauskrecht, 2015).
    """
    rate, mean = yes / works, scores / works
    error = (works * np.abs(rate - mean)).sum(axis=0) / works.sum(axis=0)
    return rate, mean, error
