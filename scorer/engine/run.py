"""`scorer run`: from a frame file to a scored file and its manifest."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from scorer.counted import counted
from scorer.engine.checkpoint import Checkpoint
from scorer.engine.counts import Tally
from scorer.engine.executor import Executor, executor
from scorer.engine.files import file_hash, told, write_atomically
from scorer.engine.interrupt import deferred
from scorer.engine.job import Job
from scorer.engine.local import usable_threads
from scorer.engine.manifest import (
    RunManifest,
    SkippedShard,
    Source,
    manifest_path,
    read_manifest,
)
from scorer.engine.memory import give_back_at_once
from scorer.engine.output import OutputFile
from scorer.engine.part import Part
from scorer.engine.place import check_place, exists_already
from scorer.engine.progress import Progress, Silence, told_if_long
from scorer.engine.ready import made_ready
from scorer.engine.refine import refine
from scorer.engine.remote import Destination
from scorer.engine.request import RunRequest
from scorer.engine.rowgroups import row_group
from scorer.errors import OutputError
from scorer.frame.files import short_names
from scorer.frame.frame import changed, changed_while_read, unreadable_years
from scorer.frame.readers.base import BadRecords
from scorer.frame.source import SPOOL_NOTES
from scorer.status import score_status

_OPENING: Final = "Opening student and frame."
SKIPPED_FILE: Final = "skipped.tsv"
"""What the list of records that could not be read is called, after the output's name."""


def run(request: RunRequest, progress: Progress | None = None) -> RunManifest:
    """Score a frame; return the manifest that now lies beside the output.

    Raises `ScorerError` of the kind that fits; an interrupted run leaves its finished parts, and
    the same request goes on from them to the same bytes.
    """
    progress = progress or Silence()
    clock = _Clock()
    if request.memory is not None:
        give_back_at_once()
    destination = Destination.of(request.output_path())
    output = destination.local
    if destination.url is None:
        for source in request.inputs():
            check_place(output, source)
    anew = request.overwrite or destination.url is not None
    with told_if_long(progress, _OPENING):
        job = Job.prepare(replace(request, output=output, overwrite=anew))
    with (
        destination.staged(overwrite=request.overwrite),
        Checkpoint(output.with_name(output.name + ".parts"), job.fingerprint()) as parts,
    ):
        manifest = destination.finished(job.fingerprint())  # by a run that could not send it
        if manifest is None:
            manifest = _made(job, parts, progress, clock)
        destination.send()
        parts.remove()
    return manifest


def _made(job: Job, parts: Checkpoint, progress: Progress, clock: "_Clock") -> RunManifest:
    """Write the output and its manifest, in the place where they are made."""
    output = job.request.output_path()
    _check_output(job.request, parts)
    if parts.claim():
        progress.note(f"{parts.folder.name}: parts of another job were dropped.")
    if job.provider != job.request.provider:
        progress.note(
            f"{job.student.version}: an n-gram student, which runs on the processor; --provider "
            f"{job.request.provider} changes nothing."
        )
    if job.source.note:
        progress.note(job.source.note)
    with executor(job.request, progress) as engine:
        job = _readable(job, parts, progress)
        manifest = _write(job, engine, parts, progress, clock)
    with told(output):
        write_atomically(
            manifest_path(output), (manifest.model_dump_json(indent=2) + "\n").encode()
        )
    return manifest


