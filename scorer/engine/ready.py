"""What comes before the first work is scored: ids checked by some threads, loops loaded by another.

Both take seconds on large frames, and neither needs the other.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, takewhile
from pathlib import Path
from typing import Final

import polars as pl

from scorer.engine.executor import Executor
from scorer.engine.job import Job
from scorer.engine.local import in_order, usable_threads
from scorer.engine.memory import hashes_held
from scorer.engine.progress import Progress, told_if_long
from scorer.frame.ids import check_ids

_LOADING: Final = (
    "Checking that no id is missing or there twice. The first large frame on a machine compiles "
    "loops for its processor, which takes some seconds, once."
)
_IDS_AT_ONCE: Final = 1 << 18
_READERS: Final = 2  # of ids, at most: hashing them keeps up with two


def made_ready(job: Job, engine: Executor, progress: Progress, *, checked: bool) -> Job:
    """Return the job ready to be scored; its ids are checked meanwhile, unless they were before.

    Raises `InputError` for ids that are missing or there twice.
    """
    if job.request.memory is not None:  # one after the other, so that each knows what is left
        job = engine.ready(job)
    if checked:
        return engine.ready(job)
    over = threading.Event()
    with told_if_long(progress, _LOADING), ThreadPoolExecutor(1) as aside:
        try:
            check = aside.submit(_check_ids, job, over.is_set)
            job = engine.ready(job)
            check.result()
        finally:
            over.set()
    return job


def _check_ids(job: Job, given_up: Callable[[], bool]) -> None:
    """Check that ids are there, each once: those that can be read, where shards may be skipped.

    `given_up` is asked now and then; what is then said of the ids is worth nothing.
    """
    request = job.request
    some = request.on_bad_shard == "skip"

    def read() -> Iterator[pl.Series]:
        ids = job.readable_ids() if some else _ids(job)
        return takewhile(lambda _: not given_up(), ids)

    check_ids(
        read,
        job.works,
        Path(request.frame).name,
        held=hashes_held(request.memory) if request.memory else None,
    )


def _ids(job: Job) -> Iterator[pl.Series]:
    """Yield the ids of all works, in order, read by two threads unless memory is short."""

    def ids(start: int) -> list[pl.Series]:
        return list(job.frame.ids(min(start + _IDS_AT_ONCE, job.works), start=start))

    request = job.request
    threads = 1 if request.memory else min(_READERS, request.threads or usable_threads())
    return chain.from_iterable(in_order(ids, range(0, job.works, _IDS_AT_ONCE), threads))
