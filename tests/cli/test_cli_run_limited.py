"""`scorer run` under `ulimit -v`: it ends as without one, or in two plain lines."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

resource = pytest.importorskip("resource", reason="there are no such limits here")

MEGABYTE = 1_000_000
SECONDS = 120  # more than anything here takes on a busy machine
PROGRAM = Path(sys.executable).with_name("scorer")
SLOW = Path(__file__).parent.parent / "faults" / "small_parts.py"
Limited = Callable[..., subprocess.Popen[str]]
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="looks for child processes in /proc"
)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Limited]:
    """Start a program under a limit of megabytes: `limited(700, program, words...)`."""
    started: list[subprocess.Popen[str]] = []

    def start(megabytes: int, *words: object) -> subprocess.Popen[str]:
        most = megabytes * MEGABYTE
        started.append(
            subprocess.Popen(
                [str(word) for word in words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),  # noqa: PLW1509
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def children(process: subprocess.Popen[str]) -> list[int]:
    return [
        int(word)
        for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ]


def test_a_limit_too_low_to_begin_is_told(limited: Limited, tiny_frame: Path) -> None:
    run = limited(700, PROGRAM, "run", tiny_frame)
    out, said = run.communicate()
    assert (run.returncode, out) == (1, "")
    assert said == (
        "Error: memory would run out under the limit of 700 MB (ulimit -v): scorer run needs "
        "2,000 MB.\nRaise the limit, and give the same command again.\n"
    )


def test_a_limit_that_suffices_changes_nothing(
    limited: Limited, tiny_frame: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    run = limited(99_000, PROGRAM, "run", tiny_frame, "--model", tiny_bundle, "-o", "out.parquet")
    out, _ = run.communicate()
    assert run.returncode == 0
    assert out.splitlines()[0].startswith("200 works scored by tiny@")
    assert out.splitlines()[-1].startswith("Status of every row: machine_predicted_unvalidated.")
    assert (tmp_path / "out.parquet.meta.json").exists()


def test_an_error_is_told_as_without_a_limit(limited: Limited) -> None:
    run = limited(99_000, PROGRAM, "run", "nowhere.parquet", "-q")
    out, said = run.communicate()
    assert (run.returncode, out) == (3, "")
    assert said.startswith("Error: nowhere.parquet: no such file")


@pytest.fixture
def at_work(
    limited: Limited, tiny_frame: Path, tiny_bundle: Path, tmp_path: Path
) -> subprocess.Popen[str]:
    """A run under a limit that has made its first part, and takes its time for the others."""
    words = ("run", tiny_frame, "--model", tiny_bundle, "-o", "out.parquet", "-q")
    run = limited(99_000, sys.executable, SLOW, 20, 3, *words)
    ends = time.monotonic() + SECONDS
    while not (tmp_path / "out.parquet.parts" / "part-000000.parquet").exists():
        assert run.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.01)
    return run


def test_a_process_that_was_ended_is_told(at_work: subprocess.Popen[str], tmp_path: Path) -> None:
    (worker,) = children(at_work)
    os.kill(worker, signal.SIGABRT)
    out, said = at_work.communicate()
    assert (at_work.returncode, out) == (1, "")
    assert said == (
        "Error: memory ran out under the limit of 99,000 MB (ulimit -v): the process was ended "
        "(-6).\nFinished parts are kept: give the same command again under a higher limit.\n"
    )
    assert (tmp_path / "out.parquet.parts" / "part-000000.parquet").exists()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(at_work: subprocess.Popen[str], stop: signal.Signals) -> None:
    at_work.send_signal(stop)
    _, said = at_work.communicate()
    assert at_work.returncode == 130
    assert said.splitlines()[-1] == (
        "Interrupted. The same command goes on from the finished parts."
    )


def test_the_work_ends_with_its_parent(at_work: subprocess.Popen[str]) -> None:
    (worker,) = children(at_work)
    at_work.kill()
    at_work.communicate()
    ends = time.monotonic() + SECONDS
    while alive(worker):
        assert time.monotonic() < ends
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # nobody may be there to take note of its end