@dataclass(frozen=True, slots=True)
class _Clock:
    """When a run began."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    began: float = field(default_factory=time.perf_counter)


@dataclass(slots=True)
class _Growing:
    """An output in work: its file, and what its rows say.

    Without a file, what a first stage has come to: its parts are kept for the second.
    """

    file: OutputFile | None
    schema: pa.Schema
    tally: Tally
    parts: int = 0
    skipped: list[SkippedShard] = field(default_factory=list)

    def add(self, part: Part) -> int:
        """Append a part; return how many works it accounts for."""
        if self.file is not None:
            self.file.append(row_group(part.content, self.schema))
        self.tally.merge(part.tally)
        self.parts += 1
        if (skipped := part.skipped) is None:
            return part.tally.rows
        self.skipped.append(skipped)
        return skipped.works

    @property
    def works(self) -> int:
        """Works of the frame that are accounted for."""
        return self.tally.rows + sum(shard.works for shard in self.skipped)


def _write(
    job: Job, engine: Executor, parts: Checkpoint, progress: Progress, clock: _Clock
) -> RunManifest:
    """Write the output; return its manifest, which is still to be written."""
    request, output = job.request, job.request.output_path()
    with _hashed(job) as hashes, OutputFile(output, parts.folder, job.schema) as file:
        made = _Growing(file, job.schema, Tally(job.targets, request.mode))
        first = made
        if job.refining is not None:
            first = _Growing(None, job.schema, Tally(job.targets, request.mode))
        _take_over(job, parts, first)
        resumed = first.works
        if resumed:
            progress.note(f"{resumed:,} works were scored before; going on from there.")
        job = made_ready(job, engine, progress, checked=resumed > 0)
        progress.start(job.works, resumed)
        _score(job, engine, parts, first, progress)
        refined = None
        if job.refining is not None:
            _check_whole(job, parts, first)
            refined = refine(job, engine, parts, first.tally, progress, add=made.add)
        sources = _sources(job, hashes)
        _check_whole(job, parts, made)
        file.finish()
        parts.check_held()
        with told(output):
            manifest_path(output).unlink(missing_ok=True)
        written = file.publish()
    tally = made.tally
    seconds = time.perf_counter() - clock.began
    student = job.student.manifest
    return RunManifest(
        score_status=score_status(student.version, mature=student.maturity.passed),
        model_version=student.version,
        model_licence=student.licence,
        attribution=student.training.attribution,
        policy_version=job.decision.policy.version,
        mode=request.mode,
        counts=tally.counts(),
        output=written,
        sources=sources,
        frame=sources,
        skipped_records=job.frame.skipped,
        skipped_shards=tuple(made.skipped),
        direct=job.decision.direct_sources(tally.rows),
        excluded=job.decision.excluded_source(),
        columns=dict(job.frame.columns),
        columns_not_found=tuple(job.columns_not_found()),
        kept=tuple(job.frame.kept_schema().names),
        limit=request.limit,
        targets=student.targets,
        policy=job.decision.policy,
        refined=refined,
        job=job.fingerprint(),
        software=job.software,
        provider=job.provider,
        started=clock.started.isoformat(timespec="seconds"),
        wall_seconds=round(seconds, 3),
        works_a_second=round((job.works - resumed) / seconds, 1),
        resumed_rows=resumed,
    )


def _check_whole(job: Job, parts: Checkpoint, made: _Growing) -> None:
    """Raise `OutputError` where parts do not account for every work of the frame."""
    if made.works != job.works:
        raise OutputError(
            f"{parts.folder}: the parts hold {made.works:,} works, the frame has "
            f"{job.works:,}; nothing was written.\nDelete that folder and start again."
        )


def _check_output(request: RunRequest, parts: Checkpoint) -> None:
    """Raise `OutputError` where a finished output is there and may not be replaced."""
    output = request.output_path()
    if not output.exists() or request.overwrite:
        return
    # Without its manifest, and with parts, an output is the end of a run that was cut off there.
    finished = manifest_path(output).exists()
    if finished and parts.job() == read_manifest(output).job:
        parts.remove()  # the run ended, and was cut off while it cleared up
    if finished or parts.job() is None:
        raise exists_already(output)


def _take_over(job: Job, parts: Checkpoint, made: _Growing) -> None:
    """Take over the parts of an earlier run.

    Where shards are not to be skipped, one that was ends them: it is tried again.
    """
    for content in parts.load(parts.done()):
        part = job.known_part(content)
        if part.skipped is not None and job.request.on_bad_shard == "error":
            break
        made.add(part)


def _score(
    job: Job, engine: Executor, parts: Checkpoint, made: _Growing, progress: Progress
) -> None:
    """Score what is left, part by part, each safe on disk before it is counted.

    Raises `KeyboardInterrupt` after the part in work where the user asked to stop.
    """
    done = made.parts
    with deferred(progress) as interrupt, closing(engine.parts(job, done)) as scored:
        for index, part in enumerate(scored, start=done):
            parts.save(index, part.content)
            progress.advance(made.add(part))
            if (skipped := part.skipped) is not None:
                progress.note(
                    f"Rows {skipped.first_row:,} to {skipped.last_row:,} were left out: "
                    f"{skipped.reason}"
                )
            if interrupt.asked:
                raise KeyboardInterrupt


def _readable(job: Job, parts: Checkpoint, progress: Progress) -> Job:
    """Return the job with a frame that can be read from any row: other formats are spooled."""
    if job.known_frame is not None:
        return job
    skipped = parts.folder / SKIPPED_FILE
    if not (parts.folder / SPOOL_NOTES).exists():
        skipped.unlink(missing_ok=True)  # of a reading that was cut off: it begins anew
    bad = BadRecords(job.request.on_bad_record, skipped)
    with told(parts.folder):
        frame = job.source.spool(
            parts.folder,
            bad,
            progress.read,
            job.request.limit,
            deinverted=True,
            processes=1 if job.request.memory else job.request.threads or usable_threads(),
        )
    if frame.skipped:
        aside = job.request.output_path()
        aside = aside.with_name(f"{aside.name}.{SKIPPED_FILE}")
        if skipped.exists():
            skipped.replace(aside)
        progress.note(
            f"{counted(frame.skipped, 'record')} could not be read, kept aside in {aside.name}."
        )
    for note in frame.notes:
        progress.note(note)
    if frame.unreadable_years:
        progress.note(unreadable_years(frame.unreadable_years))
    with told_if_long(progress, _OPENING):
        return job.reading(frame)


@contextmanager
def _hashed(job: Job) -> Iterator["Future[list[str]]"]:
    """Hash the frame's files aside; what ends the work ends that too."""
    over = threading.Event()
    with ThreadPoolExecutor(1) as aside:
        try:
            yield aside.submit(lambda: [file_hash(file, over.is_set) for file in job.frame.files])
        finally:
            over.set()


def _sources(job: Job, hashes: "Future[list[str]]") -> tuple[Source, ...]:
    """Describe the frame's files; raise `InputError` where one is no longer what was read."""
    files = job.frame.files
    found = tuple(
        Source(name=name, size=file.size, rows=rows, sha256=digest)
        for name, file, rows, digest in zip(
            short_names([file.name for file in files]),
            files,
            job.frame.file_rows(),
            hashes.result(),
            strict=True,
        )
    )
    if (other := changed(files)) is not None:
        raise changed_while_read(other)
    return found
