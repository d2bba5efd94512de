"""New calls for scores that are there are those that a run would have made, to the bit."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from decisions import changed, column_bytes, failing, nullable, write

from scorer.engine.call import CallRequest, call
from scorer.engine.files import sha256
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.policy.policy import Policy

pytestmark = pytest.mark.usefixtures("small_shards")
KEEP = ("doi", "year")


@pytest.fixture
def other(policy: Policy, tmp_path: Path) -> Path:
    """A policy that decides otherwise than the bundle's: a threshold, a quota, silence."""
    made = changed(
        policy,
        "metaresearch",
        codex={"kind": "threshold", "value": 0.99},
        gemma={"kind": "quota", "k": 40, "value": 0.5, "boundary_id": "W5"},
    )
    made = changed(made, "bibliometrics", gemma={"kind": "none", "reason": "off"})
    return write(made, tmp_path / "other.json")


@pytest.fixture
def decisions(
    other: Path, label_files: dict[str, Path], excluded_ids: Path
) -> dict[str, dict[str, object]]:
    """Ways to decide, as both requests name them."""
    one, both = {"gemma": label_files["gemma"]}, label_files
    return {
        "as it was": {},
        "policy": {"policy": other},
        "mode": {"mode": "consensus"},
        "excluded": {"exclude_ids": excluded_ids},
        "direct": {"direct": one},
        "both direct": {"direct": both},
        "all": {"policy": other, "mode": "candidate", "exclude_ids": excluded_ids, "direct": one},
    }


def same(called: Path, expected: Path) -> None:
    """Assert that two files hold the same: every column, its bytes, and what manifests count."""
    found, wanted = pq.read_table(called), pq.read_table(expected)
    assert found.schema.equals(wanted.schema, check_metadata=True)
    assert [name for name in wanted.column_names if not found[name].equals(wanted[name])] == []
    assert column_bytes(called) == column_bytes(expected)
    one, other = read_manifest(called), read_manifest(expected)
    for field in (
        *("counts", "policy", "policy_version", "mode", "direct", "excluded", "kept", "targets"),
        *("model_version", "score_status", "limitations", "columns", "columns_not_found", "limit"),
    ):
        assert getattr(one, field) == getattr(other, field), field
    assert failing(called) == []


WAYS = ["as it was", "policy", "mode", "excluded", "direct", "both direct", "all"]


@pytest.mark.parametrize("way", WAYS)
def test_calling_is_running_with_that_decision(
    request_for: Callable[..., RunRequest],
    call_for: Callable[..., CallRequest],
    decisions: dict[str, dict[str, object]],
    way: str,
) -> None:
    run(request_for(keep=KEEP, **decisions[way]))
    call(call_for(**decisions[way]))
    same(call_for().output, request_for().output)


@pytest.mark.parametrize("way", WAYS)
def test_a_file_whose_columns_may_all_be_null_is_called_alike(
    *,
    call_for: Callable[..., CallRequest],
    parted: Path,
    decisions: dict[str, dict[str, object]],
    tmp_path: Path,
    way: str,
) -> None:
    """Files of earlier versions were so; columns that do not change are taken over as bytes."""
    earlier = tmp_path / "earlier.parquet"
    pq.write_table(nullable(pq.read_table(parted)), earlier, row_group_size=64)
    content = json.loads(manifest_path(parted).read_text())
    content["output"] |= {"size": earlier.stat().st_size, "sha256": sha256(earlier)}
    manifest_path(earlier).write_text(json.dumps(content))
    called = tmp_path / "called-earlier.parquet"
    call(call_for(scores=earlier, output=called, **decisions[way]))
    call(call_for(**decisions[way]))
    assert failing(called) == []
    assert nullable(pq.read_table(called)).equals(nullable(pq.read_table(call_for().output)))


def test_columns_that_are_never_null_say_so(parted: Path) -> None:
    schema = pq.read_schema(parted)
    never = {field.name for field in schema if not field.nullable}
    assert {name for name in schema.names if name.startswith("score_")} < never
    assert never > {"id", "segment", "classification", "prediction_status", "usable_title"}
    assert not never & {"threshold_uncertainty", "candidate_categories", "codex_genre", *KEEP}
    assert all(pq.read_table(parted)[name].null_count == 0 for name in never)


@pytest.mark.parametrize("way", WAYS)
def test_calling_a_called_file_again_gives_back_what_it_was_made_from(
    *,
    call_for: Callable[..., CallRequest],
    parted: Path,
    policy: Policy,
    decisions: dict[str, dict[str, object]],
    tmp_path: Path,
    way: str,
) -> None:
    """Labels dropped, exclusion lifted, policy and mode as before."""
    call(call_for(**decisions[way]))
    before = write(policy, tmp_path / "before.json")
    again = call_for(scores=call_for().output, output=tmp_path / "again.parquet", policy=before)
    call(again)
    same(again.output, parted)
    assert sha256(again.output) == sha256(parted)


def test_a_call_of_a_call_is_the_call_alone(
    call_for: Callable[..., CallRequest],
    decisions: dict[str, dict[str, object]],
    policy: Policy,
    tmp_path: Path,
) -> None:
    first = call_for(output=tmp_path / "first.parquet", **decisions["direct"])
    call(first)
    settings = {"policy": write(policy, tmp_path / "before.json")} | decisions["excluded"]
    second = call_for(scores=first.output, output=tmp_path / "second.parquet", **settings)
    call(second)
    call(call_for(**settings))
    same(second.output, call_for().output)


