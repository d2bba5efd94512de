"""What carries the shards of a job through its student: threads of this machine, or Ray.

A job does not know where it runs: whoever makes its parts yields them in order, and the run saves
them. So the checkpoint, and the bytes of the output, are the same.
"""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Protocol

from scorer.engine.job import Job
from scorer.engine.local import in_order, usable_threads
from scorer.engine.memory import Plan
from scorer.engine.part import Part
from scorer.engine.progress import Progress
from scorer.engine.request import RunRequest
from scorer.engine.shards import gathered
from scorer.errors import UsageError


class Executor(Protocol):
    """Makes the parts of a job."""

    def ready(self, job: Job) -> Job:
        """Return the job as `parts` wants it, with what its threads share."""

    def parts(self, job: Job, first: int) -> Generator[Part]:
        """Yield the parts from number `first` on, in order; few are held at a time.

        Close it before the executor goes.
        """


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Makes parts in threads of this process."""

    threads: int

    def ready(self, job: Job) -> Job:
        """Return the job with compiled loops where they win back their time."""
        return job.with_loops()

    def parts(self, job: Job, first: int) -> Generator[Part]:
        """Yield the parts from number `first` on, in order.

        Pieces are scored by all threads, shards encoded by one more: so few works are held, and no
        processor waits for one shard's end. Within a bound of memory one shard is held at a time.
        """
        plan = self._plan(job)
        pieces = job.pieces(first, plan.works_a_piece)
        # Closed here, and not by whatever thread happens to collect what was left unfinished.
        with closing(in_order(job.scored, pieces, plan.threads, plan.has_room)) as scored:
            shards = gathered(scored)
            yield from map(job.encoded, shards) if plan.bound else in_order(job.encoded, shards, 1)

    def _plan(self, job: Job) -> Plan:
        bound = job.request.memory
        usual = Plan(self.threads, job.works_a_batch)
        sample = job.sample() if bound is not None else None
        if bound is None or sample is None:
            return usual
        return Plan.within(
            bound,
            sample,
            works_a_shard=job.works_a_shard,
            works_a_piece=usual.works_a_piece,
            threads=usual.threads,
        )


@contextmanager
def executor(request: RunRequest, progress: Progress) -> Iterator[Executor]:
    """Yield what the request asks for, ready to work; raise `UsageError` where it cannot be had."""
    if request.engine == "local":
        if request.address is not None:
            raise UsageError(
                f"--address {request.address}: for --engine ray alone.\n"
                "Give both, or leave the address out."
            )
        yield LocalExecutor(request.threads or usable_threads())
        return
    if request.memory is not None:
        raise UsageError(
            "--memory: for --engine local alone.\n"
            "Give Ray's nodes fewer processors instead (ray start --num-cpus)."
        )
    try:
        from scorer.engine.ray import started  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(("ray", "pandas")):
            raise
        raise UsageError(
            "--engine ray needs Ray Data, which is not installed.\n"
            "Install the extra: pip install 'scorer[ray]'"
        ) from error
    with started(request.address, request.threads, progress) as cluster:
        yield cluster
