"""Keeping a run within a bound of memory: what is in flight, and what goes back to the system.

Nothing here decides a byte of the output: shards stay as they are, the pieces that they are read
and scored in become fewer at a time, and smaller.
"""

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import pyarrow as pa

from scorer.errors import UsageError
from scorer.frame.parquet import Batch

MEGABYTE: Final = 1_000_000
# What was measured, in bytes. A work in flight: its ids, scores and columns, beside its text, which
# is there in this many forms at once while it is cleaned and split.
_A_WORK: Final = 2_500
_TEXTS: Final = 8
# A row that is made, beside what is kept of the frame; a shard's rows are there this many times
# while they are put together and encoded.
_A_ROW: Final = 450
_SHARDS: Final = 2.6
_LOOPS: Final = 130 * MEGABYTE  # the compiler, loaded
_BESIDE_LOOPS: Final = 100 * MEGABYTE  # what the fewest and longest texts in flight may take
_A_HASH: Final = 18  # of an id: gathered, joined, sorted
_SPARE: Final = 0.9  # of the bound, that plans may use: sizes differ from piece to piece
_FEWEST_WORKS: Final = 1_024
_FEWEST_HASHES: Final = 1 << 20
_ROUNDED: Final = 50 * MEGABYTE

_STATM: Final = Path("/proc/self/statm")
_M_MMAP_THRESHOLD: Final = -3  # of mallopt
_OWN_PAGES: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Plan:
    """What may be in flight."""

    threads: int
    works_a_piece: int
    bound: int | None = None
    """Bytes; None: none was asked for."""

    @classmethod
    def within(
        cls, bound: int, sample: Batch, *, works_a_shard: int, works_a_piece: int, threads: int
    ) -> Self:
        """Return the most that fits a bound; raise `UsageError` where nothing does.

        `sample`: the first works of the frame. Sizes are halved before threads are given up.
        """
        release()
        height = max(1, sample.frame.height)
        a_work = _A_WORK + _TEXTS * sample.frame.estimated_size() / height
        kept: int = sample.kept.nbytes
        fixed = held() + _SHARDS * works_a_shard * (_A_ROW + kept / height)

        def needed(threads: int, works: int) -> float:
            return (fixed + (threads + 1) * works * a_work) / _SPARE

        while needed(threads, works_a_piece) > bound:
            if works_a_piece > _FEWEST_WORKS:
                works_a_piece //= 2
            elif threads > 1:
                threads -= 1
            else:
                least = -(-needed(1, works_a_piece) // _ROUNDED) * _ROUNDED
                raise UsageError(
                    f"--memory {bound / MEGABYTE:,.0f}MB: too little to score this frame in; "
                    f"{least / MEGABYTE:,.0f}MB is enough.\n"
                    "Give that much, or leave the option out."
                )
        return cls(threads, works_a_piece, bound)

    def has_room(self) -> bool:
        """Tell whether more may be begun; what is free is given back to the system first."""
        if self.bound is None or held() < _SPARE * self.bound:
            return True
        release()
        return held() < _SPARE * self.bound


def room_for_loops(bound: int | None, works_a_shard: int) -> bool:
    """Tell whether the compiler of the loops fits a bound too."""
    if bound is None:
        return True
    rows = 2 * _SHARDS * _A_ROW * works_a_shard
    return held() + _LOOPS + _BESIDE_LOOPS + rows < _SPARE * bound


def hashes_held(bound: int) -> int:
    """Return how many hashes of ids may be held at a time."""
    return max(_FEWEST_HASHES, int((_SPARE * bound - held()) / _A_HASH))


def held() -> int:
    """Return the resident memory of this process in bytes; 0 where the system does not tell."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def release() -> None:
    """Give free memory back to the system, where its allocator can be asked to."""
    pa.default_memory_pool().release_unused()
    _tell_glibc("malloc_trim", 0)


def give_back_at_once() -> None:
    """Let larger pieces of memory go back to the system as soon as they are free: it takes time."""
    _tell_glibc("mallopt", _M_MMAP_THRESHOLD, _OWN_PAGES)


def _tell_glibc(function: str, *arguments: int) -> None:
    """Call a function of glibc's allocator, where it is that one."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(library, function):
        getattr(library, function)(*arguments)
