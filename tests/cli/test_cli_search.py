"""`train --search` as a shell sees it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.cli import tables
from scorer.student.folder import load_manifest

Run = Callable[..., Any]


def test_a_search_trains_a_bundle_that_runs(
    scorer: Run, labels_without_axes: Path, tiny_frame: Path, tmp_path: Path
) -> None:
    bundle, table = tmp_path / "mine", tmp_path / "mine.trials.parquet"
    words = (
        "train",
        labels_without_axes,
        "-o",
        bundle,
        "--search",
        "--trials",
        "2",
        "--ngrams",
        "80",
    )
    ended = scorer(*words, "--criterion", "plain")
    assert ended.code == 0, ended.err
    lines = ended.err.splitlines()
    assert "2 trials and one of C's of their own, 6 x 3 fits each: some 1 min" in lines
    assert any(line.startswith("chosen: ") for line in lines)
    assert f"trials: {table}" in lines
    assert ended.out.endswith(f"Next: scorer run FRAME --model {bundle}\n")
    trials = pl.read_parquet(table)
    assert trials.height == 3 * 6
    assert trials.filter("chosen")["stage"].sort().to_list() == [
        *("bundle", "fold 1", "fold 2", "fold 3", "fold 4", "fold 5"),
    ]
    manifest = load_manifest(bundle)
    assert manifest.encoder.ngrams <= 80
    assert manifest.training.search is not None
    assert (manifest.training.search.criterion, manifest.training.search.trials) == ("plain", 2)
    card = (bundle / "README.md").read_text()
    assert "--ngrams 80 --search --trials 2 --criterion plain\n" in card

    scored = tmp_path / "scored.parquet"
    assert scorer("run", tiny_frame, "--model", bundle, "-o", scored).code == 0
    assert pl.read_parquet(scored)["score_codex_metaresearch"].n_unique() > 10

    again = scorer(*words)
    assert again.code == 6
    assert again.err == (
        f"Error: {table}: exists already, and the trials of --search go there.\n"
        "Choose another -o, or say --overwrite.\n"
    )


def test_few_fits_a_second_are_not_told_as_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(tables, "_SECONDS_BETWEEN_LINES", 5.0)
    monkeypatch.setattr(tables.time, "monotonic", lambda: now[0])
    shown = tables.Lines("fits")
    shown.start(270, 0)
    now[0] = 16.0
    shown.advance(4)
    now[0] = 32.0
    shown.advance(240)
    assert capsys.readouterr().err == (
        "4 of 270 fits, 0.25 fits/s, 1,064 s left\n244 of 270 fits, 7.6 fits/s, 3 s left\n"
    )


@pytest.mark.parametrize("option", [("--trials", "3"), ("--criterion", "both"), ("--budget", "5")])
def test_the_options_of_a_search_need_one(
    scorer: Run, labels_without_axes: Path, tmp_path: Path, option: tuple[str, str]
) -> None:
    ended = scorer("train", labels_without_axes, "-o", tmp_path / "mine", *option)
    assert ended.code == 2
    assert ended.err == f"Error: {option[0]} needs --search.\n"


def test_a_search_refuses_rounds_and_a_budget_of_nothing(
    scorer: Run, labels_without_axes: Path, tmp_path: Path
) -> None:
    words = ("train", labels_without_axes, "-o", tmp_path / "mine", "--search")
    ended = scorer(*words, "--rounds-state", tmp_path / "rounds.json")
    assert ended.code == 2
    assert ended.err == (
        "Error: --search chooses a recipe anew, and rounds are compared by one recipe for all.\n"
        "Give --search or --rounds-state, not both.\n"
    )
    ended = scorer(*words, "--budget", "0")
    assert ended.code == 2
    assert ended.err == (
        "Error: --budget 0 leaves no time to search in.\n"
        "Give it minutes, more than 0, or leave it out.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_labels_too_few_to_search_are_told(
    scorer: Run, make_labels: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "labels.parquet"
    make_labels(40).write_parquet(path)
    ended = scorer("train", path, "-o", tmp_path / "mine", "--search")
    assert ended.code == 3
    assert ended.err.endswith(
        "Error: --search measures heads and targets with 20 positives or more; there are none "
        "among the 31 works outside fold 1 of 5.\nLabel more works, or train without --search.\n"
    )
    make_labels(40).with_columns(venue=pl.lit("Journal 1")).write_parquet(path)
    ended = scorer("train", path, "-o", tmp_path / "mine", "--search")
    assert ended.code == 3
    assert ended.err.endswith(
        "Error: 40 works in 1 venue are too few for --search, which parts them into 5 folds, and "
        "the rest of each into 3.\nLabel works of more venues, or train without --search.\n"
    )
