"""The compiled loop gives the texts of the columns, or leaves an index to them."""

import json
import random
from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scorer.frame.abstract
from scorer.errors import InputError
from scorer.frame.abstract import deinvert

pytest.importorskip("numba", reason="the extra fast is not installed")

from scorer.frame.inverted_loops import texts_of

Index = dict[str, list[int]]


def inverted(words: list[str]) -> Index:
    index: Index = {}
    for position, word in enumerate(words):
        index.setdefault(word, []).append(position)
    return index


def by_columns(index: str) -> str | Exception | None:
    try:
        return deinvert(pl.Series([index], dtype=pl.String), pl.Series(["W1"]))[0]
    except InputError as error:
        return error


@pytest.fixture
def loops_from_the_first(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """De-inversion by the loop, however few indexes there are."""
    loops = scorer.frame.abstract._Loops()
    loops.for_another(scorer.frame.abstract._MANY)
    assert loops.are_loaded
    monkeypatch.setattr(scorer.frame.abstract, "_LOOPS", loops)
    yield


words = st.lists(st.text(max_size=5) | st.sampled_from(["the", "é", "a:b", "[1]", "}", " "]))


@settings(max_examples=150)
@given(st.lists(words, max_size=5), st.sampled_from([None, 1]), st.booleans())
def test_the_loop_gives_the_words_back(
    texts: list[list[str]], indent: int | None, escaped: bool
) -> None:
    written = [json.dumps(inverted(text), ensure_ascii=escaped, indent=indent) for text in texts]
    found, left = texts_of(pl.Series(written, dtype=pl.String))
    for text, index, row, is_left in zip(texts, written, found, left, strict=True):
        assert (row is None) == is_left
        if not is_left:
            assert row == " ".join(text)
        assert is_left == (not text or "\\" in index)


@settings(max_examples=150)
@given(words, st.integers(0, 2**32))
def test_of_damaged_indexes_the_loop_takes_those_that_are_still_whole(
    text: list[str], seed: int
) -> None:
    chance = random.Random(seed)
    index = json.dumps(inverted(text or ["a", "b", "a"]), ensure_ascii=False)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(index))
        piece = chance.choice(["", ",", "0", "9", "]", "[", '"', "{", "}", ":", " ", "\\", "-1"])
        index = index[:at] + piece + index[at + chance.randrange(3) :]
        if not index:
            break
    found, left = texts_of(pl.Series([index], dtype=pl.String))
    if not left[0]:
        assert found[0] == by_columns(index)


@pytest.mark.parametrize(
    "index",
    [
        '{"a": [0], "b": [2]}',
        '{"a": [0], "b": [0]}',
        '{"a": [1], "a": [0], "b": [1]}',
        '{"a": ["0"]}',
        '{"IndexLength": 1, "InvertedIndex": {"a": [0]}}',
        '{"\\u00e9": [0]}',
        '{"a": [00]}',
        '{"a": [-1]}',
        '{"a": [0]} x',
        '{"a": [0',
        '{"a": [0,]}',
        '{"a": []}',
        '{"a" : [0]}',
        '{"' + "long" * 30 + '": [' + ", ".join(map(str, range(40))) + "]}",
        "{}",
        "",
        "null",
        "[]",
    ],
)
def test_what_the_loop_does_not_know_is_left(index: str) -> None:
    found, left = texts_of(pl.Series(['{"x": [0]}', index, '{"y": [0]}']))
    assert left.tolist() == [False, True, False]
    assert found.to_list() == ["x", None, "y"]


def test_what_is_left_comes_back_by_columns(loops_from_the_first: None) -> None:
    indexes = ['{"b": [1], "a": [0]}', None, '{"\\u00e9": [0, 2]}', "", '{"b": [5], "a": [3]}']
    found = deinvert(pl.Series(indexes), pl.Series([f"W{n}" for n in range(5)]))
    assert found.to_list() == ["a b", None, "é é", None, "a b"]


def test_the_error_names_the_work(loops_from_the_first: None) -> None:
    indexes = ['{"a": [0]}', None, *['{"a": [1]}'] * 200, '{"a": [-1]}', '{"a": [0]}']
    ids = pl.Series([f"W{n}" for n in range(len(indexes))])
    with pytest.raises(InputError, match="work W202: its abstract_inverted_index is not of"):
        deinvert(pl.Series(indexes), ids)


def test_no_indexes_are_no_texts(loops_from_the_first: None) -> None:
    assert deinvert(pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.String)).to_list() == []
