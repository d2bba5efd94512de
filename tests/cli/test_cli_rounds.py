"""`train --rounds-state` and `gate`: rounds as a shell sees them."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.student.folder import load_manifest

Run = Callable[..., Any]
BASELINE = Path(__file__).parents[2] / "models" / "metacan-v0-baseline"


@pytest.fixture(scope="module")
def labels(make_labels: Callable[..., pl.DataFrame], tmp_path_factory: Any) -> list[Path]:
    """Two label tables, the second the first and more; without axes, which take time to fit."""
    table = make_labels(150)
    table = table.drop(name for name in table.columns if name.endswith(("_domain", "_genre")))
    folder = tmp_path_factory.mktemp("grown")
    paths = [folder / "first.parquet", folder / "second.parquet"]
    for path, size in zip(paths, (120, 150), strict=True):
        table[:size].write_parquet(path)
    return paths


def test_two_rounds_and_their_gate(scorer: Run, labels: list[Path], tmp_path: Path) -> None:
    state, bundle = tmp_path / "rounds.json", tmp_path / "mine"
    words = ("-o", bundle, "--overwrite", "--rounds-state", state)
    first = scorer("train", labels[0], *words, "--ngrams", "50", "--gate-churn", "0.2")
    assert first.code == 0, first.err
    assert "round 1: " in first.err
    assert "maturity gate not passed: 1 round; nothing to compare it with yet\n" in first.err
    assert first.out.endswith(f"Next: scorer gate {state}\n")

    contradicted = scorer("train", labels[1], *words, "--gate-churn", "0.05")
    assert contradicted.code == 2
    assert contradicted.err == (
        f"Error: --gate-churn 0.05: the rounds of {state} began with 0.2.\n"
        "Leave the option out, or begin anew with another --rounds-state.\n"
    )
    assert scorer("train", labels[1], *words).code == 0

    shown = scorer("gate", state)
    maturity = load_manifest(bundle).maturity
    assert (shown.code, shown.err) == (0, "")
    one, two = maturity.history
    assert re.search(rf"^  1 +{one.works} +{one.held_out} .* – +– +mine@", shown.out, re.M)
    assert re.search(rf"^  2 +{two.works} .* {two.churn:.4g} +{two.spearman:.4g} ", shown.out, re.M)
    assert re.search(r"average precision +no +2 rounds of 6 +grew by less than 2 %", shown.out)
    assert re.search(r"churn +no +–, .* under 0\.2 for 3 rounds running", shown.out)
    assert shown.out.endswith(f"Maturity gate not passed: {maturity.note}.\n")
    assert scorer("gate", bundle).out == shown.out

    said = json.loads(scorer("gate", state, "--json").out)
    of_bundle = json.loads(scorer("gate", bundle, "--json").out)
    assert (said["passed"], said["rounds"], said["criteria"]["churn"]) == (False, 2, 0.2)
    assert said["holds"] == maturity.holds
    assert said["name"] == str(state)
    assert of_bundle["name"] == said["history"][1]["bundle"]
    assert said["history"][0] == of_bundle["history"][0]


def test_a_criterion_needs_rounds(scorer: Run, labels: list[Path], tmp_path: Path) -> None:
    for option, value in (("--gate-window", "5"), ("--holdout-share", "0.2")):
        ended = scorer("train", labels[0], "-o", tmp_path / "x", option, value)
        assert ended.code == 2
        assert ended.err == f"Error: {option} needs --rounds-state FILE.\n"


def test_a_broken_state_is_told(scorer: Run, labels: list[Path], tmp_path: Path) -> None:
    state = tmp_path / "rounds.json"
    state.write_text("{")
    said = (
        f"Error: {state}: not a state of rounds (Expecting property name enclosed in double "
        "quotes: line 1 column 2 (char 1)).\n"
        "Restore the file, or begin anew with another --rounds-state.\n"
    )
    for words in (
        ("train", labels[0], "-o", tmp_path / "x", "--rounds-state", state),
        ("gate", state),
    ):
        ended = scorer(*words)
        assert (ended.code, ended.err) == (3, said)


def test_the_gate_of_the_shipped_baseline(scorer: Run) -> None:
    manifest = load_manifest(BASELINE)
    by_name, by_folder = scorer("gate", "metacan-v0-baseline"), scorer("gate", BASELINE)
    assert by_name.code == 0
    assert by_name.out == by_folder.out
    assert len(re.findall(r"metacan-v0-baseline@", by_name.out)) == 7
    assert manifest.version in by_name.out
    assert f"Maturity gate not passed: {manifest.maturity.note}.\n" in by_name.out


def test_the_gate_of_a_student_without_rounds(scorer: Run, tiny_bundle: Path) -> None:
    ended = scorer("gate", tiny_bundle)
    assert ended.code == 0
    assert ended.out == (
        "Maturity gate passed: trained in one round on a complete sample, so there are no rounds "
        "to compare.\n"
    )
    said = json.loads(scorer("gate", tiny_bundle, "--json").out)
    assert (said["history"], said["holds"], said["passed"]) == ([], {}, True)


def test_the_gate_of_what_is_not_there(scorer: Run) -> None:
    ended = scorer("gate", "nowhere.json")
    assert (ended.code, ended.err) == (3, "Error: nowhere.json: no such file. Check the path.\n")
    ended = scorer("gate", "nonesuch")
    assert ended.code == 4
    assert ended.err.startswith("Error: nonesuch: no such bundle. Shipped: ")


def test_the_gate_of_a_bundle_whose_criteria_are_unknown(
    scorer: Run, bundle_copy: Path, reseal: Callable[..., str]
) -> None:
    maturity = load_manifest(BASELINE).maturity.model_dump() | {"criteria": {"moved": 0.2}}
    reseal(bundle_copy, maturity=maturity)
    ended = scorer("gate", bundle_copy)
    assert ended.code == 4
    assert ended.err == (
        f"Error: {bundle_copy}: its rounds do not say what the gate asks for. Train it again.\n"
    )


def test_the_gate_needs_nothing_of_the_training_extra() -> None:
    code = (
        "import sys\n"
        "for name in ('sklearn', 'scipy', 'onnx', 'joblib'): sys.modules[name] = None\n"
        "from scorer.cli.app import app; app(['gate', sys.argv[1]], standalone_mode=False)"
    )
    command = [sys.executable, "-c", code, str(BASELINE)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Maturity gate not passed: 7 rounds; " in ran.stdout


def test_the_baseline_is_listed_as_scores_only(scorer: Run) -> None:
    said = {row["name"]: row for row in json.loads(scorer("models", "--json").out)}
    assert said["metacan-v0-baseline"]["mature"] is False
    assert said["metacan-v0-baseline"]["licence"] == "CC BY 4.0"
    card = scorer("models", "metacan-v0-baseline").out
    for words in ("small slice", "Ahmad Sofi-Mahmudi", "OpenAlex (CC0)", "1,300 works"):
        assert words in card
