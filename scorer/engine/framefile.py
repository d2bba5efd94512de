"""The frame that `convert` writes: contract columns as Parquet, there whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.files import told
from scorer.errors import InputError

ROW_GROUP: Final = 131_072
"""Works: with abstracts a row group is some 200 MB of text, which is what is held in memory."""
_WAITING: Final = "converted.tmp"
_INVERTED: Final = "abstract_inverted_index"


class FrameFile:
    """A frame in the making, in a folder beside its place; `publish` puts it there."""

    def __init__(self, path: Path, folder: Path, kept: pa.Schema) -> None:
        """`kept`: the fields of the columns that are carried along."""
        self._path = path
        self._waiting = folder / _WAITING
        self._kept = kept
        self._held: list[pa.Table] = []
        self._rows = 0
        self._writer: pq.ParquetWriter | None = None
        with told(path):
            self._file = self._waiting.open("wb")

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what was not published; its folder goes, and it with it."""
        # The disk may be full: the first error is the one to tell, not that of closing.
        with suppress(OSError, pa.ArrowException):
            if self._writer is not None:
                self._writer.close()
        with suppress(OSError):
            self._file.close()

    def add(self, works: pl.DataFrame, kept: pa.Table) -> None:
        """Append works: contract columns in their order, and the columns carried along."""
        table = works.to_arrow()
        fields = [
            pa.field(name, _type(name, table.schema.field(name).type))
            for name in table.column_names
        ]
        schema = pa.schema([*fields, *self._kept])
        if self._writer is None:
            with told(self._path):
                self._writer = pq.ParquetWriter(self._file, schema, compression="zstd")
        if schema != self._writer.schema:
            raise InputError(
                "abstract_inverted_index is of different types in different parts of the frame.\n"
                "Say --deinvert: then abstracts are written as text."
            )
        arrays = [*table.columns, *(kept[name] for name in self._kept.names)]
        self._held.append(pa.Table.from_arrays(arrays, schema.names).cast(schema))
        self._rows += works.height
        while self._rows >= ROW_GROUP:
            self._write(ROW_GROUP)

    def publish(self) -> int:
        """Complete the file, force it to disk, put it in place; return its size in bytes."""
        assert self._writer is not None
        if self._rows:
            self._write(self._rows)
        with told(self._path):
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            size = self._waiting.stat().st_size
            self._waiting.replace(self._path)
        return size

    def _write(self, rows: int) -> None:
        """Write the first `rows` of the works held as one row group."""
        assert self._writer is not None
        table = pa.concat_tables(self._held)
        with told(self._path):
            self._writer.write_table(table.slice(0, rows), row_group_size=rows)
        self._held, self._rows = [table.slice(rows)], self._rows - rows


def _type(name: str, found: pa.DataType) -> pa.DataType:
    """Return the plain type that a contract column is written as."""
    if name == "year":
        return pa.int32()
    if name != _INVERTED or not pa.types.is_nested(found):
        return pa.string()
    return found
