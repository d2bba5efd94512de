"""The heart: a batch of works in, a batch of finished rows out. Pure: no I/O, no state."""

import polars as pl

from scorer.frame.contract import text
from scorer.frame.text import longer_than_ten
from scorer.policy.calls import (
    COVERED,
    SEGMENT,
    Mode,
    call_columns,
    choose_axes,
    score_only_columns,
)
from scorer.policy.policy import Policy
from scorer.status import STAMP, score_status
from scorer.student.bundle import Student
from scorer.student.session import Scores
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets, score_column


def score_batch(
    frame: pl.DataFrame, student: Student, policy: Policy, mode: Mode = "both"
) -> pl.DataFrame:
    """Return the rows of contract 4 for a batch of contract 1, in the same order.

    `frame`: `id` (String) and `title` (String), and what else the student reads. A null is a
    missing value; a column that is not there is unknown, and has no say. Where the student is not
    mature, the rows hold scores only.
    """
    targets = student.manifest.targets
    scores = student.score(frame)
    columns = score_columns(frame, scores, targets)
    mature = student.manifest.maturity.passed
    if mature:
        calls = call_columns(columns, choose_axes(scores.axes, targets), targets, policy, mode)
    else:
        calls = score_only_columns(columns, targets)
    return columns.hstack(calls).with_columns(
        constant("model_version", student.version),
        constant("policy_version", policy.version),
        constant("score_status", score_status(student.version, mature=mature)),
        constant("prediction_status", STAMP),
    )


def score_columns(frame: pl.DataFrame, scores: Scores, targets: Targets) -> pl.DataFrame:
    """Return `id`, `segment` and the score columns."""
    covered = longer_than_ten(text(frame, "title"))
    segment = pl.when(covered).then(pl.lit(COVERED)).otherwise(pl.lit(INSUFFICIENT_PAYLOAD))
    return pl.DataFrame(
        [
            frame["id"],
            pl.select(segment.cast(SEGMENT).alias("segment")).to_series(),
            *(
                pl.Series(score_column(head, target), scores.binary[head][:, place])
                for head in targets.head_names
                for place, target in enumerate(targets.binary_names)
            ),
        ]
    )


def constant(name: str, value: str) -> pl.Expr:
    """Return a column that says the same in every row."""
    return pl.lit(value, pl.Enum([value])).alias(name)
