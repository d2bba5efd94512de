"""Runs by students that read texts through a transformer: small parts, the same bytes."""

import pickle
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from encoders import Drawn

import scorer.engine.job
from scorer.engine.bench import BenchRequest, bench
from scorer.engine.chosen import Chosen
from scorer.engine.job import SLOW_WORKS_A_BATCH, TITLES_A_BATCH, Job
from scorer.engine.manifest import read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.engine.sent import SentJob
from scorer.engine.survey import SurveyRequest, survey
from scorer.engine.verify import verify
from scorer.errors import UsageError
from scorer.student import runtime


class Notes(Silence):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture(params=["token", "mixed"])
def bundle(request: pytest.FixtureRequest) -> Drawn:
    drawn: Drawn = request.getfixturevalue(f"{request.param}_bundle")
    return drawn


def test_parts_are_small_so_that_progress_is_seen(
    request_for: Callable[..., RunRequest], bundle: Drawn
) -> None:
    slow, fast = Job.prepare(request_for(model=str(bundle.folder))), Job.prepare(request_for())
    assert (slow.works_a_batch, slow.works_a_shard) == (SLOW_WORKS_A_BATCH, SLOW_WORKS_A_BATCH)
    assert fast.works_a_batch == TITLES_A_BATCH


def test_a_run_gives_the_same_bytes_on_one_thread_or_two(
    request_for: Callable[..., RunRequest],
    bundle: Drawn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scorer.engine.job, "SLOW_WORKS_A_BATCH", 64)
    found = [
        run(request_for(model=str(bundle.folder), output=tmp_path / f"{n}.parquet", threads=n))
        for n in (1, 2)
    ]
    assert found[0].output.sha256 == found[1].output.sha256
    assert pq.ParquetFile(tmp_path / "1.parquet").num_row_groups == 4
    monkeypatch.setattr(scorer.engine.job, "SLOW_WORKS_A_BATCH", 50)
    run(request_for(model=str(bundle.folder), output=tmp_path / "other.parquet"))
    one, other = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("1", "other"))
    assert one.equals(other)  # however the works are cut


def test_the_scored_file_holds_the_students_scores_and_says_what_made_them(
    request_for: Callable[..., RunRequest], bundle: Drawn, read_frame: Callable[..., pl.DataFrame]
) -> None:
    request = request_for(model=str(bundle.folder))
    manifest = run(request)
    assert manifest == read_manifest(request.output_path())
    assert manifest.provider == "cpu"
    assert manifest.software["tokenizers"] == version("tokenizers")
    assert manifest.model_version == bundle.student.version
    rows = pl.read_parquet(request.output_path())
    assert (rows["prediction_status"] == "machine_predicted_unvalidated").all()
    scores = bundle.student.score(read_frame(Path(request.frame), bundle.student))
    for head in ("codex", "gemma"):
        columns = [f"score_{head}_{target}" for target in manifest.targets.binary_names]
        assert np.array_equal(rows.select(columns).to_numpy(), scores.binary[head])
    assert not [check.offending for check in verify(request.output_path()) if check.offending]


def test_an_n_gram_student_is_not_said_to_need_a_tokenizer(
    request_for: Callable[..., RunRequest],
) -> None:
    assert "tokenizers" not in run(request_for()).software


def test_a_job_that_is_sent_makes_the_same_parts(
    request_for: Callable[..., RunRequest], bundle: Drawn
) -> None:
    job = Job.prepare(request_for(model=str(bundle.folder)))
    sent = pickle.loads(pickle.dumps(SentJob.of(job)))
    assert sent.part(sent.opened(), 0).content.equals(job.shard(0).content)


def test_an_inspection_measures_its_pace(tiny_frame: Path, bundle: Drawn) -> None:
    found = survey(SurveyRequest(frame=tiny_frame, model=str(bundle.folder)))
    assert found.pace is not None
    assert found.pace.model == bundle.student.version
    assert found.pace.works_a_second > 0


def test_a_bench_measures_it(tiny_frame: Path, bundle: Drawn, tmp_path: Path) -> None:
    request = BenchRequest(frame=tiny_frame, model=str(bundle.folder), seconds=0.1, folder=tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scorer.engine.bench_stages._LEAST_SECONDS", 0.0)
        patch.setattr(scorer.engine.job, "SLOW_WORKS_A_BATCH", 64)
        found = bench(request)
    assert (found.model, found.compiled) == (bundle.student.version, False)
    assert found.works_a_second > 0
    assert {stage.name for stage in found.stages} >= {"encode", "score"}


def test_a_provider_that_is_not_there_is_told(
    request_for: Callable[..., RunRequest], bundle: Drawn
) -> None:
    for model in ({}, {"model": str(bundle.folder)}):
        with pytest.raises(UsageError) as refused:
            run(request_for(provider="cuda", **model))
        assert str(refused.value) == (
            "--provider cuda: onnxruntime has none of that name here; it has cpu.\n"
            "Name one of these, or install a build of onnxruntime that has it."
        )


def test_an_n_gram_student_stays_on_the_processor_and_says_so(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
    monkeypatch.setattr(runtime, "providers", lambda: known)
    notes, request = Notes(), request_for(provider="cuda", overwrite=True)
    manifest = run(request, notes)
    assert manifest.provider == "cpu"
    assert notes.said == [
        f"{manifest.model_version}: an n-gram student, which runs on the processor; --provider "
        "cuda changes nothing."
    ]
    assert run(request_for(overwrite=True)).job == manifest.job


def test_a_slow_student_refines_what_a_fast_one_scored(
    request_for: Callable[..., RunRequest], bundle: Drawn, tmp_path: Path
) -> None:
    """The same bits as if it had read all works, on one thread or two; its library is named."""
    again = {
        n: run(
            request_for(
                refine=str(bundle.folder),
                refine_share=0.2,
                output=tmp_path / f"again-{n}.parquet",
                threads=n,
            )
        )
        for n in (1, 2)
    }
    assert again[1].output.sha256 == again[2].output.sha256
    assert again[1].software["tokenizers"] == version("tokenizers")
    run(request_for(model=str(bundle.folder), output=tmp_path / "slow.parquet"))
    words = pl.col(pl.Categorical).cast(pl.String)
    slow, both = (
        pl.read_parquet(tmp_path / name).with_columns(words)
        for name in ("slow.parquet", "again-1.parquet")
    )
    chosen = both["model_version"] == slow["model_version"]
    assert chosen.sum() == 40
    assert both.filter(chosen).equals(slow.filter(chosen))
    assert [c.name for c in verify(tmp_path / "again-1.parquet") if c.offending] == []


@pytest.mark.parametrize(("works", "batch"), [(200, 256), (10, 4_096), (1, TITLES_A_BATCH)])
def test_chosen_works_are_scored_many_at_a_time(
    request_for: Callable[..., RunRequest], token_bundle: Drawn, works: int, batch: int
) -> None:
    """Of 200 works: the fewer are chosen, the more of the frame is read for one call."""
    job = Job.prepare(request_for(refine=str(token_bundle.folder)))
    again = job.again(Chosen(works, np.zeros(25, np.uint8)))
    assert again.works_a_shard == TITLES_A_BATCH
    assert again.works_a_batch == batch
