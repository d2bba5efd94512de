"""What each stage of scoring costs: processor time a work, by the engine's own functions."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.checkpoint import Checkpoint
from scorer.engine.files import file_hash
from scorer.engine.job import Job
from scorer.engine.output import OutputFile
from scorer.engine.part import Part
from scorer.engine.rowgroups import row_group
from scorer.frame.contract import text
from scorer.frame.ids import check_ids
from scorer.frame.parquet import Batch
from scorer.frame.text import plain_text
from scorer.student.encoded import EncodedWorks
from scorer.student.ngrams import RUNNING_TEXT
from scorer.student.session import Scores

_LEAST_SECONDS: Final = 0.25
"""How long each stage is repeated for: the clock of processor time may tick a hundredth."""
_OUTPUT: Final = "stages.parquet"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage, and the processor time that it takes, all threads of the process together."""

    name: str
    what: str
    microseconds: float
    """A work."""


def stages(job: Job, folder: Path) -> tuple[Stage, ...]:
    """Time the stages of a job on its first shard, one shard at a time, in their order.

    What is written goes to `folder`. A stage's time is the least of some repetitions: what comes on
    top is the machine's other work.
    """
    shard = next(job.shards(0))
    batches = [
        shard.frame[at : at + job.works_a_batch]
        for at in range(0, shard.frame.height, job.works_a_batch)
    ]
    student, works = job.student, shard.frame.height
    texts = [name for name in RUNNING_TEXT if name in student.manifest.encoder.fields()]
    known = _Known([student.encoder.encode(batch) for batch in batches])
    known.scores = [student.session.score(ids, shares=False) for ids in known.encoded]
    knowing = replace(job, student=replace(student, encoder=known, session=known))
    name = job.frame.files[0].name

    def clean() -> None:
        for batch in batches:
            for column in texts:
                plain_text(text(batch, column))

    spent = {
        "check": _least(lambda: check_ids(lambda: job.frame.ids(works), works, name)),
        "read": _least(lambda: _read(job)) * works / job.works,
        "clean": _least(clean),
        "encode": _least(lambda: [student.encoder.encode(batch) for batch in batches]),
        "score": _least(
            lambda: [student.session.score(ids, shares=False) for ids in known.encoded]
        ),
        "part": _least(lambda: knowing.part(shard)),
    }
    made, written = _writing(job, knowing.part(shard), folder)
    spent |= {
        "encode": max(0.0, spent["encode"] - spent["clean"]),
        "call": max(0.0, spent["part"] - made),
        "write": made + written,
    }
    return tuple(
        Stage(stage, what, round(spent[stage] / works * 1e6, 3)) for stage, what in _WHAT.items()
    )


_WHAT: Final = {
    "check": "ids: none null, none twice",
    "read": "columns of the Parquet file, its sha256",
    "clean": "markup, entities, mojibake, NFKC",
    "encode": "tokens to n-grams to ids",
    "score": "sums and scores of all outputs",
    "call": "policy, axes, status, columns of the row",
    "write": "counts, Parquet, finished part, sha256",
}


@dataclass(slots=True)
class _Known:
    """An encoder and a session that know the answers, so that all else is left to time."""

    encoded: list[EncodedWorks]
    scores: list[Scores] = field(default_factory=list)
    _turn: int = -1

    def encode(self, frame: pl.DataFrame) -> EncodedWorks:
        """Return what the next batch gave."""
        self._turn = (self._turn + 1) % len(self.encoded)
        assert len(self.encoded[self._turn].offsets) == frame.height + 1
        return self.encoded[self._turn]

    def score(self, works: EncodedWorks, *, shares: bool = True) -> Scores:
        """Return the scores of the batch that was last encoded."""
        assert works is self.encoded[self._turn]
        return self.scores[self._turn]


def _read(job: Job) -> list[Batch]:
    for file in job.frame.files:
        file_hash(file)
    return list(job.shards(0))


def _writing(job: Job, part: Part, folder: Path) -> tuple[float, float]:
    """Return what it takes to encode and count a part, and to put it in two files."""
    table = pq.read_table(pa.BufferReader(part.content)).cast(job.schema)
    made = _least(lambda: Part.of(table, job.targets, job.decision.mode))
    output = folder / _OUTPUT
    with Checkpoint(output.with_name(output.name + ".parts"), job.fingerprint()) as parts:
        parts.claim()
        with OutputFile(output, parts.folder, job.schema) as file:

            def write() -> None:
                parts.save(0, part.content)
                file.append(row_group(part.content, job.schema))

            written = _least(write)
            file.finish()
            file.publish()
        parts.remove()
    output.unlink()
    return made, written


def _least(work: Callable[[], object]) -> float:
    """Return the processor seconds of one call: the least of some, after one that warms up."""
    work()
    found: list[float] = []
    until = time.process_time() + _LEAST_SECONDS
    while not found or time.process_time() < until:
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)
