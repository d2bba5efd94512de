"""Reliability steps: those of scikit-learn, and by design weights those of works repeated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from scorer.policy.reliability import STEPS, step_of
from scorer.review.calibration import Reliability


@given(st.integers(0, 10**6), st.integers(2, 400))
def test_steps_are_those_of_scikit_learn_on_works_repeated_by_their_weight(
    seed: int, works: int
) -> None:
    chance = np.random.default_rng(seed)
    score = (chance.integers(0, 65536, works) / 65535).astype(np.float32)
    positive = chance.random(works) < score
    known = chance.random(works) < 0.8
    known[:2], positive[:2] = True, [True, False]
    times = chance.integers(1, 6, works)
    measure = Reliability.of(score, positive, known)
    found = measure.figures(measure.sums @ times[:, np.newaxis].astype(np.float64))[:, 0]
    repeated = np.repeat(np.flatnonzero(known), times[known])
    said, scored = positive[repeated], score[repeated].astype(np.float64)
    rate, mean = calibration_curve(said, scored, n_bins=STEPS)
    steps = len(measure.filled)
    assert found[:steps] == pytest.approx(rate, abs=1e-9)
    assert found[steps : 2 * steps] == pytest.approx(mean, abs=1e-9)
    count = np.bincount(step_of(scored.astype(np.float32)), minlength=STEPS)
    count = count[list(measure.filled)] / len(repeated)
    assert found[-1] == pytest.approx(float(count @ np.abs(rate - mean)), abs=1e-9)


def test_a_step_holds_its_upper_end() -> None:
    score = np.array([0, 0.1, 0.100001, 0.5, 0.95, 1], np.float32)
    # float32 has no 0.1: the nearest one stands a little over it.
    assert step_of(score).tolist() == [0, 1, 1, 4, 9, 9]


def test_scores_that_are_the_share_of_yes_have_no_error() -> None:
    score = np.repeat(np.array([0.25, 0.75], np.float32), 4)
    positive = np.array([1, 0, 0, 0, 1, 1, 1, 0], bool)
    measure = Reliability.of(score, positive, np.ones(8, bool))
    assert measure.filled == (2, 7)
    assert measure.figures(measure.sums @ np.ones((8, 1)))[:, 0].tolist() == [
        *(0.25, 0.75),
        *(0.25, 0.75),
        0.0,
    ]
