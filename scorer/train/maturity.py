"""The maturity gate: has a student that is trained in rounds stopped moving? Arithmetic alone.

Three criteria, all on works held out of every round: average precision grows no more, the positive
set stays, and so does the order of the scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from scorer.student.manifest import Maturity, Round
from scorer.targets import Strict


class Criteria(Strict):
    """The numbers of the gate; the defaults are those that MétaCan published."""

    gain: Annotated[float, Field(ge=0)] = 0.02
    """Average precision grew relatively by less than that over the window."""
    window: Annotated[int, Field(ge=1)] = 5
    """In rounds."""
    churn: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Less than that share of the positive set changed from round to round."""
    rank: Annotated[float, Field(ge=-1, le=1)] = 0.98
    """The rank correlation with the round before was over that."""
    running: Annotated[int, Field(ge=1)] = 3
    """Churn and rank correlation must hold in that many rounds running."""
    holdout_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Share of the venues whose works are held out."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one criterion stands after the last round, for people to read."""

    name: str
    holds: bool
    figure: str
    limit: str
    missing: str
    """What does not hold yet, in words; of no use where it holds."""


_PLATEAU: Final = "average_precision"
_CHURN: Final = "churn"
_RANK: Final = "spearman"
NAMES: Final = {_PLATEAU: "average precision", _CHURN: "churn", _RANK: "rank correlation"}
"""Criterion -> what people call it."""


def judge(history: Sequence[Round], criteria: Criteria) -> Maturity:
    """Return what the rounds come to: which criteria hold, and whether all of them do."""
    found = standings(history, criteria)
    return Maturity(
        rounds=len(history),
        criteria={name: float(value) for name, value in criteria.model_dump().items()},
        passed=all(standing.holds for standing in found),
        note=_note(len(history), found),
        history=tuple(history),
        holds={standing.name: standing.holds for standing in found},
    )


def standings(history: Sequence[Round], criteria: Criteria) -> list[Standing]:
    """Return how each criterion stands after the last of these rounds."""
    return [
        _plateau([done.average_precision for done in history], criteria),
        _running(_CHURN, [done.churn for done in history], criteria),
        _running(_RANK, [done.spearman for done in history], criteria),
    ]


def relative_gain(average_precision: Sequence[float], window: int) -> float | None:
    """Return by which share average precision grew over the last rounds; None for too few."""
    if len(average_precision) <= window:
        return None
    before = average_precision[-1 - window]
    # Rounded as the figures are: growth at the limit must not pass for less by a stray bit.
    return round((average_precision[-1] - before) / before, 6)


def option_name(name: str) -> str:
    """Return what the command calls a criterion, or an option of the recipe, but for its dashes."""
    gate = name in Criteria.model_fields and name != "holdout_share"
    return ("gate-" if gate else "") + name.replace("_", "-")


def _plateau(average_precision: Sequence[float], criteria: Criteria) -> Standing:
    gain, window = relative_gain(average_precision, criteria.window), criteria.window
    limit = f"grew by less than {100 * criteria.gain:g} % over the last {_rounds(window)}"
    if gain is None:
        told = f"average precision not yet compared over {_rounds(window)}"
        figure = f"{_rounds(len(average_precision))} of {window + 1}"
        return Standing(_PLATEAU, False, figure, limit, told)
    told = f"average precision still grew by {100 * gain:.3g} % over the last {_rounds(window)}"
    figure = f"{100 * gain:+.3g} %"
    return Standing(_PLATEAU, gain < criteria.gain, figure, limit, told)


def _running(name: str, figures: Sequence[float | None], criteria: Criteria) -> Standing:
    """Judge a figure that must be good in each of the last rounds."""
    under, bound = (True, criteria.churn) if name == _CHURN else (False, criteria.rank)
    good = [f is not None and (f < bound if under else f > bound) for f in figures]
    streak = good[::-1].index(False) if False in good else len(good)
    need = f"{NAMES[name]} {'under' if under else 'over'} {bound:g}"
    if streak:
        told = f"{need} for {_rounds(streak)} of {criteria.running}"
    else:
        told = f"{NAMES[name]} {shown(figures[-1])}"
    return Standing(
        name,
        streak >= criteria.running,
        ", ".join(map(shown, figures[-criteria.running :])),
        f"{'under' if under else 'over'} {bound:g} for {_rounds(criteria.running)} running",
        told,
    )


def _note(rounds: int, found: Sequence[Standing]) -> str:
    if rounds == 1:
        return "1 round; nothing to compare it with yet"
    missing = [standing.missing for standing in found if not standing.holds]
    if missing:
        return f"{_rounds(rounds)}; {', '.join(missing)}"
    return f"{_rounds(rounds)}; average precision, churn and rank correlation have settled"


def shown(figure: float | None) -> str:
    """Return a churn or a rank correlation as people read it."""
    return "–" if figure is None else f"{figure:.4g}"


def _rounds(count: int) -> str:
    return f"{count} round{'s' if count != 1 else ''}"
