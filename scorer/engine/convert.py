"""`scorer convert`: from works in any format to a clean frame, once."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scorer.engine.conversion import Conversion, ConvertRequest
from scorer.engine.files import told
from scorer.engine.framefile import FrameFile
from scorer.engine.progress import Progress, Silence
from scorer.engine.remote import Destination
from scorer.frame.frame import Frame, changed, changed_while_read
from scorer.frame.readers.sniff import LABELS

__all__ = ["ConvertReport", "ConvertRequest", "convert"]


@dataclass(frozen=True, slots=True)
class ConvertReport:
    """What was read and written, and what was left out for which reason."""

    frame: str
    format: str
    files: int
    output: str
    size: int
    """Of the output, in bytes."""
    read: int
    """Works; bad records are not among them."""
    written: int
    dropped: Mapping[str, int]
    """Reason -> works; a work counts for the first of its reasons."""
    deleted: int
    """Works that OpenAlex deleted, among those read."""
    merged_away: int | None
    """Works that OpenAlex merged into others; None where no list of them was given."""
    bad_records: int
    columns: Mapping[str, str]
    """Contract column -> where it was found."""
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    limit: int | None
    """How many works were asked for at most."""
    unreadable_years: int
    """Works whose year says something that is no whole number: missing; not counted in Parquet."""
    seconds: float = 0.0


def convert(request: ConvertRequest, progress: Progress | None = None) -> ConvertReport:
    """Write a clean frame; return what was left out. Raises `ScorerError` of the kind that fits."""
    progress = progress or Silence()
    began = time.perf_counter()
    destination = Destination.of(request.output_path())
    anew = request.overwrite or destination.url is not None
    with destination.staged(overwrite=request.overwrite):
        report = _made(replace(request, output=destination.local, overwrite=anew), progress)
        destination.send_alone()
    seconds = round(time.perf_counter() - began, 3)
    return replace(report, output=destination.url or report.output, seconds=seconds)


def _made(request: ConvertRequest, progress: Progress) -> ConvertReport:
    """Write the frame in the place where it is made."""
    job = Conversion.prepare(request)
    output = request.output_path()
    if job.source.note:
        progress.note(job.source.note)
    with _folder_beside(output) as folder:
        frame = job.read(folder, progress)
        for note in frame.notes:
            progress.note(note)
        job.check(frame)
        selection = job.selection(frame)
        columns = job.columns(frame)
        with FrameFile(output, folder, job.kept_schema(frame, columns)) as file:
            written = job.write(frame, columns, selection, file, progress)
            _check_unchanged(frame)
            size = file.publish()
        job.put_aside(folder, frame, progress)
    return ConvertReport(
        frame=str(request.frame),
        format=LABELS[job.source.kind],
        files=len(job.source.found),
        output=str(output),
        size=size,
        read=job.works(frame),
        written=written,
        dropped=selection.dropped,
        deleted=selection.deleted,
        merged_away=None if selection.merged is None else selection.merged_away,
        bad_records=frame.skipped,
        columns=dict(frame.columns),
        kept=job.kept(columns),
        notes=tuple(filter(None, (job.source.note, *frame.notes))),
        limit=request.limit,
        unreadable_years=frame.unreadable_years,
    )


@contextmanager
def _folder_beside(output: Path) -> Iterator[Path]:
    """Yield a folder for what is in the making, on the output's disk; it is removed at the end."""
    with told(output):
        folder = tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent)
    with folder as name:
        yield Path(name)


def _check_unchanged(frame: Frame) -> None:
    if (other := changed(frame.files)) is not None:
        raise changed_while_read(other)
