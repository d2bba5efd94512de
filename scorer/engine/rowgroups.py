"""Parquet row groups as bytes: made in any thread, taken over unread, joined into one file.

A column chunk's bytes do not depend on where they lie; only the footer knows. So parts are encoded
side by side, and columns that do not change go from one file to the next as they are.
"""

import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine import footer

_MAGIC: Final = b"PAR1"
_TAIL: Final = struct.Struct("<I4s")  # length of the footer, magic
# Most columns hold few distinct values: dictionary pages, then zstd at its fastest level. Scores
# (sigmoids of integers) stay as their dictionary's codes: zstd takes a fifth of the time and makes
# them no smaller. The columns below hold many values, so that a dictionary only costs time and
# space. Chosen by measurement, see benchmarks/README.md.
_ZSTD, _NONE = "ZSTD", "NONE"
_LEVEL: Final = 1
_PLAIN: Final = ("id", "teacher_disagreement", "threshold_uncertainty")
# A page ends after a megabyte, and not after 20,000 rows besides: codes pack a sixth better.
_ROWS_A_PAGE: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Chunk:
    """One leaf of a column: its bytes, and what its file's footer says of them."""

    content: memoryview
    said: pq.ColumnChunkMetaData


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: column -> its chunks, more than one where it is nested, in schema order."""

    rows: int
    columns: Mapping[str, Sequence[Chunk]]


def encode(table: pa.Table) -> pa.Buffer:
    """Return a whole Parquet file of one row group; only ids have statistics."""
    sink = pa.BufferOutputStream()
    written = _written(table.schema.serialize().to_pybytes())
    zstd = [path for path, codec in written.items() if codec == _ZSTD]
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression=written,
        compression_level=dict.fromkeys(zstd, _LEVEL),
        use_dictionary=[path for path in written if path not in _PLAIN],
        write_statistics=[name for name in table.schema.names if name == "id"],  # to find it by
        max_rows_per_page=_ROWS_A_PAGE,
    ) as writer:
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    return sink.getvalue()


@lru_cache
def _written(schema: bytes) -> dict[str, str]:
    """Return the path of each leaf, as Parquet has it, and the codec of its pages."""
    fields = pa.ipc.read_schema(pa.BufferReader(schema))
    sink = pa.BufferOutputStream()
    pq.write_table(fields.empty_table(), sink)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    paths = [columns.column(place).path for place in range(len(columns))]
    scores = {f.name for f in fields if f.name.startswith("score_") and f.type == pa.float32()}
    return {path: _NONE if path in scores else _ZSTD for path in paths}


def row_group(file: pa.Buffer, schema: pa.Schema) -> RowGroup:
    """Return the row group of a file that `encode` made of a table with this schema."""
    metadata = pq.read_metadata(pa.BufferReader(file))
    if metadata.num_row_groups == 0:
        return RowGroup(0, {})
    return _cut(metadata.row_group(0), schema, memoryview(file), 0)


class RowGroupReader:
    """The row groups of a Parquet file, as bytes; threads may read at the same time."""

    def __init__(self, path: Path, file: pq.ParquetFile) -> None:
        """Open the file anew; `file` tells what its footer says."""
        self._lock = threading.Lock()
        self._file = path.open("rb")
        self._metadata = file.metadata
        self._schema = file.schema_arrow

    def __len__(self) -> int:
        """Return how many there are."""
        return int(self._metadata.num_row_groups)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, number: int) -> RowGroup:
        """Read a row group in one go."""
        group = self._metadata.row_group(number)
        said = [group.column(place) for place in range(group.num_columns)]
        start = min(_start(chunk) for chunk in said)
        end = max(_start(chunk) + chunk.total_compressed_size for chunk in said)
        with self._lock:
            self._file.seek(start)
            content = self._file.read(end - start)
        return _cut(group, self._schema, memoryview(content), start)


class Sink(Protocol):
    """What row groups are written to."""

    def write(self, content: bytes | memoryview, /) -> object:
        """Take bytes."""


class RowGroupWriter:
    """Joins row groups of one schema into a Parquet file."""

    def __init__(self, file: Sink, schema: pa.Schema) -> None:
        """Begin the file; the file object stays the caller's to close."""
        self._file = file
        # An empty file has the schema as pyarrow writes it, in both of its forms.
        empty = encode(schema.empty_table()).to_pybytes()
        length, _ = _TAIL.unpack(empty[-_TAIL.size :])
        self._footer = footer.read_footer(empty[-_TAIL.size - length :])
        self._footer.num_rows, self._footer.row_groups = 0, []
        self._paths = list(_leaf_paths(iter(self._footer.schema)))
        self._at = 0
        self._write(_MAGIC)

    def add(self, group: RowGroup) -> None:
        """Append a row group whose columns stand in the order of the schema."""
        if group.rows == 0:
            return
        start, columns = self._at, []
        chunks = [chunk for chunks in group.columns.values() for chunk in chunks]
        for path, chunk in zip(self._paths, chunks, strict=True):
            metadata = _described(chunk.said, path, self._at - _start(chunk.said))
            columns.append(footer.ColumnChunk(file_offset=0, meta_data=metadata))
            self._write(chunk.content)
        described = footer.RowGroup(
            columns=columns,
            total_byte_size=sum(c.meta_data.total_uncompressed_size for c in columns),
            num_rows=group.rows,
            file_offset=start,
            total_compressed_size=self._at - start,
        )
        # Put into words at once, while other threads work, and not all together at the end.
        self._footer.row_groups.append(footer.in_words(described))
        self._footer.num_rows += group.rows

    def close(self) -> None:
        """Write the footer."""
        content = footer.in_words(self._footer)
        self._write(content)
        self._write(_TAIL.pack(len(content), _MAGIC))

    def _write(self, content: bytes | memoryview) -> None:
        self._file.write(content)
        self._at += len(content)


