"""Every form in which an inverted index comes, and what is wrong with those that are none."""

import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.frame.abstract import deinvert
from scorer.frame.inverted_json import split_json, unwrapped

checked = settings(max_examples=60)


def texts(indexes: pl.Series) -> list[str | None]:
    works = pl.Series([f"W{row}" for row in range(len(indexes))], dtype=pl.String)
    return deinvert(indexes, works).to_list()


def from_json(*indexes: str | None) -> list[str | None]:
    return texts(pl.Series(indexes, dtype=pl.String))


def from_arrow(column: pa.Array) -> list[str | None]:
    return texts(pl.from_arrow(pa.table({"index": column})).to_series())


@pytest.mark.parametrize(
    "index",
    [
        '{"cats": [1, 3], "All": [0], "love": [2]}',
        '{"cats":[1,3],"All":[0],"love":[2]}',
        '{"love":[2], "cats":[3, 1],"All": [0]}',
        '\n{ "cats" : [ 1 , 3 ] ,\t"All":[0], "love" : [2] }\n',
        '{"cats": ["1", "3"], "All": ["0"], "love": [2]}',
        '{"cats": [1.0, 3], "All": [0], "love": [2e0]}',
        '{"cats": [1], "All": [0], "love": [2], "cats": [3]}',
        '{"cats": [1, 3], "All": [0], "love": [2], "never": []}',
        '{"IndexLength": 4, "InvertedIndex": {"cats": [1, 3], "All": [0], "love": [2]}}',
        '{"IndexLength":4,"InvertedIndex":{"cats":["1","3"],"All":["0"],"love":["2"]}}',
        '{"InvertedIndex": {"cats": [1, 3], "All": [0], "love": [2]}, "IndexLength": 4}',
        '{"\\u0063ats": [1, 3], "All": [0], "lov\\u0065": [2]}',
    ],
)
def test_json_of_any_layout_gives_the_words_in_position_order(index: str) -> None:
    assert from_json(index) == ["All cats love cats"]


def test_the_forms_that_programs_write_are_split_by_column() -> None:
    regular = pl.Series(
        [
            '{"cats": [1, 3], "All": [0], "\\u0063ats": [], "\\"5\\"": [4]}',
            '{"cats":[1,3],"All":[0]}',
            '\n{ "cats": [ 1 , "3" ] ,\t"All":["007"] }\n',
            "{}",
        ]
    )
    wrapped = pl.Series([f'{{"IndexLength":4, "InvertedIndex": {index}}}' for index in regular])
    assert not split_json(regular)[1].any()
    assert split_json(wrapped)[1].all()
    assert not split_json(unwrapped(wrapped))[1].any()
    assert (
        from_json(*regular)
        == from_json(*wrapped)
        == ['All cats cats "5"', "All cats cats", "cats cats All", None]
    )


def test_french_text_comes_back_whether_its_letters_were_escaped_or_not() -> None:
    text = "L’évaluation de la recherche à Québec : « où en est-on ? » Œuvre de Noël, de là à là"
    index: dict[str, list[int]] = {}
    for position, word in enumerate(text.split()):
        index.setdefault(word, []).append(position)
    backwards = dict(sorted(index.items(), reverse=True))
    written = [json.dumps(backwards, ensure_ascii=ascii_only) for ascii_only in (True, False)]
    assert from_json(*written) == [text, text]


def test_words_with_quotes_brackets_and_escapes_come_back() -> None:
    words = ['"open"', "a\\b", '\\"', "[3]", '{"x":', "5", '"5",', "\t", "é", "\\u00e9", "😀", ""]
    index = json.dumps({word: [place] for place, word in enumerate(words)})
    assert from_json(index, json.dumps({'"a"]': [1], "7": [0]})) == [" ".join(words), '7 "a"]']


def test_gaps_repeats_and_large_positions_keep_order() -> None:
    assert from_json(
        '{"c": [999999999], "b": [7], "a": [0]}',
        '{"y": [1], "x": [1, 0], "z": [1]}',
        '{"one": [0, 1]}',
    ) == ["a b c", "x y x z", "one one"]


