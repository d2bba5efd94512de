"""Runs on Ray to which something happens; `test_ray.py` starts this file as a program.

    ray_runs.py TROUBLE SHARD FOLDER ARGUMENTS...

is `scorer ARGUMENTS` with small shards. At SHARD the worker gets into TROUBLE:

- `none`: nothing happens; the worker leaves a file FOLDER/<its node>;
- `die-once`: it is killed, the first time, once two nodes have read a shard;
- `die`: it is killed, whenever it gets there;
- `lose-node`: there or later, once, the whole node is killed, unless it is the driver's, which
  waits for that;
- `hold`: not the worker but the driver waits, for good, once so many parts are safe;
- `linger`: in the driver, a thread of Ray Data lets go of its references late.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import ClassVar

import ray
from stopped_runs import SECONDS_A_RUN, WORKS_A_SHARD, hold_after

import scorer.engine.job
import scorer.engine.progress
from scorer.cli.app import main
from scorer.engine.job import Job
from scorer.engine.sent import SentJob
from scorer.frame.frame import Frame
from scorer.frame.parquet import Batch

SECONDS_A_SHARD = 0.2  # so that every worker gets some
SECONDS_FOR_OTHERS = 120  # for a second node to begin; its first worker starts slowly
SECONDS_LATE = 3
FETCHING = "iter_threaded"  # Ray's name of the thread that parts come from


class TroubledFrame(Frame):
    """A frame whose reading in a worker ends in trouble. Pickled whole: it is no module's."""

    trouble: ClassVar[tuple[str, int, str, str]]
    """What happens, at which shard, the folder to leave files in, the node of the driver."""

    def batches(self, rows: int, *, start: int = 0, limit: int | None = None) -> Iterator[Batch]:
        trouble, shard, folder, driver = self.trouble
        node, now = ray.get_runtime_context().get_node_id(), start // rows
        time.sleep(SECONDS_A_SHARD)
        Path(folder, node).touch()
        happened = Path(folder, "happened")
        if trouble == "die" and now == shard:
            os.kill(os.getpid(), signal.SIGKILL)
        if trouble == "die-once" and now == shard and not happened.exists():
            wait_until(lambda: len(list(Path(folder).iterdir())) > 1)
            happened.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if trouble == "lose-node" and now >= shard and node != driver and not happened.exists():
            happened.touch()
            os.kill(os.getppid(), signal.SIGKILL)  # what Ray runs on each node
            os.kill(os.getpid(), signal.SIGKILL)
        if trouble == "lose-node" and now >= shard:
            wait_until(happened.exists)
        yield from Frame.batches(self, rows, start=start, limit=limit)


def wait_until(true: Callable[[], bool]) -> None:
    """Wait until it is so, or for so long that it will never be."""
    ends = time.monotonic() + SECONDS_FOR_OTHERS
    while not true() and time.monotonic() < ends:
        time.sleep(0.05)


def troubled(send: Callable[[Job], SentJob], trouble: str, shard: int, folder: str):
    """Wrap `SentJob.of`: the frame that is sent is a troubled one."""

    def of(job: Job) -> SentJob:
        driver = ray.get_runtime_context().get_node_id()
        TroubledFrame.trouble = (trouble, shard, folder, driver)
        sent = send(job)
        known = {each.name: getattr(sent.frame, each.name) for each in fields(Frame)}
        return replace(sent, frame=TroubledFrame(**known))

    return of


def linger(folder: str) -> None:
    """Let a thread of Ray Data take references and let go of them for seconds after its work.

    On a busy machine it lets go of some late; while Ray is shut down, Ray ends the process for it.
    """
    run = threading.Thread.run

    def late(thread: threading.Thread) -> None:
        run(thread)
        if thread.name == FETCHING:
            ends = time.monotonic() + SECONDS_LATE
            Path(folder, "happened").touch()
            with suppress(AttributeError):  # what Ray raises once it is shut down
                while time.monotonic() < ends:
                    ray.ObjectRef.from_random()

    threading.Thread.run = late


if __name__ == "__main__":
    what, where, seen, *arguments = sys.argv[1:]
    scorer.engine.job.TITLES_A_BATCH = WORKS_A_SHARD
    scorer.engine.progress.LONG_SILENCE = SECONDS_A_RUN  # as in the tests of this process
    SentJob.of = troubled(SentJob.of, what, int(where), seen)
    if what == "hold":
        hold_after(int(where))
    if what == "linger":
        linger(seen)
    sys.argv = ["scorer", *arguments]
    main()
