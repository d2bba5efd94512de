"""From replicates of a figure to its 95 % limits.

A figure is a share of some works (precision, recall, prevalence), or lies in [0, 1] as one does.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit, logit
from scipy.stats import beta, t

from scorer.policy.fit import Floats, Weights

LEVEL: Final = 0.95
"""How often the limits should hold what the whole frame would show."""
_BOOTSTRAP: Final = "the rescaling bootstrap (Rao and Wu 1988; Rao, Wu and Yue 1992)"
METHOD: Final = (
    "95 % limits by Student's t on the logit scale, from the spread over replicates of "
    f"{_BOOTSTRAP}, less the bias that these show; "
    "where less than one effective work stands on a side, as wide there as Clopper and Pearson's "
    "(1934)"
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
    """A figure with its limits, or the reason why there is none."""

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
    works that it is a share of, or whose ranks it tells; one less are the degrees of freedom.

    On the logit scale limits stay within 0 and 1, and are lopsided near the ends as they should be
    (Korn and Graubard, 1999, section 2.7). They stand around the figure less the bias that the
    replicates show: an average precision counts each positive among those called with it, so a
    small sample's is too high.

    A replicate holds no work that the sample lacks: where all works found, or all missed, are light
    ones, replicates hardly spread, though a heavy one may be missing by chance. So where less than
    one effective work stands on a side, the limit there is at least as far as that of Clopper and
    Pearson (1934) for so many works.
    """
    value = float(found[0])
    replicates, spread = _spread(found)
    low, high = _clopper_pearson(value, works)
    if spread and 0 < value < 1:
        centre = 2 * value - float(replicates.mean())
        centre = centre if 0 < centre < 1 else value
        reach = _quantile(works) * spread / (value * (1 - value))
        below, above = expit(logit(centre) - reach), expit(logit(centre) + reach)
        low = below if works * (1 - value) >= 1 else min(below, low)
        high = above if works * value >= 1 else max(above, high)
    # The figure is that of the sample; what is known of its bias moves the limits alone.
    return Figure(value, min(float(low), value), max(float(high), value))


def signed(found: Floats, works: float) -> Figure:
    """Return a figure within [-1, 1], and limits t standard errors around it.

    Cohen's kappa, or the difference of two figures of the same works. `found`: float64
    [1 + replicates]; `works`: effective number of those that it speaks of.
    """
    value = float(found[0])
    reach = _quantile(works) * _spread(found)[1]
    return Figure(value, max(value - reach, -1.0), min(value + reach, 1.0))


def _quantile(works: float) -> float:
    return float(t.ppf(_UPPER, max(works - 1, 1.0)))


def _clopper_pearson(value: float, works: float) -> tuple[float, float]:
    yes, no = works * value, works * (1 - value)
    low = float(beta.ppf(1 - _UPPER, yes, no + 1)) if yes > _ROUNDING else 0.0
    high = float(beta.ppf(_UPPER, yes + 1, no)) if no > _ROUNDING else 1.0
    return low, high


def _spread(found: Floats) -> tuple[Floats, float]:
    """Return the replicates in which there is a figure, and their standard deviation."""
    replicates = found[1:][np.isfinite(found[1:])]
    spread = float(replicates.std(ddof=1)) if len(replicates) > 1 else 0.0
    return replicates, spread if spread > _ROUNDING else 0.0
