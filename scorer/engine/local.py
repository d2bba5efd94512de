"""The local executor: one shard a thread, results in order, never many at a time.

Threads suffice: splitting, look-ups, sums and scores run in Arrow, Polars, numpy and onnxruntime,
which let go of the interpreter while they work.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Shard = TypeVar("Shard")
Part = TypeVar("Part")


def usable_threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[Shard], Part],
    shards: Iterable[Shard],
    threads: int,
    has_room: Callable[[], bool] = lambda: True,
) -> Generator[Part]:
    """Yield `work(shard)` for each shard, in order; at most `threads + 1` are held at a time.

    Where there is no room for one more, those before it are waited for.
    """
    waiting: deque[Future[Part]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="scorer") as pool:
        try:
            for shard in shards:
                while waiting and not has_room():
                    yield waiting.popleft().result()
                waiting.append(pool.submit(work, shard))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
