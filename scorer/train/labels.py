"""Reading teachers' labels: one table, or the JSON files that the labelling step writes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from scorer.errors import InputError, UsageError
from scorer.frame.contract import NATIVE_NAMES, conform, resolve
from scorer.frame.ids import check_ids
from scorer.frame.parquet import open_parquet
from scorer.targets import INSUFFICIENT_PAYLOAD, Head, Targets
from scorer.train.targets import make_targets

_CATEGORIES: Final = "_categories"


@dataclass(frozen=True, slots=True)
class Labels:
    """A labelled sample: works as the frame contract has them, and what each head said of them."""

    works: pl.DataFrame
    weight: npt.NDArray[np.float64]
    targets: Targets
    weighted: bool
    """Whether design weights came with the labels; otherwise each work weighs 1."""
    _said: pl.DataFrame

    def judged(self, head: str, target: str) -> npt.NDArray[np.bool_]:
        """Tell which works the head judged for a target: bool [works].

        `insufficient_payload` means that the teacher declined: nothing else is known of that work.
        """
        labels = self._said[head + _CATEGORIES]
        known = labels.is_not_null()
        if target != INSUFFICIENT_PAYLOAD:
            known &= ~labels.list.contains(INSUFFICIENT_PAYLOAD).fill_null(False)
        if target not in self.targets.categories:
            column = f"{head}_{target}"
            known &= self._said[column].is_not_null() if column in self._said else pl.lit(False)
        return known.to_numpy()

    def positive(self, head: str, target: str) -> npt.NDArray[np.bool_]:
        """Tell which works the head said yes to, for a category or a flag: bool [works]."""
        if target in self.targets.categories:
            said = self._said[head + _CATEGORIES].list.contains(target)
        else:
            said = self._said[f"{head}_{target}"]
        return said.fill_null(False).to_numpy()

    def value(self, head: str, axis: str) -> npt.NDArray[np.int64]:
        """Return the number of the axis value that the head gave: int64 [works], -1 for none."""
        values = next(a.values for a in self.targets.axes if a.name == axis)
        said = self._said[f"{head}_{axis}"].cast(pl.Enum(list(values)))
        return said.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()

    def has(self, head: str, target: str) -> bool:
        """Tell whether the head was asked about a target at all."""
        return target in self.targets.categories or f"{head}_{target}" in self._said.columns


def read_label_table(path: Path) -> Labels:
    """Read a label table from Parquet; raise `InputError` where it breaks its contract."""
    table = pl.from_arrow(open_parquet(path).read())
    assert isinstance(table, pl.DataFrame)
    return _labels(table, path.name)


def read_label_files(sample: Path, heads: Mapping[str, Path]) -> Labels:
    """Read the JSON files of the labelling step: the works, and one file of labels a head.

    Works that a head's file lacks were not judged by it; labels of works that the sample lacks are
    an error.
    """
    if not heads:
        raise UsageError("--sample needs at least one --head NAME=FILE.")
    table = _json_rows(sample)
    for head, path in heads.items():
        said = _json_rows(path)
        if "id" not in said.columns or "categories" not in said.columns:
            raise InputError(f"{path}: every record needs an id and categories.")
        _check_ids(said["id"], path.name)
        strangers = said.join(table, on="id", how="anti")
        if strangers.height:
            raise InputError(
                f"{path}: {strangers.height:,} ids that {sample.name} lacks, first: "
                f"{', '.join(strangers['id'].head(5))}."
            )
        said = said.rename({name: f"{head}_{name}" for name in said.columns if name != "id"})
        table = table.join(said, on="id", how="left", maintain_order="left")
    return _labels(table, sample.name)


def _json_rows(path: Path) -> pl.DataFrame:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return pl.DataFrame(rows, infer_schema_length=None)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. Check the path.") from error
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: not a JSON list of records ({reason}).") from error


def _labels(table: pl.DataFrame, where: str) -> Labels:
    names = [name.removesuffix(_CATEGORIES) for name in table.columns if name.endswith(_CATEGORIES)]
    if not names:
        raise InputError(
            f"{where}: no column <head>_categories, so no head to learn from.\n"
            f"Columns found: {', '.join(table.columns)}."
        )
    schema: pa.Schema = table.to_arrow().schema
    columns = resolve(schema, where, wanted=list(NATIVE_NAMES))
    works = conform(table, columns, schema)
    _check_ids(works["id"], where)
    if works.height == 0:
        raise InputError(f"{where}: no works to learn from.")
    said = table.select(
        name
        for name in table.columns
        if name not in columns.paths.values() and any(name.startswith(f"{h}_") for h in names)
    )
    return Labels(
        works=works,
        weight=_weights(table, where),
        targets=_targets(said, names, where),
        weighted="weight" in table.columns,
        _said=said,
    )


def _check_ids(ids: pl.Series, where: str) -> None:
    check_ids(lambda: [ids], len(ids), where)


def _weights(table: pl.DataFrame, where: str) -> npt.NDArray[np.float64]:
    if "weight" not in table.columns:
        return np.ones(table.height)
    try:
        weight = table["weight"].cast(pl.Float64)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{where}: column 'weight' holds {table['weight'].dtype}.") from error
    bad = ~(weight.is_finite() & (weight > 0)).fill_null(False)
    if bad.any():
        row = bad.arg_true()[0]
        raise InputError(
            f"{where}: {bad.sum():,} weights are missing, infinite or not over 0, first in row "
            f"{row} (counted from 0): {weight[row]}.\nA design weight is population / sample."
        )
    return weight.to_numpy()


def _targets(said: pl.DataFrame, names: list[str], where: str) -> Targets:
    categories: set[str] = set()
    flags: dict[str, None] = {}
    axes: dict[str, set[str]] = {}
    for head in names:
        for column in said.columns:
            if _head_of(column, names) != head:
                continue
            target, values = column.removeprefix(f"{head}_"), said[column]
            if column.endswith(_CATEGORIES):
                if not isinstance(values.dtype, pl.List):
                    raise InputError(f"{where}: column {column!r} holds {values.dtype}, not lists.")
                categories.update(values.explode().drop_nulls().cast(pl.String))
            elif values.dtype == pl.Boolean:
                flags[target] = None
            elif values.dtype == pl.String and values.null_count() < len(values):
                axes.setdefault(target, set()).update(values.drop_nulls().unique())
    if not categories:
        raise InputError(f"{where}: no work has any category, so there is nothing to learn.")
    return make_targets(
        [Head(name=name) for name in names],
        list(categories),
        list(flags),
        {name: sorted(values) for name, values in axes.items()},
    )


def _head_of(column: str, heads: list[str]) -> str | None:
    """Return the head a column belongs to: the longest name that begins it."""
    fitting = [head for head in heads if column.startswith(f"{head}_")]
    return max(fitting, key=len, default=None)
