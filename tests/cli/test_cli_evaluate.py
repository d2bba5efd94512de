"""`scorer evaluate` as a shell sees it: from scoring to an audit, its figures and its errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.review.bootstrap_interval import METHOD

Scorer = Callable[..., Any]


@pytest.fixture
def labelled(scorer: Scorer, tiny_labels: Path, tiny_bundle: Path, tmp_path: Path) -> Path:
    """The 300 labelled works, scored by the command."""
    output = tmp_path / "labelled.parquet"
    assert scorer("run", tiny_labels, "--model", tiny_bundle, "-o", output, "-q").code == 0
    return output


@pytest.fixture
def sheets(scorer: Scorer, labelled: Path, tiny_labels: Path, tmp_path: Path) -> list[Path]:
    """Two answered sheets of an audit sample, drawn by the command."""
    words = ("-n", 120, "--frame", tiny_labels, "--target", "metaresearch", "--strata", "calls")
    assert scorer("sample", labelled, *words, "-o", tmp_path / "audit.csv", "-q").code == 0
    said = pl.read_parquet(tiny_labels).select(
        pl.col("id").str.replace("https://openalex.org/", ""),
        yes=pl.col("codex_categories").list.contains("metaresearch"),
    )
    paths = [tmp_path / f"audit.coder{coder}.csv" for coder in (1, 2)]
    for coder, path in enumerate(paths, 1):
        table = pl.read_csv(path, infer_schema=False)
        truth = table.join(said, on="id", how="left", maintain_order="left")["yes"]
        differs = (table["id"].str.slice(1).cast(pl.Int64) % 10 == 0) & (coder == 2)
        answers = pl.Series((truth ^ differs).to_list()).replace_strict({True: "yes", False: "no"})
        table.with_columns(answer_metaresearch=answers).write_csv(path)
    return paths


def test_figures_limits_and_what_they_compare_with_are_told(
    scorer: Scorer, labelled: Path, tiny_labels: Path
):
    words = ("--target", "metaresearch", "--target", "sts", "--by", "year", "--reliability")
    ended = scorer("evaluate", labelled, tiny_labels, *words)
    assert ended.code == 0
    lines = [line.rstrip() for line in ended.out.splitlines()]
    assert lines[0] == "Metaresearch (285 works)"
    heading = ["yes", "called", "AP", "AUROC", "precision", "recall", "F-2", "ECE"]
    assert lines[2].split() == heading
    assert "  codex: no figures: no work judged" in lines
    assert "Prevalence, by design weights" in lines
    assert "Agreement, by design weights" in lines
    assert "Metaresearch, by year" in lines
    assert any(line.startswith("Metaresearch: mean score, share of yes") for line in lines)
    told = " ".join(ended.out.split())
    assert "these are machine labels, not the truth." in told
    assert f"{METHOD}; 1,000 replicates, seed 0." in told
    assert "A score is no probability of truth." in told
    assert "consensus: the lowest of the heads' scores." in told
    assert lines[-1].startswith("Status of every row: machine_predicted_unvalidated.")


def test_tables_fit_a_terminal_of_80_columns(scorer: Scorer, labelled: Path, tiny_labels: Path):
    ended = scorer("evaluate", labelled, tiny_labels, "--by", "year", "--by", "lang")
    tables = ended.out[: ended.out.index("Compared with")].splitlines()
    wide = [line for line in tables if len(line.rstrip()) > 80]
    assert [line for line in wide if not line.startswith("  too little support: ")] == []
    assert len(tables) > 100


def test_an_audit_goes_from_sample_to_figures(scorer: Scorer, labelled: Path, sheets: list[Path]):
    ended = scorer("evaluate", labelled, *sheets, "--json", "-q")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert told["compared_with"] == "coders"
    assert told["prediction_status"] == "machine_predicted_unvalidated"
    assert list(told["targets"]) == ["metaresearch"]
    assert told["sample"] == {"works": 120, "strata": 3, "stands_for": pytest.approx(285)}
    coders = told["agreement"]["metaresearch"][-1]
    assert coders["between"] == ["coder 1", "coder 2"]
    assert 0.8 < coders["raw"]["low"] < coders["raw"]["value"] < 1
    assert told["targets"]["metaresearch"]["consensus"]["precision"]["value"] > 0.5
    assert ended.err.startswith("Note: coders differ in ")


def test_a_misspelled_answer_ends_in_one_plain_error(
    scorer: Scorer, labelled: Path, sheets: list[Path]
):
    table = pl.read_csv(sheets[0], infer_schema=False)
    place = pl.int_range(pl.len()) == 7
    answer = pl.when(place).then(pl.lit("yse")).otherwise("answer_metaresearch")
    table.with_columns(answer_metaresearch=answer).write_csv(sheets[0])
    ended = scorer("evaluate", labelled, sheets[0])
    assert ended.code == 3
    column = chr(ord("A") + table.columns.index("answer_metaresearch"))
    assert ended.err == (
        f"Error: {sheets[0]}: cell {column}9 (answer_metaresearch, work {table['id'][7]}) holds "
        "'yse'; expected yes, no or unsure.\nAnswer it in the sheet and evaluate again.\n"
    )
    assert ended.out == ""


def test_a_picture_is_drawn_whole_and_not_over_another(
    scorer: Scorer, labelled: Path, tiny_labels: Path, tmp_path: Path
):
    words = ("evaluate", labelled, tiny_labels, "--target", "metaresearch", "--replicates", 100)
    picture = tmp_path / "figures.svg"
    ended = scorer(*words, "--plot", picture)
    assert f"Drawn in {picture}." in ended.out
    assert b"machine_predicted_unvalidated" in picture.read_bytes()
    again = scorer(*words, "--plot", picture)
    assert (again.code, again.err) == (
        6,
        f"Error: {picture}: exists already. Choose another --plot, or say --overwrite.\n",
    )
    other = scorer(*words, "--plot", tmp_path / "figures.gif")
    assert other.code == 2


def test_what_does_not_fit_together_is_refused(
    scorer: Scorer, labelled: Path, tiny_labels: Path, sheets: list[Path]
):
    def told(*words: object) -> tuple[int, str]:
        ended = scorer("evaluate", labelled, *words)
        return ended.code, ended.err.removeprefix("Error: ").splitlines()[0]

    assert told(tiny_labels, sheets[0])[0] == 2
    assert told() == (2, "Give either teachers' labels or coders' sheets to compare with.")
    assert told(sheets[0], "--equal-weights") == (
        2,
        "--out-of-fold and --equal-weights are for teachers' labels.",
    )
    code, message = told(tiny_labels, "--by", "abstract")
    assert (code, message.endswith("no column 'abstract', so works cannot be split by it.")) == (
        3,
        True,
    )
    assert told(tiny_labels, "--target", "metresearch")[0] == 2
