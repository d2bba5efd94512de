import bz2
import gzip
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import aside, pieces, refusal, skipping, works

from scorer.errors import UsageError
from scorer.frame.readers import base, json_records, json_values
from scorer.frame.readers.json_fields import (
    NOT_FAST,
    Field,
    Row,
    fast,
    fields_of,
    merged,
    places_of,
    slow,
)

RECORD = {
    "id": "https://openalex.org/W1",
    "title": "First",
    "abstract_inverted_index": {"a": [0, 2], "b": [1]},
    "venue": "Lancet",
    "year": 2010,
    "more": [1, {"x": None}],
}
FOUND = {
    "id": ["W1"],
    "title": ["First"],
    "abstract_inverted_index": ['{"a": [0, 2], "b": [1]}'],
    "venue": ["Lancet"],
    "year": [2010],
}


@pytest.fixture
def lines(tmp_path: Path):
    def write(*content: str | bytes, name: str = "x.jsonl") -> Path:
        path = tmp_path / name
        encoded = (one if isinstance(one, bytes) else one.encode() for one in content)
        path.write_bytes(b"".join(one + b"\n" for one in encoded))
        return path

    return write


@pytest.fixture
def values(tmp_path: Path):
    def write(content: str | bytes, name: str = "x.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_contract_columns_are_found_and_typed(lines) -> None:
    (piece,) = pieces(lines(json.dumps(RECORD)))
    assert piece.works.to_dict(as_series=False) == FOUND
    assert piece.works.schema["year"] == pl.Int32
    assert piece.columns == {name: name for name in FOUND}


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_gives_what_lines_give(values, indent: int | None) -> None:
    found = works(values(json.dumps([RECORD, {"id": 2}], indent=indent)))
    index = found.pop("abstract_inverted_index")
    assert json.loads(index[0]) == RECORD["abstract_inverted_index"]
    assert found == {
        "id": ["W1", "2"],
        "title": ["First", None],
        "venue": ["Lancet", None],
        "year": [2010, None],
    }


def test_one_object_is_one_work_and_several_are_several(values) -> None:
    one = json.dumps({"id": "1", "title": "t"}, indent=2)
    assert works(values(one))["id"] == ["1"]
    assert works(values(one + "\n" + one.replace("1", "2")))["id"] == ["1", "2"]


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, pa.compress], ids=["gz", "bz2", "zst"]
)
def test_compressed_files_give_the_same(values, pack) -> None:
    for content in (json.dumps(RECORD), json.dumps([RECORD])):
        data = content.encode()
        packed = pack(data, codec="zstd", asbytes=True) if pack is pa.compress else pack(data)
        assert works(values(packed)) == FOUND


def test_blank_lines_a_mark_at_the_start_and_windows_line_ends_are_passed_over(lines) -> None:
    path = lines("\ufeff", "", '\ufeff{"id": "1", "title": "a"}\r', "  \r", '{"id": "2"}')
    assert works(path)["id"] == ["1", "2"]


def test_names_with_dots_and_names_inside_names_are_found(lines) -> None:
    path = lines(
        '{"id": "1", "title": "t", "revue": {"nom": "a"}}',
        '{"id": "2", "title": "u", "revue.nom": "b"}',
        '{"id": "3", "title": "v", "revue": null}',
        '{"id": "4", "title": "w", "revue": "x"}',
    )
    (piece,) = pieces(path, mapping={"venue": "revue.nom"})
    assert piece.works["venue"].to_list() == ["a", "b", None, None]
    assert piece.columns["venue"] == "revue.nom"


def test_the_contract_name_wins_over_the_native_one_even_where_it_is_null(lines) -> None:
    path = lines(
        '{"id": "1", "display_name": "native", "title": "contract"}',
        '{"id": "2", "display_name": "native"}',
        '{"id": "3", "display_name": "native", "title": null}',
    )
    assert works(path)["title"] == ["contract", "native", None]


def test_of_a_name_that_occurs_twice_the_last_value_counts(lines) -> None:
    path = lines(
        '{"id": "1", "title": "a", "title": "b"}', r'{"id":"2","title":"a","title":"\ud800"}'
    )
    assert works(path)["title"] == ["b", "\ufffd"]


def test_ids_that_are_numbers_become_text(lines) -> None:
    path = lines('{"id": 0, "title": "t"}', f'{{"id": {2**70}}}', '{"id": "007"}')
    assert works(path)["id"] == ["0", str(2**70), "007"]


@pytest.mark.parametrize(
    ("written", "year"),
    [("2010", 2010), ("2010.0", 2010), ('"2010"', 2010), ("2010.5", None), ('"n.d."', None),
     ("null", None), ("1e12", None), ("0", 0), ("9" * 400, None), ("NaN", None)],
)  # fmt: skip
def test_years_become_integers(lines, written: str, year: int | None) -> None:
    assert works(lines(f'{{"id": 1, "title": "t", "year": {written}}}'))["year"] == [year]


