"""Random keys follow from the id and the seed alone."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from scorer.review.sample_keys import _hashed, _mixed, seeded_keys

MASK = (1 << 64) - 1


def fnv1a(text: str) -> int:
    found = 0xCBF29CE484222325
    for byte in text.encode():
        found = ((found ^ byte) * 0x100000001B3) & MASK
    return found


def test_the_hash_is_fnv_1a():
    # Values of the reference's own test suite (Noll).
    known = {"": 0xCBF29CE484222325, "a": 0xAF63DC4C8601EC8C, "foobar": 0x85944171F73967E8}
    assert _hashed(pl.Series(list(known))).tolist() == list(known.values())


def test_the_finaliser_is_that_of_splitmix64():
    # The first number that SplitMix64 gives from the seed 0, and from 1234567.
    states = np.array([0, 1234567], np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    assert _mixed(states).tolist() == [0xE220A8397B1DCDAF, 6457827717110365317]


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(0, 40))
def test_ids_are_hashed_one_by_one_wherever_they_stand(ids: list[str], start: int):
    hashes = _hashed(pl.Series(ids, dtype=pl.String).slice(start))
    assert hashes.tolist() == [fnv1a(text) for text in ids[start:]]


def test_seeds_and_streams_give_other_keys():
    ids = pl.Series([f"W{n}" for n in range(1000)])
    keys = [seeded_keys(ids, seed, stream) for seed in (0, 1, -1) for stream in (0, 1, 2)]
    assert len({key for some in keys for key in some.tolist()}) == 9000
    orders = np.argsort(np.argsort(keys, axis=1), axis=1)
    correlations = np.corrcoef(orders)[np.triu_indices(9, 1)]
    assert np.abs(correlations).max() < 0.15  # of 1,000 works, 1 / sqrt(1000) is one sigma


def test_keys_are_uniform():
    keys = seeded_keys(pl.Series([f"W{n}" for n in range(100_000)]), 7)
    counts = np.bincount((keys >> np.uint64(60)).astype(np.int64), minlength=16)
    expected = 100_000 / 16
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    assert chi_squared < 37.7  # the 99.9th percentile with 15 degrees of freedom
