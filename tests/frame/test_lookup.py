"""Looking works up by id: as a dictionary would, whatever the hashes."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.frame.lookup import IdLookup, IdsFound

checked = settings(max_examples=30)
ids = st.lists(st.text("W012", max_size=4), max_size=12)


def texts(values: list[str]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


def plain_places(listed: list[str], asked: list[str]) -> list[int]:
    places = {work: place for place, work in enumerate(listed)}
    return [places.get(work, -1) for work in asked]


@checked
@given(ids, ids)
def test_places_are_those_of_a_dictionary(listed: list[str], asked: list[str]) -> None:
    listed = list(dict.fromkeys(listed))
    found = IdLookup(texts(listed)).find(texts(asked))
    assert found.tolist() == plain_places(listed, asked)


@pytest.mark.parametrize("hashes", [1, 2, 3])
@checked
@given(ids, ids)
def test_ids_of_the_same_hash_are_told_apart(
    hashes: int, listed: list[str], asked: list[str]
) -> None:
    listed = list(dict.fromkeys(listed))

    def colliding(self: pl.Series) -> pl.Series:
        top = np.uint64(2**64 - 1)  # the greatest hash: nothing is sorted behind it
        return pl.Series([top - len(work) % hashes for work in self], dtype=pl.UInt64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.Series, "hash", colliding)
        found = IdLookup(texts(listed)).find(texts(asked))
    assert found.tolist() == plain_places(listed, asked)


def test_an_empty_list_holds_nobody() -> None:
    lookup = IdLookup(texts([]))
    assert len(lookup) == 0
    assert lookup.find(texts(["W1", ""])).tolist() == [-1, -1]
    assert lookup.find(texts([])).tolist() == []
    assert IdsFound(lookup).count() == 0


def test_ids_that_are_found_count_once_over_all_batches() -> None:
    lookup = IdLookup(texts(["W1", "W2", "W3"]))
    found = IdsFound(lookup)
    for batch in (["W3", "W9"], [], ["W1", "W3"]):
        found.add(lookup.find(texts(batch)))
    assert found.count() == 2
