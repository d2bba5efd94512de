import json

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.frame.abstract import deinvert

checked = settings(max_examples=50)
word = st.text(st.characters(exclude_categories=("Cs", "Z", "C")), min_size=1, max_size=6)
words = st.lists(word, max_size=12)


def texts(indexes: pl.Series) -> list[str | None]:
    works = pl.Series([f"W{row}" for row in range(len(indexes))], dtype=pl.String)
    return deinvert(indexes, works).to_list()


def from_json(*indexes: str | None) -> list[str | None]:
    return texts(pl.Series(indexes, dtype=pl.String))


def as_map(*indexes: dict[str, list[int]] | None) -> pl.Series:
    column = pa.array(
        [None if index is None else list(index.items()) for index in indexes],
        pa.map_(pa.string(), pa.list_(pa.int32())),
    )
    return pl.from_arrow(pa.table({"abstract_inverted_index": column})).to_series()


def inverted(text: list[str]) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for position, token in enumerate(text):
        index.setdefault(token, []).append(position)
    return index


def test_words_of_a_json_string_come_back_in_position_order() -> None:
    assert from_json('{"cats": [1, 3], "All": [0], "love": [2]}') == ["All cats love cats"]


def test_gaps_close_up() -> None:
    assert from_json('{"b": [70], "a": [2]}') == ["a b"]


def test_words_at_one_position_keep_their_order_in_the_index() -> None:
    assert from_json('{"y": [0], "x": [0], "z": [1, 1]}') == ["y x z z"]


def test_null_and_empty_indexes_give_null() -> None:
    assert from_json(None, "{}", '{"a": []}', '{"a": [0]}') == [None, None, None, "a"]


def test_words_of_a_struct_come_back_and_its_null_fields_do_not() -> None:
    column = pa.array([{"b": [1], "a": [0, 2]}, {"c": [0]}, None, {"b": []}])
    indexes = pl.from_arrow(pa.table({"index": column})).to_series()
    assert texts(indexes) == ["a b a", "c", None, None]


def test_words_of_a_map_come_back_in_position_order() -> None:
    assert texts(as_map({"b": [1], "a": [0, 2]}, None, {}, {"c": [4]})) == [
        "a b a",
        None,
        None,
        "c",
    ]


def test_words_of_a_list_of_keys_and_values_come_back() -> None:
    indexes = pl.Series([[{"key": "b", "value": [1]}, {"key": "a", "value": [0]}], []])
    assert texts(indexes) == ["a b", None]


def test_dictionary_encoded_json_is_read_as_json() -> None:
    column = pa.array(['{"a": [0]}', None, '{"a": [0]}']).dictionary_encode()
    indexes = pl.from_arrow(pa.table({"index": column})).to_series()
    assert texts(indexes) == ["a", None, "a"]


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "[]",
        "3",
        '{"a": 1}',
        '{"a": null}',
        '{"a": ["x"]}',
        '{"a": [NaN]}',
        '{"a": [1e999]}',
    ],
)
def test_a_broken_index_names_the_work_and_what_to_do(broken: str) -> None:
    with pytest.raises(InputError) as caught:
        from_json('{"a": [0]}', broken)
    first, second = str(caught.value).splitlines()
    assert first.startswith(
        'work W1: its abstract_inverted_index is not of the form {"word": [positions]} ('
    )
    assert second == "Mend or empty that cell."
    assert caught.value.exit_code == 3


def test_positions_in_a_string_are_refused_instead_of_read_digit_by_digit() -> None:
    with pytest.raises(InputError, match=r"^work W0: its abstract_inverted_index"):
        from_json('{"b": "12", "a": "0"}')


@checked
@given(st.lists(words, max_size=4), st.randoms(use_true_random=False))
def test_inverting_and_de_inverting_gives_the_text_back(abstracts: list[list[str]], random) -> None:
    shuffled = []
    for abstract in abstracts:
        items = list(inverted(abstract).items())
        random.shuffle(items)
        shuffled.append(json.dumps(dict(items)))
    assert from_json(*shuffled) == [" ".join(abstract) or None for abstract in abstracts]


@checked
@given(st.lists(words, max_size=4))
def test_a_map_gives_what_the_same_index_in_json_gives(abstracts: list[list[str]]) -> None:
    indexes = [inverted(abstract) for abstract in abstracts]
    assert texts(as_map(*indexes)) == from_json(*(json.dumps(index) for index in indexes))
