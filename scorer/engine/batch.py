"""The heart: a batch of works in, a batch of finished rows out. Pure: no I/O, no state."""

from collections.abc import Mapping

import polars as pl

from scorer.engine.rows import constant
from scorer.frame.contract import text
from scorer.frame.text import longer_than_ten
from scorer.labels.direct import DirectLabels
from scorer.labels.excluded import ExcludedWorks
from scorer.policy.axes import choose_axes
from scorer.policy.calls import Mode, segments
from scorer.policy.columns import call_columns, score_only_columns
from scorer.policy.policy import Policy
from scorer.status import STAMP, score_status
from scorer.student.bundle import Student
from scorer.student.session import Scores
from scorer.targets import Targets, score_column


def score_batch(
    frame: pl.DataFrame,
    student: Student,
    policy: Policy,
    mode: Mode = "both",
    *,
    direct: Mapping[str, DirectLabels] | None = None,
    excluded: ExcludedWorks | None = None,
) -> pl.DataFrame:
    """Return the rows of contract 4 for a batch of contract 1, in the same order.

    `frame`: `id` (String) and `title` (String), and what else the student reads. A null is a
    missing value; a column that is not there is unknown, and has no say. Where the student is not
    mature, the rows hold scores only. `direct`: head -> its labels, where the policy's entries say
    so; `excluded`: works that are scored but never called.
    """
    targets = student.manifest.targets
    scores = student.score(frame, shares=False)
    columns = score_columns(frame, scores, targets, excluded)
    mature = student.manifest.maturity.passed
    if mature:
        given = {head: labels.of(frame["id"]) for head, labels in (direct or {}).items()}
        choices = choose_axes(scores.axes, targets, scores.best, scores.best_mean)
        calls = call_columns(columns, choices, targets, policy, mode=mode, given=given)
    else:
        calls = score_only_columns(columns, targets, policy, mode)
    return columns.hstack(calls).with_columns(
        constant("model_version", student.version),
        constant("policy_version", policy.version),
        constant("score_status", score_status(student.version, mature=mature)),
        constant("prediction_status", STAMP),
    )


def score_columns(
    frame: pl.DataFrame, scores: Scores, targets: Targets, excluded: ExcludedWorks | None
) -> pl.DataFrame:
    """Return `id`, `segment`, `usable_title` and the score columns."""
    usable = longer_than_ten(text(frame, "title"), scores.title_letters)
    return pl.DataFrame(
        [
            frame["id"],
            segments(usable, excluded.among(frame["id"]) if excluded else None),
            usable.alias("usable_title"),
            *(
                pl.Series(score_column(head, target), scores.binary[head][:, place])
                for head in targets.head_names
                for place, target in enumerate(targets.binary_names)
            ),
        ]
    )
