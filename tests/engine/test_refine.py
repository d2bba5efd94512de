"""A second student scores the works that rank highest again: which rows, and what they say."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from decisions import failing, write

import scorer.engine.job
from scorer.engine.batch import score_batch
from scorer.engine.files import sha256
from scorer.engine.job import Job, default_policy
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError
from scorer.frame.source import FrameSource
from scorer.labels.direct import DirectLabels
from scorer.labels.excluded import ExcludedWorks
from scorer.policy.policy import Policy, Threshold
from scorer.student.bundle import Student, load_student
from scorer.targets import score_column

pytestmark = pytest.mark.usefixtures("small_shards")

Make = Callable[..., RunRequest]


class Notes(Silence):
    """Progress that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.started: list[tuple[int, int, str | None]] = []
        self.done: list[int] = []

    def start(self, total: int, done: int, doing: str | None = None) -> None:
        self.started.append((total, done, doing))
        self.done.append(0)

    def advance(self, works: int) -> None:
        self.done[-1] += works

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def refining(request_for: Make, second_bundle: Path) -> Make:
    """Make a request for the tiny frame in two stages, with changes."""

    def make(**changes: object) -> RunRequest:
        return request_for(**({"refine": str(second_bundle)} | changes))

    return make


Stages = tuple[tuple[Student, Policy], tuple[Student, Policy]]


@pytest.fixture(scope="session")
def stages(student: Student, policy: Policy, second: Student) -> Stages:
    """Both students, each with its own policy."""
    return (student, policy), (second, default_policy(second))


@pytest.fixture(scope="session")
def second(second_bundle: Path) -> Student:
    """The second bundle, loaded."""
    return load_student(second_bundle)


def rows_of(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path).with_columns(pl.col(pl.Categorical).cast(pl.String))


def words(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col(pl.Enum).cast(pl.String))


def expected(frame: pl.DataFrame, stages: Stages, works: int, **settings: Any) -> pl.DataFrame:
    """Return the rows of two stages, put together a work at a time.

    The second student's stand for the `works` whose best rank over heads and targets is smallest;
    gemma's ranks have no say where its labels are given, nor do codex's for what it never learned.
    """
    first, second = stages
    rows = words(score_batch(frame, *first, **settings))
    other = words(score_batch(frame, *second, **settings))
    covered = rows.filter(pl.col("segment") == "covered").to_dicts()
    heads = ["codex"] if settings.get("direct") else ["codex", "gemma"]
    ranked = [
        score_column(head, target)
        for head in heads
        for target in ("metaresearch", "bibliometrics", "open_science", "sts", "about_ca_topic")
        if (head, target) != ("codex", "sts")
    ]
    best = {
        row["id"]: min(1 + sum(o[name] > row[name] for o in covered) for name in ranked)
        for row in covered
    }
    chosen = sorted(best, key=lambda work: (best[work], work))[:works]
    return pl.concat(
        [(other if work in chosen else rows)[place] for place, work in enumerate(frame["id"])]
    )


@pytest.mark.parametrize(("share", "works"), [(0.05, 10), (0.2, 40), (1.0, 187)])
def test_a_share_of_the_works_gets_the_rows_of_the_second_student(
    refining: Make,
    stages: Stages,
    read_frame: Callable[..., pl.DataFrame],
    share: float,
    works: int,
) -> None:
    """Some titles of the tiny frame are missing or too short: 187 works are covered."""
    (student, _), (second, _) = stages
    request = refining(refine_share=share)
    manifest = run(request)
    frame = read_frame(request.frame, student)
    wanted = expected(frame, stages, works)
    found = rows_of(request.output)
    assert found.select(wanted.columns).equals(wanted)
    assert manifest.refined is not None
    assert manifest.refined.works == works == (found["model_version"] == second.version).sum()
    assert failing(request.output) == []


def test_the_share_is_five_per_cent_unless_said(refining: Make) -> None:
    manifest = run(refining())
    assert manifest.refined is not None
    assert (manifest.refined.share, manifest.refined.band, manifest.refined.works) == (
        0.05,
        None,
        10,
    )


