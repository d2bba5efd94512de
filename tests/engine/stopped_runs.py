"""Runs that stop half-way; `test_resume.py` starts this file as a program.

    stopped_runs.py kill FRAME MODEL FOLDER [SECOND-MODEL]
    stopped_runs.py hold PARTS ARGUMENTS...

`kill` starts a run for every second moment, to FOLDER/<moment>.parquet, kills it there, and prints
the moments; a moment is a call that changes the disk. With a second model, which scores a fifth of
the works again, it is every fifth moment. `hold` is `scorer ARGUMENTS`, which waits
once PARTS parts are there.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import scorer.engine.checkpoint
import scorer.engine.job
import scorer.engine.progress
from scorer.cli.app import main
from scorer.engine.checkpoint import Checkpoint
from scorer.engine.request import RunRequest
from scorer.engine.rowgroups import RowGroupWriter
from scorer.engine.run import run

WORKS_A_SHARD = 64
SECONDS_A_RUN = 60  # far more than one takes on a busy machine
DISK_CALLS = [
    (os, "fsync"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
    (RowGroupWriter, "add"),
    (RowGroupWriter, "close"),
    (os, "unlink"),
    (os, "rmdir"),
]


def count_moments(reached: Callable[[int], None]) -> None:
    """Call `reached(moment)` before each call that changes the disk, from moment 0 on."""
    moment = -1

    def before(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **settings: object) -> object:
            nonlocal moment
            moment += 1
            reached(moment)
            return call(*arguments, **settings)

        return counted

    for owner, name in DISK_CALLS:
        setattr(owner, name, before(getattr(owner, name)))


def kill_at(moment: int, request: RunRequest) -> bool:
    """Run in a child that kills itself at `moment`; tell whether it came that far."""
    child = os.fork()
    if child == 0:
        count_moments(lambda now: os.kill(os.getpid(), signal.SIGKILL) if now == moment else None)
        run(request)
        os._exit(0)
    return os.WIFSIGNALED(status_of(child))


def status_of(child: int) -> int:
    """Wait for a child; one that hangs is killed, and the caller is told by a `TimeoutError`."""
    ends = time.monotonic() + SECONDS_A_RUN
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError(f"a run of 200 works took over {SECONDS_A_RUN} s")


def killed_at(moment: int, request: RunRequest) -> bool:
    """Do `kill_at`; a fork of a process with threads may hang by itself, so it may try twice."""
    try:
        return kill_at(moment, request)
    except TimeoutError:
        return kill_at(moment, request)


def hold_after(parts: int) -> None:
    """Make runs wait, for good, once that many parts are saved."""
    save = Checkpoint.save

    def saved(self: Checkpoint, index: int, part: object, *series: str) -> None:
        save(self, index, part, *series)
        if index + 1 == parts:
            print("holding", flush=True)
            while True:  # an interrupt that comes just before a long sleep would not end it
                time.sleep(0.05)

    Checkpoint.save = saved


if __name__ == "__main__":
    scorer.engine.job.TITLES_A_BATCH = WORKS_A_SHARD
    scorer.engine.progress.LONG_SILENCE = SECONDS_A_RUN
    if sys.argv[1] == "kill":
        frame, model, folder, *second = sys.argv[2:]
        wanted = {"refine": second[0], "refine_share": 0.2} if second else {}
        for moment in range(0, 1000, 5 if second else 2):
            output = Path(folder) / f"{moment}.parquet"
            request = RunRequest(frame=Path(frame), output=output, model=model, **wanted)
            if not killed_at(moment, request):
                break
            print(moment)
    else:
        hold_after(int(sys.argv[2]))
        sys.argv = ["scorer", *sys.argv[3:]]
        main()
