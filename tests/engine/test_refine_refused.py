"""What does not go with a second stage, or with a file of two students: a plain line each."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scorer.decide.called import count_calls
from scorer.decide.curve import curves
from scorer.decide.diff import diff
from scorer.decide.inputs import FitRequest, Inputs
from scorer.decide.sample import LabelFiles
from scorer.engine.call import CallRequest, call
from scorer.engine.job import Job
from scorer.engine.manifest import read_manifest
from scorer.engine.request import RunRequest
from scorer.errors import BundleError, PolicyError, RefusedError, ScorerError, UsageError
from scorer.policy.policy import Policy
from scorer.student.bundle import load_student
from scorer.student.manifest import MANIFEST_FILE

Make = Callable[..., RunRequest]


def refused(request: RunRequest, kind: type[ScorerError]) -> str:
    with pytest.raises(kind) as error:
        Job.prepare(request)
    assert type(error.value) is kind
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("refine_share", 0.05), ("refine_band", 0.1), ("refine_policy", Path("p.json"))],
)
def test_options_of_a_second_stage_without_one(request_for: Make, name: str, value: object) -> None:
    option = f"--{name.replace('_', '-')}"
    assert refused(request_for(**{name: value}), UsageError) == (
        f"{option}: for a second bundle, and none is named.\n"
        f"Add --refine BUNDLE, or leave {option} out."
    )


@pytest.mark.parametrize(
    ("share", "said"), [(0.0, "0%"), (-0.05, "-5%"), (1.5, "150%"), (float("nan"), "nan%")]
)
def test_a_share_out_of_its_range(
    request_for: Make, second_bundle: Path, share: float, said: str
) -> None:
    request = request_for(refine=str(second_bundle), refine_share=share)
    assert refused(request, UsageError) == (
        f"--refine-share {said}: expected over 0 and up to 100 %, for instance 5% or 0.05.\n"
        "To score no work again, leave --refine out."
    )


@pytest.mark.parametrize(("band", "said"), [(0.0, "0"), (-1.0, "-1"), (1.1, "1.1")])
def test_a_band_out_of_its_range(
    request_for: Make, second_bundle: Path, band: float, said: str
) -> None:
    request = request_for(refine=str(second_bundle), refine_band=band)
    assert refused(request, UsageError) == (
        f"--refine-band {said}: expected over 0 and up to 1, the distance of a score from its "
        "threshold, for instance 0.1."
    )


def test_a_share_and_a_band(request_for: Make, second_bundle: Path) -> None:
    request = request_for(refine=str(second_bundle), refine_band=0.1, refine_share=0.1)
    assert refused(request, UsageError) == (
        "--refine-share and --refine-band: each says by itself which works are scored again.\n"
        "Give one of them."
    )


def test_a_second_student_that_is_the_first(request_for: Make, tiny_bundle: Path) -> None:
    version = load_student(tiny_bundle).version
    assert refused(request_for(refine=str(tiny_bundle)), UsageError) == (
        f"--refine {tiny_bundle}: is {version}, which scores all works already.\n"
        "Name another bundle, or leave the option out."
    )


def test_a_baseline_has_no_calls_to_change(
    request_for: Make, second_bundle: Path, immature_bundle: Path
) -> None:
    request = request_for(model=str(immature_bundle), baseline=True, refine=str(second_bundle))
    assert refused(request, UsageError) == (
        "--baseline makes no calls, so --refine has none to change.\nLeave one of them out."
    )


def test_a_second_student_before_its_maturity(request_for: Make, immature_bundle: Path) -> None:
    version = load_student(immature_bundle).version
    request = request_for(refine=str(immature_bundle))
    assert refused(request, RefusedError) == (
        f"{version}: its maturity gate has not passed (still moves), so it may not change calls.\n"
        "Refine with a bundle whose gate has passed (scorer models)."
    )


def test_a_second_student_with_other_heads(request_for: Make, three_heads: Path) -> None:
    first, other = request_for().model, load_student(three_heads).version
    assert refused(request_for(refine=str(three_heads)), BundleError) == (
        f"{other}: cannot refine what {load_student(Path(first)).version} scores: its heads are "
        "codex, gemma, third, there codex, gemma.\n"
        "Name a bundle that was trained for the same heads and targets."
    )


def test_a_second_student_that_learned_other_targets(
    request_for: Make, bundle_copy: Path, tiny_bundle: Path, reseal: Callable[..., str]
) -> None:
    """Names are the same; a head of one has not learned what that of the other has."""
    targets = json.loads((bundle_copy / MANIFEST_FILE).read_text())["targets"]
    targets["heads"][1]["unavailable"] = ["metaresearch"]
    version = reseal(bundle_copy, targets=targets)
    assert refused(request_for(refine=str(bundle_copy)), BundleError) == (
        f"{version}: cannot refine what {load_student(tiny_bundle).version} scores: only one of "
        "them has learned metaresearch for head gemma.\n"
        "Name a bundle that was trained for the same heads and targets."
    )


def test_labels_of_a_bundle_may_be_worded_otherwise(
    request_for: Make, bundle_copy: Path, reseal: Callable[..., str]
) -> None:
    targets = json.loads((bundle_copy / MANIFEST_FILE).read_text())["targets"]
    targets["binary"][0]["label"]["en"] = "Another word for it"
    reseal(bundle_copy, targets=targets)
    assert Job.prepare(request_for(refine=str(bundle_copy))).refining is not None


def test_a_band_around_the_thresholds_of_a_policy_without_any(
    request_for: Make, second_bundle: Path, policy: Policy, tmp_path: Path
) -> None:
    content = policy.model_dump(mode="json")
    for heads in content["entries"].values():
        for head in heads:
            heads[head] = {"kind": "none", "reason": "off"}
    silent = Policy.model_validate(content)
    (tmp_path / "silent.json").write_text(silent.to_json())
    request = request_for(refine=str(second_bundle), policy=tmp_path / "silent.json")
    assert Job.prepare(request).refining is not None  # a share needs none: works are ranked
    assert refused(replace(request, refine_band=0.1), UsageError) == (
        f"--refine-band: policy {silent.version} makes no call by a score, so no work is near a "
        "threshold.\nGive a policy with thresholds, or a share: --refine-share 5%"
    )


def test_labels_of_every_head_leave_nothing_to_score_again(
    request_for: Make, second_bundle: Path, label_files: dict[str, Path]
) -> None:
    request = request_for(refine=str(second_bundle), direct=label_files)
    assert refused(request, UsageError) == (
        "--refine: every head has its labels given (--direct), so no score decides anything.\n"
        "Leave one of them out."
    )


def test_a_second_policy_for_other_targets(
    request_for: Make, second_bundle: Path, tmp_path: Path
) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"entries": {"philosophy": {"codex": {}}}}))
    request = request_for(refine=str(second_bundle), refine_policy=path)
    assert refused(request, PolicyError).startswith(f"{path}: ")


@pytest.fixture
def two_students(stacked: Path) -> str:
    """What is said of a stacked file where one policy is wanted."""
    manifest = read_manifest(stacked)
    assert manifest.refined is not None
    return (
        f"{stacked}: 40 of its works were scored again by {manifest.refined.model_version}, the "
        f"others by {manifest.model_version}: thresholds of one say nothing of the other's "
        "scores.\nScore the frame with one bundle for this, or with scorer run --policy FILE "
        "--refine BUNDLE --refine-policy FILE for other calls."
    )


def test_one_policy_cannot_call_the_scores_of_two_students(
    stacked: Path, two_students: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as error:
        call(CallRequest(scores=stacked, output=tmp_path / "called.parquet"))
    assert str(error.value) == two_students
    assert list(tmp_path.iterdir()) == []


def test_thresholds_are_of_one_student(
    stacked: Path, two_students: str, policy: Policy, tiny_labels: Path, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    path.write_text(policy.to_json())
    manifest, labels = read_manifest(stacked), LabelFiles(tiny_labels)
    for decide in (
        lambda: diff(path, path, stacked),
        lambda: curves(stacked, labels),
        lambda: Inputs.open(FitRequest(labels=labels, scores=stacked)),
        lambda: count_calls(stacked, manifest.model_version, manifest.targets, policy),
    ):
        with pytest.raises(UsageError) as error:
            decide()
        assert str(error.value) == two_students
