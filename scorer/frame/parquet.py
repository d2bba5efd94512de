"""Reading a frame from a Parquet file, in batches of the contract's columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError
from scorer.frame.contract import NATIVE_NAMES, Columns, conform, resolve, segments
from scorer.frame.files import FrameFile, LocalFile
from scorer.frame.remote import is_remote

_MAGIC: Final = b"PAR1"
_ID_BATCH: Final = 1 << 18
# Column chunks are read through a window of this size instead of whole: a row group of five
# million abstracts must not pass through memory at once.
_READ_BUFFER: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive works: `frame` has the contract's columns, `kept` those that `--keep` names."""

    start: int
    frame: pl.DataFrame
    kept: pa.Table


class ParquetFrame:
    """A frame in one Parquet file, its columns found and checked."""

    def __init__(
        self,
        path: Path | FrameFile,
        *,
        wanted: Sequence[str],
        mapping: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
        constants: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        """Open `path`; raise `InputError` where it is no readable Parquet of the contract.

        `constants`: columns that the name of the file's folder gives (`year=2010`), where the file
        itself has none of that name. `name`: what messages call it, the same wherever it lies; by
        default its last name.
        """
        file = LocalFile.at(path) if isinstance(path, Path) and path.is_file() else path
        self.file = file
        self._name = name or Path(str(file) if isinstance(file, Path) else file.name).name
        self._file = _opened(file)
        self._schema: pa.Schema = self._file.schema_arrow
        self.constants = {
            name: value
            for name, value in (constants or {}).items()
            if name in wanted and name not in (mapping or {}) and not _has(self._schema, name)
        }
        self._columns: Columns = resolve(
            self._schema,
            self._name,
            wanted=[name for name in wanted if name not in self.constants],
            mapping=mapping,
            keep=keep,
        )

    @property
    def rows(self) -> int:
        """Number of works in the file."""
        return int(self._file.metadata.num_rows)

    @property
    def columns(self) -> Mapping[str, str]:
        """The contract's columns that were found: contract name -> path in the file."""
        return {**self._columns.paths, **{name: f"{name}=…" for name in self.constants}}

    def kept_schema(self) -> pa.Schema:
        """Arrow fields of the kept columns."""
        return pa.schema([self._schema.field(name) for name in self._columns.kept])

    def ids(self, limit: int | None = None, *, start: int = 0) -> Iterator[pl.Series]:
        """Yield the ids of the works from row `start` to `limit`, as the contract has them."""
        columns = Columns({"id": self._columns.paths["id"]}, ())
        for table in self._tables(columns.leaves(), _ID_BATCH, start, limit):
            yield conform(_polars(table), columns, self._schema)["id"]

    def batches(self, rows: int, *, start: int = 0, limit: int | None = None) -> Iterator[Batch]:
        """Yield the works from row `start` to `limit`, `rows` at a time, the last ones less.

        `start` must be a multiple of `rows`, so that batches do not depend on where one begins.
        """
        for table in self._tables(self._columns.leaves(), rows, start, limit):
            tops = {segments(path, self._schema)[0] for path in self._columns.paths.values()}
            batch = _polars(table.select([name for name in table.column_names if name in tops]))
            works = conform(batch, self._columns, self._schema)
            works = works.with_columns(_constant(*pair) for pair in self.constants.items())
            yield Batch(start, works, table.select(self._columns.kept))
            start += table.num_rows

    def _tables(
        self, leaves: list[str], rows: int, start: int, limit: int | None
    ) -> Iterator[pa.Table]:
        left = (self.rows if limit is None else min(limit, self.rows)) - start
        if left <= 0:
            return
        groups, skip = self._groups_from(start)
        waiting: list[pa.RecordBatch] = []
        held, at = 0, start
        reached = start - skip
        try:
            for read in self._read(leaves, rows, groups):
                reached += read.num_rows
                batch = read.slice(skip)
                skip = max(0, skip - read.num_rows)
                while batch.num_rows and left > 0:
                    head = batch.slice(0, min(rows - held, left))
                    batch = batch.slice(head.num_rows)
                    waiting.append(head)
                    held += head.num_rows
                    left -= head.num_rows
                    if held == rows or left == 0:
                        yield self._checked(pa.Table.from_batches(waiting), at)
                        at += held
                        waiting, held = [], 0
                if left <= 0:
                    return
        except MemoryError:  # which Arrow's own is too
            raise
        except (pa.ArrowException, OSError) as error:
            if type(error) is pa.ArrowException:  # of none of its kinds: no thread could be begun
                raise
            (group, *_), _ = self._groups_from(reached)
            raise InputError(
                f"{self._name}: damaged near row {reached:,}, in row group {group:,} "
                f"({_first_line(error)}).\nCopy or make the file again."
            ) from error

    def _read(self, leaves: list[str], rows: int, groups: list[int]) -> Iterator[pa.RecordBatch]:
        # One row group a call: pyarrow keeps some memory for each group of a call until it ends.
        for group in groups:
            yield from self._file.iter_batches(
                batch_size=rows, row_groups=[group], columns=leaves, use_threads=True
            )

    def _checked(self, table: pa.Table, start: int) -> pa.Table:
        """Return the table; raise `InputError` where its text is not UTF-8: Polars relies on it."""
        for name in table.column_names:
            try:
                table[name].validate(full=True)
            except pa.ArrowInvalid as error:
                raise InputError(
                    f"{self._name}: column {name!r} holds text that is not UTF-8, in rows "
                    f"{start:,} to {start + table.num_rows - 1:,}.\nWrite the file again as UTF-8."
                ) from error
        return table

    def _groups_from(self, start: int) -> tuple[list[int], int]:
        """Return the row groups from the one that holds row `start`, and how many rows to skip."""
        metadata = self._file.metadata
        first, before = 0, 0
        while first < metadata.num_row_groups:
            count = metadata.row_group(first).num_rows
            if before + count > start:
                break
            before += count
            first += 1
        return list(range(first, metadata.num_row_groups)), start - before


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a Parquet file; raise `InputError` that says what is wrong with it."""
    if not path.exists():
        if is_remote(str(path)):
            raise InputError(f"{path}: an address; a file on a disk is needed here. Copy it first.")
        raise InputError(f"{path}: no such file. Check the path.")
    if path.is_dir():
        raise InputError(f"{path}: a folder, expected one Parquet file.")
    if not path.is_file():
        raise InputError(f"{path}: a stream; Parquet must lie in a file. Save it first.")
    try:
        return pq.ParquetFile(path, buffer_size=_READ_BUFFER)
    except PermissionError as error:
        raise InputError(f"{path}: may not be read. Check its permissions.") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(_why_not_parquet(path, error)) from error


def _why_not_parquet(path: Path, error: Exception) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
        file.seek(max(0, size - len(_MAGIC)))
        tail = file.read(len(_MAGIC))
    if size == 0:
        return f"{path}: the file is empty. Make it again."
    if head == _MAGIC and tail != _MAGIC:
        return (
            f"{path}: cut off: it starts as Parquet and lacks its end (size {size:,} bytes).\n"
            "Copy or make the file again."
        )
    if head != _MAGIC:
        return f"{path}: not a Parquet file. Convert it to Parquet first."
    return f"{path}: damaged Parquet ({_first_line(error)}). Copy or make the file again."


def _opened(file: Path | FrameFile) -> pq.ParquetFile:
    if isinstance(file, Path):
        return open_parquet(file)
    if file.local is not None:
        return open_parquet(file.local)
    try:
        return pq.ParquetFile(file.open(), buffer_size=_READ_BUFFER)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{file.name}: damaged Parquet ({_first_line(error)}).") from error


def _constant(name: str, value: str) -> pl.Expr:
    kind = pl.Int32 if name == "year" else pl.String
    return pl.lit(value).cast(kind, strict=False).alias(name)


def _has(schema: pa.Schema, name: str) -> bool:
    return any(known in schema.names for known in NATIVE_NAMES[name])


def _polars(table: pa.Table) -> pl.DataFrame:
    if table.num_columns == 0:
        return pl.DataFrame(height=table.num_rows)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
