"""Reliability over the replicates of a design: each of its figures has limits."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from scorer.policy.fit import Booleans, Floats, Scores
from scorer.policy.reliability import rates, step_of
from scorer.review.metrics import rows_of


@dataclass(frozen=True, slots=True)
class Reliability:
    """The share of yes and the mean score in each step, and the expected calibration error."""

    sums: csr_array
    filled: tuple[int, ...]
    """Steps that hold a known work."""

    @classmethod
    def of(cls, score: Scores, positive: Booleans, known: Booleans) -> "Reliability":
        """Sort the known works into steps; all arguments are over all works of the design."""
        step = step_of(score)
        filled = tuple(np.unique(step[known]).tolist())
        sets = [known & (step == number) for number in filled]
        works = rows_of(sets)
        scores = works.multiply(score.astype(np.float64)).tocsr()
        yes = rows_of([members & positive for members in sets])
        return cls(vstack([works, scores, yes], format="csr"), filled)

    def figures(self, sums: Floats) -> Floats:
        """Return the share of yes a step, the mean score a step, the error: [2 steps + 1, columns].

        See `scorer.policy.reliability.rates`.
        """
        rate, mean, error = rates(*np.split(sums, 3))
        return np.concatenate([rate, mean, error[np.newaxis]])