def test_a_band_chooses_the_works_with_a_score_near_its_threshold(
    refining: Make, request_for: Make, policy: Policy, second: Student, tmp_path: Path
) -> None:
    alone = request_for(output=tmp_path / "alone.parquet")
    run(alone)
    values = {
        score_column(head, target): entry.value
        for head in ("codex", "gemma")
        for target, entry in policy.of_head(head)
        if isinstance(entry, Threshold)
    }
    near = [
        row["id"]
        for row in rows_of(alone.output).iter_rows(named=True)
        if row["segment"] == "covered"
        and any(abs(row[name] - value) <= 0.1 for name, value in values.items())
    ]
    assert 0 < len(near) < 190
    request = refining(refine_band=0.1)
    manifest = run(request)
    again = rows_of(request.output).filter(pl.col("model_version") == second.version)
    assert again["id"].to_list() == near
    assert manifest.refined is not None
    assert (manifest.refined.band, manifest.refined.share) == (0.1, None)
    assert (manifest.refined.by, manifest.refined.last_rank) == ("band", None)
    assert failing(request.output) == []


def test_the_manifest_names_both_students_and_counts_the_final_rows(
    refining: Make, student: Student, second: Student, policy: Policy
) -> None:
    request = refining(refine_share=0.2)
    manifest = run(request)
    found = manifest.refined
    assert found is not None
    assert manifest.model_version == student.version
    assert manifest.policy_version == policy.version
    assert found.model_version == second.version
    assert found.policy == default_policy(second)
    assert found.policy_version == default_policy(second).version
    assert found.score_status == f"calls:{second.version}"
    assert found.by == "best_rank"
    assert read_manifest(request.output) == manifest
    rows = rows_of(request.output)
    assert manifest.counts.rows == rows.height == 200
    for target, kinds in manifest.counts.calls.items():
        what = "flags" if target.startswith("about") else "categories"
        for kind, count in kinds.items():
            assert rows[f"{kind}_{what}"].list.contains(target).sum() == count
    again = rows.filter(pl.col("model_version") == second.version)
    assert again["policy_version"].unique().to_list() == [found.policy_version]
    assert again["score_status"].unique().to_list() == [found.score_status]
    assert rows["prediction_status"].unique().to_list() == ["machine_predicted_unvalidated"]
    assert again.height == 40
    assert found.last_id in again["id"]
    others = rows.filter(pl.col("model_version") == student.version)
    others = others.filter(pl.col("segment") == "covered")
    assert len(found.at_least) == 9
    for name, score in found.at_least.items():
        assert (others[name] < score).all()


def test_threads_memory_and_a_second_run_change_no_byte(refining: Make, tmp_path: Path) -> None:
    hashes = {
        run(refining(output=tmp_path / f"{n}.parquet", refine_share=0.2, **settings)).output.sha256
        for n, settings in enumerate(
            ({"threads": 1}, {"threads": 3}, {"memory": 4_000_000_000, "threads": 2}, {})
        )
    }
    assert len(hashes) == 1


