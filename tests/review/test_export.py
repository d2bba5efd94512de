"""A queue as a file: ids, titles and the status whole in each format, and nothing that runs."""

import csv
import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import openpyxl
import polars as pl
import pytest
import rispy

from scorer.errors import OutputError, UsageError
from scorer.review.cells import restored
from scorer.review.export import check_format, write_table
from scorer.review.rank import Queue, RankRequest, rank
from scorer.review.records import find_records
from scorer.review.workbook import CHARACTERS, ROWS, workbook
from scorer.status import STAMP

ASREVIEW_PYTHON = "SCORER_ASREVIEW_PYTHON"
READ_BY_ASREVIEW = """
import json, sys
from asreview.data.loader import load_records
from asreview.data.ris import RISReader
rows = RISReader.read_data(sys.argv[1])
records = load_records(sys.argv[1])
print(json.dumps([
    {"id": i, "notes": n, "title": r.title, "abstract": r.abstract, "keywords": r.keywords}
    for i, n, r in zip(rows["id"], rows["notes"], records, strict=True)
]))
"""


@pytest.fixture(scope="module")
def queue(odd_scored: Path, odd_frame: Path) -> Queue:
    """All the odd works, ranked."""
    return rank(RankRequest(odd_scored, "metaresearch", frame=odd_frame))


@pytest.fixture
def written(queue: Queue, tmp_path: Path) -> Callable[[str], Path]:
    """Write the queue as a file of an ending."""

    def write(ending: str) -> Path:
        path = tmp_path / f"queue{ending}"
        write_table(path, "queue", queue.works, queue.about())
        return path

    return write


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".ris", ".jsonl"])
def test_the_same_queue_gives_the_same_bytes(written: Callable[[str], Path], ending: str):
    assert written(ending).read_bytes() == written(ending).read_bytes()


def test_csv_has_no_cell_that_begins_as_a_formula(written: Callable[[str], Path], queue: Queue):
    content = written(".csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")  # Excel takes it for UTF-8
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    texts = pl.DataFrame(rows).select(restored(pl.col("id", "title", "venue", "abstract")))
    assert texts.rows() == queue.works.select("id", "title", "venue", "abstract").rows()
    assert {row["prediction_status"] for row in rows} == {STAMP}


def test_xlsx_has_texts_and_no_formula(written: Callable[[str], Path], queue: Queue):
    book = openpyxl.load_workbook(written(".xlsx"))
    header, *rows = book["queue"].iter_rows()
    names = [cell.value for cell in header]
    for name in ("id", "title", "abstract", "venue", "prediction_status"):
        cells = [row[names.index(name)] for row in rows]
        assert {cell.data_type for cell in cells} == {"s"}
        assert [cell.value for cell in cells] == queue.works[name].to_list()
    assert {cell.data_type for row in rows for cell in row} <= {"s", "n"}
    assert not [cell for row in rows for cell in row if cell.hyperlink]
    assert book.properties.contentStatus == STAMP
    about = dict(book["about"].iter_rows(values_only=True))
    assert about["prediction_status"] == STAMP
    assert about["target"] == "metaresearch"


def test_xlsx_cuts_what_no_cell_holds_and_marks_it():
    texts = ["a" * CHARACTERS, "b" * (CHARACTERS + 1), "😀" * (CHARACTERS - 1), "é" * CHARACTERS]
    content = workbook("x", pl.DataFrame({"abstract": texts}), [])
    cells = [row[0].value for row in openpyxl.load_workbook(io.BytesIO(content))["x"].iter_rows()]
    assert cells[1] == texts[0]
    assert cells[2] == "b" * (CHARACTERS - 2) + " …"
    assert cells[3].endswith("😀 …")
    assert len(cells[3].encode("utf-16-le")) // 2 <= CHARACTERS
    assert cells[4] == texts[3]


def test_xlsx_says_where_it_has_too_few_rows():
    with pytest.raises(UsageError, match=r"XLSX holds 1,048,575 rows, there are 1,048,576"):
        workbook("x", pl.DataFrame({"a": pl.repeat(1, ROWS + 1, eager=True)}), [])


def test_json_lines_hold_each_work(written: Callable[[str], Path], queue: Queue):
    rows = [json.loads(line) for line in written(".jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == queue.works["id"].to_list()
    assert [row["title"] for row in rows] == queue.works["title"].to_list()
    assert {row["prediction_status"] for row in rows} == {STAMP}


def test_rispy_reads_the_ris_file(written: Callable[[str], Path], queue: Queue):
    entries = rispy.loads(written(".ris").read_text())
    assert [entry["id"] for entry in entries] == queue.works["id"].to_list()
    assert [entry["title"] for entry in entries] == queue.works["title"].to_list()
    assert [entry["abstract"] for entry in entries] == queue.works["abstract"].to_list()
    assert {entry["alternate_title3"] for entry in entries} == {"@Journal"}
    for place, entry in enumerate(entries, 1):
        assert STAMP in entry["keywords"]
        assert entry["notes"][0].startswith(f"prediction_status: {STAMP}; id: {entry['id']}; ")
        assert f"; rank: {place}; target: metaresearch; call: " in entry["notes"][0]
        assert entry["type_of_reference"] == "JOUR"
    assert {entry["id"]: entry.get("urls") for entry in entries}["W1"] == [
        "https://openalex.org/W1"
    ]


def test_the_program_reads_its_own_ris_file(written: Callable[[str], Path], queue: Queue):
    ids = queue.works["id"]
    works = find_records(ids, written(".ris")).works
    assert works["title"].to_list() == queue.works["title"].to_list()
    assert works["abstract"].to_list() == queue.works["abstract"].to_list()
    assert works["year"].to_list() == [2020] * works.height
    assert works["type"].unique().to_list() == ["article"]


def test_asreview_reads_the_ris_file(written: Callable[[str], Path], queue: Queue, tmp_path: Path):
    python = os.environ.get(ASREVIEW_PYTHON)
    if not python:
        pytest.skip(f"{ASREVIEW_PYTHON} names no Python that has ASReview")
    # Its reader makes a file in the working folder.
    ran = subprocess.run(
        [python, "-c", READ_BY_ASREVIEW, written(".ris")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    records = json.loads(ran.stdout)
    assert [record["id"] for record in records] == queue.works["id"].to_list()
    assert [record["title"] for record in records] == queue.works["title"].to_list()
    assert [record["abstract"] for record in records] == queue.works["abstract"].to_list()
    for record in records:
        assert STAMP in record["keywords"]
        assert record["notes"][0].startswith(f"prediction_status: {STAMP}; id: {record['id']}; ")


def test_an_ending_without_format_is_refused():
    with pytest.raises(UsageError, match=r"queue.pdf: expected a name that ends in .csv, .xlsx"):
        check_format(Path("queue.pdf"))


def test_a_file_that_cannot_be_written_is_told(queue: Queue, tmp_path: Path):
    with pytest.raises(OutputError, match="no such folder"):
        write_table(tmp_path / "nowhere" / "queue.csv", "queue", queue.works, [])
