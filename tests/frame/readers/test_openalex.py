"""OpenAlex's works as files hold them: parts of the snapshot, pages, single works."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.errors import InputError, UsageError
from scorer.frame.contract import text
from scorer.frame.files import LocalFile
from scorer.frame.readers import openalex
from scorer.frame.readers.base import Asked, BadRecords, Piece
from scorer.frame.readers.openalex_gone import is_deleted, merged_away

WANTED = (
    *("id", "title", "abstract", "abstract_inverted_index", "venue", "topic", "field"),
    *("lang", "type", "year"),
)
WORK = {
    "id": "https://openalex.org/W1",
    "title": "A title",
    "display_name": "A name",
    "language": "en",
    "publication_year": 2018,
    "primary_location": {"source": {"display_name": "PeerJ", "issn": ["1"]}},
    "primary_topic": {"display_name": "T", "field": {"display_name": "F"}},
    "abstract_inverted_index": {"b": [1], "a": [0]},
    "doi": "https://doi.org/10.1/x",
}


def read(path: Path, compression: str | None = None, **asked: Any) -> Piece:
    pieces = list(openalex.read(LocalFile.at(path), compression, Asked(WANTED, **asked)))
    assert len(pieces) == 1
    return pieces[0]


@pytest.fixture
def wrote(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: object) -> Path:
        path = tmp_path / "works.jsonl"
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text("\n".join(texts), encoding="utf-8")
        return path

    return write


def test_a_work_of_today(shared: Path) -> None:
    piece = read(shared / "openalex" / "W2741809807.json")
    work = piece.works.row(0, named=True)
    assert work["id"] == "W2741809807"
    assert work["title"].startswith("The state of OA: a large-scale analysis")
    assert (work["venue"], work["lang"], work["type"]) == ("PeerJ", "en", "article")
    assert (work["topic"], work["field"]) == (
        "scientometrics and bibliometrics research",
        "Decision Sciences",
    )
    assert work["year"] == 2018
    assert text(piece.works, "abstract")[0].startswith("Despite growing interest in Open Access")
    assert piece.columns["venue"] == "primary_location.source.display_name"


def test_a_work_of_the_older_shape(shared: Path) -> None:
    work = read(shared / "openalex" / "api_page.json").works.row(0, named=True)
    assert work["id"] == "W2755950973"
    assert work["title"].startswith("GW170104: Observation")
    assert (work["venue"], work["year"]) == ("Physical Review Letters", 2017)
    assert work["topic"] == "Gravitational Wave Astronomy and Cosmology"  # the first of `topics`


def test_an_older_work_takes_its_venue_from_host_venue(wrote: Callable[..., Path]) -> None:
    older = {"id": "W1", "display_name": "Name", "host_venue": {"display_name": "Nature"}}
    concepts = {"concepts": [{"display_name": "Physics"}], "primary_location": {"source": None}}
    work = read(wrote(older | concepts)).works.row(0, named=True)
    assert (work["title"], work["venue"], work["topic"]) == ("Name", "Nature", None)


@pytest.mark.parametrize("indent", [None, 2])
def test_pages_lists_and_works_in_any_layout_are_the_same(tmp_path: Path, indent: int) -> None:
    second = WORK | {"id": "W2"}
    page = {"meta": {"count": 2}, "results": [WORK, second]}
    path = tmp_path / "works.json"
    for document in (page, [WORK, second]):
        path.write_text(json.dumps(document, indent=indent))
        assert read(path).works["id"].to_list() == ["W1", "W2"]
    path.write_text("[\n" + ",\n".join(json.dumps(work) for work in (WORK, second)) + "\n]\n")
    assert read(path).works["id"].to_list() == ["W1", "W2"]


def test_pages_one_a_line_and_a_part_of_the_snapshot(tmp_path: Path) -> None:
    page = {"meta": {}, "results": [WORK, WORK | {"id": "W2"}]}
    lines = [json.dumps(page), json.dumps(WORK | {"id": "W3"}), "", json.dumps({"results": []})]
    path = tmp_path / "part_000.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert read(path, "gz").works["id"].to_list() == ["W1", "W2", "W3"]


def test_a_file_without_works_tells_its_columns(wrote: Callable[..., Path]) -> None:
    piece = read(wrote(""), keep=("doi",))
    assert (piece.works.height, piece.kept.height) == (0, 0)
    assert piece.works.columns == [name for name in WANTED if name != "abstract"]
    assert piece.works["year"].dtype == pl.Int32


def test_kept_columns_are_text_and_maps_go_first(wrote: Callable[..., Path]) -> None:
    keep = ("doi", "primary_location.source.issn", "publication_year", "title", "updated_date")
    piece = read(wrote(WORK), keep=keep, mapping={"title": "display_name", "year": "title"})
    assert piece.kept.row(0) == ("https://doi.org/10.1/x", '["1"]', "2018", "A title", None)
    assert piece.works.row(0, named=True) == {
        **{"id": "W1", "title": "A name", "venue": "PeerJ", "topic": "T", "field": "F"},
        **{"lang": "en", "type": None, "year": None},
        "abstract_inverted_index": '{"b": [1], "a": [0]}',
    }
    assert piece.columns["title"] == "display_name"


def test_half_a_letter_or_a_wrong_type_costs_no_work(wrote: Callable[..., Path]) -> None:
    half = json.dumps(WORK).replace("A title", "A \\ud800 title").replace('"b"', '"\\ud800"')
    odd = WORK | {"id": 7, "title": ["x"], "publication_year": "1999", "primary_topic": "T"}
    page = f'{{"meta": {{}}, "results": [{half}]}}'
    works = read(wrote(half, odd, page, WORK | {"publication_year": 2**70})).works
    assert works["title"].to_list() == ["A \ufffd title", "A name", "A \ufffd title", "A title"]
    assert works["id"].to_list() == ["W1", "7", "W1", "W1"]
    assert works["year"].to_list() == [2018, 1999, 2018, None]
    assert works["topic"].to_list() == ["T", None, "T", "T"]
    assert text(works, "abstract").to_list() == ["a \ufffd", "a b", "a \ufffd", "a b"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "W1", "title": "cut', "cut off in mid-record"),
        ("[1]", "no JSON object"),
        ('{"error": "x"}', "a work without id"),
    ],
)
def test_a_bad_record_is_named_or_skipped(
    wrote: Callable[..., Path], tmp_path: Path, line: str, told: str
) -> None:
    path = wrote(WORK, "", line, WORK)
    where = "line 3, work 1" if line == "[1]" else "line 3"
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: {where}: {told}.\nMend the record, or say --on-bad-line skip."
    )
    bad = BadRecords("skip", tmp_path / "aside")
    assert read(path, bad=bad).works.height == 2
    assert bad.count == 1
    assert told in (tmp_path / "aside").read_text()


def test_a_broken_document_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "page.json"
    path.write_text('{\n\n  "results": [\n    {"id": "W1" "title": 1}\n  ]\n}\n')
    with pytest.raises(InputError, match=r"page.json: line 4: no JSON \(Expecting ',' delimiter"):
        read(path)


def test_a_name_that_no_work_has_is_refused(wrote: Callable[..., Path]) -> None:
    path = wrote(WORK)
    with pytest.raises(UsageError) as caught:
        read(path, keep=("dio",))
    assert str(caught.value) == (
        f"--keep dio: {path} has no 'dio' in its first 1 work. Check the name."
    )


def test_deleted_and_merged_works_are_told(tmp_path: Path) -> None:
    works = pl.DataFrame(
        {
            "id": ["https://openalex.org/W4285719527", "W2", "W3"],
            "title": ["x", "Deleted Work", None],
        }
    )
    gone = works.select(is_deleted(pl.col("id"), pl.col("title"))).to_series()
    assert gone.to_list() == [True, True, False]
    path = tmp_path / "2022-06-06.csv.gz"
    path.write_bytes(gzip.compress(b"merge_date,id,merge_into_id\n2022-06-06,W5,W6\n,W5,W7\n"))
    assert merged_away([(LocalFile.at(path), "gz")]).to_list() == ["W5"]
