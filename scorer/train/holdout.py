"""The works held out of every round: whole venues, chosen by seed; and what the heads said of them.

The teachers' majority on these works is what each round's scores are measured against.
"""

import hashlib
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.labels.sample import Labels

ENOUGH_TO_MEASURE: Final = 5
"""Targets with fewer among the works held out are not measured: their figures would be noise."""

YES, NO, UNJUDGED = "1", "0", "-"
_DIGITS: Final = 13  # 52 bits: they fit a float, so the fraction is exact


def held_out_venues(works: pl.DataFrame, seed: int, share: float) -> npt.NDArray[np.bool_]:
    """Tell which works belong to the holdout: bool [works]; a venue is in it whole, or not at all.

    A work without a venue stands for itself. The choice depends on seed and venue alone, so a
    venue that comes in a later round falls on the same side as it would have in the first.
    """
    keys = works["id"]
    if "venue" in works.columns:
        keys = works["venue"].replace("", None).fill_null(keys)
    chosen = {key: _fraction(f"{seed}:{key}") < share for key in keys.unique()}
    return np.array([chosen[key] for key in keys], bool)


def majority_answers(labels: Labels, target: str) -> str:
    """Return a character a work: yes where more than half of the heads that judged it said yes."""
    judged = _count(labels, lambda head: labels.judged(head, target))
    yes = _count(labels, lambda head: labels.judged(head, target) & labels.positive(head, target))
    answers = np.where(2 * yes > judged, YES, NO)
    return "".join(np.where(judged > 0, answers, UNJUDGED))


def measured_targets(answers: dict[str, str]) -> list[str]:
    """Return the targets with enough positives to be measured."""
    return [target for target, said in answers.items() if said.count(YES) >= ENOUGH_TO_MEASURE]


def _count(
    labels: Labels, of_head: Callable[[str], npt.NDArray[np.bool_]]
) -> npt.NDArray[np.int64]:
    counts: npt.NDArray[np.int64] = np.sum(list(map(of_head, labels.targets.head_names)), axis=0)
    return counts


def _fraction(text: str) -> float:
    digits = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return int(digits, 16) / float(16**_DIGITS)
