"""Replicate weights: known totals, the textbook's variance, small strata, the same seed."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom

from scorer.errors import InputError
from scorer.review.bootstrap import Design
from scorer.review.bootstrap_interval import effective, share, signed
from scorer.review.metrics import Shares


def replicates(design: Design, count: int, seed: int = 0) -> np.ndarray:
    """Return all replicate weights, [works and doubles, count]."""
    first, *blocks = design.blocks(count, seed)
    assert first[:, 0].tolist() == [*design.weight.tolist(), *([0.0] * len(design.doubled))]
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
        of_stratum = weights[made.again(made.stratum) == number].sum(axis=0)
        assert of_stratum == pytest.approx(n + more)


def test_the_spread_of_a_total_is_that_of_the_textbook(monkeypatch: pytest.MonkeyPatch) -> None:
    # Cochran (1977), 5.3: V = sum of N^2 (1 - n/N) s^2 / n; two works a stratum are the hard case.
    monkeypatch.setattr("scorer.review.bootstrap._further", lambda *_: ())
    sizes = [(2, 10), (2, 300), (3, 90), (5, 20), (40, 60)]
    made = design(sizes)
    chance = np.random.default_rng(3)
    value = chance.normal(size=made.works) + made.stratum
    totals = value @ replicates(made, 40_000)
    expected = 0.0
    for number, (n, size) in enumerate(sizes):
        expected += size**2 * (1 - n / size) * value[made.stratum == number].var(ddof=1) / n
    assert totals.mean() == pytest.approx(float(value @ made.weight), abs=4 * totals.std() / 200)
    assert totals.var() == pytest.approx(expected, rel=0.03)


def test_a_replicate_holds_one_further_work_of_the_frame_and_one_of_any_stratum() -> None:
    # 297 of 304 works that were not drawn lie in the first stratum, 7 in the second, none in the
    # third; the second kind is of the first and the second by even odds.
    made = design([(3, 300), (3, 10), (4, 4)])
    of_frame, of_strata = made.further
    assert [(kind < 3).mean() for kind in (of_frame, of_strata)] == pytest.approx(
        [297 / 304, 1 / 2], abs=0.1
    )
    assert made.doubled.tolist() == sorted({*of_frame.tolist(), *of_strata.tolist()})
    assert max(made.doubled) < 6
    weights = replicates(made, 20_000)
    doubles, stratum = weights[made.works :], made.stratum[made.doubled]
    assert (doubles > 0).sum(axis=0).max() == 2
    # Half of them have the work's own answer: then it is the work itself that weighs more.
    for number in (0, 1):
        odds = [(made.stratum[kind] == number).mean() / 2 for kind in made.further]
        met = (doubles[stratum == number] > 0).any(axis=0)
        assert met.mean() == pytest.approx(1 - (1 - odds[0]) * (1 - odds[1]), abs=0.015)
    # Alone it weighs as much as a drawn work does on average: three gammas of shape 1/3, its of 1.
    alone = (doubles[stratum == 1] > 0).sum(axis=0) == 1
    share = doubles[stratum == 1][:, alone].sum(axis=0) / (10 * np.sqrt(0.7))
    assert share.mean() == pytest.approx(1 / 2, abs=0.06)


def test_a_share_of_works_of_one_weight_has_nearly_the_mid_p_limits() -> None:
    # 3 of 40 of a frame without end. Mid-P: half of what Clopper and Pearson's limits count.
    yes = np.arange(40) < 3
    made = Design.of(np.ones(40), None)
    weights = replicates(made, 40_000)
    measure = Shares.of([made.either(yes)], [np.ones(len(weights), bool)])
    found = measure.figures(measure.sums @ weights)[0]
    limits = share(np.append(0.075, found), works=40)

    def mid_p(p: float) -> float:
        return float(binom.cdf(2, 40, p) + binom.pmf(3, 40, p) / 2)

    low = brentq(lambda p: mid_p(p) - 0.975, 1e-6, 0.5)
    high = brentq(lambda p: mid_p(p) - 0.025, 1e-6, 0.5)
    assert (limits.low, limits.high) == pytest.approx((low, high), abs=0.012)


def test_a_heavy_stratum_without_a_yes_may_hold_some() -> None:
    made = design([(30, 30_000), (70, 300)])
    yes = np.arange(100) >= 60
    weights = replicates(made, 2_000)
    measure = Shares.of([made.either(yes)], [np.ones(len(weights), bool)])
    found = measure.figures(measure.sums @ weights)[0]
    limits = share(np.append(40 / 70 * 300 / 30_300, found), works=effective(made.weight))
    assert limits.high > 0.05  # 0 of 30: mid-P up to 0.095


def test_doubles_have_the_other_answer() -> None:
    made = design([(3, 30), (2, 2)])
    assert made.doubled.tolist() == [0, 1, 2]
    assert made.again(np.arange(5)).tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    yes = np.array([True, False, True, False, True])
    assert made.either(yes).tolist() == [*yes.tolist(), False, True, False]


def test_a_stratum_that_was_drawn_whole_does_not_vary() -> None:
    made = design([(3, 3), (4, 40)])
    weights = replicates(made, 50)
    assert (weights[:3] == 1).all()
    assert made.doubled.tolist() == [3, 4, 5, 6]
    assert (weights[3:].std(axis=1) > 0).all()
    assert (replicates(Design.of(np.ones(5), None, finite=True), 7) == np.ones((5, 7))).all()


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
    assert made.doubled.tolist() == [*range(8)]
    monkeypatch.setattr("scorer.review.bootstrap._BLOCK", 160)
    blocks = [block.shape for block in made.blocks(25, 1)]
    assert blocks == [(16, 1), (16, 10), (16, 10), (16, 5)]


def replicas(value: float, spread: float) -> np.ndarray:
    """Return a figure and replicates of just this mean and standard deviation."""
    normal = np.random.default_rng(0).normal(size=2000)
    normal = (normal - normal.mean()) / normal.std(ddof=1)
    return np.concatenate([[value], value + spread * normal])


def test_limits_are_percentiles_of_the_replicates() -> None:
    found = np.linspace(0.2, 0.6, 1001)  # of which 2.5 % are under 0.21
    limits = share(np.append(0.4, found), works=50)
    assert (limits.low, limits.value, limits.high) == pytest.approx((0.21, 0.4, 0.59))


def test_limits_hold_a_figure_that_lies_outside_of_its_replicates() -> None:
    limits = share(np.array([0.9, *np.linspace(0.3, 0.5, 41)]), works=50)
    assert limits.high == limits.value == 0.9


def test_limits_of_none_and_all_come_from_the_number_of_works() -> None:
    # Mid-P for 0 of 30: half of (1 - p)^30 is 0.025, so the upper limit is 1 - 0.05^(1/30).
    none = share(np.zeros(50), works=30)
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 30))
    every = share(np.ones(50), works=30)
    assert (every.low, every.high) == pytest.approx((0.05 ** (1 / 30), 1.0))


def test_limits_reach_as_far_as_works_that_may_be_missing_by_chance() -> None:
    # Of 30 effective works a very light one is missed; the sample may lack a heavy one by chance.
    nearly = share(replicas(0.99999, 1e-5), works=30)
    assert nearly.low == pytest.approx(share(np.ones(50), works=30).low, abs=1e-4)
    assert nearly.high > 0.99999
    hardly = share(replicas(0.00001, 1e-5), works=30)
    assert (hardly.low, hardly.high) == pytest.approx((1 - nearly.high, 1 - nearly.low), abs=1e-5)


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


def test_replicates_without_a_figure_are_left_out() -> None:
    found = replicas(0.3, 0.05)
    some = np.concatenate([found, np.full(7, np.nan)])
    assert share(some, 50) == share(found, 50)


def test_works_of_one_weight_are_as_many_as_they_are() -> None:
    assert effective(np.full(7, 3.5)) == pytest.approx(7)
    assert effective(np.array([1.0, 3.0])) == pytest.approx(1.6)
    assert effective(np.array([])) == 0.0
