"""The heads and targets on which two students can be compared, and both their scores for each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scorer.decide.sample import named
from scorer.errors import InputError, UsageError
from scorer.labels.sample import Labels
from scorer.policy.fit import Booleans, Scores
from scorer.review.compare_sides import Opened
from scorer.targets import score_column


@dataclass(frozen=True, slots=True)
class Pair:
    """A head and target; all arrays are over all labelled works.

    `known`: works that both sides scored and the teacher judged; `yes` is within them. `scores`:
    A's and B's, 0 where one has none.
    """

    head: str
    target: str
    known: Booleans
    yes: Booleans
    scores: tuple[Scores, Scores]

    @property
    def name(self) -> tuple[str, str]:
        """Head and target."""
        return self.head, self.target

    def same(self) -> bool:
        """Tell whether both sides score all known works alike."""
        a, b = self.scores
        return np.array_equal(a[self.known], b[self.known])


def pairs_of(a: Opened, b: Opened, labels: Labels, targets: Sequence[str]) -> list[Pair]:
    """Return what both have learned and the labels speak of, head by head, targets in A's order.

    `targets`: of these alone, if any. Raises `UsageError` where nothing is in common, `InputError`
    where no labelled work has both scores.
    """
    asked = _asked(a, b, labels, targets)
    both = np.zeros(labels.works.height, bool)
    both[np.intersect1d(a.examples.places, b.examples.places)] = True
    if not both.any():
        raise InputError(
            f"{a.side.name} and {b.side.name}: no labelled work has a score in both.\n"
            "Give scores of the same works."
        )
    found = []
    for head, target in asked:
        known = labels.judged(head, target) & both
        yes = labels.positive(head, target) & known
        scores = _scores(a, head, target, len(both)), _scores(b, head, target, len(both))
        found.append(Pair(head, target, known, yes, scores))
    return found


def _scores(side: Opened, head: str, target: str, works: int) -> Scores:
    made = np.zeros(works, np.float32)
    made[side.examples.places] = side.examples.scores[score_column(head, target)].to_numpy()
    return made


def _asked(a: Opened, b: Opened, labels: Labels, targets: Sequence[str]) -> list[tuple[str, str]]:
    """Return the heads and targets that both have learned and the labels speak of, in A's order."""
    there = labels.targets
    common = a.learned() & b.learned()
    found = [
        (head, target)
        for head in a.targets.head_names
        for target in a.targets.binary_names
        if (head, target) in common
        and head in there.head_names
        and target in there.binary_names
        and labels.has(head, target)
    ]
    if not found:
        said = [
            f"{what}: {named(of.head_names)} on {named(of.binary_names)}"
            for what, of in (("A", a.targets), ("B", b.targets), ("labels", there))
        ]
        raise UsageError(
            "A, B and the labels have no head and target in common.\n" + "; ".join(said) + "."
        )
    names = list(dict.fromkeys(target for _, target in found))
    for name in targets:
        if name not in names:
            raise UsageError(
                f"--target {name}: not a target that A, B and the labels have in common.\n"
                f"There are {', '.join(names)}."
            )
    return [(head, target) for head, target in found if target in (targets or names)]
