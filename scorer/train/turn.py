"""One round of training: what it may learn from, and what it is measured on."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from scorer.engine.files import told
from scorer.errors import InputError, UsageError
from scorer.labels.sample import Labels
from scorer.student.manifest import Maturity, Round
from scorer.targets import Targets
from scorer.train.fit import Recipe
from scorer.train.holdout import (
    ENOUGH_TO_MEASURE,
    held_out_venues,
    majority_answers,
    measured_targets,
)
from scorer.train.maturity import Criteria, judge, option_name
from scorer.train.measure import churn, mean_average_precision, mean_scores, rank_correlation
from scorer.train.rounds import ANEW, Options, RoundsState, Use, read_state
from scorer.train.trained import RoundsRequest

_FIRST: Final = 5  # ids that a message names
_USES: Final[dict[Use | None, str]] = {
    None: "n-grams alone",
    "heads": "--encoder",
    "mixed": "--encoder --mixed",
    "ensemble": "--ensemble",
}


@dataclass(frozen=True, slots=True)
class Split:
    """What a round learns from and what it is measured on: row numbers of the labels."""

    learning: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.int64]
    """In the order of their ids."""
    left_out: int
    """Works of held-out venues that came after the first round: neither of the two."""
    holdout: tuple[str, ...]
    answers: dict[str, str]
    digest: str
    """sha256 of the labels."""

    def told(self) -> str:
        """Say what is held out."""
        late = f"; {self.left_out:,} later works of their venues left out" if self.left_out else ""
        return f"{len(self.held_out):,} held out{late}"


@dataclass(frozen=True, slots=True)
class Turn:
    """The round that begins, and the rules that the rounds before it have set."""

    options: Options
    use: Use | None
    """What an encoder is for; None: there is none."""
    criteria: Criteria
    before: RoundsState | None
    """None: it is the first."""

    @classmethod
    def open(cls, request: RoundsRequest, recipe: Recipe, use: Use | None = None) -> Self:
        """Read the state, if there is one; raise where it cannot be read, continued or written."""
        path = request.state
        with told(path), tempfile.TemporaryDirectory(prefix=".scorer.", dir=path.parent):
            pass  # the folder can be written
        wanted = Options(**{name: getattr(recipe, name) for name in Options.model_fields})
        if not path.exists():
            return cls(wanted, use, request.criteria, None)
        before = read_state(path)
        if use != before.use:
            raise UsageError(
                f"{path}: its rounds began with {_USES[before.use]}, this one asks for "
                f"{_USES[use]}: rounds that learn in two ways cannot be compared.\n"
                f"Learn as they did, {ANEW}"
            )
        asked = wanted.model_dump() | request.criteria.model_dump()
        fixed = before.options.model_dump() | before.criteria.model_dump()
        for name in asked if request.given is None else asked.keys() & request.given:
            if asked[name] != fixed[name]:
                raise UsageError(
                    f"--{option_name(name)} {asked[name]:.15g}: the rounds of {path} began with "
                    f"{fixed[name]:.15g}.\nLeave the option out, {ANEW}"
                )
        return cls(before.options, use, before.criteria, before)

    @property
    def number(self) -> int:
        """The round's number, from 1."""
        return 1 if self.before is None else len(self.before.rounds) + 1

    def recipe(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the options that all rounds share."""
        return replace(recipe, **self.options.model_dump())

    def split(self, labels: Labels, where: str, digest: str) -> Split:
        """Part the labels into works to learn from and works held out.

        `where` names the labels in messages, `digest` is their sha256. Raises `InputError` where
        they do not continue the rounds before, or leave nothing to measure.
        """
        if self.before is not None:
            _check_labels(labels, self.before, where, digest)
        works = labels.works
        away = held_out_venues(works, self.options.seed, self.criteria.holdout_share)
        rows = {name: row for row, name in enumerate(works["id"])}
        holdout = self._holdout(rows, np.flatnonzero(away), where)
        held_out = np.array([rows[name] for name in holdout], np.int64)
        away[held_out] = True
        said = labels.only(held_out)
        names: Iterable[str] = labels.targets.binary_names
        if self.before is not None:
            names = self.before.answers
        answers = {target: majority_answers(said, target) for target in names}
        self._check_answers(answers, holdout, where)
        return Split(
            learning=np.flatnonzero(~away),
            held_out=held_out,
            left_out=int(away.sum()) - len(held_out),
            holdout=holdout,
            answers=answers,
            digest=digest,
        )

    def measure(
        self, split: Split, targets: Targets, scores: npt.NDArray[np.float32]
    ) -> "Measured":
        """Measure the round's student by its scores float32 [works held out, outputs]."""
        answers, then = split.answers, None if self.before is None else self.before.scores
        means = mean_scores(scores, targets, measured_targets(answers))
        done = Round(
            number=self.number,
            works=len(split.learning),
            held_out=len(split.held_out),
            targets=len(means),
            labels_sha256=split.digest,
            average_precision=mean_average_precision(means, answers),
            churn=None if then is None else churn(means, then, answers),
            spearman=None if then is None else rank_correlation(means, then, answers),
        )
        return Measured(self, split, targets, means, done)

    def _holdout(
        self, rows: dict[str, int], chosen: npt.NDArray[np.int64], where: str
    ) -> tuple[str, ...]:
        """Return the ids held out: those of the first round, or those that were chosen for it."""
        if self.before is None:
            wanted = set(chosen.tolist())
            return tuple(sorted(name for name, row in rows.items() if row in wanted))
        missing = [name for name in self.before.holdout if name not in rows]
        if missing:
            raise InputError(
                f"{where}: lacks {len(missing):,} of the {len(self.before.holdout):,} works held "
                f"out since the first round, first: {', '.join(missing[:_FIRST])}.\n"
                f"Labels may grow from round to round, but keep these works, {ANEW}"
            )
        return self.before.holdout

    def _check_answers(self, answers: dict[str, str], holdout: tuple[str, ...], where: str) -> None:
        for target, known in (self.before.answers if self.before is not None else {}).items():
            if answers[target] != known:
                pairs = zip(holdout, answers[target], known, strict=True)
                changed = next(name for name, now, then in pairs if now != then)
                raise InputError(
                    f"{where}: work {changed} is held out, and its labels for {target} are not "
                    f"those of the first round.\nKeep the labels of works held out, {ANEW}"
                )
        if not measured_targets(answers):
            raise InputError(
                f"{where}: among the {len(holdout):,} works held out no target has "
                f"{ENOUGH_TO_MEASURE} works that most heads say yes to.\n"
                "Label more works, or hold out more of them: --holdout-share."
            )


@dataclass(frozen=True, slots=True)
class Measured:
    """A round whose student is measured, not yet written."""

    turn: Turn
    split: Split
    targets: Targets
    means: dict[str, tuple[float, ...]]
    done: Round

    def maturity(self) -> Maturity:
        """Return what the rounds come to, for the manifest of the bundle that this one makes."""
        return judge((*self._earlier(), self.done), self.turn.criteria)

    def state(self, bundle: str) -> RoundsState:
        """Return the state that the round leaves, once its bundle has a version."""
        return RoundsState(
            heads=tuple(self.targets.head_names),
            options=self.turn.options,
            use=self.turn.use,
            criteria=self.turn.criteria,
            holdout=self.split.holdout,
            answers=self.split.answers,
            rounds=(*self._earlier(), self.done.model_copy(update={"bundle": bundle})),
            scores=self.means,
        )

    def _earlier(self) -> tuple[Round, ...]:
        return () if self.turn.before is None else self.turn.before.rounds


def _check_labels(labels: Labels, before: RoundsState, where: str, digest: str) -> None:
    """Raise `InputError` unless a further round can learn from these labels."""
    if set(labels.targets.head_names) != set(before.heads):
        raise InputError(
            f"{where}: its heads are {', '.join(labels.targets.head_names)}; the rounds before "
            f"learned from {', '.join(before.heads)}.\nUse labels of the same heads, {ANEW}"
        )
    lost = [name for name in before.answers if name not in labels.targets.binary_names]
    if lost:
        raise InputError(
            f"{where}: has no work with {lost[0]}, which the rounds before have learned.\n"
            f"Labels may grow from round to round, but keep their targets, {ANEW}"
        )
    # The same labels give the same student: it would seem settled, having learned nothing.
    same = next((done.number for done in before.rounds if done.labels_sha256 == digest), None)
    if same is not None:
        raise InputError(
            f"{where}: the labels of round {same}, unchanged, so a new round would learn nothing "
            f"new.\nAdd labels, {ANEW}"
        )
