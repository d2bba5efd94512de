"""From replicates of a figure to its 95 % limits.

A figure is a share of some works (precision, recall, prevalence), or lies in [0, 1] as one does.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import beta, t

from scorer.policy.fit import Floats, Weights

LEVEL: Final = 0.95
"""How often the limits should hold what the whole frame would show."""
_BOOTSTRAP: Final = (
    "the Bayesian bootstrap in strata (Rubin 1981; Rao and Wu 1988), each with two further works "
    "whose answer is open"
)
METHOD: Final = (
    f"95 % limits: percentiles of replicates of {_BOOTSTRAP}; where less than one effective work "
    "stands on a side, as wide there as mid-P limits (Lancaster 1961)"
)
DIFFERENCE_METHOD: Final = (
    "95 % limits of a difference by Student's t, from its spread over replicates of "
    f"{_BOOTSTRAP}, the same ones for both sides"
)
_UPPER: Final = (1 + LEVEL) / 2
_ROUNDING: Final = 1e-9
"""Figures and replicates that differ by less do not differ: sums of weights in another order."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its limits, or the reason why one or the other is not there."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str | None = None

    @classmethod
    def absent(cls, why: str) -> "Figure":
        """Return a figure that is not given."""
        return cls(None, why=why)

    def times(self, size: float) -> "Figure":
        """Return the figure and its limits times a number that is known."""
        if self.value is None or self.low is None or self.high is None:
            return self
        return Figure(self.value * size, self.low * size, self.high * size)


def effective(weight: Weights) -> float:
    """Return Kish's (1965) effective number of works: (sum w)^2 / sum w^2; 0 of none."""
    return float(weight.sum()) ** 2 / float((weight**2).sum()) if len(weight) else 0.0


def share(found: Floats, works: float) -> Figure:
    """Return a figure within [0, 1] and its limits.

    `found`: float64 [1 + replicates], the figure of the sample first. `works`: effective number of
    works that it is a share of, or whose ranks it tells.

    The limits are percentiles of the replicates. These hold few works that the sample lacks: where
    less than one effective work stands on a side, the limit there is at least as far as the mid-P
    limit (Lancaster, 1961; Berry and Armitage, 1995) for so many works, which for none and all of
    them is the limit of Clopper and Pearson (1934) at twice the chance of error.
    """
    value = float(found[0])
    replicates = found[1:][np.isfinite(found[1:])]
    low, high = np.quantile(replicates, [1 - _UPPER, _UPPER]) if len(replicates) else (value, value)
    yes, no = works * value, works * (1 - value)
    if no < 1 and yes > 0:
        low = min(low, beta.ppf(2 * (1 - _UPPER), yes, no + 1))
    if yes < 1 and no > 0:
        high = max(high, beta.isf(2 * (1 - _UPPER), yes + 1, no))
    return Figure(value, min(float(low), value), max(float(high), value))


def signed(found: Floats, works: float) -> Figure:
    """Return a figure within [-1, 1], and limits t standard errors around it.

    Cohen's kappa, or the difference of two figures of the same works. `found`: float64
    [1 + replicates]; `works`: effective number of those that it speaks of.
    """
    value = float(found[0])
    reach = _quantile(works) * _spread(found)
    return Figure(value, max(value - reach, -1.0), min(value + reach, 1.0))


def _quantile(works: float) -> float:
    return float(t.ppf(_UPPER, max(works - 1, 1.0)))


def _spread(found: Floats) -> float:
    """Return the standard deviation of the replicates in which there is a figure."""
    replicates = found[1:][np.isfinite(found[1:])]
    spread = float(replicates.std(ddof=1)) if len(replicates) > 1 else 0.0
    return spread if spread > _ROUNDING else 0.0
