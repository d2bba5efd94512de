"""Records are found by id in a frame of any format, and what is missing is counted."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.review import records
from scorer.review.records import HAS_ABSTRACT, RECORD, find_records, opened_frame, record_columns

WORKS = [
    {"id": "https://openalex.org/W1", "title": "One", "abstract": "A text", "year": 2001},
    {"id": "W2", "title": "Two", "abstract": "", "year": None},
    {"id": "W3", "title": "Three", "abstract": None, "year": 2003},
    {"id": "W4", "title": "<i>Four</i>\n", "abstract": " ", "year": 2004},
]
INDEX = {"W2": {"Second": [1], "The": [0]}, "W4": {}}


@pytest.fixture
def frame(tmp_path: Path) -> Path:
    path = tmp_path / "works.parquet"
    bare = [work["id"].rsplit("/", 1)[-1] for work in WORKS]
    index = [json.dumps(INDEX[work]) if work in INDEX else None for work in bare]
    pl.DataFrame(WORKS).with_columns(abstract_inverted_index=pl.Series(index)).write_parquet(path)
    return path


def test_records_come_in_the_order_asked(frame: Path):
    found = find_records(pl.Series(["W3", "W1"]), frame)
    assert found.works["id"].to_list() == ["W3", "W1"]
    assert found.works["title"].to_list() == ["Three", "One"]
    assert found.works["year"].to_list() == [2003, 2001]
    assert found.works["venue"].to_list() == [None, None]
    assert found.missing == ()


def test_an_abstract_says_where_it_comes_from(frame: Path):
    works = find_records(pl.Series(["W1", "W2", "W3", "W4"]), frame).works
    assert works["abstract"].to_list() == ["A text", "The Second", None, None]
    origin = ["abstract", "abstract_inverted_index", None, None]
    assert works["abstract_from"].to_list() == origin


def test_has_abstract_is_told_without_its_text(frame: Path):
    with opened_frame(frame, [HAS_ABSTRACT]) as opened:
        batch = next(iter(opened.batches(10))).frame
    told = record_columns(batch, [HAS_ABSTRACT])
    assert told.columns == ["id", HAS_ABSTRACT]
    assert told[HAS_ABSTRACT].to_list() == [True, True, False, False]


def test_a_frame_without_abstracts_has_none():
    works = pl.DataFrame({"id": ["W1"], "title": ["One"]})
    assert record_columns(works, [HAS_ABSTRACT, "lang"]).row(0) == ("W1", False, None)


def test_ids_that_the_frame_lacks_are_told(frame: Path):
    found = find_records(pl.Series(["W9", "W1", "W8"]), frame, columns=["title"])
    assert found.missing == ("W9", "W8")
    assert found.works["title"].to_list() == [None, "One", None]


def test_a_frame_with_none_of_the_works_is_another(frame: Path):
    with pytest.raises(InputError) as told:
        find_records(pl.Series(["X1", "X2"]), frame)
    assert str(told.value) == (
        f"{frame}: has none of the 2 works, for instance X1.\n"
        "Name the frame that was scored: --frame"
    )


def test_no_ids_ask_for_nothing(frame: Path):
    found = find_records(pl.Series([], dtype=pl.String), frame)
    assert found.works.shape == (0, 2 + len(RECORD))
    assert found.missing == ()


def test_the_first_record_of_a_repeated_id_counts(tmp_path: Path):
    path = tmp_path / "twice.parquet"
    pl.DataFrame({"id": ["W1", "W2", "W1"], "title": ["one", "two", "again"]}).write_parquet(path)
    works = find_records(pl.Series(["W1"]), path, columns=["title"]).works
    assert works["title"].to_list() == ["one"]


def test_readable_records_are_plain_and_on_one_line(frame: Path):
    works = find_records(pl.Series(["W4", "W2"]), frame).readable()
    assert works.columns == ["id", "title", "abstract", "year"]
    assert works["title"].to_list() == ["Four", "Two"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_other_formats_are_read_too(tmp_path: Path, ending: str):
    path = tmp_path / f"works.{ending}"
    works = pl.DataFrame(WORKS)
    works.write_csv(path) if ending == "csv" else works.write_ndjson(path)
    found = find_records(pl.Series(["W3", "W1"]), path, columns=["title", "abstract", "year"])
    assert found.works.select("title", "year").rows() == [("Three", 2003), ("One", 2001)]


def test_a_record_that_cannot_be_read_is_left_out_and_told(tmp_path: Path):
    path = tmp_path / "works.jsonl"
    path.write_text('{"id": "W1", "title": "One"}\n{"id": "W2", "title"\n')
    found = find_records(pl.Series(["W1", "W2"]), path, columns=["title"])
    assert found.missing == ("W2",)
    assert found.notes[-1] == f"{path}: records left out since they cannot be read: 1."


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.integers(0, 99), unique=True, min_size=1), near=st.integers(0, 40))
def test_works_are_found_wherever_they_lie(
    rows: list[int], near: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(records, "_BLOCK", 4)
    monkeypatch.setattr(records, "_NEAR", near)
    path = tmp_path / "many.parquet"
    if not path.exists():
        many = pl.DataFrame({"id": range(100), "title": [f"title {n}" for n in range(100)]})
        many.write_parquet(path, row_group_size=30)
    works = find_records(pl.Series([str(row) for row in rows]), path, columns=["title"]).works
    assert works["title"].to_list() == [f"title {row}" for row in rows]
