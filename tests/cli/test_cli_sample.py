"""`scorer sample` as a shell sees it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

Scorer = Callable[..., Any]


def test_strata_files_and_status_are_told(
    scorer: Scorer, scored: Path, tiny_frame: Path, tmp_path: Path
):
    output = tmp_path / "audit.xlsx"
    ended = scorer("sample", scored, "-n", 40, "--frame", tiny_frame, "--blind", "-o", output)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].strip() == "audit sample"
    assert lines[2].split() == ["stratum", "works", "sample", "pi", "weight"]
    assert "40 of 187 works, seed 0." in lines
    assert "The sheets are blind: keep the key from the coders." in lines
    assert lines[-1].startswith("Status of every row: machine_predicted_unvalidated.")
    names = ["audit.coder1.xlsx", "audit.coder2.xlsx", "audit.key.parquet"]
    assert [(tmp_path / name).is_file() for name in names] == [True] * 3


def test_json_holds_the_design(scorer: Scorer, scored: Path, tmp_path: Path):
    words = ("--target", "metaresearch", "--allocation", "fixed", "--works", "none=9")
    more = ("--works", "candidate=1", "--works", "consensus=4", "--seed", 3, "--coders", 1)
    output = tmp_path / "audit.csv"
    ended = scorer("sample", scored, *words, *more, "-o", output, "--json", "-q")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert {row["stratum"]: row["sample"] for row in told["strata"]} == {
        "none": 9,
        "candidate": 1,
        "consensus": 4,
    }
    assert told["asked"] == ["metaresearch"]
    assert told["seed"] == 3
    assert told["prediction_status"] == "machine_predicted_unvalidated"
    key = pl.read_parquet(tmp_path / "audit.key.parquet")
    assert (key["weight"] * key["pi"]).is_close(1).all()
    assert key["weight"].sum() == sum(row["works"] for row in told["strata"])


def test_sheets_without_titles_say_what_adds_them(scorer: Scorer, scored: Path, tmp_path: Path):
    ended = scorer("sample", scored, "-n", 10, "-o", tmp_path / "audit.csv")
    assert "The sheets have ids alone: --frame adds titles and abstracts." in ended.out


def test_errors_are_plain_and_have_their_codes(scorer: Scorer, scored: Path, tmp_path: Path):
    def told(*words: object) -> tuple[int, str]:
        ended = scorer("sample", scored, "-o", tmp_path / "audit.csv", *words)
        return ended.code, ended.err.removeprefix("Error: ").partition("\n")[0]

    assert told() == (2, "Say how many works to draw: -n N.")
    assert told("-n", 5) == (2, "5 works are too few for 3 strata: 2 each take 6.")
    assert told("--works", "none=many") == (2, "--works none=many: expected a number of works.")
    assert told("-n", 9, "--strata", "lang") == (
        2,
        "--strata lang: it stands in the works' records.",
    )
    assert list(tmp_path.glob("audit*")) == []
    assert told("-n", 9, "-q") == (0, "")
    code, text = told("-n", 9)
    assert (code, text.partition(": ")[2]) == (
        6,
        "exists already. Choose another -o, or say --overwrite.",
    )
