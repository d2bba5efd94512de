"""`scorer bench`: how fast this machine scores a frame, measured by scoring works of it."""

import math
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from scorer.engine.bench_sample import drawn, sample_frame, varied, write_repeated
from scorer.engine.bench_stages import Stage, stages
from scorer.engine.bench_trial import Trial
from scorer.engine.files import told
from scorer.engine.job import Job, least_for_loops
from scorer.engine.local import usable_threads
from scorer.engine.progress import Progress, Silence
from scorer.engine.request import RunRequest
from scorer.errors import InputError, OutputError, UsageError
from scorer.frame.frame import Frame
from scorer.frame.readers.base import BadRecords
from scorer.student import DEFAULT_MODEL
from scorer.student.folder import find_bundle, load_manifest

FRAMES: Final = (4_300_000, 250_000_000)
"""Works of the frames that a time is reckoned for besides: the reference team's, OpenAlex."""
OWN_FRAME: Final = "the sample frame"
"""What the frame is called that came with the program."""
MOST_SECONDS: Final = 3_600
_START_WORKS: Final = 1_000
"""Scored to see what a run takes before it runs, where nothing is compiled."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What to measure."""

    frame: Path | str | None = None
    """A file, a folder or a pattern; None: the sample frame that came with the program."""
    model: str = DEFAULT_MODEL
    mapping: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 10
    """About how long the timed run takes; more is steadier."""
    threads: int | None = None
    folder: Path = Path()
    """Where the timed run writes, and leaves nothing: on the disk that outputs will go to."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a frame of so many works would take at the measured pace."""

    works: int
    seconds: float
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Bench:
    """What was measured."""

    frame: str
    works: int | None
    """Of the whole frame; None where that is not known before it is read through."""
    drawn: int
    """Works of the frame that were taken."""
    sample: int
    """Works of the shard that is scored again and again: those drawn, or made of them."""
    scored: int
    """Works that were scored in the timed run."""
    model: str
    compiled: bool
    """Whether the extra `fast` is there, and ran."""
    columns_not_found: tuple[str, ...]
    """Columns that the student reads and the frame lacks: with them it would take longer."""
    works_a_second: float
    """Once it runs: from Parquet to finished output."""
    start_seconds: float
    """What a run takes before that; the interpreter's own start is not in it."""
    seconds: float
    """The timed run, whole."""
    processors: int
    processors_used: float
    """On average, while it ran."""
    processor_microseconds: float
    """A work, while it ran."""
    peak_bytes: int | None
    output_bytes_a_work: float
    reading_a_second: float | None
    """Works a second of reading what is not Parquet, which comes before; None for Parquet."""
    stages: tuple[Stage, ...]
    """One shard at a time, so that they add up to less than a work takes where threads wait."""
    estimates: tuple[Estimate, ...]
    """For the frame, where its works are known, then for `FRAMES`."""


def bench(request: BenchRequest, progress: Progress | None = None) -> Bench:
    """Score works of a frame for about `seconds`; return what that took.

    Raises `InputError` where the frame cannot be read or holds no works, `OutputError` where
    nothing may be written to `folder`.
    """
    progress = progress or Silence()
    if not 0 < request.seconds <= MOST_SECONDS:
        raise UsageError(f"seconds {request.seconds:g}: expected more than 0, at most 3,600.")
    mature = load_manifest(find_bundle(request.model)).maturity.passed
    job = Job.prepare(
        RunRequest(
            frame=request.frame or sample_frame(),
            model=request.model,
            baseline=not mature,
            mapping=request.mapping,
            threads=request.threads,
        )
    )
    try:
        place = tempfile.TemporaryDirectory(prefix="scorer-bench-", dir=request.folder)
    except OSError as error:
        raise OutputError(
            f"{request.folder.resolve()}: cannot be written ({error.strerror}), and the timed run "
            "writes there.\nGive the command in a folder on the disk that outputs will go to."
        ) from error
    with place as name:
        return _measured(request, job, Path(name), progress)


