"""Ids that occur again are found by hash, told by the ids themselves, and all but one left out."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer.frame.ids
from scorer.errors import InputError
from scorer.frame.ids import Ids
from scorer.frame.repeated import check_no_null, repeated_ids, surplus_rows

ids_lists = st.lists(st.none() | st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12)


def batches(ids: list[str | None], size: int) -> Ids:
    series = pl.Series("id", ids, dtype=pl.String)
    return lambda: [series[at : at + size] for at in range(0, len(ids), size)]


@given(ids_lists, st.integers(1, 5), st.sampled_from(["first", "last"]))
def test_each_id_stays_once_and_null_ids_are_left_alone(
    ids: list[str | None], size: int, keep: str
) -> None:
    surplus = surplus_rows(batches(ids, size), len(ids), keep).tolist()
    order = list(enumerate(ids)) if keep == "first" else list(enumerate(ids))[::-1]
    stays = {}
    for row, work in order:
        stays.setdefault(work, row)
    expected = [row for row, work in enumerate(ids) if work is not None and stays[work] != row]
    assert surplus == expected


@given(ids_lists, st.integers(1, 5))
def test_repeated_ids_are_counted_in_their_order(ids: list[str | None], size: int) -> None:
    counts = Counter(work for work in ids if work is not None)
    expected = [(work, count) for work, count in counts.items() if count > 1]
    assert repeated_ids(batches(ids, size), len(ids)).rows() == expected


def test_the_newest_stays_where_dates_are_known_and_of_equal_ones_the_last() -> None:
    ids = ["a", "b", "a", "b", "a", "c", "c"]
    dates = pl.Series(["2024-03-01", None, "2024-05-01T08:00:00", "2020-01-01", "2023", "1", "1"])
    read = lambda: [dates[:3], dates[3:]]  # noqa: E731
    assert surplus_rows(batches(ids, 2), 7, "last", read).tolist() == [0, 1, 4, 5]
    assert surplus_rows(batches(ids, 2), 7, "first", read).tolist() == [2, 3, 4, 6]


def test_a_large_frame_is_read_in_shares_and_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    ids: list[str | None] = [f"W{n % 700}" for n in range(1000)]
    expected = surplus_rows(batches(ids, 64), 1000, "first")
    monkeypatch.setattr(scorer.frame.ids, "_HASHES_HELD", 100)
    assert np.array_equal(surplus_rows(batches(ids, 64), 1000, "first"), expected)
    assert expected.tolist() == list(range(700, 1000))


def test_equal_hashes_of_different_ids_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.Series, "hash", lambda ids: pl.Series([7] * len(ids), dtype=pl.UInt64))
    assert surplus_rows(batches(["a", "b", "a"], 2), 3, "first").tolist() == [2]
    assert repeated_ids(batches(["a", "b", "a"], 2), 3).rows() == [("a", 2)]


def test_null_ids_are_told_with_their_rows() -> None:
    with pytest.raises(InputError) as caught:
        check_no_null(batches(["a", None, "b", None], 2), "f.parquet", "")
    assert str(caught.value) == (
        "f.parquet: null ids: 2, first in rows 1, 3 (counted from 0).\n"
        "Every work needs an id: give these rows one, or leave them out."
    )