def with_columns(group: RowGroup, other: RowGroup, columns: Mapping[str, str]) -> RowGroup:
    """Return a row group of `columns`: those of `other` where it has them, else taken from `group`.

    `columns`: name, in the order of the new schema -> the name that `group` has it under.
    """
    return RowGroup(
        group.rows,
        {
            name: other.columns[name] if name in other.columns else group.columns[source]
            for name, source in columns.items()
        },
    )


def _cut(
    group: pq.RowGroupMetaData, schema: pa.Schema, content: memoryview, offset: int
) -> RowGroup:
    """Cut a row group's bytes, which begin at `offset` of their file, into its columns."""
    columns: dict[str, list[Chunk]] = {}
    places = iter(range(group.num_columns))
    for column in schema:
        columns[column.name] = []
        for place in islice(places, _leaves(column.type)):
            said = group.column(place)
            start = _start(said) - offset
            end = start + said.total_compressed_size
            columns[column.name].append(Chunk(content[start:end], said))
    return RowGroup(group.num_rows, columns)


def _leaves(kind: pa.DataType) -> int:
    """Return how many column chunks a type takes."""
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    if not pa.types.is_nested(kind):
        return 1
    if pa.types.is_map(kind):
        return _leaves(kind.key_type) + _leaves(kind.item_type)
    return sum(_leaves(kind.field(place).type) for place in range(kind.num_fields))


def _leaf_paths(elements: Iterator[Any]) -> Iterator[list[str]]:
    """Yield the paths of the leaves below the next element of a footer's flattened schema."""
    for _ in range(next(elements).num_children or 0):
        ahead = next(elements)
        if ahead.num_children:
            for path in _leaf_paths(chain([ahead], elements)):
                yield [ahead.name, *path]
        else:
            yield [ahead.name]


def _start(said: pq.ColumnChunkMetaData) -> int:
    """Return where a chunk begins: at its dictionary, if it has one."""
    return int(said.dictionary_page_offset or said.data_page_offset)


def _described(said: pq.ColumnChunkMetaData, path: list[str], shift: int) -> Any:  # noqa: ANN401
    """Return a footer's words on a chunk that lies `shift` bytes further on than it did."""
    dictionary = said.dictionary_page_offset
    return footer.ColumnMetaData(
        type=footer.TYPES[said.physical_type],
        encodings=[footer.ENCODINGS[name] for name in said.encodings],
        path_in_schema=path,
        codec=footer.CODECS[said.compression],
        num_values=said.num_values,
        total_uncompressed_size=said.total_uncompressed_size,
        total_compressed_size=said.total_compressed_size,
        data_page_offset=said.data_page_offset + shift,
        dictionary_page_offset=dictionary + shift if dictionary else None,
        statistics=_statistics(said),
    )


def _statistics(said: pq.ColumnChunkMetaData) -> Any:  # noqa: ANN401 - of Thrift
    """Return the statistics of text; those of other columns, if any, are left out."""
    found = said.statistics
    if not said.is_stats_set or not found.has_min_max or not isinstance(found.max, str):
        return None
    return footer.Statistics(
        null_count=found.null_count,
        max_value=found.max.encode(),
        min_value=found.min.encode(),
        is_max_value_exact=True,
        is_min_value_exact=True,
    )
