"""A survey tells what a frame holds: columns, languages, years, ids, titles, time to score."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.survey import OddTitles, Survey, SurveyRequest, survey
from scorer.engine.tally import Tally
from scorer.errors import InputError

WORKS: dict[str, object] = {
    "id": ["W1", "https://openalex.org/W1", None, "W3", "W4"],
    "display_name": ["A usable title", None, "", "GSE12345", "Short"],
    "language": ["fr", "en", "fr", "", None],
    "publication_year": [2010, 2019, None, 1998, 2010],
    "abstract": ["text", " ", None, None, None],
    "abstract_inverted_index": [None, '{"a": [0]}', "{}", None, None],
}

Look = Callable[..., Survey]


@pytest.fixture
def surveyed(tmp_path: Path, tiny_bundle: Path) -> Look:
    """Look at columns, or at a file."""

    def run(works: dict[str, object] | Path, **settings: object) -> Survey:
        source = tmp_path / "works.parquet"
        if isinstance(works, dict):
            pq.write_table(pa.table(works), source)
        else:
            source = works
        return survey(SurveyRequest(frame=source, model=str(tiny_bundle), **settings))

    return run


def test_what_a_frame_holds(surveyed: Look, tmp_path: Path) -> None:
    found = surveyed(WORKS)
    assert (found.format, found.compression, found.files) == ("Parquet", None, 1)
    assert found.size == (tmp_path / "works.parquet").stat().st_size
    assert (found.rows, found.bad_records) == (5, 0)
    assert found.columns["title"] == "display_name"
    assert found.filled == {
        "id": 4, "title": 3, "abstract": 1, "abstract_inverted_index": 1, "lang": 3, "year": 4,
    }  # fmt: skip
    assert found.student_lacks == ("venue", "topic", "field", "type")
    assert found.languages == {"fr": 2, "en": 1}
    assert found.years == {1998: 1, 2010: 2, 2019: 1}
    assert found.with_abstract == 2
    assert (found.usable_titles, found.null_titles) == (1, 1)


def test_ids_that_are_null_or_occur_again(surveyed: Look) -> None:
    ids = surveyed(WORKS).ids
    assert (ids.null, ids.null_rows) == (1, (2,))
    assert (ids.duplicate, ids.duplicates) == (1, {"W1": 2})


def test_odd_titles_come_with_examples_the_commonest_first(surveyed: Look) -> None:
    titles = ["GSE12345", *(f"file{n}.pdf" for n in range(5)), "An ordinary title"]
    found = surveyed({"id": [f"W{n}" for n in range(7)], "title": titles})
    assert found.odd_titles == (
        OddTitles("file name", 5, tuple((f"W{n + 1}", f"file{n}.pdf") for n in range(3))),
        OddTitles("accession code", 1, (("W0", "GSE12345"),)),
    )


def test_the_pace_is_measured_and_reckoned_for_all_works(surveyed: Look) -> None:
    pace = surveyed(WORKS).pace
    assert pace is not None
    assert pace.works_a_second > 0
    assert pace.processors >= 1
    assert pace.model.startswith("tiny@")
    assert pace.seconds == pytest.approx(5 / pace.works_a_second, abs=0.001)


def test_a_frame_without_works(surveyed: Look) -> None:
    empty = {name: pa.array([], pa.string()) for name in ("id", "title")}
    found = surveyed(empty)
    assert (found.rows, found.pace, found.years, found.odd_titles) == (0, None, {}, ())


def test_limit_looks_at_the_first_works(surveyed: Look) -> None:
    found = surveyed(WORKS, limit=2)
    assert (found.rows, found.ids.null, found.ids.duplicate) == (2, 0, 1)


def test_abstracts_that_cannot_be_read_leave_the_pace_unknown(
    tmp_path: Path, abstract_bundle: Path
) -> None:
    source = tmp_path / "works.parquet"
    works = pl.DataFrame({"id": ["W1"], "title": ["t"], "abstract_inverted_index": ["[1"]})
    works.write_parquet(source)
    found = survey(SurveyRequest(frame=source, model=str(abstract_bundle)))
    assert found.pace is None
    assert found.pace_note is not None
    assert found.pace_note.startswith("work W1: its abstract_inverted_index is not of the form")


def test_records_that_cannot_be_read_are_shown_not_refused(surveyed: Look, tmp_path: Path) -> None:
    source = tmp_path / "works.jsonl"
    source.write_text('{"id": "W1", "title": "a"}\n{"id": \n{"id": "W2", "title": "b"}\n')
    found = surveyed(source)
    assert (found.format, found.rows, found.bad_records) == ("JSON Lines", 2, 1)
    assert len(found.bad_examples) == 1
    assert found.bad_examples[0].startswith(f"{source}: line 2: ")


def test_what_cannot_be_read_at_all_is_an_error(surveyed: Look, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        surveyed({"id": ["W1"], "titre": ["a"]})
    assert str(caught.value) == (
        "works.parquet: no column 'title'. Columns found: id, titre.\n"
        "If it is 'titre', say: --map title=titre"
    )


def test_a_file_that_is_still_written_is_told(
    surveyed: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "works.jsonl"
    source.write_text('{"id": "W1", "title": "a"}\n')
    add = Tally.add

    def added(tally: Tally, works: pl.DataFrame) -> None:
        with source.open("a") as file:
            file.write('{"id": "W2", ')
        add(tally, works)

    monkeypatch.setattr(Tally, "add", added)
    found = surveyed(source)
    assert found.notes == (f"{source}: changed while it was read; told is what was there",)
    assert found.rows == 1
