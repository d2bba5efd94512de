"""A student before maturity, asked for with --baseline: scores, and no call anywhere."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from decisions import failing

from scorer.engine.manifest import read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import UsageError
from scorer.student.bundle import load_student

LISTS = [
    f"{k}_{w}"
    for k in ("codex", "gemma", "candidate", "consensus")
    for w in ("categories", "flags")
]
AXES = [
    f"{k}_{a}" for a in ("domain", "genre") for k in ("codex", "gemma", "candidate", "consensus")
]
BEST = [f"best_{k}_domain" for k in ("codex", "gemma", "candidate")]


@pytest.fixture
def baseline(request_for: Callable[..., RunRequest], immature_bundle: Path) -> RunRequest:
    return request_for(model=str(immature_bundle), baseline=True, keep=("doi",))


def test_every_row_says_score_only_and_calls_nothing(
    baseline: RunRequest, immature_bundle: Path
) -> None:
    manifest = run(baseline)
    status = f"score_only:{load_student(immature_bundle).version}"
    rows = pl.read_parquet(baseline.output)
    assert rows.height == 200
    assert manifest.score_status == status
    assert rows["score_status"].cast(pl.String).unique().to_list() == [status]
    assert rows["classification"].cast(pl.String).unique().to_list() == ["score_only"]
    assert rows["prediction_status"].cast(pl.String).unique().to_list() == [
        "machine_predicted_unvalidated"
    ]
    unset = [*LISTS, *AXES, *BEST, "threshold_uncertainty"]
    assert [name for name in unset if rows[name].null_count() != 200] == []
    assert failing(baseline.output) == []


def test_scores_are_those_of_the_same_student_after_maturity(
    baseline: RunRequest, scored: Path
) -> None:
    run(baseline)
    rows, mature = pl.read_parquet(baseline.output), pl.read_parquet(scored)
    same = [name for name in rows.columns if name.startswith("score_") and name != "score_status"]
    same += ["id", "teacher_disagreement", "usable_title"]
    assert rows.select(same).equals(mature.select(same))
    segments = [frame["segment"].cast(pl.String) for frame in (rows, mature)]
    assert segments[0].equals(segments[1])
    assert rows.columns == [*mature.columns, "doi"]


def test_the_manifest_counts_no_call(baseline: RunRequest) -> None:
    counts = run(baseline).counts
    assert counts.classification == {"score_only": 200}
    assert {n for of in counts.calls.values() for n in of.values()} == {0}
    assert read_manifest(baseline.output).counts == counts


@pytest.mark.parametrize("option", ["policy", "direct", "exclude_ids"])
def test_a_decision_beside_a_baseline_is_refused(
    request_for: Callable[..., RunRequest],
    immature_bundle: Path,
    label_files: dict[str, Path],
    excluded_ids: Path,
    option: str,
) -> None:
    settings = {
        "policy": immature_bundle / "policy.json",
        "direct": label_files,
        "exclude_ids": excluded_ids,
    }
    with pytest.raises(UsageError) as refused:
        run(request_for(model=str(immature_bundle), baseline=True, **{option: settings[option]}))
    assert str(refused.value) == (
        "--baseline makes no calls, so --policy, --direct and --exclude-ids have nothing to "
        "decide.\nLeave them out."
    )
    assert list(request_for().output.parent.glob("out.parquet*")) == []


def test_a_baseline_of_a_mature_student_is_refused(
    request_for: Callable[..., RunRequest], tiny_bundle: Path
) -> None:
    version = load_student(tiny_bundle).version
    with pytest.raises(UsageError) as refused:
        run(request_for(baseline=True))
    assert str(refused.value) == (
        f"--baseline is for students before maturity; the gate of {version} has passed.\n"
        "Leave it out."
    )
