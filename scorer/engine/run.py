"""`scorer run`: from a frame file to a scored file and its manifest."""

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from scorer.engine.checkpoint import Checkpoint
from scorer.engine.counts import Tally
from scorer.engine.files import sha256, told, write_atomically
from scorer.engine.job import Job, RunRequest
from scorer.engine.local import in_order
from scorer.engine.manifest import Output, RunManifest, Source, manifest_path, software
from scorer.engine.output import OutputFile
from scorer.engine.progress import Progress, Silence
from scorer.errors import InputError, OutputError
from scorer.frame.ids import check_ids
from scorer.status import score_status


def run(request: RunRequest, progress: Progress | None = None) -> RunManifest:
    """Score a frame; return the manifest that now lies beside the output.

    Raises `ScorerError` of the kind that fits; an interrupted run leaves its finished parts, and
    the same request goes on from them to the same bytes.
    """
    progress = progress or Silence()
    started, clock = datetime.now(UTC), time.perf_counter()
    job = Job.prepare(request)
    output = request.output_path()
    parts = Checkpoint(output.with_name(output.name + ".parts"), job.fingerprint())
    _check_output(output, parts.folder, overwrite=request.overwrite)
    tally = Tally(job.student.manifest.targets)
    with parts, ThreadPoolExecutor(1) as aside, OutputFile(output, job.schema) as file:
        source_hash = aside.submit(sha256, request.frame)
        if parts.set_aside:
            progress.note(f"{parts.folder.name}: parts of another job were dropped.")
        resumed = _take_over(parts, file, tally)
        if resumed:
            progress.note(f"{resumed:,} works were scored before; going on from there.")
        else:
            check_ids(lambda: job.frame.ids(request.limit), job.works, request.frame.name)
        progress.start(job.works, resumed)
        _score(job, parts, file, tally, progress)
        source = _source(job, source_hash)
        with told(output):
            manifest_path(output).unlink(missing_ok=True)
        file.publish()
        seconds = time.perf_counter() - clock
        manifest = RunManifest(
            score_status=score_status(
                job.student.version, mature=job.student.manifest.maturity.passed
            ),
            model_version=job.student.version,
            model_licence=job.student.manifest.licence,
            attribution=job.student.manifest.training.attribution,
            policy_version=job.policy.version,
            mode=request.mode,
            counts=tally.counts(),
            output=Output(name=output.name, size=output.stat().st_size, sha256=sha256(output)),
            sources=(source,),
            columns=dict(job.frame.columns),
            targets=job.student.manifest.targets,
            policy=job.policy,
            software=software(),
            started=started.isoformat(timespec="seconds"),
            wall_seconds=round(seconds, 3),
            works_a_second=round((job.works - resumed) / seconds, 1),
            resumed_rows=resumed,
        )
        with told(output):
            write_atomically(
                manifest_path(output), (manifest.model_dump_json(indent=2) + "\n").encode()
            )
        parts.remove()
    return manifest


def usable_threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_output(output: Path, parts: Path, *, overwrite: bool) -> None:
    if not output.parent.is_dir():
        raise OutputError(
            f"{output.parent}: no such folder. Make it first, or choose -o elsewhere."
        )
    # Without its manifest, and with parts, an output is the end of a run that was cut off there.
    finished = manifest_path(output).exists() or not parts.exists()
    if output.exists() and finished and not overwrite:
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
