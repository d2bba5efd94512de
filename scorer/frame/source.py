"""From what the user names to a frame: files found, their format told, read at once or spooled."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError, UsageError
from scorer.frame.files import LocalFile
from scorer.frame.found import FoundFile, find_files
from scorer.frame.frame import Frame
from scorer.frame.readers.base import Asked, BadRecords, Piece
from scorer.frame.readers.registry import READERS
from scorer.frame.readers.sniff import sniff

PARQUET: Final = "parquet"
SPOOL_FILE: Final = "frame.parquet"
SPOOL_NOTES: Final = "frame.json"
_TEXT: Final = pa.string()
_KINDS: Final[Mapping[str, pa.DataType]] = {"year": pa.int32()}


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
    ) -> Frame:
        """Read the files once into a Parquet file in `folder`, unless that is there already.

        Only what is wanted of the first `limit` works is kept. `say` is told how many there are so
        far.
        """
        target, notes = folder / SPOOL_FILE, folder / SPOOL_NOTES
        if not notes.exists():
            columns, skipped = self._read(target, bad, say, limit)
            waiting = target.with_suffix(".tmp")
            waiting.write_text(json.dumps({"columns": columns, "skipped": skipped}))
            waiting.replace(notes)
        known = json.loads(notes.read_text())
        here = [FoundFile(LocalFile.at(target))]
        frame = Frame.open(here, wanted=list(known["columns"]), mapping={}, keep=self.keep)
        files = [one.file for one in self.found]
        return replace(frame, files=files, columns=known["columns"], skipped=known["skipped"])

    def _read(
        self, target: Path, bad: BadRecords, say: Callable[[int], None], limit: int | None
    ) -> tuple[dict[str, str], int]:
        """Write all works to `target`; return the columns that were found, and how many failed."""
        waiting = target.with_suffix(".tmp")
        first: tuple[str, Mapping[str, str]] | None = None
        writer = None
        works = 0
        try:
            for name, piece in self._pieces(bad):
                if first is None or writer is None:
                    first = (name, piece.columns)
                    schema = _schema(piece, self.keep)
                    writer = pq.ParquetWriter(waiting, schema, compression="zstd")
                elif set(piece.columns) != set(first[1]):
                    raise _mixed(first, (name, piece.columns))
                if piece.works.height:
                    writer.write_table(_table(piece, writer.schema))
                works += piece.works.height
                say(works)
                if limit is not None and works >= limit:
                    break
        finally:
            if writer is not None:
                writer.close()
        assert first is not None
        waiting.replace(target)
        return dict(first[1]), bad.count

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


def _schema(piece: Piece, keep: Sequence[str]) -> pa.Schema:
    fields = [pa.field(name, _KINDS.get(name, _TEXT)) for name in piece.works.columns]
    for name in keep:
        if name not in piece.works.columns:
            fields.append(pa.field(name, _TEXT))
        elif piece.columns[name] != name:
            raise UsageError(
                f"--keep {name}: {piece.columns[name]!r} is read as {name} already.\n"
                "Leave the option out, or rename the column."
            )
    return pa.schema(fields)


def _table(piece: Piece, schema: pa.Schema) -> pa.Table:
    columns = {name: piece.kept[name] for name in piece.kept.columns}
    columns |= {name: piece.works[name] for name in piece.works.columns}
    arrays = [columns[field.name].to_arrow().cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _mixed(
    first: tuple[str, Mapping[str, str]], other: tuple[str, Mapping[str, str]]
) -> InputError:
    here, there = set(other[1]), set(first[1])
    lacks = ", ".join(sorted(there - here)) or "nothing"
    more = ", ".join(sorted(here - there)) or "nothing"
    return InputError(
        f"{other[0]}: other columns than {first[0]}: lacks {lacks}, has {more} besides.\n"
        "Score files of different columns one by one, or bring them into one form first."
    )
