"""`scorer run`: from a frame file to a scored file and its manifest."""

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scorer.engine.checkpoint import Checkpoint
from scorer.engine.counts import Tally
from scorer.engine.files import sha256, told, write_atomically
from scorer.engine.job import Job, RunRequest
from scorer.engine.local import in_order
from scorer.engine.manifest import (
    Output,
    RunManifest,
    Source,
    manifest_path,
    read_manifest,
    software,
)
from scorer.engine.output import OutputFile
from scorer.engine.progress import Progress, Silence
from scorer.errors import InputError, OutputError, UsageError
from scorer.frame.ids import check_ids
from scorer.status import score_status


def run(request: RunRequest, progress: Progress | None = None) -> RunManifest:
    """Score a frame; return the manifest that now lies beside the output.

    Raises `ScorerError` of the kind that fits; an interrupted run leaves its finished parts, and
    the same request goes on from them to the same bytes.
    """
    progress = progress or Silence()
    clock = _Clock()
    _check_place(request)
    job = Job.prepare(request)
    output = request.output_path()
    with Checkpoint(output.with_name(output.name + ".parts"), job.fingerprint()) as parts:
        _check_output(request, parts)
        if parts.claim():
            progress.note(f"{parts.folder.name}: parts of another job were dropped.")
        manifest = _write(job, parts, progress, clock)
        with told(output):
            write_atomically(
                manifest_path(output), (manifest.model_dump_json(indent=2) + "\n").encode()
            )
        parts.remove()
    return manifest


@dataclass(frozen=True, slots=True)
class _Clock:
    """When a run began."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    began: float = field(default_factory=time.perf_counter)


def _write(job: Job, parts: Checkpoint, progress: Progress, clock: _Clock) -> RunManifest:
    """Write the output; return its manifest, which is still to be written."""
    request, student, output = job.request, job.student, job.request.output_path()
    tally = Tally(student.manifest.targets)
    with ThreadPoolExecutor(1) as aside, OutputFile(output, parts.folder, job.schema) as file:
        source_hash = aside.submit(sha256, request.frame)
        resumed = _take_over(parts, file, tally)
        if resumed:
            progress.note(f"{resumed:,} works were scored before; going on from there.")
        else:
            check_ids(lambda: job.frame.ids(request.limit), job.works, request.frame.name)
        progress.start(job.works, resumed)
        _score(job, parts, file, tally, progress)
        source = _source(job, source_hash)
        if tally.counts().rows != job.works:
            raise OutputError(
                f"{parts.folder}: the parts hold {tally.counts().rows:,} works, the frame has "
                f"{job.works:,}; nothing was written.\nDelete that folder and start again."
            )
        file.finish()
        with told(output):
            manifest_path(output).unlink(missing_ok=True)
        file.publish()
    output_file = Output(name=output.name, size=output.stat().st_size, sha256=sha256(output))
    seconds = time.perf_counter() - clock.began
    return RunManifest(
        score_status=score_status(student.version, mature=student.manifest.maturity.passed),
        model_version=student.version,
        model_licence=student.manifest.licence,
        attribution=student.manifest.training.attribution,
        policy_version=job.policy.version,
        mode=request.mode,
        counts=tally.counts(),
        output=output_file,
        sources=(source,),
        columns=dict(job.frame.columns),
        columns_not_found=tuple(job.columns_not_found()),
        kept=tuple(job.frame.kept_schema().names),
        limit=request.limit,
        targets=student.manifest.targets,
        policy=job.policy,
        job=job.fingerprint(),
        software=software(),
        started=clock.started.isoformat(timespec="seconds"),
        wall_seconds=round(seconds, 3),
        works_a_second=round((job.works - resumed) / seconds, 1),
        resumed_rows=resumed,
    )


def usable_threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_place(request: RunRequest) -> None:
    """Raise unless the output can lie where it should, apart from what lies there already."""
    output = request.output_path()
    if output.is_dir():
        raise OutputError(f"{output}: a folder; name the file to write, for instance with -o.")
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: not a plain file, so it is not replaced. Choose another -o.")
    if not output.parent.is_dir():
        raise OutputError(
            f"{output.parent}: no such folder. Make it first, or choose -o elsewhere."
        )
    if output.exists() and request.frame.exists() and output.samefile(request.frame):
        raise UsageError(f"{output}: the frame itself cannot be the output. Choose another -o.")


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
        raise OutputError(
            f"{output}: exists already. Choose another output with -o, or say --overwrite."
        )


def _take_over(parts: Checkpoint, file: OutputFile, tally: Tally) -> int:
    """Take over the parts of an earlier run; return how many works they hold."""
    works = 0
    for part in parts.load(parts.done()):
        file.append(part)
        tally.add(part)
        works += part.num_rows
    return works


def _score(job: Job, parts: Checkpoint, file: OutputFile, tally: Tally, progress: Progress) -> None:
    """Score what is left, part by part, each safe on disk before it is counted."""
    done = parts.done()
    scored = in_order(job.part, job.shards(done), job.request.threads or usable_threads())
    for index, part in enumerate(scored, start=done):
        parts.save(index, part)
        file.append(part)
        tally.add(part)
        progress.advance(part.num_rows)


def _source(job: Job, source_hash: "Future[str]") -> Source:
    """Describe the frame's file; raise `InputError` where it is no longer the one that was read."""
    found = Source(
        name=job.request.frame.name,
        size=job.frame.stamp[0],
        rows=job.frame.rows,
        sha256=source_hash.result(),
    )
    if not job.frame.unchanged():
        raise InputError(
            f"{job.request.frame}: changed while it was read; no output was written.\n"
            "Give the command again when the file is finished."
        )
    return found
