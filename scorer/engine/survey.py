"""`scorer inspect`: what a frame holds, before anything is done with it."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from scorer.engine.files import told
from scorer.engine.local import usable_threads
from scorer.engine.pace import Pace, measured
from scorer.engine.progress import Progress, Silence
from scorer.engine.run import SKIPPED_FILE
from scorer.engine.tally import Tally
from scorer.errors import InputError, UsageError
from scorer.frame.contract import NATIVE_NAMES
from scorer.frame.frame import Frame, changed
from scorer.frame.readers.base import BadRecords
from scorer.frame.readers.sniff import LABELS, sniff
from scorer.frame.readers.streams import COMPRESSIONS
from scorer.frame.repeated import null_ids, repeated_ids
from scorer.frame.source import FrameSource
from scorer.student import DEFAULT_MODEL
from scorer.student.bundle import Student, load_student
from scorer.student.folder import find_bundle

_BATCH: Final = 16_384  # works; with abstracts 25 MB of text
_SHOWN: Final = 5
_INVERTED: Final = "abstract_inverted_index"


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """What to look at."""

    frame: Path | str
    """A file, a folder or a pattern."""
    model: str = DEFAULT_MODEL
    """Whose columns and pace to look at."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids that are not as they must be."""

    null: int
    null_rows: tuple[int, ...]
    """The first five, counted from 0."""
    duplicate: int
    """Ids that occur more than once."""
    duplicates: Mapping[str, int]
    """The first five -> how often each occurs."""


@dataclass(frozen=True, slots=True)
class OddTitles:
    """Titles of one kind that are no titles."""

    kind: str
    works: int
    examples: tuple[tuple[str | None, str], ...]
    """(id, title) of the first three."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a frame holds."""

    frame: str
    format: str
    compression: str | None
    files: int
    size: int
    """Of all files, in bytes."""
    notes: tuple[str, ...]
    limit: int | None
    """How many works were asked for at most."""
    rows: int
    bad_records: int
    bad_examples: tuple[str, ...]
    """The first five: file, where, why."""
    columns: Mapping[str, str]
    """Contract column -> where it was found."""
    filled: Mapping[str, int]
    """Contract column -> works where it is neither null nor empty."""
    student_lacks: tuple[str, ...]
    """Columns that the student reads and the frame lacks."""
    languages: Mapping[str, int]
    """The commonest first."""
    years: Mapping[int, int]
    """Ascending."""
    unreadable_years: int
    """Works whose year says something that is no whole number; not counted in Parquet."""
    with_abstract: int
    usable_titles: int
    """Titles of more than ten characters, once cleaned: those works can be called."""
    null_titles: int
    odd_titles: tuple[OddTitles, ...]
    ids: Ids
    pace: Pace | None
    """None where nothing could be scored; `pace_note` says why."""
    pace_note: str | None


def survey(request: SurveyRequest, progress: Progress | None = None) -> Survey:
    """Look through a frame; raises `InputError` where it cannot be read at all."""
    progress = progress or Silence()
    if request.limit is not None and request.limit < 0:
        raise UsageError(f"limit {request.limit}: expected 0 or more works.")
    student = load_student(find_bundle(request.model))
    source = FrameSource.find(
        request.frame, wanted=list(NATIVE_NAMES), mapping=request.mapping, keep=()
    )
    with tempfile.TemporaryDirectory(prefix="scorer-inspect-") as folder:
        frame = _readable(source, Path(folder), request, progress)
        rows = frame.rows if request.limit is None else min(frame.rows, request.limit)
        progress.start(rows, 0)
        tally, sample = _counted(frame, request, progress)
        other = _changed(frame)
        found = Survey(
            frame=str(request.frame),
            format=LABELS[source.kind],
            compression=COMPRESSIONS.get(sniff(source.found[0].file).compression or ""),
            files=len(source.found),
            size=sum(one.file.size for one in source.found),
            notes=tuple(filter(None, (source.note, *frame.notes, other))),
            limit=request.limit,
            rows=rows,
            bad_records=frame.skipped,
            bad_examples=_bad_examples(Path(folder) / SKIPPED_FILE),
            columns=dict(frame.columns),
            filled={name: tally.filled[name] for name in frame.columns},
            student_lacks=_lacks(student, frame),
            languages=dict(tally.languages.most_common()),
            years=dict(sorted(tally.years.items())),
            unreadable_years=frame.unreadable_years,
            with_abstract=tally.with_abstract,
            usable_titles=tally.usable,
            null_titles=tally.null_titles,
            odd_titles=tuple(
                OddTitles(kind, works, tuple(tally.examples[kind]))
                for kind, works in tally.odd.most_common()
            ),
            ids=_ids(frame, rows, request.limit),
            pace=None,
            pace_note=None,
        )
    try:
        return replace(found, pace=measured(sample, rows, student))
    except InputError as error:
        return replace(found, pace_note=str(error))


def _changed(frame: Frame) -> str | None:
    if (file := changed(frame.files)) is None:
        return None
    return f"{file.name}: changed while it was read; told is what was there"


def _readable(
    source: FrameSource, folder: Path, request: SurveyRequest, progress: Progress
) -> Frame:
    if source.is_parquet:
        return source.open()
    # What cannot be read is part of what there is to tell.
    bad = BadRecords("skip", folder / SKIPPED_FILE)
    with told(folder):
        return source.spool(folder, bad, progress.read, request.limit, processes=usable_threads())


def _counted(
    frame: Frame, request: SurveyRequest, progress: Progress
) -> tuple[Tally, pl.DataFrame]:
    """Return what was counted, and the first works."""
    tally, sample = Tally(), pl.DataFrame()
    for batch in frame.batches(_BATCH, limit=request.limit):
        if batch.start == 0:
            sample = batch.frame
        tally.add(batch.frame)
        progress.advance(batch.frame.height)
    return tally, sample


def _ids(frame: Frame, rows: int, limit: int | None) -> Ids:
    nulls = null_ids(lambda: frame.ids(limit))
    repeated = repeated_ids(lambda: frame.ids(limit), rows)
    shown = dict(repeated.head(_SHOWN).iter_rows())
    return Ids(nulls.count, tuple(nulls.rows), repeated.height, shown)


def _lacks(student: Student, frame: Frame) -> tuple[str, ...]:
    found = set(frame.columns) | ({"abstract"} if _INVERTED in frame.columns else set())
    return tuple(name for name in student.manifest.encoder.fields() if name not in found)


def _bad_examples(aside: Path) -> tuple[str, ...]:
    if not aside.exists():
        return ()
    with aside.open(encoding="utf-8") as lines:
        rows = [line.split("\t", 3)[:3] for _, line in zip(range(_SHOWN), lines, strict=False)]
    return tuple(": ".join(row) for row in rows)
