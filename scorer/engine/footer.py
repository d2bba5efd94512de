"""What a Parquet footer says, as far as row groups are taken over from one file into another.

Field numbers and types are those of the format's specification (github.com/apache/parquet-format).
Left out, and so dropped from what is taken over: encryption, page indexes, Bloom filters, encoding
and size statistics. None of them is needed to read a file. Declared here rather than in an IDL
file, whose parser alone would take a tenth of a second.
"""

import io
from typing import Any, Final

from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.thrift import TPayload, TType, gen_init
from thriftpy2.transport import TMemoryBuffer

TYPES: Final = {
    "BOOLEAN": 0,
    "INT32": 1,
    "INT64": 2,
    "INT96": 3,
    "FLOAT": 4,
    "DOUBLE": 5,
    "BYTE_ARRAY": 6,
    "FIXED_LEN_BYTE_ARRAY": 7,
}
ENCODINGS: Final = {
    "PLAIN": 0,
    "PLAIN_DICTIONARY": 2,
    "RLE": 3,
    "BIT_PACKED": 4,
    "DELTA_BINARY_PACKED": 5,
    "DELTA_LENGTH_BYTE_ARRAY": 6,
    "DELTA_BYTE_ARRAY": 7,
    "RLE_DICTIONARY": 8,
    "BYTE_STREAM_SPLIT": 9,
}
CODECS: Final = {
    "UNCOMPRESSED": 0,
    "SNAPPY": 1,
    "GZIP": 2,
    "LZO": 3,
    "BROTLI": 4,
    "LZ4": 5,
    "ZSTD": 6,
    "LZ4_RAW": 7,
}

_I16, _I32, _I64, _BOOL = (TType.I16,), (TType.I32,), (TType.I64,), (TType.BOOL,)
_BYTE, _TEXT, _BINARY = (TType.BYTE,), (TType.STRING,), (TType.BINARY,)


def _struct(title: str, fields: dict[int, tuple[str, tuple[Any, ...]]]) -> Any:  # noqa: ANN401 - a class
    """Return a Thrift struct: number -> (name, type)."""
    spec = {number: (kind[0], name, *kind[1:], False) for number, (name, kind) in fields.items()}
    defaults = [(name, None) for name, _ in fields.values()]
    return gen_init(type(title, (TPayload,), {"__module__": __name__}), spec, defaults)


def _list(of: tuple[Any, ...]) -> tuple[Any, ...]:
    return (TType.LIST, of if len(of) > 1 else of[0])


def _of(struct: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a class
    return (TType.STRUCT, struct)


Empty = _struct("Empty", {})
TimeUnit = _struct(
    "TimeUnit", {1: ("MILLIS", _of(Empty)), 2: ("MICROS", _of(Empty)), 3: ("NANOS", _of(Empty))}
)
TimeType = _struct("TimeType", {1: ("isAdjustedToUTC", _BOOL), 2: ("unit", _of(TimeUnit))})
DecimalType = _struct("DecimalType", {1: ("scale", _I32), 2: ("precision", _I32)})
IntType = _struct("IntType", {1: ("bitWidth", _BYTE), 2: ("isSigned", _BOOL)})
LogicalType = _struct(
    "LogicalType",
    {
        1: ("STRING", _of(Empty)),
        2: ("MAP", _of(Empty)),
        3: ("LIST", _of(Empty)),
        4: ("ENUM", _of(Empty)),
        5: ("DECIMAL", _of(DecimalType)),
        6: ("DATE", _of(Empty)),
        7: ("TIME", _of(TimeType)),
        8: ("TIMESTAMP", _of(TimeType)),
        10: ("INTEGER", _of(IntType)),
        11: ("UNKNOWN", _of(Empty)),
        12: ("JSON", _of(Empty)),
        13: ("BSON", _of(Empty)),
        14: ("UUID", _of(Empty)),
        15: ("FLOAT16", _of(Empty)),
    },
)
SchemaElement = _struct(
    "SchemaElement",
    {
        1: ("type", _I32),
        2: ("type_length", _I32),
        3: ("repetition_type", _I32),
        4: ("name", _TEXT),
        5: ("num_children", _I32),
        6: ("converted_type", _I32),
        7: ("scale", _I32),
        8: ("precision", _I32),
        9: ("field_id", _I32),
        10: ("logicalType", _of(LogicalType)),
    },
)
Statistics = _struct(
    "Statistics",
    {
        3: ("null_count", _I64),
        5: ("max_value", _BINARY),
        6: ("min_value", _BINARY),
        7: ("is_max_value_exact", _BOOL),
        8: ("is_min_value_exact", _BOOL),
    },
)
KeyValue = _struct("KeyValue", {1: ("key", _TEXT), 2: ("value", _TEXT)})
ColumnMetaData = _struct(
    "ColumnMetaData",
    {
        1: ("type", _I32),
        2: ("encodings", _list(_I32)),
        3: ("path_in_schema", _list(_TEXT)),
        4: ("codec", _I32),
        5: ("num_values", _I64),
        6: ("total_uncompressed_size", _I64),
        7: ("total_compressed_size", _I64),
        9: ("data_page_offset", _I64),
        11: ("dictionary_page_offset", _I64),
        12: ("statistics", _of(Statistics)),
    },
)
ColumnChunk = _struct(
    "ColumnChunk", {2: ("file_offset", _I64), 3: ("meta_data", _of(ColumnMetaData))}
)
RowGroup = _struct(
    "RowGroup",
    {
        1: ("columns", _list(_of(ColumnChunk))),
        2: ("total_byte_size", _I64),
        3: ("num_rows", _I64),
        5: ("file_offset", _I64),
        6: ("total_compressed_size", _I64),
        7: ("ordinal", _I16),
    },
)
ColumnOrder = _struct("ColumnOrder", {1: ("TYPE_ORDER", _of(Empty))})
FileMetaData = _struct(
    "FileMetaData",
    {
        1: ("version", _I32),
        2: ("schema", _list(_of(SchemaElement))),
        3: ("num_rows", _I64),
        4: ("row_groups", _list(_of(RowGroup))),
        5: ("key_value_metadata", _list(_of(KeyValue))),
        6: ("created_by", _TEXT),
        7: ("column_orders", _list(_of(ColumnOrder))),
    },
)


class _Protocol(TCompactProtocol):
    """Thrift's compact protocol, in which a struct may be in words already."""

    def write_struct(self, obj: Any) -> None:  # noqa: ANN401 - a struct
        if isinstance(obj, bytes):
            self.trans.write(obj)
        else:
            super().write_struct(obj)  # type: ignore[no-untyped-call]


def in_words(struct: Any) -> bytes:  # noqa: ANN401 - a struct
    """Return a struct in Thrift's compact protocol; structs within it may be in words already."""
    sink = io.BytesIO()
    _Protocol(sink).write_struct(struct)  # type: ignore[no-untyped-call]
    return sink.getvalue()


def read_footer(content: bytes) -> Any:  # noqa: ANN401 - FileMetaData
    """Return the `FileMetaData` at the beginning of `content`."""
    footer = FileMetaData()
    footer.read(TCompactProtocol(TMemoryBuffer(content)))
    return footer
