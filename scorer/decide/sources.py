"""Where a threshold comes from: how each head's entry for a target is to be found.

A default for all, and exceptions for a target, a head, or one head's target: the closer one wins.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scorer.errors import UsageError
from scorer.targets import Targets


@dataclass(frozen=True, slots=True)
class BestFBeta:
    """The score that maximises the design-weighted F-beta."""

    beta: float


@dataclass(frozen=True, slots=True)
class AtRecall:
    """The highest threshold that reaches a recall on the labelled works."""

    recall: float


@dataclass(frozen=True, slots=True)
class AtPrecision:
    """The lowest threshold that reaches a precision on the labelled works."""

    precision: float


@dataclass(frozen=True, slots=True)
class BestWorks:
    """The k best works; None: as many as the prevalence in the labels makes of the covered ones."""

    k: int | None = None


@dataclass(frozen=True, slots=True)
class ByHand:
    """A threshold that is given."""

    value: float


@dataclass(frozen=True, slots=True)
class Off:
    """No call, by hand."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the scored file's policy says."""


How = BestFBeta | AtRecall | AtPrecision | BestWorks | ByHand | Off | Kept

_FORMS: Final = "fbeta:B, quota, quota:K, recall:R, precision:P or off"


@dataclass(frozen=True, slots=True)
class Choice:
    """How an entry is found, and the words that asked for it; none where it is the default."""

    how: How
    asked: str | None = None


def parse_how(text: str, asked: str) -> How:
    """Read `fbeta:2`, `quota`, `quota:500`, `recall:0.9`, `precision:0.8` or `off`.

    Raises `UsageError` that names `asked`, the option as it was given.
    """
    word, colon, value = text.partition(":")
    if text == "off":
        return Off()
    if text == "quota":
        return BestWorks()
    if word == "quota" and value.isascii() and value.isdigit() and int(value) > 0:
        return BestWorks(int(value))
    number = _number(value) if colon else None
    if number is not None and number > 0:
        if word == "fbeta":
            return BestFBeta(number)
        if word == "recall" and number <= 1:
            return AtRecall(number)
        if word == "precision" and number <= 1:
            return AtPrecision(number)
    raise UsageError(
        f"{asked}: expected {_FORMS}.\nB over 0; K a number of works; R and P over 0, at most 1."
    )


def parse_value(text: str, asked: str) -> ByHand:
    """Read a threshold that is set by hand; raise `UsageError` where it is no score."""
    value = _number(text)
    if value is None or not 0 <= value <= 1:
        raise UsageError(f"{asked}: a threshold is a score, from 0 to 1.")
    return ByHand(value)


def choices(
    targets: Targets, default: How | None, exceptions: Mapping[str, Choice]
) -> dict[tuple[str, str], Choice]:
    """Return (head, target) -> how its entry is found; without a default it is kept as it is.

    `exceptions`: `head.target`, a target or a head -> what is chosen there.
    """
    chosen = {
        (h, t): Choice(default or Kept()) for h in targets.head_names for t in targets.binary_names
    }
    named = [(*_pairs(where, targets, choice), choice) for where, choice in exceptions.items()]
    for _, pairs, choice in sorted(named, key=lambda found: found[0]):
        for head, target in pairs:
            missing = target in _unavailable(targets, head)
            if missing and len(pairs) == 1 and choice.how != Off():
                raise UsageError(
                    f"{choice.asked}: {head} has not learned {target}, so it makes no calls there."
                )
            chosen[head, target] = choice
    return chosen


def _pairs(where: str, targets: Targets, choice: Choice) -> tuple[int, list[tuple[str, str]]]:
    """Return how close a name comes (head 0, target 1, both 2), and the pairs that it means.

    Names may hold dots, so all readings are tried; `UsageError` unless exactly one fits.
    """
    heads, names = targets.head_names, targets.binary_names
    readings = [(2, [(h, t)]) for h in heads for t in names if f"{h}.{t}" == where]
    readings += [(1, [(h, where) for h in heads])] if where in names else []
    readings += [(0, [(where, t) for t in names])] if where in heads else []
    if len(readings) == 1:
        return readings[0]
    what = "means more than one thing" if readings else "no such head, target or HEAD.TARGET"
    raise UsageError(
        f"{choice.asked}: {where}: {what}.\nHeads: {', '.join(heads)}. Targets: {', '.join(names)}."
    )


def _unavailable(targets: Targets, head: str) -> tuple[str, ...]:
    return next(h.unavailable for h in targets.heads if h.name == head)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
