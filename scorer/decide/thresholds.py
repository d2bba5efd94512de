"""One threshold, fitted to the labelled works that a head judged."""

from dataclasses import dataclass

from scorer.decide.sources import AtPrecision, AtRecall, BestFBeta
from scorer.errors import InputError
from scorer.policy.fit import (
    Booleans,
    OutOfReach,
    Scores,
    Weights,
    best_fbeta,
    threshold_for_precision,
    threshold_for_recall,
)
from scorer.policy.policy import Support, Threshold

Fit = BestFBeta | AtRecall | AtPrecision
"""The ways to find a threshold that need scores of labelled works."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What a threshold comes to on the labelled works: `F-2`, `recall` or `precision`."""

    name: str
    value: float


def fit_threshold(
    how: Fit,
    works: tuple[Scores, Booleans, Weights],
    backing: Support,
    *,
    where: str,
    name: str,
) -> tuple[Threshold, Figure]:
    """Return a threshold and its figure.

    `works`: score, positive and weight [works]. Raises `InputError`, in terms of the file `where`
    and the entry `name`, where no score of a positive is known or the figure is out of reach.
    """
    if not works[1].any():
        raise InputError(
            f"{where}: {name}: no work that the teacher said yes to has a score and a usable title "
            f"there.\nScore the labelled works, or make no calls: --for {name}=off"
        )
    match how:
        case BestFBeta():
            value, figure = best_fbeta(*works, how.beta)
            measure, found_by = f"F-{how.beta:g}", f"design-weighted F-{how.beta:g}"
        case AtRecall():
            reached = threshold_for_recall(*works, how.recall)
            value, figure = reached.threshold, reached.figure
            measure, found_by = "recall", f"recall {how.recall:g}"
        case AtPrecision():
            lowest = threshold_for_precision(*works, how.precision)
            if isinstance(lowest, OutOfReach):
                raise InputError(
                    f"{where}: {name}: no threshold reaches a precision of {how.precision:g}; "
                    f"{lowest.most:.3f} is the most.\n"
                    f"Ask for less there, or make no calls: --for {name}=off"
                )
            value, figure = lowest.threshold, lowest.figure
            measure, found_by = "precision", f"precision {how.precision:g}"
    return Threshold(value=value, found_by=found_by, support=backing), Figure(measure, figure)