def test_half_a_surrogate_pair_and_bare_controls_do_not_stop_reading(lines) -> None:
    path = lines(
        r'{"id": "1", "title": "a\ud800b", "venue": "\ud83d\ude00"}', '{"id": "2", "title": "a\tb"}'
    )
    assert works(path) == {
        "id": ["1", "2"],
        "title": ["a\ufffdb", "a\tb"],
        "venue": ["😀", None],
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "2", "title": "tw', "cut off in mid-record"),
        ('{"id": "2", "title":', "cut off in mid-record"),
        ('{"id": "2",, }', "not JSON: Expecting property name enclosed in double"),
        ('{"id": "2"} {"id": "3"}', "not JSON: Extra data at character 13"),
        (b'{"id": "2", "title": "caf\xe9"}', "not UTF-8: byte 0xe9 at place 26"),
        ("[1, 2]", "a list ([1, 2]), expected an object"),
        ('{"title": "no id"}', "no 'id', every work needs one"),
        ('{"id": null, "title": "t"}', "no 'id', every work needs one"),
        ('{"id": "", "title": "t"}', "no 'id', every work needs one"),
        ('{"id": true}', "'id' is a truth value (True), expected a text or a whole number"),
        ('{"id": 1.5}', "'id' is a number (1.5), expected a text or a whole number"),
        ('{"id": "2", "title": 7}', "'title' is a number (7), expected a text"),
        ('{"id": "2", "title": ["a"]}', "'title' is a list (['a']), expected a text"),
        ('{"id": "2", "year": []}', "'year' is a list ([]), expected a whole number"),
        (
            '{"id": "2", "abstract_inverted_index": [1]}',
            "'abstract_inverted_index' is a list ([1]), expected an object of words and positions",
        ),
        ("[" * 100_000, "JSON that cannot be read: maximum recursion depth exceeded"),
    ],
)  # fmt: skip
def test_a_bad_line_is_told_by_number_and_can_be_skipped(
    lines, tmp_path: Path, line: str | bytes, said: str
) -> None:
    path = lines('{"id": "1", "title": "a"}', "", line, '{"id": "4", "title": "d"}')
    text = refusal(path, kind="jsonl")
    assert text.startswith(f"x.jsonl: line 3: {said}")
    assert text.endswith(".\nMend the record, or say --on-bad-line skip.")
    bad = skipping(tmp_path)
    assert works(path, kind="jsonl", bad=bad)["id"] == ["1", "4"]
    assert bad.count == 1
    ((where, reason, content),) = aside(path)
    assert where == "line 3"
    assert reason.startswith(said)
    assert content == (line if isinstance(line, str) else line.decode("utf-8", "replace"))


def test_bad_records_alone_give_no_works(lines, tmp_path: Path) -> None:
    bad = skipping(tmp_path)
    assert works(lines('{"id', "[]"), kind="jsonl", bad=bad) == {"id": [], "title": []}
    assert bad.count == 2


def test_reading_goes_on_past_a_whole_piece_of_bad_lines(
    lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_records, "RECORDS_A_PIECE", 2)
    path = lines("{", "{", "", "", '{"id": 5, "title": "t"}')
    assert works(path, kind="jsonl", bad=skipping(tmp_path))["id"] == ["5"]


def test_a_missing_column_is_told_with_what_is_there(lines) -> None:
    path = lines('{"id": "1", "Titre": "t"}', '{"id": "2", "note": {"a": 1}}')
    assert refusal(path) == (
        "x.jsonl: no column 'title'. Columns found: id, Titre, note.\n"
        "If it is 'Titre', say: --map title=Titre"
    )
    assert works(path, mapping={"title": "Titre"})["title"] == ["t", None]
    assert refusal(lines('{"DOI": "1", "title": "t"}')) == (
        "x.jsonl: no column 'id'. Columns found: DOI, title.\nIf it is 'DOI', say: --map id=DOI"
    )


def test_mapping_to_nothing_and_keeping_nothing_are_usage_errors(lines) -> None:
    path = lines('{"id": "1", "title": "t", "place": {"name": "a"}}')
    assert refusal(path, error=UsageError, mapping={"venue": "place.town"}) == (
        "--map venue=place.town: x.jsonl has no column 'place.town'. "
        "Columns found: id, title, place."
    )
    assert refusal(path, error=UsageError, keep=("note",)) == (
        "--keep note: x.jsonl has no such column. Columns found: id, title, place."
    )


def test_kept_columns_are_text_and_json_where_they_are_none(lines) -> None:
    path = lines(
        '{"id": "1", "title": "t", "note": "a", "x": {"é": [1]}}',
        '{"id": "2", "title": "u", "note": 7, "x": null}',
        '{"id": "3", "title": "v", "x": true}',
    )
    (piece,) = pieces(path, keep=("note", "x"))
    assert piece.kept.to_dict(as_series=False) == {
        "note": ["a", "7", None],
        "x": ['{"é": [1]}', None, "true"],
    }


def test_a_column_can_be_read_and_kept(lines) -> None:
    path = lines('{"id": 1, "title": "t", "revue": {"nom": "a"}}')
    (piece,) = pieces(path, keep=("title", "revue"), mapping={"venue": "revue.nom"})
    assert (piece.works["venue"][0], piece.works["id"][0]) == ("a", "1")
    assert piece.kept.row(0) == ("t", '{"nom": "a"}')


