"""The columns of contract 4 that follow from scores and a policy, together."""

from collections.abc import Mapping

import polars as pl

from scorer.policy.axes import AxisChoices, axis_columns, best_columns, best_name, bests
from scorer.policy.calls import (
    CLASSIFICATION,
    WHATS,
    Given,
    Mode,
    call_sets,
    classification,
    kinds,
    list_columns,
)
from scorer.policy.policy import Policy
from scorer.policy.review import disagreement, uncertainty
from scorer.targets import Targets


def call_columns(
    scores: pl.DataFrame,
    choices: AxisChoices,
    targets: Targets,
    policy: Policy,
    *,
    mode: Mode = "both",
    given: Mapping[str, Given] | None = None,
) -> pl.DataFrame:
    """Return the columns from `<head>_categories` to `threshold_uncertainty`, and the best values.

    `scores`: `id`, `segment` (Enum), `usable_title` and the score columns, float32. `given`: head
    -> labels of these works, for the heads whose entries are direct.
    """
    sets = call_sets(scores, targets, policy, mode, given)
    usable = scores["usable_title"]
    return pl.DataFrame(
        [
            *(pl.Series(name, lists) for name, lists in list_columns(sets, targets).items()),
            *axis_columns(sets, usable, choices, targets, mode=mode, given=given),
            classification(sets, mode),
            disagreement(scores, targets, given),
            uncertainty(scores, targets, policy),
            *best_columns(usable, choices, targets, policy),
        ]
    )


def score_only_columns(
    scores: pl.DataFrame, targets: Targets, policy: Policy, mode: Mode = "both"
) -> pl.DataFrame:
    """Return the same columns before the maturity gate: no call, null instead of an empty list."""
    everyone = kinds(targets, mode)
    values = {axis.name: pl.lit(None, pl.Enum(axis.values)) for axis in targets.axes}
    return scores.select(
        *(
            pl.lit(None, pl.List(pl.String)).alias(f"{kind}_{what}")
            for kind in everyone
            for what in WHATS
        ),
        *(no.alias(f"{kind}_{axis}") for axis, no in values.items() for kind in everyone),
        pl.lit("score_only", CLASSIFICATION).alias("classification"),
        disagreement(scores, targets).alias("teacher_disagreement"),
        pl.lit(None, pl.Float32).alias("threshold_uncertainty"),
        *(values[axis.name].alias(best_name(kind, axis)) for kind, axis in bests(targets, policy)),
    )
