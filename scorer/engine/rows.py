"""Contract 4, *row out*: the Arrow schema of a scored file, and rows brought into it."""

from typing import Final

import polars as pl
import pyarrow as pa

from scorer.errors import UsageError
from scorer.policy.calls import CANDIDATE, CONSENSUS
from scorer.status import STAMP
from scorer.targets import Targets, score_column

_WORD: Final = pa.dictionary(pa.int32(), pa.string())
_LIST: Final = pa.list_(pa.string())


def row_schema(targets: Targets, kept: pa.Schema | None = None) -> pa.Schema:
    """Return the schema of a scored file; kept columns of the frame stand at its end.

    Raises `UsageError` where a kept column has the name of a column of the output.
    """
    heads = targets.head_names
    kinds = [*heads, CANDIDATE, CONSENSUS]
    fields = [
        pa.field("id", pa.string()),
        pa.field("segment", _WORD),
        *(
            pa.field(score_column(head, target), pa.float32())
            for head in heads
            for target in targets.binary_names
        ),
        *(pa.field(f"{kind}_{what}", _LIST) for kind in kinds for what in ("categories", "flags")),
        *(pa.field(f"{kind}_{axis.name}", pa.string()) for axis in targets.axes for kind in kinds),
        pa.field("classification", _WORD),
        pa.field("teacher_disagreement", pa.float32()),
        pa.field("threshold_uncertainty", pa.float32()),
        pa.field("model_version", _WORD),
        pa.field("policy_version", _WORD),
        pa.field("score_status", _WORD),
        pa.field("prediction_status", _WORD),
    ]
    names = {field.name.lower() for field in fields}  # databases often fold case
    for field in kept or []:
        if field.name.lower() in names:
            raise UsageError(
                f"--keep {field.name}: the output has a column of that name already.\n"
                "Rename the frame's column first."
            )
    return pa.schema([*fields, *(kept or [])], metadata={"prediction_status": STAMP})


def to_table(rows: pl.DataFrame, kept: pa.Table, schema: pa.Schema) -> pa.Table:
    """Bring scored rows, and the frame's kept columns, into the schema of the output."""
    columns = [
        kept[field.name] if field.name in kept.column_names else _column(rows[field.name], field)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(values: pl.Series, field: pa.Field) -> pa.Array:
    if isinstance(values.dtype, pl.Enum):
        codes = pa.array(values.to_physical().cast(pl.Int32).to_numpy())
        return pa.DictionaryArray.from_arrays(codes, pa.array(values.dtype.categories, pa.string()))
    column = values.rechunk().to_arrow()
    return column if column.type == field.type else column.cast(field.type)
