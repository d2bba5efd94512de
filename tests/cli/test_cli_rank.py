"""`scorer rank` as a shell sees it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Scorer = Callable[..., Any]


def test_a_table_names_order_works_and_status(scorer: Scorer, scored: Path, tiny_frame: Path):
    ended = scorer("rank", scored, "--by", "metaresearch", "--frame", tiny_frame, "--top", 3)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].split() == ["metaresearch,", "for", "review"]
    assert lines[2].split() == ["id", "title", "call", "codex", "gemma"]
    assert [line.split()[0] for line in lines[4:7]] == ["1", "2", "3"]
    assert lines[4].split()[-3] == "consensus"
    assert lines[8] == "3 of 187 works, by consensus first, then candidates, each by mean score."
    assert lines[9].startswith("Status of every row: machine_predicted_unvalidated.")


def test_the_column_that_orders_is_shown(scorer: Scorer, scored: Path):
    ended = scorer("rank", scored, "--by", "sts", "--order", "gemma", "--top", 2)
    assert ended.out.splitlines()[2].split() == ["id", "call", "gemma"]
    ended = scorer("rank", scored, "--by", "metaresearch", "--order", "uncertainty", "--top", 2)
    header = ended.out.splitlines()[2].split()
    assert header == ["id", "call", "codex", "gemma", "uncertainty"]


def test_json_holds_the_works_and_what_they_are(scorer: Scorer, scored: Path):
    ended = scorer("rank", scored, "--by", "metaresearch", "--top", 2, "--json", "-q")
    told = json.loads(ended.out)
    assert [work["rank"] for work in told["works"]] == [1, 2]
    assert told["order"] == "consensus"
    assert told["eligible_works"] == 187
    assert told["prediction_status"] == "machine_predicted_unvalidated"
    assert {work["prediction_status"] for work in told["works"]} == {told["prediction_status"]}


@pytest.mark.parametrize("ending", ["csv", "xlsx", "ris", "jsonl"])
def test_a_file_takes_the_place_of_the_table(
    scorer: Scorer, scored: Path, tmp_path: Path, ending: str
):
    output = tmp_path / f"queue.{ending}"
    words = ("rank", scored, "--by", "metaresearch", "--top", 5, "-o", output)
    ended = scorer(*words)
    assert ended.code == 0
    assert ended.out.splitlines()[0] == (
        f"{output}: 5 of 187 works, by consensus first, then candidates, each by mean score."
    )
    assert output.stat().st_size > 200
    ended = scorer(*words)
    assert ended.code == 6
    assert ended.err == f"Error: {output}: exists already. Choose another -o, or say --overwrite.\n"
    assert scorer(*words, "--overwrite").code == 0


def test_a_condition_narrows_the_queue(scorer: Scorer, scored: Path, tiny_frame: Path):
    condition = "call = 'candidate' AND lang = 'en'"
    words = ("rank", scored, "--by", "metaresearch", "--frame", tiny_frame, "--json", "-q")
    told = json.loads(scorer(*words, "--where", condition).out)
    rows = pl.read_parquet(scored).filter(
        pl.col("candidate_categories").list.contains("metaresearch"),
        ~pl.col("consensus_categories").list.contains("metaresearch"),
    )
    assert {work["id"] for work in told["works"]} == set(rows["id"])


def test_errors_are_plain_and_have_their_codes(scorer: Scorer, scored: Path, tmp_path: Path):
    def told(*words: object) -> tuple[int, str]:
        ended = scorer("rank", *words)
        return ended.code, ended.err.removeprefix("Error: ").splitlines()[0]

    assert told(scored, "--by", "genre") == (
        2,
        "--by genre: no category or flag of scored.parquet.",
    )
    assert told(scored, "--by", "sts", "-o", tmp_path / "x.pdf") == (
        2,
        f"{tmp_path}/x.pdf: expected a name that ends in .csv, .xlsx, .ris, .jsonl.",
    )
    frame = tmp_path / "other.csv"
    frame.write_text("id,title\nX1,Another work\n")
    code, text = told(scored, "--by", "metaresearch", "--top", 4, "--frame", frame)
    assert (code, text.split(", for")[0]) == (3, f"{frame}: has none of the 4 works")
    scored.with_name(scored.name + ".meta.json").unlink()
    code, text = told(scored, "--by", "sts")
    assert code == 3
    assert text.endswith("no manifest, so scored.parquet is not known to be complete.")


HEBREW = "ביקורת עמיתים ושחזור ניסויים"


@pytest.fixture
def turned(
    scorer: Scorer, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Scorer:
    """Rank three works, scored: a title from right to left, one with open signs, a plain one."""
    monkeypatch.chdir(tmp_path)
    titles = [f"{HEBREW} (2020)", "\u202ePeer review\u2067 of trials", "Peer review in journals"]
    works = pl.DataFrame({"id": ["W1", "W2", "W3"], "title": titles})
    works.write_parquet("turned.parquet")
    assert scorer("run", "turned.parquet", "--model", tiny_bundle, "-o", "t.parquet").code == 0
    return lambda *words: scorer(
        *("rank", "t.parquet", "--by", "metaresearch", "--frame", "turned.parquet", *words)
    )


@pytest.mark.parametrize("columns", [200, 60])
def test_a_title_from_right_to_left_turns_no_other_cell(
    turned: Scorer, monkeypatch: pytest.MonkeyPatch, columns: int
):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("scorer.cli.tables._FILE_WIDTH", columns)
    lines = {work: line for line in turned().out.splitlines() for work in line.split()[1:2]}
    before, _, rest = lines["W1"].partition("\u2068")
    title, _, after = rest.partition("\u2069")
    assert before.split()[1:] == ["W1"]
    assert ("…" in title) == (columns == 60), (
        "the end is cut off, and the isolate ends all the same"
    )
    assert title.strip().startswith(HEBREW[:10])
    assert after.split()[0] in ("consensus", "candidate", "none")
    assert "\u202e" not in lines["W2"]
    assert "\u2067" not in lines["W2"]
    assert "\u2068" not in lines["W2"] + lines["W3"]


@pytest.mark.parametrize("format_", ["csv", "jsonl", "ris"])
def test_exports_hold_letters_and_no_sign_that_turns_them(turned: Scorer, format_: str):
    assert turned("-o", f"queue.{format_}").code == 0
    text = Path(f"queue.{format_}").read_text(encoding="utf-8")
    assert HEBREW in text
    assert "Peer review of trials" in text
    assert not {*text} & {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
    told = turned("--json", "-q").out
    assert HEBREW in told
    assert "\u2068" not in told
