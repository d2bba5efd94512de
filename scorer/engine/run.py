"""`scorer run`: from a frame file to a scored file and its manifest."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from scorer.engine.checkpoint import Checkpoint
from scorer.engine.counts import Tally
from scorer.engine.files import file_hash, told, write_atomically
from scorer.engine.job import Job, RunRequest
from scorer.engine.local import in_order, usable_threads
from scorer.engine.manifest import (
    RunManifest,
    Source,
    manifest_path,
    read_manifest,
    software,
)
from scorer.engine.output import OutputFile
from scorer.engine.place import check_place, exists_already
from scorer.engine.progress import Progress, Silence
from scorer.engine.remote import Destination
from scorer.engine.rowgroups import row_group
from scorer.errors import InputError, OutputError
from scorer.frame.frame import changed
from scorer.frame.ids import check_ids
from scorer.frame.readers.base import BadRecords
from scorer.frame.source import SPOOL_NOTES
from scorer.status import score_status

SKIPPED_FILE: Final = "skipped.tsv"
"""What the list of records that could not be read is called, after the output's name."""


def run(request: RunRequest, progress: Progress | None = None) -> RunManifest:
    """Score a frame; return the manifest that now lies beside the output.

    Raises `ScorerError` of the kind that fits; an interrupted run leaves its finished parts, and
    the same request goes on from them to the same bytes.
    """
    progress = progress or Silence()
    clock = _Clock()
    destination = Destination.of(request.output_path())
    output = destination.local
    if destination.url is None:
        check_place(output, Path(request.frame))
    anew = request.overwrite or destination.url is not None
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
    if job.source.note:
        progress.note(job.source.note)
    job = _readable(job, parts, progress)
    manifest = _write(job, parts, progress, clock)
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


def _write(job: Job, parts: Checkpoint, progress: Progress, clock: _Clock) -> RunManifest:
    """Write the output; return its manifest, which is still to be written."""
    request, output = job.request, job.request.output_path()
    tally = Tally(job.targets, job.decision.mode)
    with ThreadPoolExecutor(1) as aside, OutputFile(output, parts.folder, job.schema) as file:
        hashes = aside.submit(_hashes, job)
        resumed = _take_over(job, parts, file, tally)
        if resumed:
            progress.note(f"{resumed:,} works were scored before; going on from there.")
        else:
            name = Path(request.frame).name
            check_ids(lambda: job.frame.ids(request.limit), job.works, name)
        progress.start(job.works, resumed)
        _score(job, parts, file, tally, progress)
        sources = _sources(job, hashes)
        if tally.rows != job.works:
            raise OutputError(
                f"{parts.folder}: the parts hold {tally.rows:,} works, the frame has "
                f"{job.works:,}; nothing was written.\nDelete that folder and start again."
            )
        file.finish()
        with told(output):
            manifest_path(output).unlink(missing_ok=True)
        written = file.publish()
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
        direct=job.decision.direct_sources(job.works),
        excluded=job.decision.excluded_source(),
        columns=dict(job.frame.columns),
        columns_not_found=tuple(job.columns_not_found()),
        kept=tuple(job.frame.kept_schema().names),
        limit=request.limit,
        targets=student.targets,
        policy=job.decision.policy,
        job=job.fingerprint(),
        software=software(),
        started=clock.started.isoformat(timespec="seconds"),
        wall_seconds=round(seconds, 3),
        works_a_second=round((job.works - resumed) / seconds, 1),
        resumed_rows=resumed,
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


def _take_over(job: Job, parts: Checkpoint, file: OutputFile, tally: Tally) -> int:
    """Take over the parts of an earlier run; return how many works they hold."""
    for content in parts.load(parts.done()):
        part = job.known_part(content)
        file.append(row_group(part.content, job.schema))
        tally.merge(part.tally)
    return tally.rows


def _score(job: Job, parts: Checkpoint, file: OutputFile, tally: Tally, progress: Progress) -> None:
    """Score what is left, part by part, each safe on disk before it is counted."""
    done = parts.done()
    scored = in_order(job.part, job.shards(done), job.request.threads or usable_threads())
    for index, part in enumerate(scored, start=done):
        parts.save(index, part.content)
        file.append(row_group(part.content, job.schema))
        tally.merge(part.tally)
        progress.advance(part.tally.rows)


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
            parts.folder, bad, progress.read, job.request.limit, deinverted=True
        )
    if frame.skipped:
        aside = job.request.output_path()
        aside = aside.with_name(f"{aside.name}.{SKIPPED_FILE}")
        if skipped.exists():
            skipped.replace(aside)
        many = "1 record" if frame.skipped == 1 else f"{frame.skipped:,} records"
        progress.note(f"{many} could not be read, kept aside in {aside.name}.")
    for note in frame.notes:
        progress.note(note)
    return job.reading(frame)


def _hashes(job: Job) -> list[str]:
    return [file_hash(file) for file in job.frame.files]


def _sources(job: Job, hashes: "Future[list[str]]") -> tuple[Source, ...]:
    """Describe the frame's files; raise `InputError` where one is no longer what was read."""
    files = job.frame.files
    found = tuple(
        Source(name=Path(file.name).name, size=file.size, rows=rows, sha256=digest)
        for file, rows, digest in zip(files, job.frame.file_rows(), hashes.result(), strict=True)
    )
    if (other := changed(files)) is not None:
        raise InputError(
            f"{other.name}: changed while it was read; no output was written.\n"
            "Give the command again when the file is finished."
        )
    return found
