"""Scenes in which the machine or its user fails a run: kills, disks, memory, clocks, signals.

Each plays its fault, gives the same command again until it ends, and compares what came out.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from disturbed import Broken, Scene, Setting, Unplayable, ended

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
_AFTER_THE_END = 1.02  # moments also fall on the last steps of a run
_REFUSED = 6  # the exit code for an output that is there, full disks, and locks


def scene(setting: Setting, name: str) -> Scene:
    """Return a scene on the setting's own frame."""
    return Scene(setting, name, setting.frame, setting.model)


def killed(setting: Setting, expected: str, *, kills: int, seconds: float, seed: int = 0) -> Scene:
    """Kill runs (SIGKILL) at random moments of `seconds`, until all kills are spent.

    After a kill the same command is given again; when it ends, a fresh job begins.
    """
    now, moments, told = scene(setting, "killed"), random.Random(seed), []
    while now.faults < kills:
        now.clear()
        over = False
        while not over:
            moment = moments.uniform(0, seconds * _AFTER_THE_END) if now.faults < kills else None
            run = now.end(now.start(), moment)
            over = run.code >= 0
            if not over:
                now.faults += 1
                told.append(now.finished())
            elif run.code:  # killed after its manifest was written: complete, and it says so
                run.expect(_REFUSED, words="exists already")
        now.compare(expected)
    counts = [told.count(parts) for parts in range(max(told) + 1)]
    now.notes.append(
        "kills by finished parts on the disk: "
        + ", ".join(f"{parts}: {count}" for parts, count in enumerate(counts) if count)
    )
    return now


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[str], None]]:
    """Mount a disk in memory at `folder`: `sized("16k")` mounts it, or changes its size."""

    def sized(size: str) -> None:
        again = "remount," if folder.is_mount() else ""
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"{again}size={size}", "tmpfs", folder],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Unplayable(f"no small disk can be mounted here: {done.stderr.strip()}")

    try:
        yield sized
    finally:
        if folder.is_mount():
            subprocess.run(["umount", "--lazy", folder], check=True)


def full_disk(setting: Setting, expected: str, *, sizes: Sequence[int]) -> Scene:
    """Run on disks of so many bytes, too few; then on the same disk, with room."""
    now = scene(setting, "full disk")
    for size in sizes:
        now.clear()
        with small_disk(now.folder) as sized:
            sized(str(size))
            now.run().expect(_REFUSED, words="no space left on the disk")
            now.faults += 1
            _check_absent(now)
            sized("4g")
            now.run().expect(0)
            now.compare(expected)
    return now


