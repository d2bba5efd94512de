"""From scores to calls: expressions on columns, the same for `run`, `call` and `verify`.

A set of calls is held as an integer, one bit a target, so that union and intersection are `|` and
`&`; lists of names are made once a distinct set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.policy.policy import Policy, Quota, Silent, Threshold
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets, score_column

Mode = Literal["candidate", "consensus", "both"]
COVERED: Final = "covered"
CANDIDATE: Final = "candidate"
CONSENSUS: Final = "consensus"

SEGMENT = pl.Enum([COVERED, INSUFFICIENT_PAYLOAD])
CLASSIFICATION = pl.Enum([CONSENSUS, CANDIDATE, "none", "score_only"])


@dataclass(frozen=True, slots=True)
class AxisChoices:
    """Best values of the axes: head -> axis -> String [works], and of the mean over the heads."""

    by_head: Mapping[str, Mapping[str, pl.Series]]
    by_mean: Mapping[str, pl.Series]


def call_columns(
    scores: pl.DataFrame, choices: AxisChoices, targets: Targets, policy: Policy, mode: Mode
) -> pl.DataFrame:
    """Return the columns of contract 4 from `<head>_categories` to `threshold_uncertainty`.

    `scores`: `id`, `segment` (Enum) and the score columns, float32.
    """
    sets = call_sets(scores, targets, policy)
    kinds = [*targets.head_names, CANDIDATE, CONSENSUS]
    columns: dict[str, pl.Series] = {}
    for kind in kinds:
        for what in ("categories", "flags"):
            columns[f"{kind}_{what}"] = name_lists(sets[f"{kind}_{what}"], targets, what)
    columns |= axis_columns(sets, scores["segment"], choices, targets)
    columns["classification"] = sets.select(classification(mode)).to_series()
    return pl.DataFrame(columns).hstack(review_columns(scores, targets, policy))


def score_only_columns(scores: pl.DataFrame, targets: Targets) -> pl.DataFrame:
    """Return the same columns before the maturity gate: no call, null instead of an empty list."""
    kinds = [*targets.head_names, CANDIDATE, CONSENSUS]
    lists = [f"{kind}_{what}" for kind in kinds for what in ("categories", "flags")]
    axes = [f"{kind}_{axis.name}" for axis in targets.axes for kind in kinds]
    return scores.select(
        *(pl.lit(None, pl.List(pl.String)).alias(name) for name in lists),
        *(pl.lit(None, pl.String).alias(name) for name in axes),
        pl.lit("score_only", CLASSIFICATION).alias("classification"),
        disagreement(targets).alias("teacher_disagreement"),
        pl.lit(None, pl.Float32).alias("threshold_uncertainty"),
    )


def call_sets(scores: pl.DataFrame, targets: Targets, policy: Policy) -> pl.DataFrame:
    """Return UInt64 columns `<kind>_categories` and `<kind>_flags`, bit `i` for target `i`.

    `kind`: each head, `candidate` (union), `consensus` (intersection).
    """
    empty_title = pl.col("segment") == INSUFFICIENT_PAYLOAD
    by_rule = _category_names(targets).index(INSUFFICIENT_PAYLOAD)
    heads: list[pl.Expr] = []
    for head in targets.head_names:
        categories = _bits(head, targets.categories, policy)
        flags = _bits(head, targets.flags, policy)
        heads += [
            pl.when(empty_title)
            .then(_bit(by_rule))
            .otherwise(categories)
            .alias(f"{head}_categories"),
            pl.when(empty_title).then(_bit(None)).otherwise(flags).alias(f"{head}_flags"),
        ]
    return scores.select(heads).with_columns(
        _combined(targets, what, combination)
        for combination in (CANDIDATE, CONSENSUS)
        for what in ("categories", "flags")
    )


def name_lists(sets: pl.Series, targets: Targets, what: str) -> pl.Series:
    """Return the names of each set of `call_sets`, in manifest order: List(String).

    `what`: "categories" or "flags".
    """
    names = _category_names(targets) if what == "categories" else targets.flags
    encoded = pc.dictionary_encode(sets.to_arrow())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    distinct = [
        [name for place, name in enumerate(names) if bits >> place & 1]
        for bits in encoded.dictionary.to_pylist()
    ]
    lists = pl.Series(distinct, dtype=pl.List(pl.String))
    return lists.gather(pl.Series(encoded.indices))


def axis_columns(
    sets: pl.DataFrame, segment: pl.Series, choices: AxisChoices, targets: Targets
) -> dict[str, pl.Series]:
    """Return `<kind>_<axis>`: null without a usable title, or without the call it depends on."""
    columns: dict[str, pl.Series] = {}
    usable = segment != INSUFFICIENT_PAYLOAD
    for axis in targets.axes:
        of_head = {head: choices.by_head[head][axis.name] for head in targets.head_names}
        values = {
            **of_head,
            CANDIDATE: choices.by_mean[axis.name],
            CONSENSUS: where_all_agree(list(of_head.values())),
        }
        for kind, value in values.items():
            set_where = usable
            if axis.only_with is not None:
                bit = 1 << targets.categories.index(axis.only_with)
                set_where = usable & ((sets[f"{kind}_categories"] & bit) != 0)
            columns[f"{kind}_{axis.name}"] = value.zip_with(
                set_where, pl.repeat(None, len(value), dtype=pl.String, eager=True)
            )
    return columns


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
                by_head[head.name][axis.name] = pl.repeat(None, works, dtype=pl.String, eager=True)
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


def _best(scores: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return argmax over the columns of [works, values], the first of equals; column by column."""
    columns = np.ascontiguousarray(scores.T)
    highest = columns[0].copy()
    best = np.zeros(len(highest), np.uint8)
    for place, column in enumerate(columns[1:], start=1):
        np.putmask(best, column > highest, place)
        np.maximum(highest, column, out=highest)
    return best


