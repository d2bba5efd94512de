"""Runs with labels given and works excluded: what is called, and what the manifest says of it."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from decisions import categories, changed, failing, write

from scorer.engine.decision import Decision
from scorer.engine.manifest import read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError, PolicyError, UsageError
from scorer.policy.policy import Policy
from scorer.student.bundle import Student

pytestmark = pytest.mark.usefixtures("small_shards")


class Stopped(Exception):
    """Stands for whatever ends a run."""


class StopAfterTwo(Silence):
    """Progress that ends the run once two parts are safe."""

    done = 0

    def advance(self, works: int) -> None:
        self.done += 1
        if self.done == 2:
            raise Stopped


@pytest.fixture
def rows_of(request_for: Callable[..., RunRequest]) -> Callable[..., pl.DataFrame]:
    """Run with changes and read the rows."""

    def rows(**changes: object) -> pl.DataFrame:
        run(request_for(overwrite=True, **changes))
        found = pl.read_parquet(request_for().output)
        return found.with_columns(pl.col(pl.Categorical).cast(pl.String))

    return rows


def labels_by_id(path: Path) -> dict[str, dict[str, object]]:
    table = pl.read_parquet(path).with_columns(
        pl.col("id").str.strip_prefix("https://openalex.org/")
    )
    return {row["id"]: row for row in table.iter_rows(named=True)}


def test_the_calls_of_a_direct_head_are_its_labels_without_any_gate(
    rows_of: Callable[..., pl.DataFrame], label_files: dict[str, Path], policy: Policy
) -> None:
    """Open science too, which the gates keep silent; the segment rule holds all the same."""
    assert policy.entry("gemma", "open_science").kind == "none"
    said = labels_by_id(label_files["gemma"])
    rows = rows_of(direct={"gemma": label_files["gemma"]})
    called = set()
    for row in rows.iter_rows(named=True):
        label = said.get(row["id"])
        if row["segment"] == "insufficient_payload":
            assert row["gemma_categories"] == ["insufficient_payload"]
            assert (row["gemma_flags"], row["gemma_genre"]) == ([], None)
        elif label is None:
            assert (row["gemma_categories"], row["gemma_flags"]) == ([], [])
            assert (row["gemma_genre"], row["consensus_categories"]) == (None, [])
        else:
            assert sorted(row["gemma_categories"]) == sorted(label["categories"])
            assert row["gemma_flags"] == ["about_ca_topic"] * label["about_ca_topic"]
            assert row["gemma_genre"] == row["candidate_genre"] == label["genre"]
            called |= set(label["categories"])
        for what in ("categories", "flags"):
            codex, gemma = set(row[f"codex_{what}"]), set(row[f"gemma_{what}"])
            assert set(row[f"candidate_{what}"]) == codex | gemma
            assert set(row[f"consensus_{what}"]) == codex & gemma
    assert "open_science" in called


def test_scores_and_the_other_heads_calls_are_as_without_labels(
    rows_of: Callable[..., pl.DataFrame], label_files: dict[str, Path], excluded_ids: Path
) -> None:
    plain = rows_of()
    direct = rows_of(direct={"gemma": label_files["gemma"]})
    excluded = rows_of(exclude_ids=excluded_ids)
    scores = [name for name in plain.columns if name.startswith("score_")]
    same = [*scores, "codex_categories", "codex_flags", "codex_domain", "codex_genre"]
    assert direct.select(same).equals(plain.select(same))
    assert excluded.select(scores).equals(plain.select(scores))


def test_excluded_works_are_scored_and_called_nothing_the_others_as_before(
    rows_of: Callable[..., pl.DataFrame], excluded_ids: Path
) -> None:
    plain, rows = rows_of(), rows_of(exclude_ids=excluded_ids)
    listed = rows["id"].is_in(excluded_ids.read_text().split())
    assert listed[0], "the first has no title: exclusion comes first"
    assert (rows["segment"] == "excluded").equals(listed)
    assert (
        rows.filter(~listed)
        .drop("policy_version")
        .equals(plain.filter(~listed).drop("policy_version"))
    )
    out = rows.filter(listed)
    assert out["classification"].unique().to_list() == ["none"]
    lists = [name for name, kind in rows.schema.items() if kind == pl.List(pl.String)]
    assert len(lists) == 8
    assert [out[name].list.len().sum() for name in lists] == [0] * 8
    assert failing_counts(rows, listed) == {"covered": 138, "insufficient_payload": 12}


def failing_counts(rows: pl.DataFrame, listed: pl.Series) -> dict[str, int]:
    return dict(rows.filter(~listed)["segment"].value_counts().sort("segment").iter_rows())


def test_excluded_works_have_no_calls_from_labels_either(
    rows_of: Callable[..., pl.DataFrame], label_files: dict[str, Path], excluded_ids: Path
) -> None:
    rows = rows_of(direct={"gemma": label_files["gemma"]}, exclude_ids=excluded_ids)
    out = rows.filter(pl.col("segment") == "excluded")
    assert out.height == 50
    assert out["gemma_categories"].list.len().sum() == 0


def test_the_manifest_counts_labels_and_works_without_one_another(
    request_for: Callable[..., RunRequest], label_files: dict[str, Path], excluded_ids: Path
) -> None:
    request = request_for(direct=label_files, exclude_ids=excluded_ids)
    manifest = run(request)
    for head, path in label_files.items():
        source = manifest.direct[head]
        assert (source.name, source.size) == (path.name, path.stat().st_size)
        assert (source.labels, source.works_without_label, source.labels_without_work) == (
            163,
            40,
            3,
        )
    excluded = manifest.excluded
    assert excluded is not None
    assert (excluded.name, excluded.ids, excluded.ids_without_work) == ("labelled.txt", 51, 1)
    assert manifest.counts.segments["excluded"] == 50
    assert read_manifest(request.output) == manifest
    assert failing(request.output) == []


def test_a_resumed_run_counts_all_works_and_ends_in_the_same_bytes(
    request_for: Callable[..., RunRequest],
    label_files: dict[str, Path],
    excluded_ids: Path,
    tmp_path: Path,
) -> None:
    settings = {"direct": label_files, "exclude_ids": excluded_ids}
    with pytest.raises(Stopped):
        run(request_for(**settings), StopAfterTwo())
    resumed = run(request_for(**settings))
    whole = run(request_for(**settings, output=tmp_path / "whole.parquet"))
    assert resumed.resumed_rows == 128
    assert resumed.direct == whole.direct
    assert resumed.excluded == whole.excluded
    assert resumed.output.sha256 == whole.output.sha256


@pytest.mark.parametrize("change", ["labels", "ids"])
def test_parts_made_with_other_files_are_not_taken_over(
    request_for: Callable[..., RunRequest],
    label_files: dict[str, Path],
    excluded_ids: Path,
    tmp_path: Path,
    change: str,
) -> None:
    labels, ids = tmp_path / "gemma.parquet", tmp_path / "ids.txt"
    labels.write_bytes(label_files["gemma"].read_bytes())
    ids.write_bytes(excluded_ids.read_bytes())
    request = request_for(direct={"gemma": labels}, exclude_ids=ids)
    with pytest.raises(Stopped):
        run(request, StopAfterTwo())
    if change == "labels":
        pl.read_parquet(labels).tail(100).write_parquet(labels)
    else:
        ids.write_text("W2\n")
    assert run(request).resumed_rows == 0


def test_the_policy_version_follows_from_the_label_files_hash(
    request_for: Callable[..., RunRequest], label_files: dict[str, Path], tmp_path: Path
) -> None:
    one, other = label_files["gemma"], tmp_path / "other.parquet"
    pl.read_parquet(one).head(50).write_parquet(other)
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(one.read_bytes())
    versions = [
        run(request_for(direct={"gemma": path}, overwrite=True)).policy_version
        for path in (one, other, copy)
    ]
    assert versions[0] == versions[2] != versions[1]


def test_a_policy_with_direct_entries_needs_the_same_labels_again(
    request_for: Callable[..., RunRequest], label_files: dict[str, Path], tmp_path: Path
) -> None:
    made = run(request_for(direct={"gemma": label_files["gemma"]}))
    direct = write(made.policy, tmp_path / "direct.json")
    digest, version = made.direct["gemma"].sha256, made.policy_version
    request = request_for(policy=direct, overwrite=True)
    with pytest.raises(PolicyError) as refused:
        run(request)
    assert str(refused.value) == (
        f"policy {version}: head 'gemma' is direct; give its labels with "
        f"--direct gemma=FILE (sha256 {digest[:12]}…)."
    )
    other = tmp_path / "other.parquet"
    pl.read_parquet(label_files["gemma"]).head(50).write_parquet(other)
    with pytest.raises(PolicyError) as refused:
        run(request_for(policy=direct, direct={"gemma": other}, overwrite=True))
    first, second = str(refused.value).splitlines()
    assert first.startswith("--direct gemma=other.parquet: sha256 is ")
    assert first.endswith(f"…, policy {version} was made for {digest[:12]}…")
    assert second == "Give that file, or a policy without direct entries."
    again = run(request_for(policy=direct, direct={"gemma": label_files["gemma"]}, overwrite=True))
    assert (again.policy_version, again.output.sha256) == (version, made.output.sha256)


def test_labels_of_a_head_that_does_not_exist_are_refused(
    request_for: Callable[..., RunRequest], label_files: dict[str, Path]
) -> None:
    path = label_files["gemma"]
    with pytest.raises(UsageError) as refused:
        run(request_for(direct={"gpt": path}))
    assert str(refused.value) == (f"--direct gpt={path}: no such head; there are codex, gemma.")


def test_labels_that_break_their_contract_end_the_run_before_it_begins(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps([{"id": "W1", "categories": ["poetry"]}]))
    with pytest.raises(InputError, match="unknown category: 'poetry', in 1 label, first W1"):
        run(request_for(direct={"gemma": bad}))
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


def test_labels_without_a_flags_column_leave_that_flag_to_nobody(
    rows_of: Callable[..., pl.DataFrame], label_files: dict[str, Path], tmp_path: Path
) -> None:
    bare = tmp_path / "bare.parquet"
    pl.read_parquet(label_files["gemma"]).drop("about_ca_topic", "genre").write_parquet(bare)
    plain, rows = rows_of(), rows_of(direct={"gemma": bare})
    assert rows["gemma_flags"].list.len().sum() == rows["consensus_flags"].list.len().sum() == 0
    assert rows["candidate_flags"].equals(plain["codex_flags"])
    assert rows["gemma_genre"].null_count() == 200


def test_the_order_of_direct_heads_decides_nothing(
    request_for: Callable[..., RunRequest], label_files: dict[str, Path]
) -> None:
    one = run(request_for(direct=label_files))
    turned = dict(reversed(label_files.items()))
    other = run(request_for(direct=turned, overwrite=True))
    assert one.output.sha256 == other.output.sha256
    assert one.policy_version == other.policy_version


def test_a_decision_is_made_from_any_policy_of_the_same_targets(
    student: Student, policy: Policy, label_files: dict[str, Path]
) -> None:
    """A direct head's old entries leave no trace."""
    silenced = changed(policy, "metaresearch", gemma={"kind": "none", "reason": "off"})
    direct = {"gemma": label_files["gemma"]}
    versions = {
        Decision.prepare(
            student.manifest.targets, made, mode="both", direct=direct, exclude_ids=None
        ).policy.version
        for made in (policy, silenced)
    }
    assert len(versions) == 1


def test_majority_needs_three_heads(
    request_for: Callable[..., RunRequest], three_heads: Path
) -> None:
    with pytest.raises(UsageError, match="mode majority: needs three heads or more"):
        run(request_for(mode="majority"))
    output = request_for().output
    manifest = run(request_for(mode="majority", model=str(three_heads)))
    counts = manifest.counts.calls.items()
    kinds = ("consensus", "majority", "candidate")
    sums = [sum(of[kind] for name, of in counts if name != "about_ca_topic") for kind in kinds]
    assert sums[0] < sums[1] < sums[2]
    assert [sum(map(len, categories(output, kind))) for kind in kinds] == sums
    assert failing(output) == []