def test_a_column_counts_from_the_piece_on_that_has_it(lines) -> None:
    late = ['{"id": "x", "title": "t", "lang": "fr"}', '{"id": "y", "title": "t"}']
    few = [f'{{"id": {number}, "title": "t"}}' for number in range(base.RECORDS_A_PIECE)]
    found = pieces(lines(*few, *late, *few))
    assert [sorted(piece.columns) for piece in found] == [
        ["id", "title"],
        ["id", "lang", "title"],
        ["id", "lang", "title"],
    ]
    assert [piece.works.height for piece in found] == [16_384, 16_384, 2]
    assert found[1].works["lang"][0] == "fr"


def test_an_empty_array_gives_one_empty_piece(values) -> None:
    (piece,) = pieces(values("[ ]"))
    assert (piece.works.columns, piece.works.height) == (["id", "title"], 0)


def test_an_array_that_was_cut_off_is_told_with_record_and_line(values, tmp_path: Path) -> None:
    whole = '[\n{"id": "1", "title": "a"},\n{"id": "2",\n "title": "b"}'
    assert refusal(values(whole[:-4])) == (
        "x.json: record 2 (line 3): cut off in mid-record.\n"
        "Mend the record, or say --on-bad-line skip."
    )
    assert refusal(values(whole)).startswith(
        "x.json: after record 2: cut off: the array is not closed.\n"
    )
    assert works(values(whole[:-4]), bad=skipping(tmp_path))["id"] == ["1"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '[{"id": "1", "title": "a"},\n {"id": 2 "title": "b"}, {"id": "3"}, {"id": "4"}]',
            "record 2 (line 2): not JSON: Expecting ',' delimiter at character 10 of it.",
        ),
        ('[{"id": "1", "title": "a"}]\n[{"id": "2"}]', "line 2: more after the end of the array."),
    ],
)
def test_an_array_that_is_no_json_is_told(values, content: str, said: str) -> None:
    assert refusal(values(content)).startswith(f"x.json: {said}\nMend the file")


def test_a_wrong_type_in_an_array_is_told_with_record_and_line(values) -> None:
    path = values('[{"id": "1", "title": "a"},\n\n {"id": "2", "title": {}}]')
    assert refusal(path).startswith(
        "x.json: record 2 (line 3): 'title' is an object ({}), expected a text.\n"
    )


def test_bytes_that_are_not_utf8_in_an_array_are_told(values, tmp_path: Path) -> None:
    path = values(b'[{"id": "1", "title": "caf\xe9"}, {"id": "2", "title": "b"}]')
    assert refusal(path).startswith("x.json: record 1 (line 1): not UTF-8: byte 0xe9 at place 26.")
    assert works(path, bad=skipping(tmp_path))["id"] == ["2"]


TITLED = {"id": "T", "title": "t"}
records = st.fixed_dictionaries(
    {"id": st.integers(0, 99) | st.text("ab", min_size=1)},
    optional={
        "title": st.none() | st.text(max_size=5),
        "display_name": st.none() | st.text(max_size=5),
        "year": st.none() | st.integers(-9, 3_000) | st.floats(allow_nan=False),
        "x": st.recursive(st.none() | st.text(), lambda inside: st.lists(inside, max_size=2)),
        "abstract_inverted_index": st.none()
        | st.dictionaries(st.text(max_size=3), st.lists(st.integers(0, 9), max_size=3), max_size=3),
        "revue": st.none() | st.dictionaries(st.sampled_from(["nom", "x"]), st.text(max_size=3)),
    },
)
quietly = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quietly
@given(found=records)
def test_the_fast_way_gives_what_the_slow_one_gives(found: dict[str, object]) -> None:
    fields = fields_of(
        ("id", "title", "year", "venue", "abstract_inverted_index"), {"venue": "revue.nom"}, ("x",)
    )
    record = json.dumps(found, ensure_ascii=False).encode()
    quick = fast(places_of(fields))
    assert quick is not None
    try:
        quickly = quick(record)
    except NOT_FAST:
        return
    assert columns(fields, quickly) == columns(fields, slow(record, fields))


def columns(fields: list[Field], row: Row) -> list[object]:
    """What a row comes to; the fast way may give more than the first of a field's places."""
    values = iter(row)
    return [merged(field, [[next(values)] for _ in field.paths]) for field in fields]


@quietly
@given(
    found=st.lists(records, max_size=5),
    indent=st.none() | st.integers(0, 2),
    chunk=st.integers(1, 40),
)
def test_an_array_is_read_alike_however_much_is_read_at_a_time(
    *, values, found: list[dict[str, object]], indent: int | None, chunk: int
) -> None:
    path = values(json.dumps([TITLED, *found], indent=indent, ensure_ascii=False))
    whole = works(path, kind="json")
    assert whole["id"] == ["T", *(str(one["id"]) for one in found)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_values, "_CHUNK", chunk)
        assert works(path, kind="json") == whole
