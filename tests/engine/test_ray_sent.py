"""What a cluster's workers are sent: enough to make the same parts, and to tell what differs."""

import os
import pickle
import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scorer.engine.job import Job
from scorer.engine.request import RunRequest
from scorer.engine.sent import SentJob
from scorer.errors import InputError, UsageError

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture
def job(request_for: Callable[..., RunRequest], tiny_frame: Path, tmp_path: Path) -> Job:
    """A job of four shards whose frame a test may change."""
    frame = tmp_path / "frame.parquet"
    frame.write_bytes(tiny_frame.read_bytes())
    return Job.prepare(request_for(frame=frame))


def test_a_sent_job_makes_the_parts_of_the_job_in_any_folder(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = Job.prepare(replace(job.request, frame=Path("frame.parquet")))
    sent = pickle.loads(pickle.dumps(SentJob.of(here)))
    monkeypatch.chdir("/")
    opened = sent.opened()
    for number in range(4):
        made, expected = sent.part(opened, number), job.shard(number)
        assert made.content.equals(expected.content)
        assert made.tally.counts() == expected.tally.counts()


def test_works_looked_up_by_a_worker_are_its_own(
    job: Job, label_files: dict[str, Path], excluded_ids: Path
) -> None:
    request = replace(job.request, direct={"gemma": label_files["gemma"]}, exclude_ids=excluded_ids)
    here = Job.prepare(request)
    sent = SentJob.of(here)
    opened = sent.opened()
    sent.part(opened, 0)
    assert opened.decision.direct["gemma"].found.count() > 0
    assert here.decision.direct["gemma"].found.count() == 0
    assert here.decision.excluded.found.count() == 0


def test_a_frame_that_is_another_on_a_node_is_named(job: Job) -> None:
    sent = SentJob.of(job)
    os.utime(job.request.frame, ns=(1, 1))
    with pytest.raises(InputError) as refused:
        sent.part(sent.opened(), 1)
    assert str(refused.value) == (
        f"{job.request.frame}: not the same file on node {platform.node()} as where the command "
        "was given.\nPut the frame under one path on every node, and the output too where the "
        "frame is not Parquet; or behind an address."
    )


def test_other_software_on_a_node_is_named(job: Job) -> None:
    sent = SentJob.of(job)
    found = sent.software["polars"]
    with pytest.raises(UsageError) as refused:
        replace(sent, software={**sent.software, "polars": "0.1"}).opened()
    assert str(refused.value) == (
        f"node {platform.node()}: other software than where the command was given: "
        f"polars {found} here, 0.1 there.\nInstall the same versions on every node."
    )
