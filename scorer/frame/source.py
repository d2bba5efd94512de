"""From what the user names to a frame: files found, their format told, read at once or spooled."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from scorer.errors import InputError
from scorer.frame.files import LocalFile
from scorer.frame.found import FoundFile, find_files
from scorer.frame.frame import Frame
from scorer.frame.readers.base import Asked, BadRecords, Piece
from scorer.frame.readers.registry import READERS
from scorer.frame.readers.sniff import sniff
from scorer.frame.spool import Spool

PARQUET: Final = "parquet"
SPOOL_FILE: Final = "frame.parquet"
SPOOL_NOTES: Final = "frame.json"


@dataclass(frozen=True, slots=True)
class FrameSource:
    """The files of a frame, not yet read, and what is wanted of them."""

    location: str
    kind: str
    found: Sequence[FoundFile]
    wanted: Sequence[str]
    mapping: Mapping[str, str]
    keep: Sequence[str]
    note: str | None
    """What the user should know of the files: an extension that says otherwise than the content."""

    @classmethod
    def find(
        cls,
        location: str | Path,
        *,
        wanted: Sequence[str],
        mapping: Mapping[str, str],
        keep: Sequence[str],
    ) -> Self:
        """Find the files and tell their format; raise `InputError` where there is none to read."""
        found = find_files(location)
        told = sniff(found[0].file)
        return cls(str(location), told.kind, found, wanted, mapping, keep, told.note)

    @property
    def is_parquet(self) -> bool:
        """Whether the files can be read as they are; others are spooled first."""
        return self.kind == PARQUET

    def fingerprint(self) -> list[Any]:
        """Return all that tells this frame from another."""
        return [[f.file.name, f.file.size, f.file.stamp, f.partition] for f in self.found]

    def open(self) -> Frame:
        """Open Parquet files."""
        return Frame.open(self.found, wanted=self.wanted, mapping=self.mapping, keep=self.keep)

    def spool(
        self,
        folder: Path,
        bad: BadRecords,
        say: Callable[[int], None],
        limit: int | None = None,
        *,
        deinverted: bool = False,
    ) -> Frame:
        """Read the files once into a Parquet file in `folder`, unless that is there already.

        Only what is wanted of the first `limit` works is kept. `say` is told how many there are so
        far; `deinverted`: an inverted index becomes the abstract.
        """
        target, notes = folder / SPOOL_FILE, folder / SPOOL_NOTES
        if not notes.exists():
            with Spool(target, self.wanted, self.keep, deinverted=deinverted) as spool:
                for name, piece in self._pieces(bad):
                    say(spool.add(name, piece))
                    if limit is not None and spool.rows >= limit:
                        break
                told = {"columns": spool.close(), "skipped": bad.count, "notes": spool.notes}
            waiting = target.with_suffix(".tmp")
            waiting.write_text(json.dumps(told))
            waiting.replace(notes)
        known = json.loads(notes.read_text())
        here = [FoundFile(LocalFile.at(target))]
        frame = Frame.open(here, wanted=list(known["columns"]), mapping={}, keep=self.keep)
        return replace(
            frame,
            files=[one.file for one in self.found],
            columns=known["columns"],
            skipped=known["skipped"],
            notes=known["notes"],
        )

    def _pieces(self, bad: BadRecords) -> Iterator[tuple[str, Piece]]:
        asked = Asked(tuple(self.wanted), self.mapping, tuple(self.keep), bad)
        for one in self.found:
            told = sniff(one.file)
            if told.kind != self.kind:
                raise InputError(
                    f"{one.file.name}: holds {told.kind}, {self.found[0].file.name} holds "
                    f"{self.kind}.\nScore files of different formats one by one."
                )
            for piece in READERS[told.kind](one.file, told.compression, asked):
                yield one.file.name, piece