def test_null_empty_and_blank_indexes_give_null_and_leave_the_others_alone() -> None:
    given = [
        None,
        "",
        "  ",
        "null",
        "{}",
        "{ }",
        '{"a": []}',
        '{"IndexLength": 0, "InvertedIndex": {}}',
    ]
    assert from_json(*given, '{"a": [0]}') == [None] * len(given) + ["a"]
    assert from_json() == []
    assert texts(pl.Series([None, None])) == [None, None]


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert from_json('{"a\\ud800b": [0], "\\ud83d\\ude00": [1]}') == ["a\ufffdb 😀"]


def test_arrow_maps_and_lists_of_pairs_come_back() -> None:
    entries = [[("b", [1]), ("a", [2, 0])], None, [], [("é", [5])], [("b", []), ("c", [0, 0])]]
    expected = ["a b a", None, None, "é", "c c"]
    for positions in (pa.int32(), pa.int64(), pa.uint16()):
        kind = pa.map_(pa.string(), pa.list_(positions))
        assert from_arrow(pa.array(entries, kind)) == expected
    dictionary = pa.map_(pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.int32()))
    assert from_arrow(pa.array(entries, dictionary)) == expected
    strings = [[("b", ["1"]), ("a", ["2", "0"])]]
    assert from_arrow(pa.array(strings, pa.map_(pa.string(), pa.list_(pa.string())))) == ["a b a"]


def test_arrow_structs_come_back() -> None:
    assert from_arrow(pa.array([{"b": [1], "a": [0, 2]}, None, {"c": [9]}, {"a": []}])) == [
        "a b a",
        None,
        "c",
        None,
    ]
    kind = pa.struct([("a", pa.list_(pa.string())), ("b", pa.list_(pa.int8())), ("c", pa.null())])
    assert from_arrow(pa.array([{"a": ["1"], "b": [0]}, {"b": [3]}], kind)) == ["b a", "b"]
    assert from_arrow(pa.array([{}, None], pa.struct([]))) == [None, None]


def test_mags_wrapper_is_taken_off_a_struct() -> None:
    inside = {"b": [1], "a": [0]}
    wrapped = [{"IndexLength": 2, "InvertedIndex": inside}, None, {"IndexLength": 0}]
    assert from_arrow(pa.array(wrapped)) == ["a b", None, None]
    as_map = pa.struct(
        [("IndexLength", pa.int32()), ("InvertedIndex", pa.map_(pa.string(), pa.list_(pa.int32())))]
    )
    rows = [{"IndexLength": 2, "InvertedIndex": list(inside.items())}]
    assert from_arrow(pa.array(rows, as_map)) == ["a b"]
    as_text = [{"IndexLength": 2, "InvertedIndex": json.dumps(inside)}]
    assert from_arrow(pa.array(as_text)) == ["a b"]


def test_the_word_invertedindex_is_no_wrapper() -> None:
    index = {"the": [0], "InvertedIndex": [1], "IndexLength": [2]}
    assert from_arrow(pa.array([index])) == ["the InvertedIndex IndexLength"]
    assert from_json(json.dumps(index)) == ["the InvertedIndex IndexLength"]


def test_python_objects_come_back() -> None:
    given = [
        {"b": [1], "a": [0, 2]},
        None,
        '{"a": ["0"]}',
        {"IndexLength": 1, "InvertedIndex": {"c": [0]}},
        {"b": np.array([1, 3]), "a": np.array([2])},
        [("b", [1]), ("a", [0])],
        {},
    ]
    indexes = pl.Series(given, dtype=pl.Object)
    assert texts(indexes) == ["a b a", None, "a", "c", "b a b", "a b", None]


