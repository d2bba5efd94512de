"""A sample is shared out over strata as Neyman's criterion says, in whole numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import UsageError
from scorer.review.allocation import apportion, expected_spread, given_numbers


def variance(sizes: np.ndarray, spread: np.ndarray, given: np.ndarray) -> float:
    return float((((sizes * spread) ** 2) / given).sum())


@settings(max_examples=80)
@given(
    strata=st.lists(st.tuples(st.integers(1, 8), st.floats(0.01, 0.5)), min_size=1, max_size=4),
    data=st.data(),
)
def test_no_other_whole_numbers_give_less_variance(
    strata: list[tuple[int, float]], data: st.DataObject
):
    sizes = np.array([size for size, _ in strata])
    spread = np.array([s for _, s in strata])
    least = np.minimum(sizes, 2)
    works = data.draw(st.integers(int(least.sum()), int(sizes.sum())))
    given = apportion(works, sizes, spread)
    assert given.sum() == works
    assert (given >= least).all()
    assert (given <= sizes).all()
    ranges = [range(low, high + 1) for low, high in zip(least, sizes, strict=True)]
    best = min(
        variance(sizes, spread, np.array(numbers))
        for numbers in itertools.product(*ranges)
        if sum(numbers) == works
    )
    assert variance(sizes, spread, given) == pytest.approx(best)


def test_large_strata_follow_neymans_formula():
    sizes, spread = np.array([100_000, 300_000, 50_000]), np.array([0.1, 0.3, 0.5])
    exact = 10_000 * sizes * spread / (sizes * spread).sum()
    assert np.abs(apportion(10_000, sizes, spread) - exact).max() < 1


def test_the_same_spread_is_proportional_and_its_reverse_is_equal():
    sizes = np.array([1000, 3000, 6000])
    assert apportion(100, sizes, np.ones(3)).tolist() == [10, 30, 60]
    assert apportion(99, sizes, 1 / sizes).tolist() == [33, 33, 33]
    assert apportion(99, np.array([5, 3000, 6000]), 1 / np.array([5, 3000, 6000])).tolist() == [
        *(5, 47, 47)
    ]


def test_too_few_and_too_many_works_are_refused():
    sizes = np.array([10, 1, 5])
    with pytest.raises(UsageError) as told:
        apportion(4, sizes, np.ones(3))
    assert str(told.value) == (
        "4 works are too few for 3 strata: 2 each take 5.\nRaise -n, or name fewer --strata."
    )
    with pytest.raises(UsageError, match="17 works were asked for, there are 16"):
        apportion(17, sizes, np.ones(3))


def test_given_numbers_are_shared_out_by_size():
    sizes = np.array([100, 300, 50])
    given = given_numbers(["a", "a", "b"], sizes, {"a": 40, "b": 5})
    assert given.tolist() == [10, 30, 5]


def test_numbers_that_do_not_fit_are_refused():
    sizes = np.array([100, 50])
    with pytest.raises(UsageError, match="--works c: no work stands there; there are a, b"):
        given_numbers(["a", "b"], sizes, {"a": 4, "b": 5, "c": 1})
    with pytest.raises(UsageError, match="--works: nothing for b, and every work must be able"):
        given_numbers(["a", "b"], sizes, {"a": 4})
    for works in (60, 1):
        with pytest.raises(UsageError) as told:
            given_numbers(["a", "b"], sizes, {"a": 4, "b": works})
        expected = f"--works b={works}: its strata hold 50 works and take 2 at least."
        assert str(told.value) == expected


def test_the_spread_expected_is_never_none():
    sums = np.array([[0.0, 50.0], [20.0, 20.0]])
    spread = expected_spread(sums, np.array([99, 39]))
    shares = np.array([[0.005, 0.505], [0.5125, 0.5125]])
    assert spread == pytest.approx(np.sqrt((shares * (1 - shares)).sum(axis=1)))
    assert (expected_spread(np.array([[0.0], [9.0]]), np.array([9, 9])) > 0).all()
