"""What is asked of scores: whether a work is a yes for a target, by a kind of call.

A kind is a head, or a combination of heads: candidate, consensus, majority.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import polars as pl

from scorer.decide.called import called, silence, without_direct
from scorer.decide.sample import Examples
from scorer.policy.calls import (
    CANDIDATE,
    CONSENSUS,
    COVERED,
    MAJORITY,
    SEGMENT,
    call_sets,
    fewest,
    kinds,
)
from scorer.policy.fit import Booleans, Scores
from scorer.policy.policy import Policy
from scorer.review.evaluate_judges import Judges
from scorer.review.scores import Scores as ScoredFile
from scorer.targets import score_column

RANKED_BY: Final[Mapping[str, str]] = {
    CANDIDATE: "the highest of the heads' scores",
    CONSENSUS: "the lowest of the heads' scores",
    MAJORITY: "the highest score that more than half of the heads reach",
}
"""The score by which a combination is ranked: thresholds on it would call as the combination."""


@dataclass(frozen=True, slots=True)
class Question:
    """One target and kind; arrays are over all works of the sample.

    `scored`: works with a score and a usable title; `known`: those of them that were judged.
    `yes` and `called` are within these two.
    """

    target: str
    kind: str
    scored: Booleans
    known: Booleans
    yes: Booleans
    score: Scores
    called: Booleans | None
    silent: str | None
    """Why the kind makes no calls, where `called` is None."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two who say yes or no to the same works; bool [works]."""

    what: str
    """`calls` of two heads, `labels` of two teachers, `answers` of two coders."""
    target: str
    between: tuple[str, str]
    one: Booleans
    other: Booleans
    known: Booleans


def pairs(asked: Sequence[Question], judges: Judges) -> list[Pair]:
    """Return who can be compared with whom: the heads that make calls, and the judges."""
    found = []
    for target in dict.fromkeys(question.target for question in asked):
        calling = [q for q in asked if q.target == target and q.kind not in RANKED_BY]
        for a, b in combinations(calling, 2):
            if a.called is not None and b.called is not None:
                between, known = (a.kind, b.kind), a.scored & b.scored
                found.append(Pair("calls", target, between, a.called, b.called, known))
        what = "labels" if judges.who == "teachers" else "answers"
        for between in combinations(judges.names, 2):
            (known, yes), (also, too) = (judges.answers(name, target) for name in between)
            found.append(Pair(what, target, between, yes, too, known & also))
    return found


def questions(
    scores: ScoredFile, judges: Judges, examples: Examples, targets: Sequence[str]
) -> list[Question]:
    """Return what is asked of every kind, by target in the order given.

    `examples`: the works of the sample that have scores.
    """
    asking = _Asking(scores, judges, examples)
    return [asking.question(t, k) for t in targets for k in kinds(scores.targets, asking.mode)]


class _Asking:
    """The scores of the sample's works, and what is called among them."""

    def __init__(self, scores: ScoredFile, judges: Judges, examples: Examples) -> None:
        self.mode = scores.manifest.mode
        self._scores = scores
        self._targets = scores.targets
        self._judges = judges
        self._examples = examples
        self._works = judges.works.height
        self._policies = [stage.policy for stage in scores.manifest.stages]
        # Direct labels compared with themselves would say nothing; coders can judge them.
        self._as_written = judges.who == "coders" and bool(self._policies[0].direct_heads())
        # Works that a run was told to leave out are called here as all others would be.
        rows = examples.scores.with_columns(pl.lit(COVERED, SEGMENT).alias("segment"))
        self._sets = self._called_by(self._policies[0], rows)
        for stage in scores.manifest.stages[1:]:
            # Each row is called by the policy of the student that scored it.
            mine = pl.lit(rows["model_version"].cast(pl.String) == stage.model_version)
            other = self._called_by(stage.policy, rows)
            self._sets = self._sets.select(
                pl.when(mine).then(pl.lit(other[name])).otherwise(pl.col(name)).alias(name)
                for name in self._sets.columns
            )

    def _called_by(self, policy: Policy, rows: pl.DataFrame) -> pl.DataFrame:
        return call_sets(rows, self._targets, without_direct(policy), self.mode)

    def question(self, target: str, kind: str) -> Question:
        """Return what is asked of a kind."""
        learned = [head.name for head in self._targets.heads if target not in head.unavailable]
        alone = kind in self._targets.head_names
        heads = [kind] if alone else learned
        if not heads or not set(heads) <= set(learned):
            return self._unlearned(target, kind)
        needed = 1 if alone else fewest(kind, len(heads))
        judged, yes = self._judges.truth(heads, needed, target)
        places = self._examples.places
        scored = np.zeros(self._works, bool)
        scored[places] = True
        score = np.zeros(self._works, np.float32)
        columns = [self._examples.scores[score_column(head, target)].to_numpy() for head in heads]
        # As many heads reach a threshold as have scores over it: the needed one from the top.
        score[places] = np.sort(np.stack(columns), axis=0)[-needed]
        silent = self._silence(target, kind)
        calls = None
        if silent is None:
            calls = np.zeros(self._works, bool)
            calls[places] = self._called(target, kind)
        known = judged & scored
        return Question(target, kind, scored, known, yes & scored, score, calls, silent)

    def _unlearned(self, target: str, kind: str) -> Question:
        nothing = np.zeros(self._works, bool)
        score = np.zeros(self._works, np.float32)
        why = "none: unavailable"
        return Question(target, kind, nothing, nothing, nothing, score, None, why)

    def _silence(self, target: str, kind: str) -> str | None:
        if self._scores.score_only:
            return "none: scores only"
        if self._as_written:
            return None
        silences = [silence(policy, self._targets, kind, target) for policy in self._policies]
        return None if None in silences else silences[0]

    def _called(self, target: str, kind: str) -> Booleans:
        if not self._as_written:
            return called(self._sets, self._targets, kind, target)
        column = f"{kind}_{self._scores.what(target)}"
        lists = self._scores.of_works(self._examples.scores["id"], [column])[column]
        return lists.list.contains(target).fill_null(False).to_numpy()
