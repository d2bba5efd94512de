"""`scorer compare` as a shell sees it: tables, notes, JSON, CSV, and its errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.cli import tables
from scorer.review.bootstrap_interval import DIFFERENCE_METHOD
from scorer.status import STAMP

Scorer = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared")


@pytest.fixture
def unseen(scorer: Scorer, tiny_labels: Path, folder: Path) -> Path:
    """Out-of-fold scores of a smaller student, as the command keeps them; made once."""
    path = folder / "unseen.parquet"
    if not path.exists():
        words = ("-o", folder / "small", "--ngrams", 60, "--calibrate", "platt")
        assert scorer("train", tiny_labels, *words, "--out-of-fold", path).code == 0
        assert '"method":"platt"' in (folder / "small" / "calibration.json").read_text()
    return path


def test_figures_means_and_works_that_moved_are_shown(
    scorer: Scorer, tiny_bundle: Path, unseen: Path, tiny_labels: Path
) -> None:
    words = ("--labels", tiny_labels, "--replicates", 100, "--top", 3)
    ended = scorer("compare", tiny_bundle, unseen, *words)
    assert ended.code == 0, ended.err
    lines = [line.strip() for line in ended.out.splitlines()]
    assert lines[0] == "Plain: every labelled work counts once"
    assert [" ".join(line.split()) for line in lines[2:4]] == [
        "AP AP B − A AUROC AUROC B − A",
        "yes of A of B limits of A of B limits",
    ]
    assert "Design-weighted: every work counts for those of the frame it stands for" in lines
    assert sum(line.startswith("mean, 7 pairs") for line in lines) == 2
    start = lines.index("Works that moved most: the largest difference of a score")
    assert sum(line.startswith("W") for line in lines[start + 1 :]) == 3
    told = " ".join(ended.out.split())
    assert f"A: {tiny_bundle}, bundle of tiny@" in told
    assert f"B: {unseen}, out-of-fold scores of small@" in told
    assert f"{DIFFERENCE_METHOD}; 3 strata, 100 replicates, seed 0." in told
    assert "learned from these very labels, so its figures flatter it; give the file that" in told
    assert "did not learn from this very file" not in told
    assert lines[-1].startswith(f"Status of every row: {STAMP}.")


def test_what_a_hash_cannot_tell_is_said(
    scorer: Scorer, tiny_bundle: Path, unseen: Path, tiny_labels: Path, tmp_path: Path
) -> None:
    """A copy of the labels with one work less has another hash: the student still knows them."""
    copy = tmp_path / "copy.parquet"
    pl.read_parquet(tiny_labels)[1:].write_parquet(copy)
    words = ("--labels", copy, "--replicates", 100, "--top", 0)
    ended = scorer("compare", tiny_bundle, unseen, *words)
    told = " ".join(ended.out.split())
    assert "flatter it; give the file" not in told
    assert (
        "A did not learn from this very file of labels, by its hash. If these works were in "
        "another file that it learned from, its figures flatter it." in told
    )


def test_progress_says_what_is_counted(
    scorer: Scorer,
    tiny_bundle: Path,
    unseen: Path,
    tiny_labels: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "_SECONDS_BETWEEN_LINES", 0.0)
    words = ("--labels", tiny_labels, "--replicates", 100, "--top", 0)
    lines = scorer("compare", tiny_bundle, unseen, *words).err.splitlines()
    assert "steps" not in " ".join(lines)
    assert " replicates of a figure, " in lines[-1]


def test_scripts_get_json_and_notes_are_in_it(
    scorer: Scorer, tiny_bundle: Path, unseen: Path, tiny_labels: Path
) -> None:
    words = ("--labels", tiny_labels, "--replicates", 100, "--target", "metaresearch", "--json")
    ended = scorer("compare", unseen, tiny_bundle, *words, "-q")
    found = json.loads(ended.out)
    assert ended.err == ""
    assert [(p["head"], p["target"]) for p in found["pairs"]] == [
        ("codex", "metaresearch"),
        ("gemma", "metaresearch"),
    ]
    assert found["b"]["learned_from_labels"]
    assert any("flatter" in note for note in found["notes"])
    assert found["pairs"][0]["plain"]["average_precision"]["difference"]["low"] is not None
    assert scorer("compare", unseen, tiny_bundle, *words, "-q").out == ended.out


def test_figures_are_written_as_csv_whole_and_not_over_another_file(
    scorer: Scorer, tiny_bundle: Path, unseen: Path, tiny_labels: Path, tmp_path: Path
) -> None:
    file = tmp_path / "figures.csv"
    words = ("--labels", tiny_labels, "--replicates", 100, "--csv", file)
    ended = scorer("compare", tiny_bundle, unseen, *words)
    assert f"The figures are in {file}." in ended.out
    rows = pl.read_csv(file)
    assert set(rows["prediction_status"]) == {STAMP}
    assert {"average_precision_plain_a", "auroc_weighted_difference_high"} <= set(rows.columns)
    again = scorer("compare", tiny_bundle, unseen, *words)
    assert (again.code, again.err) == (
        6,
        f"Error: {file}: exists already. Choose another --csv, or say --overwrite.\n",
    )
    other = scorer("compare", tiny_bundle, unseen, *words[:-1], tmp_path / "figures.txt")
    assert other.code == 2


def test_what_does_not_fit_together_is_refused(
    scorer: Scorer, tiny_bundle: Path, tiny_labels: Path
) -> None:
    ended = scorer("compare", tiny_bundle, tiny_bundle)
    assert (ended.code, ended.err) == (
        2,
        "Error: Give either a label table, or --sample with --head NAME=FILE.\n",
    )
    ended = scorer("compare", tiny_bundle, "nothing", "--labels", tiny_labels)
    assert ended.code == 2
    assert ended.err.startswith("Error: nothing: neither a file nor a bundle.\n")
    ended = scorer("compare", tiny_bundle, tiny_labels, "--labels", tiny_labels)
    assert ended.code == 3
