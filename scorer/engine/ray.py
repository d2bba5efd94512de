"""The Ray executor: shards scored by the processes of a cluster, parts yielded here, in order.

Ray Data spreads the shards, holds back where parts are not fetched, and gives a shard whose worker
or node died to another. Its functions run as tasks here and not as actors: a task goes on where
there is room, while a shard given to an actor waits for that actor's node to come back. A worker
process still loads the student once.
"""

import gc
import logging
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is told to Ray's makers

import pyarrow as pa
import ray
import ray.data
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from scorer.engine.counts import Tally
from scorer.engine.job import Job
from scorer.engine.manifest import Counts
from scorer.engine.part import Part
from scorer.engine.progress import Progress
from scorer.engine.sent import SentJob
from scorer.errors import ScorerError, UsageError

TRIES: Final = 4
"""How many workers a shard is given to, one after another died of it or with its node."""
# Shards that may fail before the others are stopped: the first of them is about to be told.
_MOST_FAILED: Final = 4
# A worker process has one processor of its own.
_ENVIRONMENT: Final = {"POLARS_MAX_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
_CLIENT: Final = "ray://"  # a driver outside of the cluster, which Ray Data is not made for
_ANSWER_SECONDS: Final = 10  # for the first answer of a cluster; Ray itself asks for ten minutes
# Ray Data's threads that hold references, by how their names begin. Its "Prefetcher" holds none,
# and never ends.
_HOLDING: Final = ("iter_threaded", "StreamingExecutor-", "ray-data-metadata-prefetch")
_HOLDING_SECONDS: Final = 60  # for such a thread to end; it takes milliseconds, or a lost node's
_AGAIN: Final = "Finished parts are kept: give the same command again."


@contextmanager
def started(address: str | None, most: int | None, progress: Progress) -> "Iterator[RayExecutor]":
    """Yield the cluster behind an address, or one of this machine alone that ends with the work.

    `most`: shards that are scored at a time; by default as many as there are processors. A Ray
    that this process uses already is used, and left running. Raises `UsageError` where there is
    none behind the address.
    """
    if ours := not ray.is_initialized():
        _connect(address, most)
    try:
        processors = int(ray.cluster_resources().get("CPU", 0))
        nodes = sum(node["Alive"] for node in ray.nodes())
        progress.note(f"Ray: {_many(processors, 'processor')}, {_many(nodes, 'node')}.")
        yield RayExecutor(most)
    finally:
        if ours:
            _disconnect()
            _listen(heard=True)


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """Makes parts on the cluster that this process is connected to."""

    most: int | None

    def ready(self, job: Job) -> Job:
        """Return the job as it is: each worker process loads what it needs."""
        return job

    def parts(self, job: Job, first: int) -> Generator[Part]:
        """Yield the parts from number `first` on, in order.

        A shard that fails raises what it raised, as in a local run; one whose worker dies again
        and again raises a `ScorerError` that names its works.
        """
        sent, shards = ray.put(SentJob.of(job)), -(-job.works // job.works_a_shard)
        wanted = first
        while wanted < shards:
            with closing(self._scored(sent, range(wanted, shards))) as scored:
                for number, row in scored:
                    for missing in range(wanted, number):
                        yield _part(_alone(job, sent, missing), job)
                    yield _part(row, job)
                    wanted = number + 1
            if wanted < shards:  # what came after was not tried, or failed too
                yield _part(_alone(job, sent, wanted), job)
                wanted += 1

    def _scored(
        self, sent: "ray.ObjectRef[SentJob]", shards: range
    ) -> Generator[tuple[int, pa.Table]]:
        """Yield (number, part), in order; numbers of shards that failed are left out."""
        numbers = ray.data.range(len(shards), override_num_blocks=len(shards))
        rows = numbers.map_batches(
            _score,
            batch_format="pyarrow",
            fn_kwargs={"sent": sent, "first": shards.start, "tries": _Tries.here()},
            num_cpus=1,
            compute=ray.data.TaskPoolStrategy(self.most),
        )
        context = rows.context  # of this data alone: the program may use Ray Data too
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.max_errored_blocks = _MOST_FAILED
        # One finished part is fetched ahead, whatever is said; with more, more would be held here.
        batches = rows.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        with closing(iter(batches)) as fetched, suppress(RayError):
            # After an error the first shard that is missing tells why, when it is tried by itself.
            for row in fetched:
                yield row["number"][0].as_py(), row


class _Tries:
    """Counts how often each shard was begun. Ray Data itself would try again without end."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    @classmethod
    def here(cls) -> Any:  # noqa: ANN401 - Ray's handle has no type of its own
        """Return an actor in a process of this node: it lives as long as the driver does."""
        node = ray.get_runtime_context().get_node_id()
        near = NodeAffinitySchedulingStrategy(node, soft=False)
        return ray.remote(cls).options(num_cpus=0, scheduling_strategy=near).remote()

    def begin(self, number: int) -> int:
        """Count one more; return how many there are."""
        self._begun[number] += 1
        return self._begun[number]


def _score(
    batch: pa.Table,
    *,
    sent: "ray.ObjectRef[SentJob]",
    first: int,
    tries: Any,  # noqa: ANN401
) -> Iterator[pa.Table]:
    """Score the shards of a block; a worker process runs this."""
    for place in batch["id"].to_pylist():
        number = first + place
        if ray.get(tries.begin.remote(number)) > TRIES:
            raise RuntimeError(f"shard {number} was begun {TRIES} times, and never finished")
        yield _row(sent, number)


def _row(sent: "ray.ObjectRef[SentJob]", number: int) -> pa.Table:
    """Score one shard; its part is a row."""
    job, known = _opened(sent)
    part = known.part(job, number)
    content = pa.array([part.content.to_pybytes()], pa.large_binary())
    counts = part.tally.counts().model_dump_json()
    return pa.table({"number": [number], "content": content, "counts": [counts]})


@lru_cache(maxsize=1)
def _opened(sent: "ray.ObjectRef[SentJob]") -> tuple[Job, SentJob]:
    """Return the job that this worker process is at, its student loaded once."""
    pa.set_memory_pool(pa.system_memory_pool())  # it peaks lower
    known: SentJob = ray.get(sent)
    return known.opened(), known


def _part(row: pa.Table, job: Job) -> Part:
    """Take over a part from a worker; its works count as looked up."""
    counts = Counts.model_validate_json(row["counts"][0].as_py())
    content: pa.Buffer = row["content"][0].as_buffer()
    job.look_up(content)
    return Part(content, Tally.of(counts, job.targets, job.decision.mode))


def _alone(job: Job, sent: "ray.ObjectRef[SentJob]", number: int) -> pa.Table:
    """Score one shard that failed, once more and by itself; raise the error that tells why."""
    again = ray.remote(lambda: _row(sent, number)).options(num_cpus=1, max_retries=0)
    try:
        row: pa.Table = ray.get(again.remote())
    except RayTaskError as error:
        if isinstance(error.cause, ScorerError):
            raise error.cause from error
        raise ScorerError(
            f"{_where(job, number)}: failed on the cluster ({_last_line(error)}).\n{_AGAIN}"
        ) from error
    except OutOfMemoryError as error:
        raise ScorerError(
            f"{_where(job, number)}: memory ran out on the node, {TRIES + 1} times.\n"
            "Give the nodes fewer processors (ray start --num-cpus) or more memory, and the "
            "command again."
        ) from error
    except RayError as error:
        raise ScorerError(
            f"{_where(job, number)}: the worker process died, {TRIES + 1} times.\n{_AGAIN}"
        ) from error
    return row


def _where(job: Job, number: int) -> str:
    first = number * job.works_a_shard
    stop = min(first + job.works_a_shard, job.works)
    return f"shard {number:,} (works {first:,} to {stop - 1:,})"


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1][:200].rstrip(".")


def _many(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"


def _connect(address: str | None, most: int | None) -> None:
    """Connect to the cluster, or start one; nothing that Ray says reaches the terminal."""
    handler = signal.getsignal(signal.SIGTERM)
    local = address in (None, "local")
    try:
        if address is not None:
            _check_answers(address)
        ray.init(
            address=address or "local",
            num_cpus=most if local else None,
            include_dashboard=False if local else None,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
            runtime_env={"env_vars": _ENVIRONMENT},
        )
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise UsageError(
            f"--address {address or 'local'}: no Ray there ({_last_line(error)}).\n"
            "Start one with ray start --head, or leave the address out."
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray puts one of its own there
    _listen(heard=False)


def _disconnect() -> None:
    """Shut Ray down, once nothing but this thread holds references to what lies in the cluster.

    Where another thread lets go of one while Ray shuts down, be it to collect garbage, Ray ends
    the process at once: exit code 1, the command's own error unsaid. A thread that does not end
    leaves the shutting down to the end of the process, when all is said.
    """
    ends = time.monotonic() + _HOLDING_SECONDS
    holding = [each for each in threading.enumerate() if each.name.startswith(_HOLDING)]
    for thread in holding:
        thread.join(max(0.0, ends - time.monotonic()))
    gc.collect()
    if not any(thread.is_alive() for thread in holding):
        ray.shutdown()


def _listen(*, heard: bool) -> None:
    """Let what Ray says reach the terminal, or not."""
    for spoken in logging.getLogger("ray.data").handlers:
        if isinstance(spoken, logging.StreamHandler):
            spoken.setLevel(logging.INFO if heard else logging.CRITICAL)
    # What the nodes report, of lost workers for instance, comes on standard output otherwise.
    ray._private.worker._worker_logs_enabled = heard


def _check_answers(address: str) -> None:
    """Raise where nothing answers at HOST:PORT, or the address is one of another kind."""
    named = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    if named.startswith(_CLIENT):
        raise UsageError(
            f"--address {named}: a Ray Client address; Ray Data runs from within the cluster.\n"
            "Give the command on one of its machines, with --address auto."
        )
    host, _, port = named.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
