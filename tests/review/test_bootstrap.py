"""Replicate weights: known totals, the textbook's variance, small strata, the same seed."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.review.bootstrap import Design
from scorer.review.bootstrap_interval import effective, share, signed


def replicates(design: Design, count: int, seed: int = 0) -> np.ndarray:
    """Return all replicate weights, [works, count]."""
    first, *blocks = design.blocks(count, seed)
    assert first[:, 0].tolist() == design.weight.tolist()
    return np.concatenate(blocks, axis=1)


def design(sizes: list[tuple[int, float]]) -> Design:
    """Return a design of strata given as (works drawn, works there are)."""
    weight = np.concatenate([np.full(n, size / n) for n, size in sizes])
    names = [f"s{number}" for number, (n, _) in enumerate(sizes) for _ in range(n)]
    return Design.of(weight, pl.Series(names))


@given(
    st.lists(st.tuples(st.integers(2, 9), st.integers(0, 300)), min_size=1, max_size=5),
    st.integers(0, 100),
)
def test_weights_of_a_stratum_add_up_to_its_works_and_none_is_negative(
    sizes: list[tuple[int, int]], seed: int
) -> None:
    made = design([(n, n + more) for n, more in sizes])
    weights = replicates(made, 20, seed)
    assert (weights >= 0).all()
    for number, (n, more) in enumerate(sizes):
        assert weights[made.stratum == number].sum(axis=0) == pytest.approx(n + more)


def test_the_spread_of_a_total_is_that_of_the_textbook() -> None:
    # Cochran (1977), 5.3: V = sum of N^2 (1 - n/N) s^2 / n; two works a stratum are the hard case.
    sizes = [(2, 10), (2, 300), (5, 20), (40, 60)]
    made = design(sizes)
    chance = np.random.default_rng(3)
    value = chance.normal(size=made.works) + made.stratum
    totals = value @ replicates(made, 40_000)
    expected = 0.0
    for number, (n, size) in enumerate(sizes):
        expected += size**2 * (1 - n / size) * value[made.stratum == number].var(ddof=1) / n
    assert totals.mean() == pytest.approx(float(value @ made.weight), abs=4 * totals.std() / 200)
    assert totals.var() == pytest.approx(expected, rel=0.03)


def test_a_stratum_that_was_drawn_whole_does_not_vary() -> None:
    made = design([(3, 3), (4, 40)])
    weights = replicates(made, 50)
    assert (weights[:3] == 1).all()
    assert (weights[3:].std(axis=1) > 0).all()


def test_weights_that_tell_no_size_leave_the_frame_without_end() -> None:
    assert Design.of(np.ones(6), None).drawn.tolist() == [0.0]
    assert Design.of(np.array([0.5, 0.5, 1.5, 1.5]), None).drawn.tolist() == [0.0, 0.0]
    assert Design.of(np.array([2.0, 2.0, 4.0, 4.0]), None).drawn.tolist() == [0.5, 0.25]
    assert Design.of(np.array([2.0, 2.0]), None, finite=False).drawn.tolist() == [0.0]


def test_without_strata_works_of_one_weight_are_one() -> None:
    made = Design.of(np.array([2.0, 4.0, 2.0, 4.0, 4.0]), None)
    assert made.stratum.tolist() == [0, 1, 0, 1, 1]


def test_strata_of_a_single_work_are_joined() -> None:
    alone = Design.of(np.array([2.0, 3.0, 5.0, 5.0]), pl.Series(["a", "b", "c", "c"]))
    assert (alone.stratum.tolist(), alone.joined) == ([0, 0, 1, 1], 2)
    nearest = Design.of(
        np.array([90.0, 80.0, 80.0, 5.0, 5.0]), pl.Series(["a", "b", "b", "c", "c"])
    )
    assert (nearest.stratum.tolist(), nearest.joined) == ([0, 0, 0, 1, 1], 1)
    certain = Design.of(np.array([1.0, 5.0, 5.0]), pl.Series(["a", "c", "c"]))
    assert (certain.stratum.tolist(), certain.joined) == ([0, 1, 1], 0)
    assert np.isfinite(replicates(nearest, 10)).all()


def test_one_work_is_too_few() -> None:
    with pytest.raises(InputError, match="One work shows no spread: at least two are needed"):
        Design.of(np.array([3.0]), None)


def test_a_seed_gives_the_same_weights_whatever_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made = design([(5, 50), (3, 9)])
    assert (replicates(made, 30, seed=1) == replicates(made, 30, seed=1)).all()
    assert (replicates(made, 30, seed=1) != replicates(made, 30, seed=2)).any()
    monkeypatch.setattr("scorer.review.bootstrap._BLOCK", 80)
    blocks = [block.shape for block in made.blocks(25, 1)]
    assert blocks == [(8, 1), (8, 10), (8, 10), (8, 5)]


def replicas(value: float, spread: float, bias: float = 0.0) -> np.ndarray:
    """Return a figure and replicates of just this mean and standard deviation."""
    normal = np.random.default_rng(0).normal(size=2000)
    normal = (normal - normal.mean()) / normal.std(ddof=1)
    return np.concatenate([[value], value + bias + spread * normal])


def test_limits_are_t_standard_errors_off_on_the_logit_scale() -> None:
    # Standard error 0.04: logit 0.2 = -1.3863, 0.04 / (0.2 0.8) = 0.25, t of 99 degrees 1.9842.
    limits = share(replicas(0.2, 0.04), works=100)
    low, high = (1 / (1 + np.exp(1.3862944 + sign * 1.9842169 * 0.25)) for sign in (1, -1))
    assert limits.value == 0.2
    assert (limits.low, limits.high) == pytest.approx((low, high), abs=1e-7)
    assert share(replicas(0.2, 0.04), works=6).low < low


def test_limits_of_none_and_all_come_from_the_number_of_works() -> None:
    # Clopper and Pearson for 0 of 30: the upper limit is 1 - 0.025^(1/30).
    none = share(np.zeros(50), works=30)
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 30))
    every = share(np.ones(50), works=30)
    assert (every.low, every.high) == pytest.approx((0.025 ** (1 / 30), 1.0))


def test_limits_reach_as_far_as_works_that_may_be_missing_by_chance() -> None:
    # Of 30 effective works a very light one is missed; the sample may lack a heavy one by chance.
    nearly = share(replicas(0.99999, 1e-5), works=30)
    assert nearly.low < share(np.ones(50), works=30).low < 0.9
    assert nearly.high > 0.99999
    hardly = share(replicas(0.00001, 1e-5), works=30)
    assert (hardly.low, hardly.high) == pytest.approx((1 - nearly.high, 1 - nearly.low))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(0.5, 500))
def test_limits_hold_the_figure_and_stay_within_their_range(
    found: list[float], works: float
) -> None:
    limits = share(np.array(found), works)
    assert 0 <= limits.low <= limits.value <= limits.high <= 1
    both = signed(2 * np.array(found) - 1, works)
    assert -1 <= both.low <= both.value <= both.high <= 1


def test_limits_of_kappa_are_t_standard_errors_off() -> None:
    limits = signed(replicas(0.4, 0.1), works=61)
    assert (limits.low, limits.high) == pytest.approx((0.4 - 0.2000298, 0.4 + 0.2000298), abs=1e-6)
    assert signed(replicas(0.95, 0.1), works=61).high == 1.0


def test_a_bias_that_replicates_show_moves_the_limits_and_not_the_figure() -> None:
    plain, high = share(replicas(0.5, 0.05), 100), share(replicas(0.5, 0.05, bias=0.03), 100)
    assert high.value == plain.value == 0.5
    assert (high.low, high.high) < (plain.low, plain.high)
    assert high.low == pytest.approx(share(replicas(0.47, 0.05), 100).low, abs=0.003)


def test_replicates_without_a_figure_are_left_out() -> None:
    found = replicas(0.3, 0.05)
    some = np.concatenate([found, np.full(7, np.nan)])
    assert share(some, 50) == share(found, 50)


def test_works_of_one_weight_are_as_many_as_they_are() -> None:
    assert effective(np.full(7, 3.5)) == pytest.approx(7)
    assert effective(np.array([1.0, 3.0])) == pytest.approx(1.6)
    assert effective(np.array([])) == 0.0
