"""`scorer convert` and `scorer inspect` as a shell sees them."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

Scorer = Callable[..., object]


@pytest.fixture
def works(tmp_path: Path) -> Path:
    path = tmp_path / "works.csv"
    path.write_text(
        "id,title,lang,year\n"
        "W1,A first title of a work,fr,2010\n"
        "https://openalex.org/W1,A second title of a work,fr,2011\n"
        "W2,Deleted Work,en,\n"
        "W3,GSE12345,fr,1985\n"
    )
    return path


def test_convert_tells_what_was_read_left_out_and_written(
    scorer: Scorer, works: Path, tmp_path: Path
) -> None:
    output = tmp_path / "frame.parquet"
    ended = scorer(
        "convert", works, "-o", output, "--on-duplicate", "last", "--where", "lang = 'fr'"
    )
    assert (ended.code, ended.err) == (0, "")
    rows = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert "read 4" in rows
    assert "left out: another row of the same id was kept 1 25 %" in rows
    assert "left out: --where does not hold 1 25 %" in rows
    assert "written 2 50 %" in rows
    assert "Deleted in OpenAlex: 1. --drop-deleted leaves them out.\n" in ended.out
    assert pl.read_parquet(output)["title"].to_list() == ["A second title of a work", "GSE12345"]


def test_convert_in_json(scorer: Scorer, works: Path, tmp_path: Path) -> None:
    output = tmp_path / "frame.parquet"
    ended = scorer("convert", works, "-o", output, "--on-duplicate", "first", "-q", "--json")
    report = json.loads(ended.out)
    assert (report["read"], report["written"], report["dropped"]["duplicate"]) == (4, 3, 1)
    assert report["output"] == str(output)


def test_convert_refuses_with_its_exit_code(scorer: Scorer, works: Path, tmp_path: Path) -> None:
    output = tmp_path / "frame.parquet"
    ended = scorer("convert", works, "-o", output)
    assert (ended.code, ended.err) == (
        3,
        "Error: works.csv: ids that occur more than once: 1, first: W1 (2 times).\n"
        "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same): "
        "--on-duplicate first or last.\n",
    )
    assert scorer("convert", works, "-o", output, "--where", "year >").code == 2
    assert scorer("convert", works, "-o", tmp_path / "none" / "frame.parquet").code == 6
    assert not output.exists()


def test_inspect_shows_what_is_there(scorer: Scorer, works: Path, tiny_bundle: Path) -> None:
    ended = scorer("inspect", works, "--model", tiny_bundle)
    assert (ended.code, ended.err) == (0, "")
    for line in (
        f"{works}: delimited text, 1 file, 0.0 MB",
        "4 works.",
        "The student reads these too, and they are not here: venue, topic, field, type.",
        "Languages: fr 75 %, en 25 %.",
        "Years: 1985 to 2011; missing: 25 %.",
        "        1980s  ███████████████                 1",
        "        2010s  ██████████████████████████████  2",
        "Ids that occur more than once: 1, first: W1 (2 times).",
        "Abstracts: 0 % of the works.",
        "Titles of more than ten characters: 75 %; null: 0 %.",
    ):
        assert line in ended.out.splitlines()
    assert "accession code" in ended.out
    assert "Time to score: under a second for 4 works at " in ended.out


def test_inspect_in_json(scorer: Scorer, works: Path, tiny_bundle: Path) -> None:
    found = json.loads(scorer("inspect", works, "--model", tiny_bundle, "--json", "-q").out)
    assert found["languages"] == {"fr": 3, "en": 1}
    assert found["years"] == {"1985": 1, "2010": 1, "2011": 1}
    assert found["ids"]["duplicates"] == {"W1": 2}
    assert found["odd_titles"][0]["examples"] == [["W3", "GSE12345"]]
    assert found["pace"]["works_a_second"] > 0


def test_inspect_says_where_a_name_lies(
    scorer: Scorer, works: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    lying = works.rename(tmp_path / "works.parquet")
    ended = scorer("inspect", lying, "--model", tiny_bundle, "-q")
    assert f"Note: {lying}: holds comma-separated text; read as that." in ended.out
