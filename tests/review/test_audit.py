"""The files of an audit sample: coders see the works, the key holds the design."""

import json
from pathlib import Path

import openpyxl
import polars as pl
import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError, UsageError
from scorer.review.audit import free_places, write_audit
from scorer.review.sample import Sample, SampleRequest, sample
from scorer.review.sheet import key_of
from scorer.status import STAMP


@pytest.fixture(scope="module")
def small(odd_scored: Path, odd_frame: Path) -> Sample:
    """Seven of the odd works, two questions."""
    request = SampleRequest(
        odd_scored, 7, strata=("segment",), ask=("sts", "metaresearch"), frame=odd_frame
    )
    return sample(request)


def sheet(path: Path) -> pl.DataFrame:
    if path.suffix == ".csv":
        return pl.read_csv(path, infer_schema=False)
    header, *rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
    return pl.DataFrame(rows, schema=[str(name) for name in header], orient="row")


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_coders_get_the_same_works_in_orders_of_their_own(
    small: Sample, tmp_path: Path, ending: str
):
    written = write_audit(small, tmp_path / f"audit{ending}", coders=3, blind=True)
    assert [path.name for path in written] == [
        *(f"audit.coder{coder}{ending}" for coder in (1, 2, 3)),
        "audit.key.parquet",
    ]
    sheets = [sheet(path) for path in written[:3]]
    orders = {tuple(one["id"]) for one in sheets}
    assert len(orders) == 3
    assert len({frozenset(order) for order in orders}) == 1
    for coder, one in enumerate(sheets, 1):
        assert {str(cell) for cell in one["coder"]} == {str(coder)}
        assert set(one["prediction_status"]) == {STAMP}
        for target in ("metaresearch", "sts"):
            assert set(one[f"answer_{target}"]) <= {None, ""}
    assert [key_of(path) for path in written[:3]] == [written[3]] * 3


def test_a_blind_sheet_says_nothing_of_scores_calls_and_design(small: Sample, tmp_path: Path):
    blind, *_ = write_audit(small, tmp_path / "blind.csv", coders=1, blind=True)
    seen, *_ = write_audit(small, tmp_path / "seen.csv", coders=1, blind=False)
    record = ["id", "title", "abstract", "venue", "year", "type", "lang"]
    asked = ["answer_metaresearch", "answer_sts", "note", "coder", "prediction_status"]
    assert sheet(blind).columns == [*record, *asked]
    design = ["stratum", "pi", "weight", "classification"]
    scores = ["score_codex_metaresearch", "score_gemma_metaresearch", "score_gemma_sts"]
    assert sheet(seen).columns == [*record, *design, *scores, *asked]


def test_xlsx_offers_the_answers_as_a_list(small: Sample, tmp_path: Path):
    path, *_ = write_audit(small, tmp_path / "audit.xlsx", coders=1, blind=True)
    book = openpyxl.load_workbook(path)
    answers = book["answers"]
    places = {cell.value: cell.column_letter for cell in answers[1]}
    lists = {str(rule.sqref): rule.formula1 for rule in answers.data_validations.dataValidation}
    assert lists == {
        f"{places[f'answer_{target}']}2:{places[f'answer_{target}']}8": '"yes,no,unsure"'
        for target in ("metaresearch", "sts")
    }
    about = dict(book["about"].iter_rows(values_only=True))
    assert about["answer_sts"].endswith(": yes, no or unsure")
    assert about["oui, non, incertain"].startswith("count as yes, no, unsure")
    assert {rule.errorStyle for rule in answers.data_validations.dataValidation} == {"warning"}
    assert about["prediction_status"] == STAMP


def test_the_key_says_what_the_design_was(small: Sample, tmp_path: Path):
    *_, key = write_audit(small, tmp_path / "audit.csv", coders=1, blind=True)
    table = pq.read_table(key)
    assert pl.from_arrow(table).equals(small.key)
    assert table.schema.metadata[b"prediction_status"] == STAMP.encode()
    design = json.loads(table.schema.metadata[b"design"])
    output = small.scores.manifest.output
    assert design == {
        "seed": 0,
        "allocation": "neyman",
        "strata": ["segment"],
        "segments": ["covered"],
        "target": None,
        "asked": ["metaresearch", "sts"],
        "scores": {"name": output.name, "size": output.size, "sha256": output.sha256},
    }


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_the_same_request_gives_the_same_bytes(small: Sample, tmp_path: Path, ending: str):
    first = write_audit(small, tmp_path / f"audit{ending}", coders=2, blind=False)
    before = [path.read_bytes() for path in first]
    again = write_audit(small, tmp_path / f"audit{ending}", coders=2, blind=False)
    assert [path.read_bytes() for path in again] == before


def test_places_are_checked_before_the_work(small: Sample, odd_scored: Path, tmp_path: Path):
    with pytest.raises(UsageError, match=r"audit.ris: expected a name that ends in .csv, .xlsx"):
        free_places(tmp_path / "audit.ris", 2, odd_scored, overwrite=False)
    with pytest.raises(UsageError, match="--coders 0: expected at least 1"):
        free_places(tmp_path / "audit.csv", 0, odd_scored, overwrite=False)
    write_audit(small, tmp_path / "audit.csv", coders=1, blind=True)
    (tmp_path / "audit.coder1.csv").unlink()
    with pytest.raises(OutputError, match=r"audit.key.parquet: exists already"):
        free_places(tmp_path / "audit.csv", 2, odd_scored, overwrite=False)
    free_places(tmp_path / "audit.csv", 2, odd_scored, overwrite=True)
