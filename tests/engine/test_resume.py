"""Runs that stop half-way go on from there and end in the same bytes; two never share an output."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import scorer.engine.job
import scorer.engine.run
from scorer.engine.checkpoint import Checkpoint
from scorer.engine.files import sha256
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.rows import row_schema
from scorer.engine.run import run
from scorer.engine.verify import verify
from scorer.errors import OutputError
from scorer.policy.policy import Policy

DRIVER = Path(__file__).parent / "stopped_runs.py"
SECONDS = 120  # more than a run here takes on a busy machine
WORKS_A_SHARD = 64  # as in the driver: the tiny frame makes four parts


class Stopped(Exception):
    """Stands for whatever ends a run."""


class StopAfter(Silence):
    """Progress that ends the run once so many parts are safe."""

    def __init__(self, parts: int) -> None:
        self.left = parts
        self.notes: list[str] = []

    def advance(self, works: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise Stopped

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer.engine.job, "TITLES_A_BATCH", WORKS_A_SHARD)


def stopped(request: RunRequest, parts: int) -> list[str]:
    """Run until so many parts are there; return the notes."""
    progress = StopAfter(parts)
    with pytest.raises(Stopped):
        run(request, progress)
    return progress.notes


def stop(_: object) -> None:
    raise Stopped


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def changed_policy(policy: Policy, folder: Path) -> Path:
    content = policy.model_dump(mode="json")
    content["entries"]["sts"]["gemma"] = {"kind": "none", "reason": "off"}
    path = folder / "policy.json"
    path.write_text(Policy.model_validate(content).to_json())
    return path


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_a_stopped_run_goes_on_to_the_same_bytes(
    request_for: Callable[..., RunRequest], undisturbed: str, parts: int
) -> None:
    request = request_for()
    stopped(request, parts)
    assert names(request.output.parent) == ["out.parquet.parts"]
    progress = StopAfter(0)
    manifest = run(request, progress)
    done = min(parts * WORKS_A_SHARD, 200)
    assert progress.notes == [f"{done} works were scored before; going on from there."]
    assert manifest.resumed_rows == done
    assert manifest.counts.rows == 200
    assert sha256(request.output) == manifest.output.sha256 == undisturbed
    assert names(request.output.parent) == ["out.parquet", "out.parquet.meta.json"]
    assert [check.name for check in verify(request.output) if check.offending] == []


def test_a_run_stopped_twice_goes_on_twice(
    request_for: Callable[..., RunRequest], undisturbed: str
) -> None:
    stopped(request_for(), 1)
    stopped(request_for(), 1)
    manifest = run(request_for())
    assert (manifest.resumed_rows, manifest.output.sha256) == (2 * WORKS_A_SHARD, undisturbed)


def test_parts_of_another_layout_are_not_taken_over(
    request_for: Callable[..., RunRequest], undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def earlier(*given: object) -> pa.Schema:
        schema = row_schema(*given)  # type: ignore[arg-type]
        fields = [field.with_nullable(True) for field in schema]
        return pa.schema(fields, metadata=schema.metadata)

    with monkeypatch.context() as patched:
        patched.setattr(scorer.engine.job, "row_schema", earlier)
        stopped(request_for(), 2)
    manifest = run(request_for())
    assert (manifest.resumed_rows, manifest.output.sha256) == (0, undisturbed)


def test_another_thread_count_goes_on_from_the_same_parts(
    request_for: Callable[..., RunRequest], undisturbed: str
) -> None:
    stopped(request_for(threads=2), 2)
    manifest = run(request_for(threads=1))
    assert (manifest.resumed_rows, manifest.output.sha256) == (2 * WORKS_A_SHARD, undisturbed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_killed_at_any_change_to_the_disk_goes_on_to_the_same_bytes(
    request_for: Callable[..., RunRequest], tmp_path: Path, undisturbed: str
) -> None:
    request = request_for()
    killed = subprocess.run(
        [sys.executable, DRIVER, "kill", request.frame, request.model, tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    moments = killed.stdout.split()
    assert len(moments) >= 10
    hashes, finished = set(), 0
    for moment in moments:
        again = request_for(output=tmp_path / f"{moment}.parquet")
        if manifest_path(again.output).exists():
            finished += 1
            with pytest.raises(OutputError, match="exists already"):
                run(again)
        else:
            run(again)
        hashes.add(sha256(again.output))
        assert read_manifest(again.output).output.sha256 == undisturbed
    assert hashes == {undisturbed}
    # Four parts with their hashes, the job, the lock and the folder: eleven removals at the end.
    assert 0 < finished <= 11, "only while the parts are removed is the output already complete"


def test_parts_that_a_killed_run_did_not_remove_are_gone_after_a_rerun(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_for()
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "remove", stop)
        with pytest.raises(Stopped):
            run(request)
    assert "out.parquet.parts" in names(request.output.parent)
    try:
        run(request)
    except OutputError as error:
        assert "exists already" in str(error)
    assert names(request.output.parent) == ["out.parquet", "out.parquet.meta.json"]


@pytest.fixture
def held(request_for: Callable[..., RunRequest]) -> Iterator[subprocess.Popen[str]]:
    """A `scorer run` in another process that waits once two parts are safe."""
    request = request_for()
    with subprocess.Popen(
        [
            *(sys.executable, DRIVER, "hold", "2", "run", request.frame),
            *("--model", request.model, "--output", request.output),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        yield process
        process.kill()


def test_a_second_run_on_the_same_output_is_refused_while_the_first_one_lives(
    request_for: Callable[..., RunRequest], held: subprocess.Popen[str], undisturbed: str
) -> None:
    request = request_for()
    with pytest.raises(OutputError) as refused:
        run(request)
    assert str(refused.value) == (
        f"{request.output}.parts: another run is writing this output now.\n"
        "Wait for it to end, or choose another output with -o."
    )
    assert refused.value.exit_code == 6
    assert not request.output.exists()
    held.send_signal(signal.SIGKILL)
    assert held.wait() == -signal.SIGKILL
    assert "part-000001.parquet" in names(request.output.with_name("out.parquet.parts"))
    manifest = run(request)
    assert (manifest.resumed_rows, manifest.output.sha256) == (2 * WORKS_A_SHARD, undisturbed)


def test_a_run_interrupted_twice_stops_at_once_exits_130_and_goes_on_later(
    request_for: Callable[..., RunRequest], held: subprocess.Popen[str], undisturbed: str
) -> None:
    request = request_for()
    assert held.stderr is not None
    held.send_signal(signal.SIGINT)
    assert held.stderr.readline() == (
        "Stopping when the part in work is finished; once more stops at once.\n"
    )
    held.send_signal(signal.SIGINT)
    _, said = held.communicate(timeout=SECONDS)
    assert held.returncode == 130
    assert said == "Interrupted. The same command goes on from the finished parts.\n"
    assert names(request.output.parent) == ["out.parquet.parts"]
    manifest = run(request)
    assert (manifest.resumed_rows, manifest.output.sha256) == (2 * WORKS_A_SHARD, undisturbed)


def test_half_written_parts_are_ignored(
    request_for: Callable[..., RunRequest], undisturbed: str
) -> None:
    request = request_for()
    stopped(request, 2)
    parts = request.output.with_name("out.parquet.parts")
    whole = (parts / "part-000001.parquet").read_bytes()
    (parts / "part-000002.tmp").write_bytes(whole[: len(whole) // 2])
    (parts / "output.tmp").write_bytes(b"PAR1 and no more")
    manifest = run(request)
    assert (manifest.resumed_rows, manifest.output.sha256) == (2 * WORKS_A_SHARD, undisturbed)
    assert names(request.output.parent) == ["out.parquet", "out.parquet.meta.json"]


def test_a_changed_part_is_scored_again(
    request_for: Callable[..., RunRequest], undisturbed: str
) -> None:
    request = request_for()
    stopped(request, 2)
    part = request.output.with_name("out.parquet.parts") / "part-000001.parquet"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    manifest = run(request)
    assert (manifest.resumed_rows, manifest.output.sha256) == (WORKS_A_SHARD, undisturbed)


def test_swapped_parts_are_scored_again(
    request_for: Callable[..., RunRequest], undisturbed: str
) -> None:
    request = request_for()
    stopped(request, 2)
    parts = request.output.with_name("out.parquet.parts")
    for ending in ("parquet", "sha256"):
        (parts / f"part-000000.{ending}").rename(parts / "kept")
        (parts / f"part-000001.{ending}").rename(parts / f"part-000000.{ending}")
        (parts / "kept").rename(parts / f"part-000001.{ending}")
    manifest = run(request)
    assert (manifest.resumed_rows, manifest.output.sha256) == (0, undisturbed)


def test_a_folder_of_the_users_is_left_alone(request_for: Callable[..., RunRequest]) -> None:
    request = request_for()
    own = request.output.with_name("out.parquet.parts")
    own.mkdir()
    (own / "notes.txt").write_text("precious")
    with pytest.raises(OutputError) as refused:
        run(request)
    assert str(refused.value) == (
        f"{own}: no folder of finished parts (notes.txt); left alone.\n"
        "Move it away, or choose another output with -o."
    )
    assert (own / "notes.txt").read_text() == "precious"


def test_a_link_as_output_is_followed(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.parquet"
    link.symlink_to(tmp_path / "real" / "x.parquet")
    run(request_for(output=link))
    assert link.is_symlink()
    assert (tmp_path / "real" / "x.parquet").is_file()


def test_parts_behind_a_gap_are_scored_again(
    request_for: Callable[..., RunRequest], undisturbed: str
) -> None:
    request = request_for()
    stopped(request, 3)
    (request.output.with_name("out.parquet.parts") / "part-000001.parquet").unlink()
    manifest = run(request)
    assert (manifest.resumed_rows, manifest.output.sha256) == (WORKS_A_SHARD, undisturbed)


@pytest.mark.parametrize("change", ["policy", "model", "mode", "keep", "limit", "frame"])
def test_parts_of_another_job_are_dropped_and_that_is_said(
    request_for: Callable[..., RunRequest],
    tmp_path: Path,
    policy: Policy,
    abstract_bundle: Path,
    change: str,
) -> None:
    frame = tmp_path / "frame.parquet"
    frame.write_bytes(request_for().frame.read_bytes())
    others = {
        "policy": lambda: {"policy": changed_policy(policy, tmp_path)},
        "model": lambda: {"model": str(abstract_bundle)},
        "mode": lambda: {"mode": "consensus"},
        "keep": lambda: {"keep": ("doi",)},
        "limit": lambda: {"limit": 150},
        "frame": lambda: {"frame": touched(frame)},
    }
    stopped(request_for(frame=frame), 2)
    changes = {"frame": frame} | others[change]()
    progress = StopAfter(0)
    manifest = run(request_for(**changes), progress)
    assert progress.notes == ["out.parquet.parts: parts of another job were dropped."]
    assert manifest.resumed_rows == 0
    fresh = run(request_for(**changes, output=tmp_path / "fresh.parquet"))
    assert manifest.output.sha256 == fresh.output.sha256


def touched(frame: Path) -> Path:
    os.utime(frame, ns=(1, 1))
    return frame


def test_an_output_without_its_manifest_is_finished(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch, undisturbed: str
) -> None:
    request = request_for()

    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(scorer.engine.run, "write_atomically", full)
        with pytest.raises(OutputError) as refused:
            run(request)
    assert str(refused.value) == (
        f"{request.output}: no space left on the disk.\n"
        "Free some and give the same command again: a run goes on from its finished parts."
    )
    assert names(request.output.parent) == ["out.parquet", "out.parquet.parts"]
    manifest = run(request)
    assert (manifest.resumed_rows, manifest.output.sha256) == (200, undisturbed)
    assert names(request.output.parent) == ["out.parquet", "out.parquet.meta.json"]


def test_an_output_that_exists_is_refused(
    request_for: Callable[..., RunRequest], undisturbed: str
) -> None:
    request = request_for()
    run(request)
    with pytest.raises(OutputError) as refused:
        run(request)
    assert str(refused.value) == (
        f"{request.output}: exists already. Choose another output with -o, or say --overwrite."
    )
    assert refused.value.exit_code == 6
    assert sha256(request.output) == undisturbed
    assert names(request.output.parent) == ["out.parquet", "out.parquet.meta.json"]


def test_a_file_that_is_no_output_of_ours_is_refused(
    request_for: Callable[..., RunRequest],
) -> None:
    request = request_for()
    request.output.write_text("my only copy")
    with pytest.raises(OutputError, match="exists already"):
        run(request)
    assert request.output.read_text() == "my only copy"


def test_the_old_output_stays_whole_until_the_new_one_is(
    request_for: Callable[..., RunRequest], tmp_path: Path, policy: Policy, undisturbed: str
) -> None:
    run(request_for())
    other = request_for(policy=changed_policy(policy, tmp_path), overwrite=True)
    stopped(other, 3)
    assert sha256(other.output) == undisturbed
    assert [check.name for check in verify(other.output) if check.offending] == []
    with pytest.raises(OutputError, match="exists already"):
        run(request_for(policy=other.policy))
    manifest = run(other)
    assert manifest.resumed_rows == 3 * WORKS_A_SHARD
    assert manifest.output.sha256 == sha256(other.output) != undisturbed
    assert [check.name for check in verify(other.output) if check.offending] == []


def test_duplicate_ids_are_found_before_anything_is_scored(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    frame = tmp_path / "twice.parquet"
    works = pl.read_parquet(request_for().frame)
    pl.concat([works, works.tail(1)]).write_parquet(frame)
    with pytest.raises(
        Exception, match=r"ids that occur more than once: 1, first: W200 \(2 times\)"
    ):
        run(request_for(frame=frame))
    assert not list(tmp_path.glob("out.parquet.parts/*.parquet"))
    assert not (tmp_path / "out.parquet").exists()
