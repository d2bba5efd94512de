"""Which works a second, slower student should read: those where another score tells the most.

Operations on scores of the first student. Works without a usable title are called by rule, and
excluded ones not at all: no score changes anything there.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.policy.calls import COVERED
from scorer.policy.policy import Policy, Quota, Threshold
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets, score_column

CRITERION: Final = "best_rank"
"""What a share of the works is chosen by: a work's best rank among all works, over the heads and
targets. Measured against nearness to a threshold, which knows nothing of targets without one."""

_ONE: Final = 0x3F800000  # the bits of 1.0 in float32


def ranked_columns(targets: Targets, policy: Policy) -> list[str]:
    """Return the score columns that works are ranked by.

    What a head has not learned ranks nothing; what its labels decide no score changes; and
    `insufficient_payload` says that a work cannot be judged, by any student.
    """
    direct = policy.direct_heads()
    return [
        score_column(head.name, target)
        for head in targets.heads
        if head.name not in direct
        for target in targets.binary_names
        if target not in (*head.unavailable, INSUFFICIENT_PAYLOAD)
    ]


def priorities(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return a number for each score that falls with its rank: float32 [works], in (0, 1).

    `scores`: float32 [works], the highest ones of a column, all of them down to some score. A rank
    is one more than the number of higher scores, so equals share it; up to a billion ranks are told
    apart, one a float32.
    """
    higher = len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    return (_ONE - 1 - higher).astype(np.uint32).view(np.float32)


def rank_of(priority: float) -> int:
    """Return the rank behind a priority, from 1."""
    return _ONE - int(np.float32(priority).view(np.uint32))


def thresholds(targets: Targets, policy: Policy) -> dict[str, float]:
    """Return score column -> the score from which its head makes the call."""
    return {
        score_column(head, target): float(np.float32(entry.value))
        for head in targets.head_names
        for target, entry in policy.of_head(head)
        if isinstance(entry, Threshold | Quota)
    }


def within_band(scores: pl.DataFrame, values: dict[str, float], band: float) -> pl.Series:
    """Tell which covered works have a score within `band` of its threshold (Boolean).

    `scores`: `segment` and the columns of `values` (see `thresholds`), float32; distances are
    reckoned in float64.
    """
    near = [(pl.col(name).cast(pl.Float64) - value).abs() <= band for name, value in values.items()]
    within = pl.any_horizontal(near) & (pl.col("segment") == COVERED)
    return scores.select(within.alias("near")).to_series()