def _measured(request: BenchRequest, job: Job, folder: Path, progress: Progress) -> Bench:
    most = job.works_a_large_shard
    frame, works, reading = _opened(job, folder, most, progress)
    if frame.rows == 0:
        raise InputError(f"{job.request.frame}: holds no works, so there is nothing to measure.")
    works_drawn = drawn(frame, most)
    sample = works_drawn if works_drawn.height == most else varied(works_drawn, most)
    shard = folder / "shard.parquet"
    with told(shard):
        write_repeated(sample, sample.height, shard)
    job = Job.prepare(replace(job.request, frame=shard, mapping={}))
    fast = replace(job, student=job.student.compiled())
    compiled = fast.student.is_compiled
    found = stages(fast, folder)
    cpu = sum(stage.microseconds for stage in found) / 1e6
    few, many = _sizes(request, job, cpu, compiled=compiled)
    progress.start(few + many, 0)
    start = _tried(job, sample, few, progress)
    whole = _tried(job, sample, many, progress)
    steady = _Steady(start, whole)

    def estimate(n: int) -> Estimate:
        seconds = n * steady.seconds / steady.works + n / (reading or math.inf)
        if n >= few:
            seconds += steady.before
        return Estimate(n, round(seconds, 3), round(n * whole.output_bytes / whole.works))

    return Bench(
        frame=str(request.frame or OWN_FRAME),
        works=works,
        drawn=works_drawn.height,
        sample=sample.height,
        scored=whole.works,
        model=job.student.version,
        compiled=compiled,
        columns_not_found=tuple(job.columns_not_found()),
        works_a_second=round(steady.works / steady.seconds, 1),
        start_seconds=round(steady.before, 3),
        seconds=round(whole.seconds, 3),
        processors=request.threads or usable_threads(),
        processors_used=round(steady.processor_seconds / steady.seconds, 2),
        processor_microseconds=round(steady.processor_seconds / steady.works * 1e6, 3),
        peak_bytes=whole.peak_bytes,
        output_bytes_a_work=round(whole.output_bytes / whole.works, 2),
        reading_a_second=reading,
        stages=found,
        estimates=tuple(estimate(n) for n in (*([works] if works else []), *FRAMES)),
    )


def _opened(
    job: Job, folder: Path, most: int, progress: Progress
) -> tuple[Frame, int | None, float | None]:
    """Return the frame or its first works, how many works there are, and the pace of reading.

    Formats other than Parquet are read up to what is needed, so their works may not be known.
    """
    if job.known_frame is not None:
        return job.known_frame, job.known_frame.rows, None
    began = time.perf_counter()
    bad = BadRecords("skip")
    frame = job.source.spool(folder, bad, progress.read, most, deinverted=True)
    pace = frame.rows / (time.perf_counter() - began)
    return frame, frame.rows if frame.rows < most else None, round(pace, 1)


def _sizes(request: BenchRequest, job: Job, cpu: float, *, compiled: bool) -> tuple[int, int]:
    """Return how many works to score to see the start, and how many to see the pace.

    Both are enough for compiled loops to be used, as they would be for a large frame. `cpu`:
    processor seconds a work.
    """
    few = least_for_loops(job.student) if compiled else _START_WORKS
    pace = (request.threads or usable_threads()) / cpu
    return few, max(2 * few, math.ceil(pace * request.seconds))


def _tried(job: Job, sample: pl.DataFrame, works: int, progress: Progress) -> Trial:
    """Time a run on so many works, beside the job's frame."""
    folder = Path(job.request.frame).parent
    frame, output = folder / "works.parquet", folder / "works.scored.parquet"
    with told(frame):
        write_repeated(sample, works, frame)
    done = 0

    def say(so_far: int) -> None:
        nonlocal done
        progress.advance(so_far - done)
        done = so_far

    return Trial.of(replace(job.request, frame=frame, output=output, overwrite=True), say)


@dataclass(frozen=True, slots=True)
class _Steady:
    """A run once it runs: what a long one took more than a short one."""

    start: Trial
    whole: Trial

    @property
    def works(self) -> int:
        """Works of the long run alone."""
        return self.whole.works - self.start.works

    @property
    def seconds(self) -> float:
        """The time of these."""
        return self._more(self.start.seconds, self.whole.seconds)

    @property
    def processor_seconds(self) -> float:
        """The processor time of these."""
        return self._more(self.start.processor_seconds, self.whole.processor_seconds)

    def _more(self, start: float, whole: float) -> float:
        """Return what the long run took more; its works' share, where the short one met trouble."""
        return whole - start if whole > start else whole * self.works / self.whole.works

    @property
    def before(self) -> float:
        """What the short run took besides scoring, in seconds."""
        return max(0.0, self.start.seconds - self.start.works * self.seconds / self.works)
