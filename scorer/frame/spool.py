"""Works of another format, written into one Parquet file that can be read from any row."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError, UsageError
from scorer.frame.contract import text
from scorer.frame.readers.base import BadRecords, Piece

Named = tuple[str, Mapping[str, str]]
"""A file's name, and the contract's columns that were found in it -> where."""

_TEXT: Final = pa.string()
_NUMBER: Final = pa.int32()
_INDEX: Final = "abstract_inverted_index"
# Written once and read once: lz4 takes half the time of zstd. Most values of these occur once.
_COMPRESSION: Final = "lz4"
_DISTINCT: Final = ("id", "title", "abstract", _INDEX)


class Spool:
    """A Parquet file in the making: all that is wanted, null where the works have none of it.

    A context manager.
    """

    def __init__(
        self,
        target: Path,
        wanted: Sequence[str],
        keep: Sequence[str],
        bad: BadRecords,
        *,
        deinverted: bool,
    ) -> None:
        """Nothing is written before the first piece, which tells the types of kept columns.

        `deinverted`: an inverted index becomes the abstract; a work whose index is none is `bad`.
        """
        self._deinverted = deinverted
        self._bad = bad
        self._target = target
        self._waiting = target.with_suffix(".tmp")
        self._wanted = wanted
        self._keep = keep
        self._writer: pq.ParquetWriter | None = None
        self._files: dict[str, Mapping[str, str]] = {}
        self.rows = 0
        self.unreadable_years = 0
        self.notes: list[str] = []

    def __enter__(self) -> Self:
        """Return the spool."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop writing; what was not closed goes with the folder, or is written over."""
        if error is not None and self._writer is not None:
            with suppress(OSError):  # the first error is the one to tell
                self._writer.close()

    def add(self, name: str, piece: Piece) -> int:
        """Write a piece of the file `name`; return how many works there are now."""
        # A column of a JSON file may show late: the last piece of a file knows them all.
        self._files[name] = piece.columns
        self.notes += [note for note in piece.notes if note not in self.notes]
        if self._deinverted and _INDEX in piece.works.columns:
            piece = self._with_abstracts(name, piece)
        works = piece.works
        if self._writer is None:
            schema = self._schema(name, piece)
            self._writer = pq.ParquetWriter(
                self._waiting,
                schema,
                compression=_COMPRESSION,
                use_dictionary=[name for name in schema.names if name not in _DISTINCT],
            )
        if works.height:
            table = _table(name, piece, self._writer.schema)
            self._writer.write_table(table)
        self.rows += works.height
        self.unreadable_years += piece.unreadable_years
        return self.rows

    def _with_abstracts(self, name: str, piece: Piece) -> Piece:
        """Return a piece whose indexes have become texts; works whose index is none are bad."""
        try:
            abstracts = text(piece.works, "abstract").alias("abstract")
        except InputError:
            sound = np.ones(piece.works.height, bool)
            for row, error in _without_abstract(piece.works, 0):
                index = piece.works[_INDEX].cast(pl.String)[row]
                where, _, reason = str(error).splitlines()[0].partition(": ")
                self._bad.found(name, where, reason.rstrip("."), index or "")
                sound[row] = False
            works, kept = piece.works.filter(sound), piece.kept.filter(sound)
            return self._with_abstracts(name, replace(piece, works=works, kept=kept))
        return replace(piece, works=piece.works.with_columns(abstracts).drop(_INDEX))

    def close(self) -> Named:
        """Put the finished file in place; return the first of the files that went into it."""
        assert self._writer is not None  # a reader gives an empty piece where there is no work
        self._writer.close()
        first, *others = self._files.items()
        check_same(first, others)
        self._waiting.replace(self._target)
        return first

    def _schema(self, name: str, piece: Piece) -> pa.Schema:
        fields = [pa.field(n, _NUMBER if n == "year" else _TEXT) for n in self._wanted]
        for kept in self._keep:
            if kept not in self._wanted:
                fields.append(pa.field(kept, piece.kept[kept].to_arrow().type))
            elif piece.columns.get(kept, kept) != kept:
                raise UsageError(
                    f"--keep {kept}: {name} has {piece.columns[kept]!r} read as {kept} already.\n"
                    "Leave the option out, or rename the column."
                )
        return pa.schema(fields)


def _without_abstract(works: pl.DataFrame, start: int) -> Iterator[tuple[int, InputError]]:
    """Yield the rows, counted from `start`, whose inverted index cannot be read, and why."""
    try:
        text(works, "abstract")
    except InputError as error:
        if works.height == 1:
            yield start, error
            return
        half = works.height // 2
        yield from _without_abstract(works[:half], start)
        yield from _without_abstract(works[half:], start + half)


def held(found: Mapping[str, str], *, deinverted: bool) -> dict[str, str]:
    """Return the contract's columns that a spool holds of those that were found, and where."""
    columns = dict(found)
    if not (deinverted and _INDEX in columns):
        return columns
    index = columns.pop(_INDEX)
    return {**columns, "abstract": columns.get("abstract", index)}


def check_same(first: Named, others: Sequence[Named]) -> None:
    """Raise `InputError` unless files have the same columns; it names the first that differs."""
    for other in others:
        here, there = set(other[1]), set(first[1])
        if here != there:
            lacks = ", ".join(sorted(there - here)) or "nothing"
            more = ", ".join(sorted(here - there)) or "nothing"
            raise InputError(
                f"{other[0]}: other columns than {first[0]}: lacks {lacks}, has {more} besides.\n"
                "Score files of different columns one by one, or bring them into one form first."
            )


def _table(name: str, piece: Piece, schema: pa.Schema) -> pa.Table:
    arrays = []
    for field in schema:
        if field.name in piece.works.columns:
            column: pl.Series | None = piece.works[field.name]
        else:
            column = piece.kept[field.name] if field.name in piece.kept.columns else None
        if column is None:
            arrays.append(pa.nulls(piece.works.height, field.type))
            continue
        try:
            arrays.append(column.to_arrow().cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"{name}: column {field.name!r} holds {column.dtype} here, {field.type} before.\n"
                "Leave it out of --keep, or bring the files into one form first."
            ) from error
    return pa.Table.from_arrays(arrays, schema=schema)
