"""What points people to the works worth a look: where heads differ, where a threshold is near."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.policy.calls import Given
from scorer.policy.policy import Policy, Quota, Threshold
from scorer.targets import Targets, score_column


def disagreement(
    scores: pl.DataFrame, targets: Targets, given: Mapping[str, Given] | None = None
) -> pl.Series:
    """Return the largest distance between the heads over the binary targets, float32 in [0, 1].

    A target counts where at least two heads have learned it. A direct head stands at 0 or 1 where
    its label is known, and has no say elsewhere.
    """
    distances = []
    for place, target in enumerate(targets.binary_names):
        columns: list[pl.Expr] = []
        for head in targets.heads:
            if given and head.name in given:
                columns.append(pl.lit(_as_score(given[head.name], place)))
            elif target not in head.unavailable:
                columns.append(pl.col(score_column(head.name, target)))
        if len(columns) > 1:
            # Both skip nulls, so that a head without a label leaves no distance.
            distances.append(pl.max_horizontal(columns) - pl.min_horizontal(columns))
    return scores.select(_largest(distances).alias("teacher_disagreement")).to_series()


def uncertainty(
    scores: pl.DataFrame, targets: Targets, policy: Policy, only: str | None = None
) -> pl.Series:
    """Return 1 at a threshold, falling to 0 at the end of the score range on its side; float32.

    The largest over the heads and targets that have a threshold; `only`: of this target.
    """
    nearest = np.zeros(scores.height, np.float32)
    for head in targets.head_names:
        for target, entry in policy.of_head(head):
            if isinstance(entry, Threshold | Quota) and only in (None, target):
                score = scores[score_column(head, target)].to_numpy()
                np.maximum(nearest, _nearness(score, np.float32(entry.value)), out=nearest)
    return pl.Series("threshold_uncertainty", nearest)


def _nearness(score: npt.NDArray[np.float32], value: np.float32) -> npt.NDArray[np.float32]:
    one = np.float32(1)
    above = (one - score) / (one - value) if value < 1 else np.zeros_like(score)
    # Only scores under the threshold count here: others could overflow over a tiny one.
    below = np.minimum(score, value) / value if value > 0 else np.zeros_like(score)
    near: npt.NDArray[np.float32] = np.where(score > value, above, below)
    near[score == value] = 1
    return near


def _as_score(labels: Given, place: int) -> pl.Series:
    said = ((labels.said & (1 << place)) != 0).cast(pl.Float32)
    known = ((labels.known & (1 << place)) != 0).fill_null(False)
    return said.zip_with(known, pl.repeat(None, len(said), dtype=pl.Float32, eager=True))


def _largest(expressions: Sequence[pl.Expr]) -> pl.Expr:
    if not expressions:
        return pl.repeat(0.0, pl.len(), dtype=pl.Float32)
    return pl.max_horizontal(expressions).cast(pl.Float32).fill_null(0.0)
