"""What a search chooses by, against plain Python; and a C of each pair that others chose."""

import math
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.train.search_criterion import (
    Ask,
    Figures,
    Gain,
    choose_c,
    figures,
    measured_pairs,
    with_own_c,
)
from scorer.train.search_fit import Answers


def answers_for(positive: list[list[bool]], weight: list[float] | None = None) -> Answers:
    said = np.array(positive)
    pairs = tuple(("head", f"t{place}") for place in range(len(said)))
    weights = np.ones(said.shape[1]) if weight is None else np.array(weight)
    return Answers(pairs, np.ones_like(said), said, weights)


def average_precision(works: list[tuple[float, bool, float]]) -> float:
    """Return the sum over scores, from the top, of precision times the recall that is gained."""
    everything = sum(weight for _, yes, weight in works if yes)
    seen = found = total = 0.0
    for _, same in groupby(sorted(works, reverse=True), key=lambda work: work[0]):
        tied = list(same)
        gained = sum(weight for _, yes, weight in tied if yes)
        seen += sum(weight for _, _, weight in tied)
        found += gained
        total += gained / everything * found / seen
    return total


work = st.tuples(
    st.integers(-3, 3).map(float), st.booleans(), st.integers(1, 50).map(float), st.booleans()
)


@given(st.lists(work, min_size=2, max_size=30), st.data())
def test_figures_are_those_of_plain_python(
    works: list[tuple[float, bool, float, bool]], data: st.DataObject
) -> None:
    judged = [(score, yes, weight) for score, yes, weight, known in works if known]
    if not any(yes for _, yes, _ in judged) or all(yes for _, yes, _ in judged):
        return
    score, yes, weight, known = map(np.array, zip(*works, strict=True))
    answers = Answers((("head", "t"),), known[None], yes[None], weight)
    rows = np.array(data.draw(st.permutations(range(len(works)))))
    found = figures(score[rows, None], answers, rows, (0,))
    plain = average_precision([(score, yes, 1.0) for score, yes, _ in judged])
    weighted = average_precision(judged)
    assert found.average_precision == pytest.approx(plain, abs=1e-6)
    assert found.average_precision_weighted == pytest.approx(weighted, abs=1e-6)
    assert found.value("plain") == found.average_precision
    assert found.value("weighted") == found.average_precision_weighted
    assert found.value("both") == pytest.approx((plain + weighted) / 2, abs=2e-6)


def test_figures_are_means_over_the_pairs_by_hand() -> None:
    answers = answers_for([[True, False, False], [False, True, False]], [1.0, 1.0, 2.0])
    logits = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    found = figures(logits, answers, np.arange(3), (0, 1))
    assert found == Figures(plain=(1.0, 0.5), weighted=(1.0, 0.5))
    assert (found.average_precision, found.average_precision_weighted) == (0.75, 0.75)
    uneven = Figures(plain=(1.0, 0.5), weighted=(0.2, 0.4))
    assert [uneven.value(by) for by in ("plain", "weighted", "both")] == [0.75, 0.3, 0.525]
    assert figures(logits[:, 1:], answers, np.arange(3), (1,)).average_precision == 0.5


def test_pairs_are_measured_from_20_positives_on() -> None:
    said = [[place < count for place in range(30)] for count in (19, 20, 30)]
    answers = answers_for(said)
    assert measured_pairs(answers, np.arange(30)) == (1,), "the last has no negative"
    assert measured_pairs(answers, np.arange(1, 30)) == ()
    answers.judged[1, 0] = False
    assert measured_pairs(answers, np.arange(30)) == ()


def test_a_gain_must_be_over_twice_its_standard_error() -> None:
    old = Figures((0.5, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5))
    even = Gain.of(Figures((0.52, 0.52, 0.53, 0.51), old.weighted), old, "plain")
    apart = np.array([0.02, 0.02, 0.03, 0.01])
    assert even.mean == pytest.approx(0.02)
    assert even.error == pytest.approx(np.sqrt(((apart - 0.02) ** 2).sum() / 3) / 2, abs=1e-6)
    assert even.convincing
    lucky = Gain.of(Figures((0.6, 0.48, 0.49, 0.51), old.weighted), old, "plain")
    assert lucky.mean == even.mean
    assert not lucky.convincing
    assert not Gain.of(old, old, "both").convincing
    worse = Gain.of(Figures((0.48, 0.48, 0.47, 0.49), old.weighted), old, "plain")
    assert not worse.convincing


def test_a_single_pair_has_no_error_to_go_by() -> None:
    found = Gain.of(Figures((0.6,), (0.6,)), Figures((0.5,), (0.5,)), "both")
    assert (found.mean, found.error, found.convincing) == (0.1, 0.0, True)


GOOD, BAD = np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0, 3.0])


def test_each_pair_takes_the_c_that_ranks_it_best() -> None:
    answers = answers_for([[True, False, False, False], [False, False, False, True]])
    ask = Ask(answers, (0, 1), 0.2, "plain")
    logits = {0.1: np.stack([GOOD, GOOD], 1), 0.2: np.stack([BAD, BAD], 1)}
    assert choose_c(ask, logits, np.arange(4)) == [0.1, 0.2]


def test_a_pair_keeps_the_shared_c_where_none_is_better() -> None:
    answers = answers_for([[True, False, False, False], [False] * 4])
    logits = {c: np.stack([GOOD, GOOD * c], 1) for c in (0.05, 0.1, 0.2, 0.4)}
    for shared in logits:
        ask = Ask(answers, (0, 1), shared, "both")
        assert choose_c(ask, logits, np.arange(4)) == [shared, shared], "the second has no positive"


def test_an_inner_fold_is_judged_by_the_c_that_the_others_chose() -> None:
    """The first fold would do best by 0.1, the second by 0.4; each is told the other's choice."""
    answers = answers_for([[True, False, True, False]])
    logits = {
        0.1: np.array([[1.0], [0.0], [0.0], [1.0]]),
        0.4: np.array([[0.0], [1.0], [1.0], [0.0]]),
    }
    folds = [np.array([True, True, False, False]), np.array([False, False, True, True])]
    ask = Ask(answers, (0,), 0.1, "plain")
    made = with_own_c(ask, logits, np.arange(4), folds)
    assert made.ravel().tolist() == [0.0, 1.0, 0.0, 1.0]
    assert not math.isnan(figures(made, answers, np.arange(4), (0,)).average_precision)
