"""Works of another format, written into one Parquet file that can be read from any row."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError, UsageError
from scorer.frame.readers.base import Piece

_TEXT: Final = pa.string()
_NUMBER: Final = pa.int32()


class Spool:
    """A Parquet file in the making: all that is wanted, null where the works have none of it."""

    def __init__(self, target: Path, wanted: Sequence[str], keep: Sequence[str]) -> None:
        """Nothing is written before the first piece, which tells the types of kept columns."""
        self._target = target
        self._waiting = target.with_suffix(".tmp")
        self._wanted = wanted
        self._keep = keep
        self._writer: pq.ParquetWriter | None = None
        self._files: dict[str, Mapping[str, str]] = {}
        self.rows = 0
        self.notes: list[str] = []

    def add(self, name: str, piece: Piece) -> int:
        """Write a piece of the file `name`; return how many works there are now."""
        # A column of a JSON file may show late: the last piece of a file knows them all.
        self._files[name] = piece.columns
        self.notes += [note for note in piece.notes if note not in self.notes]
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._waiting, self._schema(name, piece), compression="zstd"
            )
        if piece.works.height:
            self._writer.write_table(_table(name, piece, self._writer.schema))
        self.rows += piece.works.height
        return self.rows

    def close(self) -> dict[str, str]:
        """Put the finished file in place; return the contract's columns that were found."""
        assert self._writer is not None  # a reader gives an empty piece where there is no work
        self._writer.close()
        first, *others = self._files.items()
        for other in others:
            if set(other[1]) != set(first[1]):
                raise _mixed(first, other)
        self._waiting.replace(self._target)
        return dict(first[1])

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


_Named = tuple[str, Mapping[str, str]]
"""A file's name, and the columns that were found in it."""


def _mixed(first: _Named, other: _Named) -> InputError:
    here, there = set(other[1]), set(first[1])
    lacks = ", ".join(sorted(there - here)) or "nothing"
    more = ", ".join(sorted(here - there)) or "nothing"
    return InputError(
        f"{other[0]}: other columns than {first[0]}: lacks {lacks}, has {more} besides.\n"
        "Score files of different columns one by one, or bring them into one form first."
    )
