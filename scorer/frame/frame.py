"""A frame as the engine sees it: rows in order, whatever files they lie in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import polars as pl
import pyarrow as pa

from scorer.errors import InputError
from scorer.frame.contract import text
from scorer.frame.files import FrameFile, short_names
from scorer.frame.found import FoundFile
from scorer.frame.parquet import Batch, ParquetFrame


@dataclass(frozen=True, slots=True)
class _Part:
    found: FoundFile
    name: str
    """What messages call the file: with the folders that tell it from the others."""
    rows: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Works in a fixed order, in one or more Parquet files of the same columns."""

    files: Sequence[FrameFile]
    """Where the works come from; other files than those that are read, where they were spooled."""
    columns: Mapping[str, str]
    """The contract's columns that were found -> where."""
    skipped: int
    """Records that could not be read and were left out."""
    notes: Sequence[str]
    """What the user should know of the files."""
    unreadable_years: int
    """Works whose year says something that is no whole number; Parquet's are not counted."""
    _asked: Mapping[str, Any]
    _kept: pa.Schema
    _parts: Sequence[_Part]

    @classmethod
    def open(
        cls,
        found: Sequence[FoundFile],
        *,
        wanted: Sequence[str],
        mapping: Mapping[str, str],
        keep: Sequence[str],
    ) -> Self:
        """Open every file once; raise `InputError` where two of them do not go together."""
        asked: dict[str, Any] = {"wanted": wanted, "mapping": mapping, "keep": keep}
        parts: list[_Part] = []
        first = None
        for one, name in zip(found, short_names([one.file.name for one in found]), strict=True):
            frame = ParquetFrame(one.file, constants=one.partition, name=name, **asked)
            parts.append(_Part(one, name, frame.rows))
            if first is None:
                first = frame
            else:
                _check_same(first, frame)
        assert first is not None
        files = [one.file for one in found]
        return cls(files, first.columns, 0, (), 0, asked, first.kept_schema(), parts)

    def narrowed(self, wanted: Sequence[str], *, keep: Sequence[str]) -> "Frame":
        """Open the same files for other columns; raise `UsageError` for a kept one they lack."""
        mapping = {name: path for name, path in self._asked["mapping"].items() if name in wanted}
        found = [part.found for part in self._parts]
        return Frame.open(found, wanted=wanted, mapping=mapping, keep=keep)

    def only(self, wanted: Sequence[str], *, keep: Sequence[str]) -> "Frame":
        """Return the frame as it is, but for the columns that are read: some of those it has."""
        has = self._asked["wanted"]
        less = self.narrowed([name for name in wanted if name in has], keep=keep)
        return replace(
            less,
            files=self.files,
            skipped=self.skipped,
            notes=self.notes,
            unreadable_years=self.unreadable_years,
        )

    def absolute(self) -> Self:
        """Return the frame with paths that hold in any working folder."""
        return replace(self, _parts=[replace(p, found=p.found.absolute()) for p in self._parts])

    def read_for(self, start: int, stop: int) -> list[FrameFile]:
        """Return the files that hold the works from row `start` to `stop`."""
        return [part.found.file for part, _, _ in self._within(start, stop)]

    @property
    def rows(self) -> int:
        """Number of works in all files."""
        return sum(part.rows for part in self._parts)

    def file_rows(self) -> list[int | None]:
        """Return how many works each of `files` holds, where that is known."""
        if len(self.files) == len(self._parts):
            return [part.rows for part in self._parts]
        return [None] * len(self.files)

    def kept_schema(self) -> pa.Schema:
        """Arrow fields of the kept columns."""
        return self._kept

    def ids(self, limit: int | None = None, *, start: int = 0) -> Iterator[pl.Series]:
        """Yield the ids of the works from row `start` to `limit`, as the contract has them."""
        for part, first, stop in self._within(start, limit):
            yield from self._frame(part).ids(stop, start=first)

    def batches(self, rows: int, *, start: int = 0, limit: int | None = None) -> Iterator[Batch]:
        """Yield the works `rows` at a time, wherever one file ends and the next begins."""
        frames: list[pl.DataFrame] = []
        kept: list[pa.Table] = []
        held = 0
        for part, first, stop in self._within(start, limit):
            for batch in self._frame(part).batches(rows, start=first, limit=stop):
                works = _alike(batch.frame) if len(self._parts) > 1 else batch.frame
                at = 0
                while at < works.height:
                    taken = min(rows - held, works.height - at)
                    frames.append(works.slice(at, taken))
                    kept.append(batch.kept.slice(at, taken))
                    held, at = held + taken, at + taken
                    if held == rows:
                        yield _joined(start, frames, kept)
                        start, held, frames, kept = start + rows, 0, [], []
        if held:
            yield _joined(start, frames, kept)

    def _within(self, start: int, limit: int | None) -> Iterator[tuple[_Part, int, int]]:
        """Yield the parts that hold rows from `start` to `limit`: (part, first row, end in it)."""
        before = 0
        end = self.rows if limit is None else min(limit, self.rows)
        for part in self._parts:
            first, stop = max(0, start - before), min(part.rows, end - before)
            if first < stop:
                yield part, first, stop
            before += part.rows

    def _frame(self, part: _Part) -> ParquetFrame:
        found = part.found
        return ParquetFrame(found.file, constants=found.partition, name=part.name, **self._asked)


def unreadable_years(count: int) -> str:
    """Tell how many years are no numbers."""
    return (
        "1 year is no whole number; it counts as missing."
        if count == 1
        else f"{count:,} years are no whole numbers; they count as missing."
    )


def changed(files: Sequence[FrameFile]) -> FrameFile | None:
    """Return the first local file that is no longer as it was when it was found."""
    for file in files:
        if file.local is not None:
            try:
                status = Path(file.local).stat()
            except OSError:
                return file
            if (status.st_size, str(status.st_mtime_ns)) != (file.size, file.stamp):
                return file
    return None


def changed_while_read(file: FrameFile) -> InputError:
    """Return the error for a file that is no longer what it was when reading began."""
    return InputError(
        f"{file.name}: changed while it was read; no output was written.\n"
        "Give the command again when the file is finished."
    )


def _check_same(first: ParquetFrame, other: ParquetFrame) -> None:
    """Raise `InputError` unless two files of a frame have the same columns."""
    for name in dict.fromkeys([*first.columns, *other.columns]):
        one, two = first.columns.get(name), other.columns.get(name)
        if one != two:
            raise _mixed(first, other, f"{name} is {one or 'not there'}", two or "not there")
    for one, two in zip(first.kept_schema(), other.kept_schema(), strict=True):
        if one.type != two.type:
            raise _mixed(first, other, f"column {one.name!r} holds {one.type}", str(two.type))


def _mixed(first: ParquetFrame, other: ParquetFrame, one: str, two: str) -> InputError:
    return InputError(
        f"{other.file.name}: other columns than {first.file.name}: there {one}, here {two}.\n"
        "Score files of different columns one by one, or bring them into one form first."
    )


def _alike(works: pl.DataFrame) -> pl.DataFrame:
    """De-invert an index of Arrow's own types: each file's struct has its words for fields."""
    index = "abstract_inverted_index"
    if index not in works.columns or works[index].dtype == pl.String:
        return works
    return works.drop(index).with_columns(text(works, "abstract").alias("abstract"))


def _joined(start: int, frames: list[pl.DataFrame], kept: list[pa.Table]) -> Batch:
    if len(frames) == 1:
        return Batch(start, frames[0], kept[0])
    return Batch(start, pl.concat(frames), pa.concat_tables(kept))
