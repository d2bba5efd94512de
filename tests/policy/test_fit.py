import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    fbeta_score,
    precision_recall_curve,
    precision_score,
    recall_score,
)

from scorer.policy.fit import (
    OutOfReach,
    Reached,
    best_fbeta,
    support,
    sweep,
    threshold_for_precision,
    threshold_for_recall,
)

checked = settings(max_examples=60)
# Few distinct scores, so that ties are common; weights of a stratified sample differ a lot.
work = st.tuples(
    st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 1.0]),
    st.booleans(),
    st.sampled_from([0.5, 1.0, 3.0, 40.0]),
)


def columns(works: list[tuple[float, bool, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    score, positive, weight = zip(*works, strict=True)
    return np.array(score, np.float32), np.array(positive, bool), np.array(weight, np.float64)


def test_support_of_equal_weights_counts_works() -> None:
    found = support(np.array([True, True, False, True]), np.full(4, 2.5))
    assert (found.n_pos, found.ess_pos, found.top_share, found.rate) == (3, 3.0, 1 / 3, 0.75)


def test_support_of_unequal_weights_is_kish_effective_size() -> None:
    found = support(np.array([True, False, True]), np.array([1.0, 4.0, 3.0]))
    assert found.n_pos == 2
    assert found.ess_pos == 4**2 / (1**2 + 3**2)
    assert found.top_share == 3 / 4
    assert found.rate == 4 / 8


def test_support_without_positives_is_nothing() -> None:
    found = support(np.array([False, False]), np.array([1.0, 2.0]))
    assert (found.n_pos, found.ess_pos, found.top_share, found.rate) == (0, 0.0, 0.0, 0.0)


@checked
@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 1e6)), min_size=1, max_size=20))
def test_support_lies_within_its_bounds(works: list[tuple[bool, float]]) -> None:
    positive = np.array([said for said, _ in works])
    found = support(positive, np.array([weight for _, weight in works]))
    assert found.n_pos == positive.sum()
    if found.n_pos:
        assert 1 - 1e-9 <= found.ess_pos <= found.n_pos * (1 + 1e-9)
        assert 1 / found.n_pos <= found.top_share * (1 + 1e-9)
        assert found.ess_pos * found.top_share**2 <= 1 + 1e-9


@checked
@given(st.lists(work, min_size=1, max_size=14), st.sampled_from([0.5, 1.0, 2.0]))
@example([(0.5, True, 1.0), (0.5, False, 1.0), (0.5, True, 40.0)], 2.0)
@example([(0.0, True, 1.0)], 1.0)
def test_the_threshold_is_the_best_of_all_distinct_scores(
    works: list[tuple[float, bool, float]], beta: float
) -> None:
    score, positive, weight = columns(works)
    if not positive.any():
        positive[0] = True
    tried = {
        float(value): fbeta_score(positive, score >= value, beta=beta, sample_weight=weight)
        for value in np.unique(score)
    }
    threshold, fbeta = best_fbeta(score, positive, weight, beta)
    assert fbeta == pytest.approx(max(tried.values()), abs=1e-12)
    assert threshold in tried
    assert tried[threshold] == pytest.approx(fbeta, abs=1e-12)
    higher = [found for value, found in tried.items() if value > threshold]
    assert all(found < fbeta + 1e-12 for found in higher)


def test_of_equally_good_thresholds_the_highest_wins() -> None:
    # F1 is 2/3 at 0.75 (1 of 2 positives, no other work) and at 0.25 (both, among four works).
    score = np.array([0.75, 0.5, 0.5, 0.25], np.float32)
    positive = np.array([True, False, False, True])
    assert best_fbeta(score, positive, np.ones(4), 1.0) == (0.75, pytest.approx(2 / 3))


def test_the_threshold_is_the_float32_score_itself() -> None:
    threshold, _ = best_fbeta(np.array([0.1], np.float32), np.array([True]), np.ones(1), 1.0)
    assert threshold == float(np.float32(0.1))
    assert np.float32(threshold) == np.float32(0.1)


def test_row_order_does_not_change_the_threshold() -> None:
    rng = np.random.default_rng(0)
    score = rng.integers(0, 20, 200).astype(np.float32) / 20
    positive, weight = rng.random(200) < score, rng.integers(1, 9, 200).astype(np.float64)
    order = rng.permutation(200)
    assert best_fbeta(score[order], positive[order], weight[order], 2.0) == best_fbeta(
        score, positive, weight, 2.0
    )


@checked
@given(st.lists(work, min_size=1, max_size=14), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_the_threshold_for_a_recall_is_the_highest_that_reaches_it(
    works: list[tuple[float, bool, float]], recall: float
) -> None:
    score, positive, weight = columns(works)
    positive[0] = True
    reached = {
        float(value): recall_score(positive, score >= value, sample_weight=weight)
        for value in np.unique(score)
    }
    found = threshold_for_recall(score, positive, weight, recall)
    assert found.figure == pytest.approx(reached[found.threshold], abs=1e-12)
    assert found.threshold == max(v for v, share in reached.items() if share >= recall - 1e-12)


@checked
@given(st.lists(work, min_size=1, max_size=14), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_the_threshold_for_a_precision_is_the_lowest_that_reaches_it(
    works: list[tuple[float, bool, float]], precision: float
) -> None:
    score, positive, weight = columns(works)
    positive[0] = True
    reached = {
        float(value): precision_score(positive, score >= value, sample_weight=weight)
        for value in np.unique(score)
    }
    found = threshold_for_precision(score, positive, weight, precision)
    good = [value for value, share in reached.items() if share >= precision - 1e-12]
    if isinstance(found, OutOfReach):
        assert not good
        assert found.most == pytest.approx(max(reached.values()), abs=1e-12)
    else:
        assert found.threshold == min(good)
        assert found.figure == pytest.approx(reached[found.threshold], abs=1e-12)


def test_a_lower_threshold_may_reach_a_precision_that_a_higher_one_misses() -> None:
    # Precision along the score: 1, 1/2, 2/3, 3/4.
    score = np.array([0.9, 0.8, 0.7, 0.6], np.float32)
    positive = np.array([True, False, True, True])
    found = threshold_for_precision(score, positive, np.ones(4), 0.75)
    assert found == Reached(float(np.float32(0.6)), 0.75)


def test_a_precision_out_of_reach_says_the_most_there_is() -> None:
    score = np.array([0.9, 0.8], np.float32)
    found = threshold_for_precision(score, np.array([False, True]), np.array([1.0, 3.0]), 0.8)
    assert found == OutOfReach(0.75)


def test_a_sweep_has_the_figures_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    score = rng.integers(0, 30, 300).astype(np.float32) / 30
    positive, weight = rng.random(300) < score, rng.integers(1, 9, 300).astype(np.float64)
    points = sweep(score, positive, weight)
    precision, recall, threshold = precision_recall_curve(positive, score, sample_weight=weight)
    assert points.threshold[::-1].tolist() == threshold.tolist()
    assert points.precision[::-1] == pytest.approx(precision[:-1])
    assert points.recall[::-1] == pytest.approx(recall[:-1])


def test_a_rate_may_be_a_share_of_more_than_the_works_judged() -> None:
    found = support(np.array([True, False]), np.array([1.0, 3.0]), asked=5.0)
    assert (found.n_pos, found.rate) == (1, 0.2)