@pytest.mark.parametrize(
    ("index", "why"),
    [
        ('{"a": [-1]}', "position -1 is out of range"),
        ('{"a": [1000000000]}', "position 1000000000 is out of range"),
        ('{"a": [1.5]}', "1.5 is no position"),
        ('{"a": ["x"]}', "'x' is no position"),
        ('{"a": [true]}', "True is no position"),
        ('{"a": [[0]]}', "'list' object cannot be interpreted as an integer"),
        ('{"a": {"b": [0]}}', "(('b', [0]),) is no list of positions"),
        ('{"a": "12"}', "'12' is no list of positions"),
        ('[["a", [0]]]', "[['a', [0]]] is no object"),
        ('{"a": [0]} x', "Extra data: line 1 column 12 (char 11)"),
    ],
)
def test_an_index_that_is_none_says_why(index: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        from_json(None, '{"a": [0]}', index, "{")
    assert str(caught.value) == (
        'work W2: its abstract_inverted_index is not of the form {"word": [positions]} '
        f"({why}).\nMend or empty that cell."
    )


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": [0]}, {"a": [-1]}]),
        pa.array([{"a": [0.0]}, {"a": [0.5]}]),
        pa.array([{"a": ["0"]}, {"a": ["-1"]}]),
        pa.array([{"a": [0]}, {"a": [None]}]),
        pa.array([None, {"a": 1}]),
        pa.array([None, {"a": [[1]]}]),
        pa.array([[], [("a", [-1])]], pa.map_(pa.string(), pa.list_(pa.int32()))),
        pa.array([[], [("a", None)]], pa.map_(pa.string(), pa.list_(pa.int32()))),
        pa.array([[], [("a", 1)]], pa.map_(pa.string(), pa.int32())),
        pa.array([[], [{"word": "a", "at": [1]}]]),
        pa.array([None, 3]),
        pa.array([None, [0, 1]]),
    ],
)
def test_arrow_columns_that_hold_no_index_name_the_first_work(column: pa.Array) -> None:
    with pytest.raises(InputError, match=r"^work W1: its abstract_inverted_index is not of the"):
        from_arrow(column)


def test_the_first_bad_work_is_named_however_many_there_are() -> None:
    given = ['{"a": [0]}'] * 3000 + ["{"] + ['{"a": [-1]}'] * 3000
    with pytest.raises(InputError, match=r"^work W3000: "):
        from_json(*given)


def test_json_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(InputError, match=r"^work W0: "):
        from_json('{"a":' * 100_000)


def test_fifty_thousand_words_come_back_whatever_their_order() -> None:
    words = [f"w{place}" for place in range(50_000)]
    index = {word: [place] for place, word in reversed(list(enumerate(words)))}
    gaps = {word: [place * 3] for place, word in reversed(list(enumerate(words)))}
    expected = " ".join(words)
    assert from_json(json.dumps(index), json.dumps(gaps)) == [expected, expected]
    assert from_json(json.dumps({"a": list(range(50_000))})) == [" ".join(["a"] * 50_000)]


token = st.text(st.characters(exclude_categories=("Cs",)), max_size=4) | st.sampled_from(
    ['"', "\\", '\\"', "5", "[1]", "]}", ",", "InvertedIndex", "é", "\\u0041"]
)
index = st.dictionaries(token, st.lists(st.integers(0, 12), max_size=4), max_size=6)


def plainly(given: dict[str, list[int]]) -> str | None:
    placed = [(place, word) for word, places in given.items() for place in places]
    return " ".join(word for _, word in sorted(placed, key=lambda pair: pair[0])) or None


@checked
@given(st.lists(index, max_size=5), st.booleans(), st.sampled_from([(", ", ": "), (",", ":")]))
@example([{"a": [0], "": [1]}, {"\\": [0]}], True, (", ", ": "))
def test_json_of_any_words_gives_what_plain_python_gives(
    indexes: list[dict[str, list[int]]], ascii_only: bool, separators: tuple[str, str]
) -> None:
    written = [
        json.dumps(given, ensure_ascii=ascii_only, separators=separators) for given in indexes
    ]
    expected = [None if not any(given.values()) else plainly(given) or "" for given in indexes]
    assert from_json(*written) == expected
    assert [from_json(one)[0] for one in written] == expected
    kind = pa.map_(pa.string(), pa.list_(pa.int64()))
    assert from_arrow(pa.array([list(given.items()) for given in indexes], kind)) == expected
    assert texts(pl.Series(indexes, dtype=pl.Object)) == expected


@checked
@given(st.lists(st.text('{}[]":,\\ 019au-', max_size=12), max_size=4))
@example(['{"a": [0]}', '{"a":[0]', '"a": [0]}', '{"a": [0]}{"b": [1]}', '5{"a": [0]}'])
@example(['{"a": [0],}', '{"a": [0 1]}', '{"a": [,0]}', '{"a" [0]}', '{"a": [0]] }', '{"a": [00]}'])
def test_near_json_is_read_as_json_or_refused(pieces: list[str]) -> None:
    for piece in pieces:
        try:
            found = from_json(piece)[0]
        except InputError:
            continue
        meant = json.loads(piece) if piece.strip() else None
        assert found is None or isinstance(meant, dict)
