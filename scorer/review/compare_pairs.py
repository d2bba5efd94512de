"""The heads and targets on which two students can be compared, and both their scores for each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scorer.errors import InputError
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


def pairs_of(a: Opened, b: Opened, labels: Labels, common: Sequence[tuple[str, str]]) -> list[Pair]:
    """Return the scores of both for each head and target that is to be compared.

    Raises `InputError` where no labelled work has both scores.
    """
    both = np.zeros(labels.works.height, bool)
    both[np.intersect1d(a.examples.places, b.examples.places)] = True
    if not both.any():
        raise InputError(
            f"{a.side.name} and {b.side.name}: no labelled work has a score in both.\n"
            "Give scores of the same works."
        )
    found = []
    for head, target in common:
        known = labels.judged(head, target) & both
        yes = labels.positive(head, target) & known
        scores = _scores(a, head, target, len(both)), _scores(b, head, target, len(both))
        found.append(Pair(head, target, known, yes, scores))
    return found


def _scores(side: Opened, head: str, target: str, works: int) -> Scores:
    made = np.zeros(works, np.float32)
    made[side.examples.places] = side.examples.scores[score_column(head, target)].to_numpy()
    return made
