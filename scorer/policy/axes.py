"""Axes: the best value of each head, and what the heads' values come to."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.policy.calls import CANDIDATE, CONSENSUS, MAJORITY, Given, Mode, kinds
from scorer.policy.policy import Policy
from scorer.targets import Axis, Targets

Places = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class AxisChoices:
    """Best values of the axes: head -> axis -> [works], and of the mean over the heads.

    They are an Enum of the axis's values.
    """

    by_head: Mapping[str, Mapping[str, pl.Series]]
    by_mean: Mapping[str, pl.Series]


def choose_axes(
    scores: Mapping[str, Mapping[str, npt.NDArray[np.float32]]],
    targets: Targets,
    best: Mapping[str, Mapping[str, Places]] | None = None,
    best_mean: Mapping[str, Places] | None = None,
) -> AxisChoices:
    """Return each head's best value and the value with the best mean; the first of equals wins.

    `scores`: head -> axis -> float32 [works, values]. `best`, head -> axis -> uint8 [works], and
    `best_mean`, axis -> uint8 [works]: the places of these values, where they are known.
    """
    if best is None or best_mean is None:
        best = {
            head: {axis: _best(of) for axis, of in axes.items()} for head, axes in scores.items()
        }
        best_mean = {axis.name: _best(_total(scores, axis, targets)) for axis in targets.axes}
    by_head: dict[str, dict[str, pl.Series]] = {head: {} for head in targets.head_names}
    by_mean: dict[str, pl.Series] = {}
    for axis in targets.axes:
        names = pl.Series(axis.values, dtype=pl.Enum(axis.values))
        nothing = _nothing(len(best_mean[axis.name]), names.dtype)
        fitted = _fitted(axis, targets)
        for head in targets.head_names:
            by_head[head][axis.name] = (
                names.gather(pl.Series(best[head][axis.name])) if head in fitted else nothing
            )
        by_mean[axis.name] = names.gather(pl.Series(best_mean[axis.name])) if fitted else nothing
    return AxisChoices(by_head, by_mean)


def _fitted(axis: Axis, targets: Targets) -> list[str]:
    return [head.name for head in targets.heads if axis.name not in head.unavailable]


def _total(
    scores: Mapping[str, Mapping[str, npt.NDArray[np.float32]]], axis: Axis, targets: Targets
) -> npt.NDArray[np.float64]:
    """Return the sum over the heads that have learned the axis, float64 [works, values].

    In float64 the sum of a few float32 is exact: the order of the heads cannot matter.
    """
    total = np.zeros(scores[targets.head_names[0]][axis.name].shape)
    for head in _fitted(axis, targets):
        total += scores[head][axis.name]
    return total


def axis_columns(
    sets: pl.DataFrame,
    usable: pl.Series,
    choices: AxisChoices,
    targets: Targets,
    *,
    mode: Mode = "both",
    given: Mapping[str, Given] | None = None,
) -> list[pl.Series]:
    """Return `<kind>_<axis>`: null without a usable title, or without the call it depends on.

    A direct head's value is the one given. Candidate: that value where a head has one, otherwise
    the best mean; consensus: set only where all heads say the same.
    """
    columns: list[pl.Series] = []
    for axis in targets.axes:
        of_head = {head: choices.by_head[head][axis.name] for head in targets.head_names}
        candidate = choices.by_mean[axis.name]
        for head in reversed(targets.head_names):  # of labels that differ, the first head's wins
            if not given or head not in given:
                continue
            named = given[head].axes.get(axis.name)
            said = (
                _nothing(len(usable), candidate.dtype)
                if named is None
                else named.cast(candidate.dtype)
            )
            of_head[head] = said
            candidate = said.zip_with(said.is_not_null(), candidate)
        values = {**of_head, CANDIDATE: candidate, CONSENSUS: where_all_agree([*of_head.values()])}
        if mode == MAJORITY:
            values[MAJORITY] = where_most_agree([*of_head.values()])
        for kind in kinds(targets, mode):
            set_where = usable
            if axis.only_with is not None:
                bit = 1 << targets.categories.index(axis.only_with)
                set_where = usable & ((sets[f"{kind}_categories"] & bit) != 0)
            columns.append(_only(values[kind], set_where).alias(f"{kind}_{axis.name}"))
    return columns


def best_names(targets: Targets, policy: Policy) -> list[str]:
    """Return the names of `best_columns`."""
    return [best_name(kind, axis) for kind, axis in bests(targets, policy)]


def best_name(kind: str, axis: Axis) -> str:
    """Return the name of the column that holds a head's best value, or that of the best mean."""
    return f"best_{kind}_{axis.name}"


