"""`scorer thresholds curve`: precision, recall and F-beta along the threshold, and where one is.

Everything is compared with what the teachers said of the labelled works, weighted by design. That
is how well the student imitates them; it is not how often they are right.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from scorer.decide.called import called, silence, without_direct
from scorer.decide.sample import (
    Examples,
    LabelFiles,
    Teachers,
    scored_examples,
    table_examples,
    too_good,
)
from scorer.decide.unseen import OutOfFold
from scorer.engine.scored import ScoredFile
from scorer.policy.calls import CANDIDATE, CONSENSUS, COVERED, SEGMENT, call_sets
from scorer.policy.fit import Booleans, Scores, Sweep, Weights, fbeta, sweep
from scorer.policy.policy import Policy, Quota, Silent, Threshold
from scorer.policy.words import decision
from scorer.targets import Targets, score_column

MOST_POINTS: Final = 200
"""In JSON and in a picture; a table shows ten."""


@dataclass(frozen=True, slots=True)
class Point:
    """One operating point; `threshold` is None where each head has its own."""

    threshold: float | None
    precision: float
    recall: float
    fbeta: float


@dataclass(frozen=True, slots=True)
class Curve:
    """What thresholds on one score come to: that of a head, the highest, or the lowest of all."""

    works: int
    """How many labelled works it is measured on."""
    positives: int
    beta: float
    along: Sweep | None
    """All operating points; None where no work is positive."""
    current: Point | None
    """What the policy really calls."""
    silent: str | None
    """Why there is no current point."""

    def at(self, threshold: float) -> Point | None:
        """Return what a threshold comes to; None where it calls no work."""
        if self.along is None:
            return None
        # Thresholds fall along the sweep: the last one that is high enough calls the same works.
        place = int(np.searchsorted(-self.along.threshold, -np.float32(threshold), side="right"))
        return self._point(place - 1) if place else None

    def at_recall(self, recall: float) -> Point | None:
        """Return the first point from the top whose recall is `recall` or more."""
        if self.along is None:
            return None
        return self._point(int(np.searchsorted(self.along.recall, min(recall, 1.0))))

    @property
    def best(self) -> Point | None:
        """The point with the highest F-beta."""
        if self.along is None:
            return None
        return self._point(int(np.argmax(self.along.fbeta(self.beta))))

    def points(self) -> list[Point]:
        """Return at most `MOST_POINTS` from the highest threshold down, the best among them."""
        if self.along is None:
            return []
        best = int(np.argmax(self.along.fbeta(self.beta)))
        return [self._point(place) for place in sorted({best, *_thinned(self.along)})]

    def _point(self, place: int) -> Point:
        assert self.along is not None
        return Point(
            threshold=float(self.along.threshold[place]),
            precision=float(self.along.precision[place]),
            recall=float(self.along.recall[place]),
            fbeta=float(self.along.fbeta(self.beta)[place]),
        )


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of every target: each head, `candidate` and `consensus`."""

    targets: Targets
    policy: Policy
    model_version: str
    beta: float
    by_target: Mapping[str, Mapping[str, Curve]]
    notes: tuple[str, ...]


def curves(
    scores: Path,
    labels: LabelFiles,
    *,
    out_of_fold: Path | None = None,
    beta: float = 2.0,
    equal_weights: bool = False,
) -> Curves:
    """Return the curves of a scored file against labels, with the file's policy marked.

    `out_of_fold`: scores of the labelled works by heads that never saw them, in their place.

    A head is compared with its own teacher, over the works that it judged. The candidate's score is
    the highest of the heads that have learned the target, against a yes of any of their teachers;
    the consensus's is the lowest, against a yes of all; both over the works that all judged.
    """
    scored = ScoredFile.open(scores)
    teachers = Teachers.read(labels, equal_weights=equal_weights)
    teachers.check_heads(scored.targets.head_names, labels.works)
    if out_of_fold is None:
        examples = scored_examples(scored, teachers.ids)
        learned = too_good(scored.manifest.model_version, labels)
    else:
        unseen = OutOfFold.read(out_of_fold, scored)
        examples, learned = table_examples(unseen.scores, teachers.ids, out_of_fold), []
    drawing = _Drawing(scored, teachers, examples, beta)
    return Curves(
        targets=scored.targets,
        policy=scored.manifest.policy,
        model_version=scored.manifest.model_version,
        beta=beta,
        by_target={name: drawing.target(name) for name in scored.targets.binary_names},
        notes=(
            *teachers.strangers(scored.targets, labels.works),
            *examples.note(out_of_fold or scores),
            *learned,
        ),
    )


