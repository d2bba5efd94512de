"""Arrow IPC: files (Feather version 2 is one) and streams, compressed inside or not.

A file is read by the table of contents at its end; inside gzip it is read as the stream that it
also is, front to back, one record batch at a time.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final

import polars as pl
import pyarrow as pa

from scorer.errors import InputError
from scorer.frame.contract import Columns, conform, resolve, segments, text
from scorer.frame.files import FrameFile
from scorer.frame.readers.base import RECORDS_A_PIECE, Asked, Piece
from scorer.frame.readers.streams import opened

_MAGIC: Final = b"ARROW1"
_PADDED: Final = 8  # the magic word and the zeros after it


def read(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of an Arrow IPC file or stream; see `Reader`.

    Kept columns stay in their own type. An inverted index that is no text becomes the abstract.
    """
    if compression is None:
        _refuse_cut_off(file)
    with _batches(file, compression, None) as reader:
        schema = reader.schema
    columns = resolve(
        schema, file.name, wanted=asked.wanted, mapping=asked.mapping, keep=asked.keep
    )
    tops = list(dict.fromkeys(segments(path, schema)[0] for path in columns.leaves()))
    rows = 0
    with _batches(file, compression, [schema.get_field_index(name) for name in tops]) as reader:
        for table in _in_pieces(reader, file.name):
            _refuse_other_encodings(table, file.name, rows)
            yield _piece(table, columns, schema)
            rows += table.num_rows
    if rows == 0:
        yield _piece(schema.empty_table().select(tops), columns, schema)


@contextmanager
def _batches(
    file: FrameFile, compression: str | None, fields: Sequence[int] | None
) -> Iterator[pa.RecordBatchReader]:
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    with opened(file, compression) as stream:
        try:
            reader = _reader(file, compression, stream, options)
            _ = reader.schema.names  # decoded here, or never
        except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
            raise _damaged(file.name, "its schema cannot be read", error) from error
        with reader:
            yield reader


def _reader(
    file: FrameFile, compression: str | None, stream: BinaryIO, options: pa.ipc.IpcReadOptions
) -> pa.RecordBatchReader:
    """Return the record batches: of a file by its table of contents, if it can be reached."""
    is_file = stream.peek(len(_MAGIC)).startswith(_MAGIC)  # type: ignore[attr-defined]
    if is_file and compression is None:
        # Some writers, Polars among them, keep the schema in the table of contents alone.
        contents = pa.ipc.open_file(file.open(), options=options)
        batches = (contents.get_batch(n) for n in range(contents.num_record_batches))
        return pa.RecordBatchReader.from_batches(contents.schema, batches)
    if is_file:
        stream.read(_PADDED)
    return pa.ipc.open_stream(stream, options=options)


def _in_pieces(reader: pa.RecordBatchReader, name: str) -> Iterator[pa.Table]:
    """Yield tables of about the asked size, whatever the size of the record batches."""
    waiting: list[pa.RecordBatch] = []
    held = before = 0
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            break
        except (pa.ArrowException, OSError, MemoryError) as error:
            # Damage in a length asks for more memory than there is.
            raise _damaged(name, f"near row {before:,}", error) from error
        before += batch.num_rows
        while batch.num_rows:
            head = batch.slice(0, RECORDS_A_PIECE - held)
            batch = batch.slice(head.num_rows)
            waiting.append(head)
            held += head.num_rows
            if held == RECORDS_A_PIECE:
                yield pa.Table.from_batches(waiting)
                waiting, held = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _piece(table: pa.Table, columns: Columns, schema: pa.Schema) -> Piece:
    tops = dict.fromkeys(segments(path, schema)[0] for path in columns.paths.values())
    works = conform(_polars(table.select(list(tops))), columns, schema)
    kept = _polars(table.select(columns.kept))
    paths = dict(columns.paths)
    inverted = works.schema.get("abstract_inverted_index", pl.String())
    if inverted not in (pl.String, pl.Categorical, pl.Null):
        works = works.with_columns(text(works, "abstract")).drop("abstract_inverted_index")
        path = paths.pop("abstract_inverted_index")
        paths.setdefault("abstract", path)
    return Piece(works, kept, paths)


def _polars(table: pa.Table) -> pl.DataFrame:
    if table.num_columns == 0:
        return pl.DataFrame(height=table.num_rows)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _refuse_cut_off(file: FrameFile) -> None:
    """Raise `InputError` for a file without its end; a stream need not have one."""
    with file.open() as raw:
        if raw.read(len(_MAGIC)) != _MAGIC:
            return
        raw.seek(max(0, file.size - len(_MAGIC)), io.SEEK_SET)
        if raw.read(len(_MAGIC)) != _MAGIC:
            raise InputError(
                f"{file.name}: cut off: it starts as an Arrow file and lacks its end "
                f"(size {file.size:,} bytes).\nCopy or make the file again."
            )


def _refuse_other_encodings(table: pa.Table, name: str, start: int) -> None:
    """Raise `InputError` where text is not UTF-8: Polars relies on it."""
    for column in table.column_names:
        try:
            table[column].validate(full=True)
        except pa.ArrowInvalid as error:
            raise InputError(
                f"{name}: column {column!r} holds text that is not UTF-8, in rows "
                f"{start:,} to {start + table.num_rows - 1:,}.\nWrite the file again as UTF-8."
            ) from error


def _damaged(name: str, where: str, error: Exception) -> InputError:
    why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return InputError(f"{name}: damaged Arrow data, {where} ({why}).\nCopy or make the file again.")