def file_limit(setting: Setting, expected: str, *, sizes: Sequence[int]) -> Scene:
    """Run where no file may be longer than so many bytes (`ulimit -f`); then without a limit."""
    now = scene(setting, "limit of file size")
    for size in sizes:
        now.clear()

        def limited(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        now.end(now.start(limited=limited)).expect(_REFUSED, words="cannot be written")
        now.faults += 1
        _check_absent(now)
        now.run().expect(0)
        now.compare(expected)
    return now


def folder_removed(setting: Setting, expected: str, *, times: int) -> Scene:
    """Remove the output's folder in mid-run: for good, made anew at once, or that of the parts."""
    now = scene(setting, "output folder removed")
    while now.faults < times:
        now.clear()
        kind = now.faults % 3
        with ended(now.start()) as process:
            if not now.wait_for(1 + now.faults % 2, process):
                now.end(process).expect(0)
                continue  # it was faster than its observer
            gone = now.parts if kind == 2 else now.folder
            _remove(gone)
            if kind == 1:
                now.folder.mkdir()
            run = now.end(process).expect(_REFUSED)
        if len(run.said.splitlines()) > 2:
            raise Broken(f"more than two lines: {run.said}")
        now.faults += 1
        _check_absent(now)
        now.folder.mkdir(exist_ok=True)
        now.run().expect(0)
        now.compare(expected)
    return now


def _remove(folder: Path) -> None:
    """Remove a folder into which another process still writes."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def out_of_memory(
    setting: Setting, expected: str, *, limits: Sequence[int], mid_runs: int
) -> Scene:
    """Run under so many bytes of addresses; and let there be no more of them in mid-run."""
    now = scene(setting, "out of memory")
    codes = []
    for limit in limits:
        now.clear()

        def limited(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        codes.append(_denied(now, now.start(limited=limited)))
        now.run().expect(_REFUSED if codes[-1] == 0 else 0)
        now.compare(expected)
    for _ in range(mid_runs):
        now.clear()
        with ended(now.start(limited=_much_memory)) as process:
            with suppress(OSError, ValueError, IndexError):  # it was faster than its observer
                now.wait_for(1, process)
                worker = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
                held = int(Path(f"/proc/{worker}/statm").read_text().split()[0])
                most = held * resource.getpagesize()
                resource.prlimit(worker, resource.RLIMIT_AS, (most, most))
            code = _denied(now, process)
        if code and not now.finished():
            raise Broken("no part was kept")
        now.run().expect(_REFUSED if code == 0 else 0)
        now.compare(expected)
        codes.append(code)
    now.faults = sum(code != 0 for code in codes)
    return now


def _much_memory() -> None:
    most = 1 << 40
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _denied(now: Scene, process: subprocess.Popen[bytes]) -> int:
    """Wait for a run that memory is denied to; return its exit code."""
    run = now.end(process)
    if run.code:
        run.expect(1, _REFUSED, words="under the limit of ")
        if len(run.said.splitlines()) > 2:
            raise Broken(f"more than two lines: {run.said}")
        _check_absent(now)
    return run.code


def clock_set_back(setting: Setting, expected: str, *, times: int) -> Scene:
    """Set the clock back by a year in mid-run, kill the run, and go on years before that."""
    if not FAKETIME.exists():
        raise Unplayable("libfaketime is not installed (apt-get install faketime)")
    now = scene(setting, "clock set back")
    shown = setting.folder / "clock"
    environment = os.environ | {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(shown),
        "FAKETIME_NO_CACHE": "1",
        # A clock that is set moves neither the monotonic one nor the times of files.
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    while now.faults < times:
        now.clear()
        shown.write_text("+0")
        with ended(now.start(environment=environment)) as process:
            alive = now.wait_for(1, process)
            shown.write_text("-365d")
            if now.faults % 2 and alive:
                now.wait_for(2, process)
                process.kill()
            now.end(process).expect(0, -signal.SIGKILL)
        now.faults += 1
        shown.write_text("-1000d")
        if not now.output.exists():
            now.end(now.start(environment=environment)).expect(0)
        now.compare(expected)
    return now


def two_at_once(setting: Setting, expected: str, *, times: int) -> Scene:
    """Start two runs for one output at once: one wins, the other says why it may not."""
    now, lines = scene(setting, "two runs for one output"), []
    for number in range(times):
        now.clear()
        with ended(now.start()) as one:
            time.sleep(0.05 * (number % 4))
            with ended(now.start()) as other:
                runs = [now.end(one), now.end(other)]
        if sorted(run.code for run in runs) != [0, _REFUSED]:
            raise Broken(f"exactly one must win: {runs}")
        (loser,) = (run for run in runs if run.code)
        said = loser.said.splitlines()[0]
        if not said.endswith(("is writing this output now.", "or say --overwrite.")):
            raise Broken(loser.said)
        lines.append("writing" if "writing" in said else "there already")
        now.faults += 1
        now.compare(expected)
    words = ("writing", "there already")
    now.notes.append(", ".join(f"told {word}: {lines.count(word)}" for word in words))
    return now


def stopped(setting: Setting, expected: str, *, times: int, seed: int = 0) -> Scene:
    """Stop runs with SIGINT and SIGTERM: the part in work is kept, the exit code is 130."""
    now, moments = scene(setting, "SIGINT, SIGTERM"), random.Random(seed)
    waits, gained = [], []
    while now.faults < times:
        now.clear()
        with ended(now.start()) as process:
            if not now.wait_for(1, process):
                now.end(process).expect(0)
                continue
            time.sleep(moments.uniform(0, 0.2))
            before, began = now.finished(), time.monotonic()
            for _ in range(2 if now.faults % 4 == 3 else 1):
                process.send_signal((signal.SIGINT, signal.SIGTERM)[now.faults % 2])
                time.sleep(0.01)
            run = now.end(process).expect(0, 130)
        if run.code == 0:
            continue  # it had made its last part
        run.expect(130, words="Interrupted. The same command goes on from the finished parts.")
        waits.append(time.monotonic() - began)
        gained.append(now.finished() - before)
        now.faults += 1
        now.run().expect(0)
        now.compare(expected)
    if min(gained) < 0:
        raise Broken("a finished part is gone")
    now.notes.append(
        f"ended {max(waits):.1f} s after the signal at most; parts finished meanwhile: "
        f"{sum(gained)} in {len(gained)} runs"
    )
    return now


def _check_absent(now: Scene) -> None:
    """Raise `Broken` where there is an output, or a manifest, though the run failed."""
    if now.output.exists() or now.output.with_name("out.parquet.meta.json").exists():
        raise Broken(f"{now.name}: a run that failed left an output")