@pytest.mark.parametrize("start", ["candidate", "majority"])
def test_majority_is_called_and_dropped_again(
    *,
    request_for: Callable[..., RunRequest],
    call_for: Callable[..., CallRequest],
    three_heads: Path,
    label_files: dict[str, Path],
    tmp_path: Path,
    start: str,
) -> None:
    """With labels given for one of three heads."""
    end = {"candidate": "majority", "majority": "candidate"}[start]
    direct = {"direct": {"gemma": label_files["gemma"]}}
    outputs = {mode: tmp_path / f"{mode}.parquet" for mode in (start, end)}
    run(request_for(model=str(three_heads), mode=start, output=outputs[start], **direct))
    run(request_for(model=str(three_heads), mode=end, output=outputs[end], **direct))
    call(call_for(scores=outputs[start], mode=end, **direct))
    same(call_for().output, outputs[end])
    rows = pl.read_parquet(outputs["majority"])
    for what in ("categories", "flags"):
        lists = [rows[f"{head}_{what}"] for head in ("codex", "gemma", "third")]
        for *heads, most in zip(*lists, rows[f"majority_{what}"], strict=True):
            votes = [name for names in heads for name in names]
            assert sorted(most) == sorted({name for name in votes if votes.count(name) > 1})
    kinds = [rows[f"{kind}_categories"].list.len().sum() for kind in ("consensus", "majority")]
    assert kinds[0] < kinds[1] < rows["candidate_categories"].list.len().sum()
    called = rows["majority_categories"].list.len() > 0
    assert rows["classification"].cast(pl.String).to_list() == [
        "majority" if some else "none" for some in called
    ]


def test_what_calls_do_not_touch_keeps_its_very_bytes(
    call_for: Callable[..., CallRequest], decisions: dict[str, dict[str, object]], parted: Path
) -> None:
    call(call_for(**decisions["policy"]))
    before, after = column_bytes(parted), column_bytes(call_for().output)
    kept = [name for name in before if name.startswith("score_")]
    assert len(kept) == 13  # six targets of two heads, and the status
    kept += ["id", "segment", "codex_genre", "candidate_genre", "teacher_disagreement", *KEEP]
    assert [name for name in kept if after[name] != before[name]] == []
    for name in (
        "codex_categories",
        "gemma_categories",
        "threshold_uncertainty",
        "codex_domain",
    ):
        assert after[name] != before[name]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_bytes(
    call_for: Callable[..., CallRequest],
    decisions: dict[str, dict[str, object]],
    tmp_path: Path,
    threads: int,
) -> None:
    call(call_for(**decisions["all"]))
    other = call_for(**decisions["all"], threads=threads, output=tmp_path / "threads.parquet")
    assert call(other).output.sha256 == sha256(call_for().output)


def test_the_manifest_tells_scores_and_frame_apart(
    call_for: Callable[..., CallRequest], parted: Path
) -> None:
    made, before = call(call_for()), read_manifest(parted)
    assert read_manifest(call_for().output) == made
    assert (made.made_by, before.made_by) == ("call", "run")
    (source,) = made.sources
    assert (source.name, source.rows) == ("tiny.scored.parquet", 200)
    assert (source.size, source.sha256) == (parted.stat().st_size, sha256(parted))
    assert made.frame == before.frame == before.sources
    assert made.output.name == "called.parquet"
    assert made.output.sha256 == sha256(call_for().output)
    assert made.prediction_status == "machine_predicted_unvalidated"


def test_nothing_but_the_output_and_its_manifest_is_left(
    call_for: Callable[..., CallRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call(call_for(output=None))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "tiny.called.parquet",
        "tiny.called.parquet.meta.json",
    ]
    assert CallRequest(Path("x.called.parquet")).output_path() == Path("x.called.parquet")


def test_a_file_without_rows_is_called(
    request_for: Callable[..., RunRequest],
    call_for: Callable[..., CallRequest],
    decisions: dict[str, dict[str, object]],
) -> None:
    empty = request_for(limit=0)
    run(empty)
    made = call(call_for(scores=empty.output, **decisions["all"]))
    assert made.counts.rows == 0
    assert failing(call_for().output) == []


def test_files_are_stamped_in_every_row_after_a_call(
    call_for: Callable[..., CallRequest], decisions: dict[str, dict[str, object]]
) -> None:
    call(call_for(**decisions["all"]))
    output = call_for().output
    said = pl.read_parquet(output)["prediction_status"].cast(pl.String).unique().to_list()
    assert said == ["machine_predicted_unvalidated"]
    metadata = pq.read_metadata(output).metadata
    assert metadata[b"prediction_status"] == b"machine_predicted_unvalidated"
    assert manifest_path(output).is_file()


class Stopping(Silence):
    """Progress that ends the call after its first row group."""

    def advance(self, works: int) -> None:
        raise KeyboardInterrupt


def test_an_interrupted_call_leaves_the_old_output_and_nothing_else(
    call_for: Callable[..., CallRequest], decisions: dict[str, dict[str, object]]
) -> None:
    call(call_for())
    output = call_for().output
    before = sorted((path.name, path.read_bytes()) for path in output.parent.glob("called*"))
    with pytest.raises(KeyboardInterrupt):
        call(call_for(**decisions["all"], overwrite=True), Stopping())
    after = sorted((path.name, path.read_bytes()) for path in output.parent.glob("called*"))
    assert after == before


def test_what_a_killed_call_left_does_not_hinder_the_next(
    call_for: Callable[..., CallRequest],
) -> None:
    output = call_for().output
    parts = output.with_name("called.parquet.parts")
    parts.mkdir()
    (parts / "lock").touch()
    (parts / "output.tmp").write_bytes(b"PAR1 and no more")
    call(call_for())
    assert failing(output) == []
    assert not parts.exists()
