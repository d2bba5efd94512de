"""Counting what a policy calls in a file of scores, without writing anything."""

from pathlib import Path

import polars as pl
import pytest

from scorer.decide.called import count_calls
from scorer.engine.manifest import read_manifest
from scorer.errors import InputError
from scorer.policy.policy import Policy
from scorer.student.bundle import Student


def test_recounting_the_same_policy_gives_the_counts_of_the_manifest(
    scored_sample: Path, student: Student, policy: Policy
) -> None:
    works, counts = count_calls(scored_sample, student.version, student.manifest.targets, policy)
    assert works == 300
    assert counts == read_manifest(scored_sample).counts.calls


def test_recounting_another_policy_counts_what_it_would_call(
    scored_sample: Path, student: Student, policy: Policy
) -> None:
    content = policy.model_dump(mode="json")
    content["entries"]["bibliometrics"]["codex"] = {
        "kind": "threshold",
        "value": 0.25,
        "found_by": "hand",
    }
    content["entries"]["bibliometrics"]["gemma"] = {"kind": "none", "reason": "off"}
    changed = Policy.model_validate(content)
    _, counts = count_calls(scored_sample, student.version, student.manifest.targets, changed)
    rows = pl.read_parquet(scored_sample)
    over = (rows["score_codex_bibliometrics"] >= 0.25) & (
        rows["segment"].cast(pl.String) == "covered"
    )
    assert 0 < over.sum() < 300
    assert counts["bibliometrics"] == {
        "codex": over.sum(),
        "gemma": 0,
        "candidate": over.sum(),
        "consensus": 0,
    }


def test_recounting_scores_of_another_student_is_refused(
    scored_sample: Path, student: Student, policy: Policy
) -> None:
    with pytest.raises(InputError) as refused:
        count_calls(scored_sample, "other@000000000000", student.manifest.targets, policy)
    assert str(refused.value) == (
        f"{scored_sample}: scored by {student.version}, the thresholds are for "
        "other@000000000000.\n"
        "Name the bundle that scored it: --model"
    )


def test_recounting_a_file_that_is_not_there_says_so(
    student: Student, policy: Policy, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"nothing\.parquet: no such file\. Check the path\."):
        count_calls(tmp_path / "nothing.parquet", student.version, student.manifest.targets, policy)