def test_the_size_of_pieces_changes_no_byte_of_the_second_stage(
    refining: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(refining(output=tmp_path / "whole.parquet", refine_share=0.3)).output.sha256
    pieces = Job.pieces
    monkeypatch.setattr(Job, "pieces", lambda job, first, _=None: pieces(job, first, 16))
    assert run(refining(refine_share=0.3)).output.sha256 == whole


def test_rows_that_are_not_chosen_and_shards_without_any_stay_as_they_are(
    refining: Make, request_for: Make, second: Student, tmp_path: Path
) -> None:
    run(request_for(output=tmp_path / "alone.parquet"))
    request = refining(refine_share=0.005)
    run(request)
    alone, found = rows_of(tmp_path / "alone.parquet"), rows_of(request.output)
    there = found["model_version"] == second.version
    assert there.sum() == 1
    assert found.filter(~there).equals(alone.filter(~there))
    shard = there.arg_true()[0] // 64
    file, before = pq.ParquetFile(request.output), pq.ParquetFile(tmp_path / "alone.parquet")
    for number in range(4):
        same = file.read_row_group(number).equals(before.read_row_group(number))
        assert same == (number != shard)


@pytest.fixture
def decided(refining: Make, label_files: Mapping[str, Path], excluded_ids: Path) -> Make:
    """Make a request with labels of gemma, exclusions, kept columns and a limit."""
    return partial(
        refining,
        direct={"gemma": label_files["gemma"]},
        exclude_ids=excluded_ids,
        keep=("doi", "year"),
        limit=150,
        refine_share=0.3,
    )


@pytest.mark.parametrize("mode", ["candidate", "consensus", "both"])
def test_labels_exclusions_kept_columns_limit_and_mode_hold_in_both_stages(
    decided: Make, stages: Stages, read_frame: Callable[..., pl.DataFrame], mode: str
) -> None:
    request = decided(mode=mode)
    manifest = run(request)
    assert manifest.refined is not None
    (student, _), (second, _) = stages
    labels = DirectLabels.read("gemma", request.direct["gemma"], student.manifest.targets)
    wanted = expected(
        read_frame(request.frame, student)[:150],
        ((student, manifest.policy), (second, manifest.refined.policy)),
        45,
        mode=mode,
        direct={"gemma": labels},
        excluded=ExcludedWorks.read(request.exclude_ids),
    )
    found = rows_of(request.output)
    assert found.select(wanted.columns).equals(wanted)
    kept = pl.read_parquet(request.frame)[:150]
    assert found.select("doi", "year").equals(kept.select("doi", "year"))
    assert manifest.direct["gemma"].works_without_label == 150 - 120
    assert manifest.excluded is not None
    assert manifest.excluded.ids_without_work == 13
    again = found.filter(pl.col("model_version") == second.version)
    assert again["segment"].unique().to_list() == ["covered"]
    assert failing(request.output) == []


def test_the_second_policy_may_be_another_than_the_bundles(
    refining: Make, second: Student, tmp_path: Path
) -> None:
    content = default_policy(second).model_dump(mode="json")
    content["entries"]["metaresearch"]["codex"] = {"kind": "none", "reason": "off"}
    other = Policy.model_validate(content)
    request = refining(refine_policy=write(other, tmp_path / "other.json"), refine_share=1.0)
    manifest = run(request)
    assert manifest.refined is not None
    assert manifest.refined.policy == other
    again = rows_of(request.output).filter(pl.col("model_version") == second.version)
    assert not again["codex_categories"].list.contains("metaresearch").any()
    assert failing(request.output) == []


def test_a_band_in_which_no_work_lies_is_said_and_changes_no_byte(
    refining: Make, request_for: Make, second: Student, tmp_path: Path
) -> None:
    alone = run(request_for(output=tmp_path / "alone.parquet"))
    progress = Notes()
    request = refining(refine_band=1e-9)
    manifest = run(request, progress)
    assert progress.said == ["No work lies within 1e-09 of a threshold: nothing was refined."]
    assert manifest.output.sha256 == alone.output.sha256
    assert manifest.refined is not None
    assert (manifest.refined.works, manifest.refined.model_version) == (0, second.version)
    assert failing(request.output) == []


def test_a_frame_without_usable_titles_has_nothing_to_refine(
    refining: Make, tmp_path: Path
) -> None:
    frame = tmp_path / "short.parquet"
    pl.DataFrame({"id": ["W1", "W2"], "title": ["Short", None]}).write_parquet(frame)
    progress = Notes()
    manifest = run(refining(frame=frame), progress)
    assert progress.said == [
        "No work has a usable title, or all are excluded: nothing was refined."
    ]
    assert manifest.refined is not None
    assert manifest.refined.works == 0


def test_progress_tells_the_stages_apart(refining: Make, second: Student) -> None:
    progress = Notes()
    run(refining(refine_share=0.2), progress)
    assert progress.said == [f"Refining 40 of 200 works by {second.version}."]
    assert progress.started == [(200, 0, None), (40, 0, "refining")]
    assert progress.done == [200, 40]


def test_each_student_reads_its_own_columns(
    request_for: Make, abstract_bundle: Path, tiny_labels: Path, tmp_path: Path
) -> None:
    """The second reads abstracts, the first does not: rows of the first are those of it alone."""
    labels = pl.read_parquet(tiny_labels)
    frame = tmp_path / "works.parquet"
    labels.select("id", "title", "venue", "year").with_columns(
        abstract=pl.lit("We audit replication here")
    ).write_parquet(frame)
    alone = request_for(frame=frame, output=tmp_path / "alone.parquet")
    run(alone)
    request = request_for(frame=frame, refine=str(abstract_bundle), refine_share=0.1)
    manifest = run(request)
    found, before = rows_of(request.output), rows_of(alone.output)
    reads = load_student(abstract_bundle)
    again = found["model_version"] == reads.version
    assert again.sum() == 30
    assert found.filter(~again).equals(before.filter(~again))
    works = FrameSource.find(
        frame, wanted=["id", "title", *reads.manifest.encoder.fields()], mapping={}, keep=()
    )
    batch = next(iter(works.open().batches(300))).frame
    scores = words(score_batch(batch, reads, default_policy(reads)))
    assert found.filter(again).select(scores.columns).equals(scores.filter(again))
    assert "abstract" not in manifest.columns
    assert manifest.refined is not None
    assert "abstract" in manifest.refined.columns
    assert "abstract" not in manifest.refined.columns_not_found
    assert failing(request.output) == []


def test_a_frame_of_another_format_is_spooled_once_for_both(refining: Make, tmp_path: Path) -> None:
    request = refining(refine_share=0.2)
    run(request)
    frame = tmp_path / "works.jsonl"
    pl.read_parquet(request.frame).write_ndjson(frame)
    other = refining(frame=frame, output=tmp_path / "other.parquet", refine_share=0.2)
    manifest = run(other)
    assert [source.name for source in manifest.frame] == ["works.jsonl"]
    assert rows_of(other.output).equals(rows_of(request.output))


def test_works_that_cannot_be_read_again_keep_their_first_rows(
    request_for: Make, abstract_bundle: Path, tiny_frame: Path, tmp_path: Path
) -> None:
    """Abstracts of the second row group are damaged: the first student never reads them."""
    frame = tmp_path / "works.parquet"
    works = pl.read_parquet(tiny_frame)
    works = works.with_columns(abstract=pl.format("text {}", pl.int_range(pl.len())))
    works.write_parquet(frame, row_group_size=64)
    place = pq.read_schema(frame).get_field_index("abstract")
    chunk = pq.read_metadata(frame).row_group(1).column(place)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    with frame.open("r+b") as file:
        file.seek(start)
        file.write(bytes([255]) * chunk.total_compressed_size)
    settings = {"frame": frame, "refine": str(abstract_bundle), "refine_share": 0.5}
    with pytest.raises(InputError, match="damaged near row 64"):
        run(request_for(**settings))
    progress = Notes()
    manifest = run(request_for(**settings, on_bad_shard="skip"), progress)
    assert manifest.counts.rows == 200
    assert manifest.skipped_shards == ()
    found = manifest.refined
    assert found is not None
    (lost,) = found.skipped_shards
    assert (lost.first_row, lost.last_row) == (64, 127)
    assert progress.said[-1] == f"Rows 64 to 127 keep their first scores: {lost.reason}"
    rows = rows_of(request_for().output)
    assert set(rows["model_version"][64:128]) == {manifest.model_version}
    again = rows["model_version"] == found.model_version
    assert again.sum() == found.works < 100
    assert failing(request_for().output) == []


def test_shards_that_the_first_stage_left_out_stay_out(
    refining: Make, tiny_frame: Path, tmp_path: Path
) -> None:
    frame = tmp_path / "works.parquet"
    pl.read_parquet(tiny_frame).write_parquet(frame, row_group_size=64)
    place = pq.read_schema(frame).get_field_index("title")
    chunk = pq.read_metadata(frame).row_group(1).column(place)
    with frame.open("r+b") as file:
        file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        file.write(bytes([255]) * chunk.total_compressed_size)
    request = refining(frame=frame, on_bad_shard="skip", refine_share=0.25)
    manifest = run(request)
    assert manifest.skipped_works == 64
    assert manifest.counts.rows == 136
    assert manifest.refined is not None
    assert (manifest.refined.works, manifest.refined.skipped_shards) == (34, ())
    assert failing(request.output) == []


def test_manifests_of_one_student_say_nothing_of_a_second(scored: Path) -> None:
    assert json.loads(manifest_path(scored).read_text())["refined"] is None
    assert read_manifest(scored).stages == (read_manifest(scored),)
    assert sha256(scored) == read_manifest(scored).output.sha256


def test_a_student_of_one_stage_keeps_its_job(request_for: Make, refining: Make) -> None:
    """What runs without a second stage left half-way goes on as before: the same fingerprint."""
    alone, both = Job.prepare(request_for()), Job.prepare(refining())
    shares = {Job.prepare(refining(refine_share=s)).fingerprint() for s in (0.05, 0.06)}
    assert len({alone.fingerprint(), *shares}) == 3
    assert both.fingerprint() in shares
    assert scorer.engine.job.TITLES_A_BATCH == 64
