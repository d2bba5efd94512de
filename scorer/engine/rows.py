"""Contract 4, *row out*: the Arrow schema of a scored file, and rows brought into it."""

from collections.abc import Mapping
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

    Raises `UsageError` where a kept column has the name of a column of the output.
    """
    everyone = kinds(targets, mode)
    fields = [
        pa.field("id", pa.string()),
        pa.field("segment", _WORD),
        *(pa.field(name, pa.float32()) for name in targets.score_columns),
        *(pa.field(f"{kind}_{what}", _LIST) for kind in everyone for what in WHATS),
        *(
            pa.field(f"{kind}_{axis.name}", pa.string())
            for axis in targets.axes
            for kind in everyone
        ),
        pa.field("classification", _WORD),
        pa.field("teacher_disagreement", pa.float32()),
        pa.field("threshold_uncertainty", pa.float32()),
        pa.field("model_version", _WORD),
        pa.field("policy_version", _WORD),
        pa.field("score_status", _WORD),
        pa.field("prediction_status", _WORD),
        # What other policies need beside the scores, so that calls can be made anew from the file.
        pa.field("usable_title", pa.bool_()),
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


def constant(name: str, value: str) -> pl.Expr:
    """Return a column that says the same in every row."""
    return pl.lit(value, pl.Enum([value])).alias(name)


def to_table(columns: Mapping[str, pl.Series | pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    """Bring columns, of Polars or of Arrow, into a schema."""
    return pa.Table.from_arrays(
        [_column(columns[field.name], field.type) for field in schema], schema=schema
    )


def _column(values: pl.Series | pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if isinstance(values, pl.Series):
        if isinstance(values.dtype, pl.Enum):
            codes = pa.array(values.to_physical().cast(pl.Int32).to_numpy())
            words = pa.array(values.dtype.categories, pa.string())
            return pa.DictionaryArray.from_arrays(codes, words)
        values = values.rechunk().to_arrow()
    return values if values.type == kind else values.cast(kind)