def where_all_agree(values: Sequence[pl.Series]) -> pl.Series:
    """Return the value of a row where all columns hold the same, null elsewhere."""
    first, *rest = values
    for other in rest:
        first = first.zip_with(
            (first == other).fill_null(False),
            pl.repeat(None, len(first), dtype=pl.String, eager=True),
        )
    return first


def classification(mode: Mode) -> pl.Expr:
    """Return `consensus`, `candidate` or `none`, from the sets of categories."""
    consensus = pl.col(f"{CONSENSUS}_categories") != 0
    candidate = pl.col(f"{CANDIDATE}_categories") != 0
    expression = pl.lit("none", CLASSIFICATION)
    if mode != CONSENSUS:
        expression = (
            pl.when(candidate).then(pl.lit(CANDIDATE, CLASSIFICATION)).otherwise(expression)
        )
    if mode != CANDIDATE:
        expression = (
            pl.when(consensus).then(pl.lit(CONSENSUS, CLASSIFICATION)).otherwise(expression)
        )
    return expression.alias("classification")


def review_columns(scores: pl.DataFrame, targets: Targets, policy: Policy) -> pl.DataFrame:
    """Return `teacher_disagreement` and `threshold_uncertainty`, float32 in [0, 1]."""
    return scores.select(
        disagreement(targets).alias("teacher_disagreement"),
        _uncertainty(targets, policy).alias("threshold_uncertainty"),
    )


def disagreement(targets: Targets) -> pl.Expr:
    """Largest distance between the heads over the binary targets that at least two have learned."""
    distances = []
    for target in targets.binary_names:
        columns = [
            pl.col(score_column(head.name, target))
            for head in targets.heads
            if target not in head.unavailable
        ]
        if len(columns) > 1:
            distances.append(pl.max_horizontal(columns) - pl.min_horizontal(columns))
    return _largest(distances)


def _uncertainty(targets: Targets, policy: Policy) -> pl.Expr:
    """1 at a threshold, falling to 0 at the end of the score range on its side; the largest."""
    near = []
    for target in targets.binary_names:
        for head in targets.head_names:
            entry = policy.entry(head, target)
            if isinstance(entry, Silent):
                continue
            score = pl.col(score_column(head, target))
            value = float(np.float32(entry.value))
            above = (1 - score) * _reciprocal(1 - value)
            below = score * _reciprocal(value)
            off = pl.when(score > value).then(above).otherwise(below)
            near.append(pl.when(score == value).then(1.0).otherwise(off).cast(pl.Float32))
    return _largest(near)


def _reciprocal(length: float) -> pl.Expr:
    """Return 1 / length. Polars divides a column by a number so, but a single row truly: a bit."""
    return _float32(1 / length if length > 0 else 0.0)


def _largest(expressions: Sequence[pl.Expr]) -> pl.Expr:
    if not expressions:
        return pl.repeat(0.0, pl.len(), dtype=pl.Float32)
    return pl.max_horizontal(expressions).cast(pl.Float32)


def _bits(head: str, names: Sequence[str], policy: Policy) -> pl.Expr:
    bits = [_bit(None)]
    for place, target in enumerate(names):
        decided = _decides(policy.entry(head, target), pl.col(score_column(head, target)))
        if decided is not None:
            bits.append(decided.cast(pl.UInt64) * (1 << place))
    return pl.sum_horizontal(bits)


def _decides(entry: Threshold | Quota | Silent, score: pl.Expr) -> pl.Expr | None:
    match entry:
        case Silent():
            return None
        case Threshold():
            return score >= _float32(entry.value)
        case Quota():
            value = _float32(entry.value)
            return (score > value) | ((score == value) & (pl.col("id") <= entry.boundary_id))


def _float32(value: float) -> pl.Expr:
    return pl.lit(value, pl.Float32)


def _bit(place: int | None) -> pl.Expr:
    return pl.lit(0 if place is None else 1 << place, pl.UInt64)


def _combined(targets: Targets, what: str, combination: str) -> pl.Expr:
    first, *rest = (pl.col(f"{head}_{what}") for head in targets.head_names)
    for other in rest:
        first = first | other if combination == CANDIDATE else first & other
    return first.alias(f"{combination}_{what}")


def _category_names(targets: Targets) -> list[str]:
    """Return the names behind the bits; the rule on empty titles holds for every bundle."""
    names = targets.categories
    return names if INSUFFICIENT_PAYLOAD in names else [*names, INSUFFICIENT_PAYLOAD]
