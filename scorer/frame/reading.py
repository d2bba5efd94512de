"""Reading some files of a frame through, once, into one Parquet file: what to do, what came of it.

A frame is read by one such task or by several, here or in other processes (processes.py): the same
tasks either way, so that the works come in the same order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from scorer.errors import InputError
from scorer.frame.files import FrameFile
from scorer.frame.readers.base import Asked, BadRecords, OnBad, Piece
from scorer.frame.readers.registry import READERS
from scorer.frame.readers.sniff import LABELS, sniff
from scorer.frame.spool import Named, Spool


class Task(msgspec.Struct, frozen=True):
    """What to read of some files, and where to."""

    target: Path
    """The Parquet file; beside it go the outcome (.json) and skipped records (.tsv)."""
    kind: str
    """What the files hold, as `sniff` calls it."""
    first: str
    """The first file of the frame, whose kind that is."""
    wanted: Sequence[str]
    mapping: Mapping[str, str]
    keep: Sequence[str]
    on_bad: OnBad
    limit: int | None
    """Works after which to stop."""
    deinverted: bool
    """Whether an inverted index becomes the abstract."""

    @property
    def skipped(self) -> Path:
        """Where records that could not be read are listed."""
        return self.target.with_suffix(".tsv")


class Outcome(msgspec.Struct, frozen=True):
    """What was read."""

    rows: int
    first: Named
    """Of the files that were read."""
    skipped: int
    notes: list[str]
    unreadable_years: int = 0


Order = tuple[Task, Sequence[FrameFile]]
"""A task and the files that it reads."""


def read(task: Task, files: Sequence[FrameFile], say: Callable[[int], None]) -> Outcome:
    """Do a task, unless it was done before; `say` is told how many works there are so far.

    The Parquet file is there whole or not at all, the outcome after it. Raises `InputError` for
    what cannot be read.
    """
    done = task.target.with_suffix(".json")
    if done.exists():
        return msgspec.json.decode(done.read_bytes(), type=Outcome)
    task.skipped.unlink(missing_ok=True)
    bad = BadRecords(task.on_bad, task.skipped)
    with Spool(task.target, task.wanted, task.keep, bad, deinverted=task.deinverted) as spool:
        for name, piece in _pieces(task, files, bad):
            say(spool.add(name, piece))
            if task.limit is not None and spool.rows >= task.limit:
                break
        outcome = Outcome(spool.rows, spool.close(), bad.count, spool.notes, spool.unreadable_years)
    waiting = task.target.with_suffix(".tmp")
    waiting.write_bytes(msgspec.json.encode(outcome))
    waiting.replace(done)
    return outcome


def _pieces(task: Task, files: Sequence[FrameFile], bad: BadRecords) -> Iterator[tuple[str, Piece]]:
    asked = Asked(tuple(task.wanted), task.mapping, tuple(task.keep), bad)
    for file in files:
        told = sniff(file)
        if told.kind != task.kind:
            raise mixed_formats(file.name, told.kind, task.first, task.kind)
        for piece in READERS[told.kind](file, told.compression, asked):
            yield file.name, piece


def mixed_formats(name: str, kind: str, first: str, first_kind: str) -> InputError:
    """Return the error for a file of another format than the first of its frame."""
    return InputError(
        f"{name}: holds {LABELS[kind]}, {first} holds {LABELS[first_kind]}.\n"
        "A frame has one format: name the files of each by a pattern, such as 'FOLDER/*.parquet'."
    )
