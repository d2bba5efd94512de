"""`scorer thresholds fit`, `diff` and `curve` as a shell sees them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.policy.policy import Policy, Quota, parse_policy

STATUS = "Status of every row: machine_predicted_unvalidated. Scores rank works for human review."
Run = Callable[..., Any]


@pytest.fixture
def sample(scorer: Run, tiny_labels: Path, tiny_bundle: Path, tmp_path: Path) -> Path:
    """The labelled works, scored by the command."""
    output = tmp_path / "sample.parquet"
    assert scorer("run", tiny_labels, "--model", tiny_bundle, "-o", output, "-q").code == 0
    return output


def test_a_policy_is_fitted_shown_and_written(
    scorer: Run, tiny_labels: Path, sample: Path, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    ended = scorer(
        *("thresholds", "fit", tiny_labels, "--scores", sample, "-o", path, "--fbeta", 2),
        *("--for", "gemma=quota", "--set", "codex.metaresearch=0.19", "--for", "sts=off"),
    )
    assert (ended.code, ended.err.count("\n")) == (0, 1)
    assert ended.err.startswith(
        "Note: --for gemma=quota: no calls, for want of support: gemma.open"
    )
    policy = parse_policy(path.read_text(), "policy.json")
    assert policy.entry("codex", "metaresearch").value == 0.19
    assert isinstance(policy.entry("gemma", "metaresearch"), Quota)
    assert policy.entry("gemma", "sts").reason == "off"
    assert policy.entry("codex", "bibliometrics").found_by == "design-weighted F-2"
    assert re.search(r"Metaresearch +≥ 0.190 +\d+ .* best \d+ \(≥ 0.\d+\)", ended.out)
    assert re.search(r"Bibliometrics +≥ 0.\d+ +F-2 \d.\d{3}", ended.out)
    assert f"Policy {policy.version} for tiny@" in ended.out
    assert ended.out.endswith(f"written to {path}.\n{STATUS}\n")


def test_a_fitted_policy_as_json(
    scorer: Run, tiny_labels: Path, sample: Path, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    fit = ("thresholds", "fit", tiny_labels, "--scores", sample, "-o", path, "--json")
    said = json.loads(scorer(*fit, "--recall", 0.9, "--gate-scope", "all-heads").out)
    assert Policy.model_validate(said["policy"]) == parse_policy(path.read_text(), "p")
    assert said["policy"]["gates"]["scope"] == "all_heads"
    assert said["prediction_status"] == "machine_predicted_unvalidated"
    assert said["reached"]["metaresearch"]["codex"]["recall"] >= 0.9
    again = scorer(*fit, "--recall", 0.9)
    assert again.code == 6
    assert again.err == (f"Error: {path}: exists already. Choose another -o, or say --overwrite.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--fbeta", 2, "--quota"),
            "--fbeta 2 and --quota: one for all is enough.\n"
            "Say where the other holds: --for WHERE=HOW",
        ),
        (
            ("--recall", 1.5),
            "--recall 1.5: expected fbeta:B, quota, quota:K, recall:R, precision:P or off.\n"
            "B over 0; K a number of works; R and P over 0, at most 1.",
        ),
        (
            ("--for", "sts=off", "--set", "sts=0.5"),
            "sts: given by --for and by --set. One of them is enough.",
        ),
        (
            ("--set", "zines=0.5"),
            "--set zines=0.5: zines: no such head, target or HEAD.TARGET.\nHeads: codex, gemma. "
            "Targets: metaresearch, bibliometrics, sts, open_science, insufficient_payload, "
            "about_ca_topic.",
        ),
    ],
)
def test_sources_that_do_not_fit_together(
    scorer: Run, tiny_labels: Path, sample: Path, tmp_path: Path, *, words: Any, message: str
) -> None:
    output = tmp_path / "policy.json"
    ended = scorer("thresholds", "fit", tiny_labels, "--scores", sample, "-o", output, *words)
    assert (ended.code, ended.err) == (2, f"Error: {message}\n")
    assert not output.exists()


def test_labels_are_needed_once(scorer: Run, tiny_labels: Path, sample: Path) -> None:
    fit = ("thresholds", "fit", "-o", "p.json", "--scores", sample)
    message = "Error: Give either a label table, or --sample with --head NAME=FILE.\n"
    assert scorer(*fit).err == message
    assert scorer(*fit, tiny_labels, "--sample", "sample.json").err == message


def test_a_group_option_before_a_command_is_refused(scorer: Run, sample: Path) -> None:
    ended = scorer("thresholds", "--scores", sample, "fit", "labels.parquet", "-o", "p.json")
    assert (ended.code, ended.err) == (
        2,
        "Error: --scores stands before fit.\nPut it after: scorer thresholds fit --scores ...\n",
    )


def test_a_majority_of_two_heads_is_refused(scorer: Run, tiny_bundle: Path) -> None:
    ended = scorer("thresholds", "--model", tiny_bundle, "--mode", "majority")
    assert (ended.code, ended.err) == (
        2,
        "Error: mode majority: needs three heads or more, the student has 2.\n"
        "With two, more than half is both: --mode consensus.\n",
    )


def test_two_policies_are_compared(
    scorer: Run, tiny_labels: Path, sample: Path, tmp_path: Path
) -> None:
    fit = ("thresholds", "fit", tiny_labels, "--scores", sample)
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert scorer(*fit, "-o", one).code == 0
    assert scorer(*fit, "-o", two, "--set", "codex.metaresearch=1").code == 0
    listed = tmp_path / "changed.parquet"
    compare = ("thresholds", "diff", one, two, "--scores", sample)
    said = json.loads(scorer(*compare, "--json").out)
    change = said["changes"]["metaresearch"]["codex"]
    assert (change["both"], change["added"]) == (0, 0)
    assert (said["works"], change["dropped"] > 0) == (300, True)
    ended = scorer(*compare, "-o", listed)
    assert ended.code == 0
    assert re.search(rf"Metaresearch +0 −{change['dropped']} \+0 ", ended.out)
    assert f"The works are listed in {listed}.\n{STATUS}" in ended.out
    rows = pl.read_parquet(listed).filter(pl.col("kind") == "codex")
    assert rows.height == change["dropped"]
    ended = scorer(*compare, "-o", listed)
    assert (ended.code, listed.exists()) == (6, True)


def test_curves_are_shown_with_the_current_point(
    scorer: Run, tiny_labels: Path, sample: Path
) -> None:
    show = ("thresholds", "curve", "--scores", sample, "--labels", tiny_labels)
    said = json.loads(scorer(*show, "--json").out)
    ended = scorer(*show)
    assert ended.code == 0
    blocks = ended.out.split("Open science (positives:")
    assert len(blocks) == 2
    now = said["targets"]["metaresearch"]["codex"]["current"]
    figures = f"{now['precision']:.3f} {now['recall']:.3f} {now['fbeta']:.3f}"
    assert re.search(rf"now +{figures}", blocks[0])
    assert re.search(r"now +none: support +none: support +never: every head", blocks[1])
    assert "Compared with the teachers' labels, not with the truth.\n" + STATUS in ended.out
    best = said["targets"]["metaresearch"]["gemma"]["best"]
    points = said["targets"]["metaresearch"]["gemma"]["points"]
    assert best["fbeta"] == max(point["fbeta"] for point in points)
    assert 1 <= len(re.findall(r"^ +[01]\.\d{4} ", blocks[0].split(" now ")[0], re.MULTILINE)) <= 10


def test_curves_are_drawn(scorer: Run, tiny_labels: Path, sample: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "curves.svg"
    show = ("thresholds", "curve", "--scores", sample, "--labels", tiny_labels, "--plot", plot)
    ended = scorer(*show)
    assert ended.out.endswith(f"Drawn in {plot}.\n")
    assert plot.read_text().startswith("<?xml")
    ended = scorer(*show)
    assert (ended.code, ended.err) == (
        6,
        f"Error: {plot}: exists already. Choose another --plot, or say --overwrite.\n",
    )


def test_training_keeps_out_of_fold_scores_to_fit_on(
    scorer: Run, tiny_labels: Path, tmp_path: Path
) -> None:
    scores = tmp_path / "unseen.parquet"
    train = ("train", tiny_labels, "-o", tmp_path / "mine", "--ngrams", 60)
    assert scorer(*train, "--out-of-fold", scores).code == 0
    fit = ("thresholds", "fit", tiny_labels, "--out-of-fold", scores, "-o", tmp_path / "p.json")
    ended = scorer(*fit, "--fbeta", 2)
    assert (ended.code, ended.err) == (0, "")
    trained = parse_policy((tmp_path / "mine" / "policy.json").read_text(), "p")
    fitted = parse_policy((tmp_path / "p.json").read_text(), "p")
    pair = ("gemma", "metaresearch")
    assert fitted.entry(*pair).value == trained.entry(*pair).value
