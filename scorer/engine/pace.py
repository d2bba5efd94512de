"""How fast a student scores works of a frame on this machine: measured, not guessed."""

import time
from dataclasses import dataclass
from typing import Final

import polars as pl

from scorer.engine.batch import score_batch
from scorer.engine.job import default_policy, least_for_loops
from scorer.engine.local import in_order, usable_threads
from scorer.student.bundle import Student

_WORKS_MEASURED: Final = 4_096
"""For each processor. Fewer would time how scoring starts up rather than how it runs."""
_SLOW_WORKS_MEASURED: Final = 256
"""Of a transformer's: a second."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What was measured, and what follows for the whole frame."""

    model: str
    works_a_second: float
    processors: int
    seconds: float
    """For the whole frame; reading and writing take some more."""


def measured(sample: pl.DataFrame, works: int, student: Student) -> Pace | None:
    """Score a sample of a frame of `works` works; None where there is none.

    `sample`: as many works as there are at hand; a small frame's are scored again and again.
    """
    if sample.is_empty():
        return None
    if works >= least_for_loops(student):
        student = student.compiled()  # as a run would
    threads = usable_threads()
    each = _SLOW_WORKS_MEASURED if student.is_slow else _WORKS_MEASURED
    wanted = each * threads
    enough = pl.concat([sample] * -(-wanted // sample.height))[:wanted]
    policy = default_policy(student)
    shards = [enough[at : at + each] for at in range(0, wanted, each)]
    score_batch(shards[0][:64], student, policy)  # the first call warms things up

    def score(shard: pl.DataFrame) -> int:
        return score_batch(shard, student, policy).height

    began = time.perf_counter()
    scored = sum(in_order(score, shards, threads))
    pace = scored / (time.perf_counter() - began)
    return Pace(student.version, round(pace, 1), threads, round(works / pace, 3))
