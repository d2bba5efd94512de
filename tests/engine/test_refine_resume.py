"""A run of two stages that stops in either, or between them, goes on there to the same bytes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import scorer.engine.refine
from scorer.engine.checkpoint import Checkpoint
from scorer.engine.chosen import Chosen
from scorer.engine.files import sha256
from scorer.engine.job import Job
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.engine.sent import SentJob
from scorer.engine.verify import verify
from scorer.errors import OutputError

pytestmark = pytest.mark.usefixtures("small_shards")
DRIVER = Path(__file__).parent / "stopped_runs.py"
Make = Callable[..., RunRequest]


class Stopped(Exception):
    """Stands for whatever ends a run."""


class StopAfter(Silence):
    """Progress that ends the run once so many parts of both stages are safe."""

    def __init__(self, parts: int) -> None:
        self.left = parts
        self.notes: list[str] = []
        self.started: list[tuple[int, int, str | None]] = []

    def start(self, total: int, done: int, doing: str | None = None) -> None:
        self.started.append((total, done, doing))

    def advance(self, works: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise Stopped

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def refining(request_for: Make, second_bundle: Path) -> Make:
    """Make a request of two stages for the tiny frame, with changes."""

    def make(**changes: object) -> RunRequest:
        return request_for(**({"refine": str(second_bundle), "refine_share": 0.2} | changes))

    return make


@pytest.fixture
def whole(refining: Make, tmp_path: Path) -> str:
    """The sha256 of a run that nothing disturbed."""
    return run(refining(output=tmp_path / "whole.parquet")).output.sha256


def failing(path: Path) -> list[str]:
    return [check.name for check in verify(path) if check.offending]


@pytest.mark.parametrize("parts", [1, 3, 4, 5, 6, 8])
def test_a_stopped_run_goes_on_in_the_stage_where_it_was(
    refining: Make, whole: str, parts: int
) -> None:
    """Four parts make the first stage, four the second."""
    request = refining()
    with pytest.raises(Stopped):
        run(request, StopAfter(parts))
    progress = StopAfter(0)
    manifest = run(request, progress)
    done = min(parts * 64, 200)
    assert progress.notes[0] == f"{done} works were scored before; going on from there."
    first, second = progress.started
    assert first == (200, done, None)
    assert second[0] == 40
    assert (second[1] > 0) == (parts > 4)
    assert manifest.resumed_rows == done
    assert sha256(request.output) == manifest.output.sha256 == whole
    assert failing(request.output) == []
    assert not request.output.with_name("out.parquet.parts").exists()


def test_a_run_stopped_between_the_stages_chooses_the_same_works(
    refining: Make, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(scorer.engine.refine, "choose_share", stop)
        with pytest.raises(Stopped):
            run(refining())
    assert run(refining()).output.sha256 == whole


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_killed_at_any_change_to_the_disk_goes_on_to_the_same_bytes(
    refining: Make, tmp_path: Path, whole: str
) -> None:
    request = refining()
    killed = subprocess.run(
        [sys.executable, DRIVER, "kill", request.frame, request.model, tmp_path, request.refine],
        capture_output=True,
        text=True,
        check=True,
    )
    moments = killed.stdout.split()
    assert len(moments) >= 8
    hashes, stages = set(), set()
    for moment in moments:
        again = refining(output=tmp_path / f"{moment}.parquet")
        parts = again.output.with_name(f"{moment}.parquet.parts")
        stages.add("second" if any(parts.glob("refined-*.parquet")) else "first")
        if manifest_path(again.output).exists():
            with pytest.raises(OutputError, match="exists already"):
                run(again)
        else:
            run(again)
        hashes.add(sha256(again.output))
        assert read_manifest(again.output).output.sha256 == whole
    assert hashes == {whole}
    assert stages == {"first", "second"}


def test_a_part_of_one_stage_is_none_of_the_other(refining: Make, whole: str) -> None:
    """Put in the other's place with its hash, it is made again."""
    request = refining()
    with pytest.raises(Stopped):
        run(request, StopAfter(6))
    folder = request.output.with_name("out.parquet.parts")
    for ending in ("parquet", "sha256"):
        (folder / f"refined-000000.{ending}").write_bytes(
            (folder / f"part-000000.{ending}").read_bytes()
        )
    assert run(request).output.sha256 == whole


def test_new_rows_of_other_works_are_refused(
    refining: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever mixes up parts that are whole by their hashes, no row lands beside its work."""
    request = refining()
    with pytest.raises(Stopped):
        run(request, StopAfter(8))
    monkeypatch.setattr(Checkpoint, "done", lambda *_: 4)
    folder = request.output.with_name("out.parquet.parts")
    first, second = folder / "refined-000000.parquet", folder / "refined-000001.parquet"
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    with pytest.raises(OutputError) as error:
        run(request)
    assert str(error.value) == (
        "the finished parts of the two stages do not hold the same works; nothing was written.\n"
        "Delete the folder of parts beside the output and start again."
    )
    assert not request.output.exists()


@pytest.mark.parametrize("change", ["share", "band", "none"])
def test_parts_of_another_second_stage_are_dropped(
    refining: Make, request_for: Make, change: str
) -> None:
    others = {
        "share": lambda: refining(refine_share=0.3),
        "band": lambda: refining(refine_share=None, refine_band=0.1),
        "none": request_for,
    }
    with pytest.raises(Stopped):
        run(refining(), StopAfter(5))
    progress = StopAfter(0)
    run(others[change](), progress)
    assert progress.notes[0] == "out.parquet.parts: parts of another job were dropped."


def test_a_worker_of_a_cluster_makes_the_same_rows(refining: Make) -> None:
    """The second stage is sent as the first is, with the works to score."""
    here = Job.prepare(refining())
    chosen = Chosen(3, np.packbits([n in (1, 70, 199) for n in range(200)], bitorder="little"))
    again = here.again(chosen)
    sent = SentJob.of(again)
    opened = sent.opened()
    for number, rows in enumerate((1, 1, 0, 1)):
        made, wanted = sent.part(opened, number), again.shard(number)
        assert made.content.equals(wanted.content)
        assert made.tally.rows == rows
