"""Reading teachers' labels: one table, or the JSON files that the labelling step writes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from pydantic import ValidationError

from scorer.counted import counted
from scorer.errors import InputError, UsageError
from scorer.frame.contract import NATIVE_NAMES, conform, resolve
from scorer.frame.ids import check_ids
from scorer.frame.parquet import open_parquet
from scorer.labels.records import read_records
from scorer.labels.targets import make_targets
from scorer.targets import INSUFFICIENT_PAYLOAD, NAME_PATTERN, Head, Targets

_CATEGORIES: Final = "_categories"
_MOST_VALUES: Final = 64  # a column of text with more distinct values is no axis


@dataclass(frozen=True, slots=True)
class Labels:
    """A labelled sample: works as the frame contract has them, and what each head said of them."""

    works: pl.DataFrame
    weight: npt.NDArray[np.float64]
    targets: Targets
    weighted: bool
    """Whether design weights came with the labels; otherwise each work weighs 1."""
    left_out: tuple[str, ...]
    """Columns of a head that are free text, no axis."""
    stratum: pl.Series | None
    """String [works], where the labels tell which stratum a work was drawn from."""
    _said: pl.DataFrame

    def judged(self, head: str, target: str) -> npt.NDArray[np.bool_]:
        """Tell which works the head judged for a target: bool [works].

        `insufficient_payload` means that the teacher declined: nothing else is known of that work.
        """
        labels = self._said[head + _CATEGORIES]
        known = labels.is_not_null()
        if target != INSUFFICIENT_PAYLOAD:
            known &= ~labels.list.contains(INSUFFICIENT_PAYLOAD).fill_null(False)
        if not self.has(head, target):
            return np.zeros(self.works.height, bool)
        if target not in self.targets.categories:
            known &= self._said[f"{head}_{target}"].is_not_null()
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
        if not self.has(head, axis):
            return np.full(self.works.height, -1)
        said = self._said[f"{head}_{axis}"].cast(pl.Enum(list(values)))
        return said.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()

    def has(self, head: str, target: str) -> bool:
        """Tell whether the head was asked about a target at all."""
        return target in self.targets.categories or f"{head}_{target}" in self._said.columns

    def only(self, rows: npt.NDArray[np.int64]) -> "Labels":
        """Return some of the works and what was said of them, in this order; targets stay."""
        return replace(
            self,
            works=self.works[rows],
            weight=self.weight[rows],
            stratum=None if self.stratum is None else self.stratum[rows],
            _said=self._said[rows],
        )


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
    table = read_records(sample, needed=("id", "title"))
    for head, path in heads.items():
        said = read_records(path, needed=("id", "categories"))
        strangers = said.join(table, on="id", how="anti")
        if strangers.height:
            raise InputError(
                f"{path}: ids that {sample.name} lacks: {strangers.height:,}, first: "
                f"{', '.join(strangers['id'].head(5))}.\nLabels belong to works of the sample."
            )
        said = said.rename({name: f"{head}_{name}" for name in said.columns if name != "id"})
        table = table.join(said, on="id", how="left", maintain_order="left")
    return _labels(table, sample.name)


def _labels(table: pl.DataFrame, where: str) -> Labels:
    names = [name.removesuffix(_CATEGORIES) for name in table.columns if name.endswith(_CATEGORIES)]
    if not names:
        raise InputError(
            f"{where}: no column <head>_categories, so no head to learn from.\n"
            f"Columns found: {', '.join(table.columns)}."
        )
    schema: pa.Schema = table.to_arrow().schema
    columns = resolve(schema, where, wanted=list(NATIVE_NAMES), remedy="rename {column} to {name}")
    works = conform(table, columns, schema)
    _check_ids(works["id"], where)
    if works.height == 0:
        raise InputError(f"{where}: no works to learn from.")
    said = table.select(
        name
        for name in table.columns
        if name not in columns.paths.values() and any(name.startswith(f"{h}_") for h in names)
    )
    said = said.with_columns(
        pl.col(column).cast(pl.String)
        for column, kind in said.schema.items()
        if isinstance(kind, pl.Categorical | pl.Enum)
    )
    targets, left_out = _targets(said, names, where)
    return Labels(
        works=works,
        weight=_weights(table, where),
        targets=targets,
        weighted="weight" in table.columns,
        left_out=tuple(left_out),
        stratum=table["stratum"].cast(pl.String) if "stratum" in table.columns else None,
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
            f"{where}: {counted(int(bad.sum()), 'weight')} {'is' if bad.sum() == 1 else 'are'} "
            f"missing, infinite or not over 0, first in row {row} (counted from 0): "
            f"{weight[row]}.\nA design weight is population / sample."
        )
    return weight.to_numpy()


def _targets(said: pl.DataFrame, names: list[str], where: str) -> tuple[Targets, list[str]]:
    """Return the targets that the heads' columns hold, and the columns that hold none."""
    categories: set[str] = set()
    flags: set[str] = set()
    axes: dict[str, set[str]] = {}
    left_out: list[str] = []
    for column, values in ((name, said[name]) for name in said.columns):
        head = _head_of(column, names)
        target = column.removeprefix(f"{head}_")
        if column.endswith(_CATEGORIES):
            categories |= _category_names(column, values, where)
        elif values.dtype == pl.Boolean:
            flags.add(target)
        elif values.dtype == pl.String and values.null_count() < len(values):
            found = set(values.drop_nulls().unique())
            if len(found) <= _MOST_VALUES and all(map(_is_name, found)):
                axes.setdefault(target, set()).update(found)
            else:
                left_out.append(column)
    if not categories:
        raise InputError(f"{where}: no work has any category, so there is nothing to learn.")
    try:
        return make_targets(
            [Head(name=name) for name in names],
            list(categories),
            list(flags),
            {name: sorted(values) for name, values in axes.items()},
        ), left_out
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"{where}: heads and targets do not fit together: {reason}.") from error


def _category_names(column: str, values: pl.Series, where: str) -> set[str]:
    if values.dtype != pl.List(pl.String):
        raise InputError(
            f"{where}: column {column!r} holds {values.dtype}, expected lists of text."
        )
    found = set(values.explode().drop_nulls())
    for name in sorted(found):
        if not _is_name(name):
            raise InputError(
                f"{where}: column {column!r}: category {name!r} is no name: ASCII letters, digits, "
                "_ . and - only, 64 at most.\nRename it in the labels."
            )
    return found


def _is_name(text: str) -> bool:
    return re.fullmatch(NAME_PATTERN, text) is not None


def _head_of(column: str, heads: list[str]) -> str | None:
    """Return the head a column belongs to: the longest name that begins it."""
    fitting = [head for head in heads if column.startswith(f"{head}_")]
    return max(fitting, key=len, default=None)