def best_columns(
    usable: pl.Series, choices: AxisChoices, targets: Targets, policy: Policy
) -> list[pl.Series]:
    """Return `best_<kind>_<axis>`, from which axes can follow other calls without scoring anew.

    They stand for the axes that `axis_columns` does not say in every usable row: those that depend
    on a call, and all of them where a head's labels were given. `kind`: a head, or `candidate`.
    """
    columns = []
    for kind, axis in bests(targets, policy):
        best = choices.by_mean if kind == CANDIDATE else choices.by_head[kind]
        columns.append(_only(best[axis.name], usable).alias(best_name(kind, axis)))
    return columns


def stored_name(kind: str, axis: Axis, columns: Collection[str]) -> str:
    """Return the column of a scored file that holds a best value: its own, or the axis itself."""
    best = best_name(kind, axis)
    return best if best in columns else f"{kind}_{axis.name}"


def stored_choices(rows: pl.DataFrame, targets: Targets) -> AxisChoices:
    """Return the best values of a scored file; null without a usable title.

    What is none of an axis's values comes to null too.
    """
    columns = frozenset(rows.columns)
    by_kind = {
        kind: {
            axis.name: rows[stored_name(kind, axis, columns)].cast(
                pl.Enum(axis.values), strict=False
            )
            for axis in targets.axes
        }
        for kind in [*targets.head_names, CANDIDATE]
    }
    return AxisChoices(by_kind, by_kind[CANDIDATE])


def bests(targets: Targets, policy: Policy) -> list[tuple[str, Axis]]:
    """Return the kind and the axis of each of the `best_columns`."""
    return [
        (kind, axis)
        for axis in targets.axes
        if axis.only_with is not None or policy.direct_heads()
        for kind in [*targets.head_names, CANDIDATE]
    ]


def where_all_agree(values: Sequence[pl.Series]) -> pl.Series:
    """Return the value of a row where all columns hold the same, null elsewhere."""
    first, *rest = values
    for other in rest:
        first = _only(first, (first == other).fill_null(False))
    return first


def where_most_agree(values: Sequence[pl.Series]) -> pl.Series:
    """Return the value that more than half of the columns hold, null where there is none."""
    rows = pl.DataFrame({str(place): column for place, column in enumerate(values)})
    distinct = rows.unique()
    most = [
        next((v for v, n in Counter(row).items() if v is not None and 2 * n > len(row)), None)
        for row in distinct.iter_rows()
    ]
    held = distinct.with_columns(pl.Series("most", most, values[0].dtype))
    return rows.join(held, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")[
        "most"
    ]


def _best(scores: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return argmax over the columns of [works, values], the first of equals; column by column."""
    columns = np.ascontiguousarray(scores.T)
    highest = columns[0].copy()
    best = np.zeros(len(highest), np.uint8)
    for place, column in enumerate(columns[1:], start=1):
        np.putmask(best, column > highest, place)
        np.maximum(highest, column, out=highest)
    return best


def _only(values: pl.Series, where: pl.Series) -> pl.Series:
    return values.zip_with(where, values.clear(len(values)))


def _nothing(works: int, kind: pl.DataType) -> pl.Series:
    return pl.repeat(None, works, dtype=kind, eager=True)
