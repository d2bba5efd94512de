"""Comparing two policies: the works that change, counted and listed."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from scorer.decide.diff import SCHEMA, Change, Difference, diff
from scorer.engine.call import CallRequest, call
from scorer.errors import OutputError, PolicyError
from scorer.policy.policy import Direct, Entry, Policy, Silent
from scorer.status import STAMP

KINDS = ("codex", "gemma", "candidate", "consensus")
Write = Callable[[Policy], Path]


def with_entry(policy: Policy, head: str, target: str, entry: Entry) -> Policy:
    entries = {name: dict(heads) for name, heads in policy.entries.items()}
    entries[target][head] = entry
    return policy.model_copy(update={"entries": entries})


def moved(policy: Policy) -> Policy:
    """Return the policy, codex stricter on one target, gemma laxer, codex off on another."""
    strict = policy.entry("codex", "metaresearch").model_copy(update={"value": 1.0})
    lax = policy.entry("gemma", "metaresearch").model_copy(update={"value": 0.0})
    off = Silent(reason="off", support=policy.entry("codex", "bibliometrics").support)
    for head, target, entry in (
        ("codex", "metaresearch", strict),
        ("gemma", "metaresearch", lax),
        ("codex", "bibliometrics", off),
    ):
        policy = with_entry(policy, head, target, entry)
    return policy


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a policy file."""

    def written(policy: Policy) -> Path:
        path = tmp_path / f"{policy.version}.json"
        path.write_text(policy.to_json())
        return path

    return written


@pytest.fixture
def found(policy: Policy, scored_sample: Path, tmp_path: Path, write: Write) -> Difference:
    """What changes from the tiny bundle's policy to `moved`, listed in `changed.parquet`."""
    output = tmp_path / "changed.parquet"
    return diff(write(policy), write(moved(policy)), scored_sample, output)


def calls(path: Path, kind: str, target: str) -> set[str]:
    rows = pl.read_parquet(path)
    what = "flags" if target.startswith("about") else "categories"
    return set(rows.filter(pl.col(f"{kind}_{what}").list.contains(target))["id"])


def test_counts_are_those_of_the_files_that_both_policies_make(
    found: Difference, scored_sample: Path, policy: Policy, tmp_path: Path, write: Write
) -> None:
    called = tmp_path / "called.parquet"
    call(CallRequest(scores=scored_sample, output=called, policy=write(moved(policy))))
    listed = pl.read_parquet(tmp_path / "changed.parquet")
    assert (found.works, found.kinds) == (300, KINDS)
    for target, changes in found.changes.items():
        for kind, change in changes.items():
            before, after = (calls(path, kind, target) for path in (scored_sample, called))
            assert change == Change(len(before & after), len(before - after), len(after - before))
            rows = listed.filter((pl.col("target") == target) & (pl.col("kind") == kind))
            assert set(rows.filter(pl.col("change") == "added")["id"]) == after - before
            assert set(rows.filter(pl.col("change") == "dropped")["id"]) == before - after
    assert found.changes["metaresearch"]["codex"].dropped > 0
    assert found.changes["metaresearch"]["gemma"].added > 0
    assert found.changes["bibliometrics"]["consensus"].dropped > 0


def test_the_list_is_stamped_row_by_row_and_as_a_file(found: Difference, tmp_path: Path) -> None:
    table = pq.read_table(tmp_path / "changed.parquet")
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert table.schema.metadata[b"prediction_status"].decode() == STAMP
    assert table["prediction_status"].unique().to_pylist() == [STAMP]
    total = sum(c.dropped + c.added for k in found.changes.values() for c in k.values())
    assert table.num_rows == total > 0


def test_equal_policies_change_nothing_and_list_nothing(
    policy: Policy, scored_sample: Path, tmp_path: Path, write: Write
) -> None:
    path, output = write(policy), tmp_path / "none.parquet"
    found = diff(path, path, scored_sample, output)
    changes = [change for kinds in found.changes.values() for change in kinds.values()]
    assert all(change.dropped == change.added == 0 for change in changes)
    assert pq.read_table(output).num_rows == 0


def test_a_policy_of_another_student_is_refused(
    policy: Policy, scored_sample: Path, write: Write
) -> None:
    entries = {target: heads for target, heads in policy.entries.items() if target != "sts"}
    other = write(policy.model_copy(update={"entries": entries}))
    with pytest.raises(PolicyError) as caught:
        diff(write(policy), other, scored_sample)
    assert str(caught.value) == (
        f"{other}: no entry for target 'sts', which the bundle has.\n"
        "Use a policy that was made for this bundle."
    )


def test_a_policy_that_needs_labels_is_refused(
    policy: Policy, scored_sample: Path, tmp_path: Path, write: Write
) -> None:
    direct = policy
    for target in policy.entries:
        direct = with_entry(direct, "gemma", target, Direct(sha256="0" * 64))
    path, output = write(direct), tmp_path / "none.parquet"
    with pytest.raises(PolicyError) as caught:
        diff(write(policy), path, scored_sample, output)
    assert str(caught.value) == (
        f"{path}: head 'gemma' is direct, and its labels are not at hand here.\n"
        "Count the calls of such a policy with scorer call."
    )
    assert not output.exists()


def test_a_list_is_whole_or_absent(
    policy: Policy, changed: Callable[..., Path], tmp_path: Path, write: Write
) -> None:
    def spoil(rows: pl.DataFrame) -> pl.DataFrame:
        last = pl.int_range(pl.len()) == pl.len() - 1
        return rows.with_columns(
            score_codex_metaresearch=pl.when(last)
            .then(pl.lit(2.0, pl.Float32))
            .otherwise("score_codex_metaresearch")
        )

    output = tmp_path / "changed.parquet"
    with pytest.raises(Exception, match=r"the score is 2.0, expected 0 to 1"):
        diff(write(policy), write(moved(policy)), changed(spoil, rows=50), output)
    assert not output.exists()
    assert not list(tmp_path.glob(".scorer.*"))


def test_a_list_for_a_folder_that_is_missing(
    policy: Policy, scored_sample: Path, write: Write
) -> None:
    with pytest.raises(OutputError) as caught:
        diff(write(policy), write(moved(policy)), scored_sample, Path("/nowhere/c.parquet"))
    assert str(caught.value) == "/nowhere: no such folder. Make it first, or choose -o elsewhere."
