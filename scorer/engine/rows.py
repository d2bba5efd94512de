"""Contract 4, *row out*: the Arrow schema of a scored file, and rows brought into it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl
import pyarrow as pa

from scorer.errors import UsageError
from scorer.policy.axes import best_names
from scorer.policy.calls import WHATS, Mode, kinds
from scorer.policy.policy import Policy
from scorer.status import STAMP
from scorer.targets import Targets

_WORD: Final = pa.dictionary(pa.int32(), pa.string())
_LIST: Final = pa.list_(pa.string())


def row_schema(
    targets: Targets, policy: Policy, mode: Mode, kept: pa.Schema | None = None
) -> pa.Schema:
    """Return the schema of a scored file; kept columns of the frame stand at its end.

    Columns that are never null are declared so: that saves an eighth of the time to encode them.
    Raises `UsageError` where a kept column has the name of a column of the output.
    """
    everyone = kinds(targets, mode)
    fields = [
        _never_null("id", pa.string()),
        _never_null("segment", _WORD),
        *(_never_null(name, pa.float32()) for name in targets.score_columns),
        *(pa.field(f"{kind}_{what}", _LIST) for kind in everyone for what in WHATS),
        *(
            pa.field(f"{kind}_{axis.name}", pa.string())
            for axis in targets.axes
            for kind in everyone
        ),
        _never_null("classification", _WORD),
        _never_null("teacher_disagreement", pa.float32()),
        pa.field("threshold_uncertainty", pa.float32()),
        _never_null("model_version", _WORD),
        _never_null("policy_version", _WORD),
        _never_null("score_status", _WORD),
        _never_null("prediction_status", _WORD),
        # What other policies need beside the scores, so that calls can be made anew from the file.
        _never_null("usable_title", pa.bool_()),
        *(pa.field(name, pa.string()) for name in best_names(targets, policy)),
    ]
    names = {field.name.lower() for field in fields}  # databases often fold case
    for field in kept or []:
        if field.name.lower() in names:
            raise UsageError(
                f"--keep {field.name}: the output has a column of that name already.\n"
                "Rename the frame's column first."
            )
    return pa.schema([*fields, *(kept or [])], metadata={"prediction_status": STAMP})


def other_columns(found: pa.Schema, expected: pa.Schema) -> Iterator[str]:
    """Yield which columns are not those of a contract, by place, name and type.

    Whether they may be null is left open: files of earlier versions do not say that any may not.
    """
    for place, wanted in enumerate(expected):
        there = found.field(place) if place < len(found) else None
        if there is None or (there.name, there.type) != (wanted.name, wanted.type):
            is_there = "not there" if there is None else f"{there.name} ({there.type})"
            yield f"column {place} is {is_there}, expected {wanted.name} ({wanted.type})"


def _never_null(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def constant(name: str, value: str) -> pl.Expr:
    """Return a column that says the same in every row."""
    return pl.lit(value, pl.Enum([value])).alias(name)


def to_table(columns: Mapping[str, pl.Series | pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    """Bring columns, of Polars or of Arrow, into a schema; text of an Enum keeps its codes."""
    arrays = [_column(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=_held(schema, [array.type for array in arrays]))


def in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast a table to a schema, but for text that is held as codes: Parquet has no other form."""
    return table.cast(_held(schema, table.schema.types))


def _held(schema: pa.Schema, types: Sequence[pa.DataType]) -> pa.Schema:
    fields = [
        field.with_type(kind)
        if pa.types.is_dictionary(kind) and field.type in (_WORD, pa.string())
        else field
        for field, kind in zip(schema, types, strict=True)
    ]
    return pa.schema(fields, metadata=schema.metadata)


def in_one_piece(table: pa.Table, kept: Sequence[str]) -> pa.Table:
    """Return a table whose bytes depend on its values alone, not on how they were read.

    Otherwise pages would end where batches did, and `kept` dictionaries hold words as met by the
    reader.
    """
    for name in kept:
        place = table.schema.get_field_index(name)
        kind = table.schema.field(place).type
        if pa.types.is_dictionary(kind):
            words = table[name].cast(kind.value_type).combine_chunks()
            field = table.schema.field(place)
            table = table.set_column(place, field, words.dictionary_encode().cast(kind))
    return table.combine_chunks()


def _column(values: pl.Series | pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if isinstance(values, pl.Series):
        if isinstance(values.dtype, pl.Enum):
            codes = values.to_physical().rechunk().to_arrow()  # of a byte, mostly
            words = pa.array(values.dtype.categories, pa.string())
            return pa.DictionaryArray.from_arrays(codes, words, safe=False)  # no code is off
        values = values.rechunk().to_arrow()
    return values if values.type == kind else values.cast(kind)
