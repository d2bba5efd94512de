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


@dataclass(frozen=True, slots=True)
class AxisChoices:
    """Best values of the axes: head -> axis -> String [works], and of the mean over the heads."""

    by_head: Mapping[str, Mapping[str, pl.Series]]
    by_mean: Mapping[str, pl.Series]


def choose_axes(
    scores: Mapping[str, Mapping[str, npt.NDArray[np.float32]]],
    targets: Targets,
) -> AxisChoices:
    """Return each head's best value and the value with the best mean; the first of equals wins.

    `scores`: head -> axis -> float32 [works, values].
    """
    by_head: dict[str, dict[str, pl.Series]] = {head: {} for head in targets.head_names}
    by_mean: dict[str, pl.Series] = {}
    for axis in targets.axes:
        names = pl.Series(axis.values, dtype=pl.String)
        fitted = []
        for head in targets.heads:
            if axis.name in head.unavailable:
                works = len(scores[head.name][axis.name])
                by_head[head.name][axis.name] = _nothing(works)
            else:
                fitted.append(scores[head.name][axis.name])
                by_head[head.name][axis.name] = names.gather(_best(fitted[-1]))
        if fitted:
            # In float64 the sum of a few float32 is exact: the order of the heads cannot matter.
            total = np.sum([part.astype(np.float64) for part in fitted], axis=0)
            by_mean[axis.name] = names.gather(_best(total))
        else:
            by_mean[axis.name] = by_head[targets.head_names[0]][axis.name]
    return AxisChoices(by_head, by_mean)


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
            said = given[head].axes.get(axis.name, _nothing(len(usable)))
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
    return [best_name(kind, axis) for kind, axis in _bests(targets, policy)]


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
    for kind, axis in _bests(targets, policy):
        best = choices.by_mean if kind == CANDIDATE else choices.by_head[kind]
        columns.append(_only(best[axis.name], usable).alias(best_name(kind, axis)))
    return columns


def stored_name(kind: str, axis: Axis, columns: Collection[str]) -> str:
    """Return the column of a scored file that holds a best value: its own, or the axis itself."""
    best = best_name(kind, axis)
    return best if best in columns else f"{kind}_{axis.name}"


def stored_choices(rows: pl.DataFrame, targets: Targets) -> AxisChoices:
    """Return the best values as a scored file holds them; null without a usable title."""
    columns = frozenset(rows.columns)
    by_kind = {
        kind: {axis.name: rows[stored_name(kind, axis, columns)] for axis in targets.axes}
        for kind in [*targets.head_names, CANDIDATE]
    }
    return AxisChoices(by_kind, by_kind[CANDIDATE])


def _bests(targets: Targets, policy: Policy) -> list[tuple[str, Axis]]:
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
    held = distinct.with_columns(pl.Series("most", most, pl.String))
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


def _nothing(works: int) -> pl.Series:
    return pl.repeat(None, works, dtype=pl.String, eager=True)
