"""A conversion made ready: its input found, its words checked, what to leave out found.

Ids first: a pass over them finds what occurs twice. Then the works, batch by batch, without what is
to be left out; so memory does not grow with the frame, but for 8 bytes a work.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from scorer.counted import counted
from scorer.engine.files import told
from scorer.engine.framefile import FrameFile
from scorer.engine.local import usable_threads
from scorer.engine.place import check_place, exists_already, settled
from scorer.engine.progress import Progress
from scorer.engine.run import SKIPPED_FILE
from scorer.errors import InputError, UsageError
from scorer.frame.contract import NATIVE_NAMES, text
from scorer.frame.found import find_files
from scorer.frame.frame import Frame
from scorer.frame.lookup import IdLookup
from scorer.frame.parquet import Batch
from scorer.frame.readers.base import BadRecords
from scorer.frame.readers.openalex_gone import merged_away
from scorer.frame.readers.sniff import by_name, sniff
from scorer.frame.repeated import check_no_null, check_none_repeated, surplus_rows
from scorer.frame.selection import Selection
from scorer.frame.source import PARQUET, FrameSource
from scorer.frame.where import Where

_BATCH: Final = 16_384  # works; with abstracts 25 MB of text
_IDS: Final = 1 << 18
_UPDATED: Final = "updated_date"
_INVERTED: Final = "abstract_inverted_index"
_ABSTRACTS: Final = ("abstract", _INVERTED)


@dataclass(frozen=True, slots=True)
class ConvertRequest:
    """What to convert, to where, and what to leave out."""

    frame: Path | str
    """A file, a folder or a pattern."""
    output: Path
    where: str | None = None
    """An SQL condition over the columns; works that it does not hold for are left out."""
    drop_abstract: bool = False
    deinvert: bool = False
    """Write `abstract` as text instead of the inverted index."""
    on_duplicate: Literal["error", "first", "last"] = "error"
    """`last` is the newest by `updated_date`, where the input has it."""
    drop_null_ids: bool = False
    drop_deleted: bool = False
    """Leave out what OpenAlex deleted, and with `merged_ids` what it merged into other works."""
    merged_ids: Path | str | None = None
    keep: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    on_bad_record: Literal["error", "skip"] = "error"
    overwrite: bool = False

    def output_path(self) -> Path:
        """Return where the frame goes."""
        return settled(self.output)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A request with its input found and its words checked."""

    request: ConvertRequest
    source: FrameSource
    where: Where | None

    @classmethod
    def prepare(cls, request: ConvertRequest) -> Self:
        """Check all that can be checked before works are read."""
        if request.drop_abstract and request.deinvert:
            raise UsageError("--drop-abstract leaves nothing for --deinvert. Leave one out.")
        if request.limit is not None and request.limit < 0:
            raise UsageError(f"limit {request.limit}: expected 0 or more works.")
        output = request.output_path()
        check_place(output, Path(request.frame))
        if output.exists() and not request.overwrite:
            raise exists_already(output)
        if by_name(output.name)[0] not in ((), (PARQUET,)):
            raise UsageError(f"{output}: frames are written as Parquet. Call it NAME.parquet.")
        where = Where.parse(request.where) if request.where is not None else None
        named = where.columns if where else []
        wanted = [
            name
            for name in NATIVE_NAMES
            if name not in _ABSTRACTS or name in named or not request.drop_abstract
        ]
        keep = tuple(dict.fromkeys(request.keep))
        if where is not None:
            where.check_names([*NATIVE_NAMES, *keep])
        source = FrameSource.find(request.frame, wanted=wanted, mapping=request.mapping, keep=keep)
        for one in source.found:
            if one.file.local is not None:
                check_place(output, one.file.local)
        return cls(request, source, where)

    def read(self, folder: Path, progress: Progress) -> Frame:
        """Open the frame; other formats than Parquet are read through into `folder`."""
        request = self.request
        if self.source.is_parquet:
            return self.source.open()
        keep = tuple(self.source.keep)
        newest = request.on_duplicate == "last" and self.source.kind == "openalex"
        if newest and _UPDATED not in keep:
            keep = (*keep, _UPDATED)
        bad = BadRecords(request.on_bad_record, folder / SKIPPED_FILE)
        with told(request.output_path()):
            return replace(self.source, keep=keep).spool(
                folder,
                bad,
                progress.read,
                request.limit,
                # Here a bad index is a bad record; later it would end the command.
                deinverted=request.deinvert and not self._names_indexes,
                processes=usable_threads(),
            )

    @property
    def _names_indexes(self) -> bool:
        """Whether the expression speaks of inverted indexes as the input has them."""
        return self.where is not None and _INVERTED in self.where.columns

    def check(self, frame: Frame) -> None:
        """Raise `UsageError` where the expression does not fit the columns that there are."""
        if self.where is None:
            return
        there = [name for name in NATIVE_NAMES if name in frame.columns]
        if self.request.deinvert and _INVERTED in there and "abstract" not in there:
            there.insert(2, "abstract")
        kept = frame.kept_schema()
        self.where.check_names([*there, *(k for k in self.source.keep if k not in there)])
        kinds = {name: pl.Int32() if name == "year" else pl.String() for name in there}
        empty = pl.DataFrame(schema=kinds)
        self.where.check_types(self._with_kept(empty, kept.empty_table()))

    def works(self, frame: Frame) -> int:
        """Return how many works are looked at."""
        limit = self.request.limit
        return frame.rows if limit is None else min(limit, frame.rows)

    def selection(self, frame: Frame) -> Selection:
        """Find what to leave out; raise `InputError` where ids are not as they must be."""
        request = self.request
        return Selection(
            self._surplus(frame),
            IdLookup(_merged(request.merged_ids)) if request.merged_ids is not None else None,
            request.drop_deleted,
            self.where,
        )

    def columns(self, frame: Frame) -> list[str]:
        """Return the contract's columns of the output."""
        found = [name for name in NATIVE_NAMES if name in frame.columns]
        if self.request.drop_abstract:
            return [name for name in found if name not in _ABSTRACTS]
        if self.request.deinvert and _INVERTED in found:
            found.remove(_INVERTED)
            return ["id", "title", "abstract", *(n for n in found[2:] if n != "abstract")]
        return found

    def kept(self, columns: list[str]) -> tuple[str, ...]:
        """Return the further columns of the output."""
        return tuple(name for name in self.source.keep if name not in columns)

    def kept_schema(self, frame: Frame, columns: list[str]) -> pa.Schema:
        """Return their fields; raise `UsageError` where the contract needs their name."""
        for name in self.source.keep:
            found = frame.columns.get(name)
            if name in columns and found is not None and found != name:
                raise UsageError(
                    f"--keep {name}: {found!r} is read as {name} already.\n"
                    "Leave the option out, or rename the column."
                )
        schema = frame.kept_schema()
        return pa.schema([schema.field(name) for name in self.kept(columns)])

    def write(
        self,
        frame: Frame,
        columns: list[str],
        selection: Selection,
        file: FrameFile,
        progress: Progress,
    ) -> int:
        """Write the works that are kept; return how many."""
        progress.start(self.works(frame), 0)
        written = 0
        for batch in self._batches(frame):
            works = self._prepared(batch)
            keep = selection.keep(batch.start, works)
            chosen = works.filter(keep)
            if self.request.deinvert and _INVERTED in chosen.columns:
                chosen = self._deinverted(chosen)
            file.add(chosen.select(columns), batch.kept.filter(keep.to_arrow()))
            written += chosen.height
            progress.advance(batch.frame.height)
        return written

    def put_aside(self, folder: Path, frame: Frame, progress: Progress) -> None:
        """Leave the list of records that could not be read beside the output."""
        output = self.request.output_path()
        aside = output.with_name(f"{output.name}.{SKIPPED_FILE}")
        if not frame.skipped:
            return
        with told(aside):
            (folder / SKIPPED_FILE).replace(aside)
        progress.note(
            f"{counted(frame.skipped, 'record')} could not be read, kept aside in {aside.name}."
        )

    def _batches(self, frame: Frame) -> Iterator[Batch]:
        """Yield the works; of a frame without any, an empty batch, for its columns."""
        batches = frame.batches(_BATCH, limit=self.request.limit)
        first = next(batches, None)
        if first is None:
            kinds = {n: pl.Int32() if n == "year" else pl.String() for n in frame.columns}
            first = Batch(0, pl.DataFrame(schema=kinds), frame.kept_schema().empty_table())
        yield first
        yield from batches

    def _prepared(self, batch: Batch) -> pl.DataFrame:
        """Return works with all columns that the expression names."""
        if self.where is None:
            return batch.frame
        works = batch.frame
        if (
            self.request.deinvert
            and "abstract" in self.where.columns
            and _INVERTED in works.columns
        ):
            works = self._deinverted(works)
        return self._with_kept(works, batch.kept)

    def _with_kept(self, works: pl.DataFrame, kept: pa.Table) -> pl.DataFrame:
        assert self.where is not None
        further = [name for name in self.where.columns if name not in works.columns]
        if not further:
            return works
        table = pl.from_arrow(kept.select(further))
        assert isinstance(table, pl.DataFrame)
        return works.hstack(table)

    def _deinverted(self, works: pl.DataFrame) -> pl.DataFrame:
        try:
            return works.with_columns(text(works, "abstract").alias("abstract")).drop(_INVERTED)
        except InputError as error:
            raise InputError(f"{Path(self.request.frame).name}: {error}") from error

    def _surplus(self, frame: Frame) -> npt.NDArray[np.int64]:
        request, rows = self.request, self.works(frame)
        name = Path(request.frame).name

        def read() -> Iterator[pl.Series]:
            return frame.ids(request.limit)

        if not request.drop_null_ids:
            check_no_null(read, name, ": --drop-null-ids")
        if request.on_duplicate == "error":
            check_none_repeated(read, rows, name, ": --on-duplicate first or last")
            return np.empty(0, np.int64)
        dated = _dated(frame) if request.on_duplicate == "last" else None
        dates = partial(_dates, dated, request.limit) if dated is not None else None
        return surplus_rows(read, rows, request.on_duplicate, dates)


def _dated(frame: Frame) -> Frame | None:
    """Return the frame of ids and dates of update, None where it has no such dates."""
    try:
        return frame.narrowed(("id",), keep=(_UPDATED,))
    except UsageError:
        return None


def _dates(frame: Frame, limit: int | None) -> Iterator[pl.Series]:
    for batch in frame.batches(_IDS, limit=limit):
        dates = pl.from_arrow(batch.kept[_UPDATED])
        assert isinstance(dates, pl.Series)
        yield dates


def _merged(location: Path | str) -> pl.Series:
    files = [one.file for one in find_files(location)]
    return merged_away((file, sniff(file).compression) for file in files)