class _Drawing:
    """The labelled works' scores and labels, and what the policy calls among them."""

    def __init__(
        self, scored: ScoredFile, teachers: Teachers, examples: Examples, beta: float
    ) -> None:
        self._targets = scored.targets
        self._policy = scored.manifest.policy
        self._teachers = teachers
        self._examples = examples
        self._beta = beta
        # Works that a run was told to leave out are called here as all others would be.
        rows = examples.scores.with_columns(pl.lit(COVERED, SEGMENT).alias("segment"))
        self._sets = call_sets(rows, scored.targets, without_direct(self._policy))

    def target(self, target: str) -> dict[str, Curve]:
        """Return kind -> curve."""
        learned = [h.name for h in self._targets.heads if target not in h.unavailable]
        found = {}
        for head in self._targets.head_names:
            if head in learned:
                known, said = self._said(head, target)
                found[head] = self._curve(target, head, known, said, self._score(head, target))
            else:
                found[head] = _nothing(decision(Silent(reason="unavailable")), self._beta)
        for kind, over in ((CANDIDATE, np.maximum), (CONSENSUS, np.minimum)):
            if not learned:
                found[kind] = _nothing("never: no head has learned it", self._beta)
                continue
            says = [self._said(head, target) for head in learned]
            known = np.logical_and.reduce([known for known, _ in says])
            together = np.logical_or if kind == CANDIDATE else np.logical_and
            said = together.reduce([said for _, said in says])
            score = over.reduce([self._score(head, target) for head in learned])
            found[kind] = self._curve(target, kind, known, said, score)
        return found

    def _said(self, head: str, target: str) -> tuple[Booleans, Booleans]:
        """Return (judged, positive), bool [examples]."""
        places = self._examples.places
        judged = self._teachers.judged(head, target)[places]
        return judged, self._teachers.positive(head, target)[places]

    def _score(self, head: str, target: str) -> Scores:
        score: Scores = self._examples.scores[score_column(head, target)].to_numpy()
        return score

    def _curve(
        self, target: str, kind: str, known: Booleans, said: Booleans, score: Scores
    ) -> Curve:
        positive, weight = said[known], self._teachers.weight[self._examples.places][known]
        silent = silence(self._policy, self._targets, kind, target)
        if not positive.any():
            return _nothing(silent or "no positive work", self._beta, works=int(known.sum()))
        current = None
        if silent is None:
            now = called(self._sets, self._targets, kind, target)[known]
            value = self._value(target, kind)
            current = operating_point(now, positive, weight, self._beta, threshold=value)
        return Curve(
            works=len(positive),
            positives=int(positive.sum()),
            beta=self._beta,
            along=sweep(score[known], positive, weight),
            current=current,
            silent=silent,
        )

    def _value(self, target: str, kind: str) -> float | None:
        if kind not in self._targets.head_names:
            return None
        entry = self._policy.entry(kind, target)
        return entry.value if isinstance(entry, Threshold | Quota) else None


def operating_point(
    now: Booleans, positive: Booleans, weight: Weights, beta: float, *, threshold: float | None
) -> Point:
    """Return the design-weighted figures of a set of calls; a precision of no calls is 0."""
    hits = float(weight[now & positive].sum())
    all_called, all_positive = float(weight[now].sum()), float(weight[positive].sum())
    return Point(
        threshold=threshold,
        precision=hits / all_called if all_called else 0.0,
        recall=hits / all_positive,
        fbeta=fbeta(hits, all_called, all_positive, beta),
    )


def _thinned(along: Sweep) -> Iterable[int]:
    """Return places of points, half of them evenly along the recall, half along the scores."""
    count = len(along.threshold)
    if count <= MOST_POINTS:
        return range(count)
    half = MOST_POINTS // 2
    by_recall = np.searchsorted(along.recall, np.linspace(0, 1, half, endpoint=False))
    by_score = np.linspace(0, count - 1, half - 1).round().astype(np.int64)
    return map(int, np.union1d(by_recall, by_score))


def _nothing(silent: str, beta: float, works: int = 0) -> Curve:
    return Curve(works=works, positives=0, beta=beta, along=None, current=None, silent=silent)
