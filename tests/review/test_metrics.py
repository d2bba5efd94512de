"""Figures by weights: scikit-learn's numbers, for the sample and for every column of weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    cohen_kappa_score,
    jaccard_score,
    precision_recall_fscore_support,
    roc_auc_score,
)

from scorer.review.agreement import Agreement
from scorer.review.metrics import Calls, Measure, Ranking, Shares

SAME = 1e-9


def values(measure: Measure, weight: np.ndarray) -> np.ndarray:
    """Return a measure's figures by columns of weights."""
    with np.errstate(invalid="ignore"):
        return measure.figures(measure.sums @ weight)


def drawn(seed: int, works: int, levels: int, columns: int = 3) -> tuple[np.ndarray, ...]:
    """Return (score, positive, other, known, weights): scores with ties, heavy and light works."""
    chance = np.random.default_rng(seed)
    score = (chance.integers(0, levels, works) / levels).astype(np.float32)
    positive = chance.random(works) < 0.1 + 0.5 * score
    other = np.where(chance.random(works) < 0.8, positive, ~positive)
    known = chance.random(works) < 0.8
    known[:4], positive[:4], other[:4] = True, [True, True, False, False], [True, False] * 2
    return score, positive, other, known, chance.gamma(0.5, 300, (works, columns)) + 1e-3


CASES = st.tuples(st.integers(0, 10**6), st.integers(4, 300), st.sampled_from([1, 2, 7, 65535]))


@given(CASES)
def test_average_precision_and_area_are_those_of_scikit_learn(case: tuple[int, int, int]) -> None:
    score, positive, _, known, weight = drawn(*case)
    found = values(Ranking.of(score, positive, known), weight)
    for column, (average, area) in zip(weight.T, found.T, strict=True):
        asked = (positive[known], score[known])
        by = {"sample_weight": column[known]}
        assert average == pytest.approx(average_precision_score(*asked, **by), abs=SAME)
        assert area == pytest.approx(roc_auc_score(*asked, **by), abs=SAME)


@given(CASES, st.sampled_from([0.5, 1.0, 2.0]))
def test_precision_recall_and_fbeta_are_those_of_scikit_learn(
    case: tuple[int, int, int], beta: float
) -> None:
    _, positive, called, known, weight = drawn(*case)
    found = values(Calls.of(called, positive, known, beta), weight)
    for column, figures in zip(weight.T, found.T, strict=True):
        expected = precision_recall_fscore_support(
            positive[known],
            called[known],
            beta=beta,
            average="binary",
            sample_weight=column[known],
        )
        assert figures == pytest.approx(expected[:3], abs=SAME)


@given(CASES)
def test_agreement_is_that_of_scikit_learn(case: tuple[int, int, int]) -> None:
    _, one, other, known, weight = drawn(*case)
    found = values(Agreement.of(one, other, known), weight)
    for column, (raw, kappa, jaccard) in zip(weight.T, found.T, strict=True):
        asked = (one[known], other[known])
        by = {"sample_weight": column[known]}
        assert raw == pytest.approx(accuracy_score(*asked, **by), abs=SAME)
        assert kappa == pytest.approx(cohen_kappa_score(*asked, **by), abs=SAME)
        assert jaccard == pytest.approx(jaccard_score(*asked, **by), abs=SAME)


def test_a_replicate_without_a_work_counts_it_as_absent() -> None:
    score = np.array([0.9, 0.8, 0.7, 0.6, 0.5], np.float32)
    positive = np.array([True, False, True, False, True])
    everyone = np.ones(5, bool)
    weight = np.array([[0.0, 2.0, 1.0, 3.0, 2.0]]).T
    average, area = values(Ranking.of(score, positive, everyone), weight)[:, 0]
    there = weight[:, 0] > 0
    by = {"sample_weight": weight[there, 0]}
    asked = (positive[there], score[there])
    assert average == pytest.approx(average_precision_score(*asked, **by), abs=SAME)
    assert area == pytest.approx(roc_auc_score(*asked, **by), abs=SAME)


def test_agreement_without_any_yes_has_no_kappa_and_no_jaccard() -> None:
    none, everyone = np.zeros(4, bool), np.ones(4, bool)
    raw, kappa, jaccard = values(Agreement.of(none, none, everyone), np.ones((4, 1)))[:, 0]
    assert raw == 1.0
    assert np.isnan([kappa, jaccard]).all()


def test_shares_are_weighted_parts_of_wholes() -> None:
    first = np.array([True, False, False, False])
    found = values(Shares.of([first], [~np.eye(4, dtype=bool)[3]]), np.array([[1.0, 2, 3, 90]]).T)
    assert found.tolist() == [[1 / 6]]
