"""Linear heads on soft labels: all outputs of a kind at once, by L-BFGS (scipy).

scikit-learn's logistic regression takes hard labels and fits output by output; distillation has a
share of "yes" for each of many thousand works and every output. One product of the features with
all weights serves every output, which is some twenty times faster.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.float64]
Small = npt.NDArray[np.float32]
Link = Literal["sigmoid", "softmax"]

_MEMORY: Final = 15
"""Pairs of steps and gradients that L-BFGS keeps."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What heads read of works: `ngrams` float32 [works, n-grams], `vectors` [works, width].

    `vectors` has no column where there is no encoder.
    """

    ngrams: csr_matrix
    vectors: Small

    @property
    def features(self) -> int:
        """How many features a work has."""
        return int(self.ngrams.shape[1] + self.vectors.shape[1])

    def times(self, weights: Small) -> Small:
        """Return float32 [works, outputs]: the features times weights [features, outputs]."""
        sparse = self.ngrams.shape[1]
        found: Small = self.ngrams @ weights[:sparse]
        if self.vectors.shape[1]:
            found += self.vectors @ weights[sparse:]
        return found


@dataclass(frozen=True, slots=True)
class Stop:
    """When a fit is good enough."""

    slope: float = 1e-2
    """No weight's slope is larger, of the loss times C."""
    steps: int = 150


def fit_soft(
    evidence: Evidence,
    shares: Small,
    weights: Small,
    regularisation: Floats,
    *,
    link: Link = "sigmoid",
    stop: Stop | None = None,
) -> Floats:
    """Fit linear heads to soft labels; return float64 [features + 1, outputs], biases last.

    `shares`, `weights`: float32 [works, outputs]; how far a work says yes to an output, and how
    much the work counts for it. `regularisation`: float64 [outputs], C of each. Minimises C x
    weighted cross-entropy + |weights|² / 2; biases are free. For `softmax` the outputs are the
    values of one axis: shares add up to 1, `weights` is [works, 1].

    The arithmetic runs on one thread: more would add up in another order and give other bits.
    """
    stop = stop or Stop()
    loss = _LOSSES[link]
    turned, across = evidence.ngrams.T.tocsr(), np.ascontiguousarray(evidence.vectors.T)
    sparse, shape = turned.shape[0], (evidence.features + 1, shares.shape[1])
    strength = regularisation.astype(np.float32)
    counted = weights * (strength if link == "sigmoid" else strength[0])

    def objective(flat: Floats) -> tuple[float, Floats]:
        given = flat.reshape(shape)
        small = given.astype(np.float32)
        cost, slope = loss(evidence.times(small[:-1]) + small[-1], shares, counted)
        gradient = given.copy()
        gradient[:sparse] += turned @ slope
        if len(across):
            gradient[sparse:-1] += across @ slope
        gradient[-1] = slope.sum(axis=0, dtype=np.float64)
        return cost + 0.5 * float(np.square(given[:-1]).sum()), gradient.ravel()

    options = {"maxiter": stop.steps, "maxcor": _MEMORY, "ftol": 0.0, "gtol": stop.slope}
    with threadpool_limits(limits=1):
        found = minimize(
            objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options
        )
    fitted: Floats = found.x.reshape(shape)
    return fitted


def _of_yes_and_no(logits: Small, shares: Small, weights: Small) -> tuple[float, Small]:
    """Return the cross-entropy, a sum, and its slope float32 [works, outputs]."""
    parts = np.log1p(np.exp(-np.abs(logits))) + np.maximum(logits, 0) - shares * logits
    return float((weights * parts).sum(dtype=np.float64)), weights * (sigmoid(logits) - shares)


def _of_one_value(logits: Small, shares: Small, weights: Small) -> tuple[float, Small]:
    below = logits - logits.max(axis=1, keepdims=True)
    parts = np.exp(below)
    total = parts.sum(axis=1, keepdims=True)
    cost = weights * (np.log(total) - (shares * below).sum(axis=1, keepdims=True))
    return float(cost.sum(dtype=np.float64)), weights * (parts / total - shares)


_LOSSES: Final[dict[Link, Callable[[Small, Small, Small], tuple[float, Small]]]] = {
    "sigmoid": _of_yes_and_no,
    "softmax": _of_one_value,
}


def sigmoid(logits: Small) -> Small:
    """Return 1 / (1 + exp(-logits)), without overflow."""
    small = np.exp(-np.abs(logits))
    shares: Small = np.where(logits >= 0, 1, small) / (1 + small)
    return shares


def softmax(logits: Small) -> Small:
    """Return shares that add up to 1 along the last axis."""
    parts = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Small = parts / parts.sum(axis=-1, keepdims=True)
    return shares
