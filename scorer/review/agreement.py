"""How far two who judged the same works agree: two heads' calls, two teachers, two coders."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from scorer.policy.fit import Booleans, Floats
from scorer.review.metrics import rows_of


@dataclass(frozen=True, slots=True)
class Agreement:
    """Raw agreement, Cohen's (1960) kappa and Jaccard's index of two sets of yes."""

    sums: csr_array

    @classmethod
    def of(cls, one: Booleans, other: Booleans, known: Booleans) -> "Agreement":
        """Compare two over the works that both judged; bool [works] each."""
        return cls(rows_of([one & other & known, one & known, other & known, known]))

    def figures(self, sums: Floats) -> Floats:
        """Return raw agreement, kappa and Jaccard's index: [3, columns].

        NaN: kappa where both say the same of all works, Jaccard's where neither says yes.
        """
        both, one, other, works = sums
        raw = 1 - (one + other - 2 * both) / works
        by_chance = (one * other + (works - one) * (works - other)) / works**2
        return np.stack([raw, (raw - by_chance) / (1 - by_chance), both / (one + other - both)])
