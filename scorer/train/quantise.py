"""From the weights of linear heads to an integer table, and back to exact scores.

An integer logit counts units of `unit` on the logit scale. Table entries are at most 4095 in size
and a work has at most 4,096 n-grams, so every sum is exact in float32, in any order (contract 3).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

LARGEST_ENTRY: Final = 4095
FINEST_UNIT: Final = 1 / 1024
SCORE_ENTRIES: Final = 1 << 16
HALF: Final = SCORE_ENTRIES // 2
NEVER: Final = -(1 << 23)
"""The bias of a target without a fitted head: its score is 0 whatever the n-grams say."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Table:
    """Integer weights int32 [n-grams, outputs], biases int32 [outputs], and the unit they count."""

    weights: Integers
    bias: Integers
    unit: float

    def logits(self, features: csr_matrix) -> Integers:
        """Return integer logits int32 [works, outputs] of presence features [works, n-grams]."""
        sums: Integers = (features.astype(np.int32) @ self.weights) + self.bias
        return np.clip(sums, -HALF, HALF - 1)

    def scores(self, features: csr_matrix) -> npt.NDArray[np.float32]:
        """Return scores float32 [works, outputs], bit for bit those of the ONNX graph."""
        places: Integers = self.logits(features) + HALF
        scores: npt.NDArray[np.float32] = score_table(self.unit)[places]
        return scores


def quantise(weights: Floats, bias: Floats) -> Table:
    """Round weights [n-grams, outputs] and biases [outputs] (NaN: no fitted head) to integers.

    The unit is the finest power of two that keeps every entry within `LARGEST_ENTRY`.
    """
    unit = FINEST_UNIT
    while np.abs(weights).max(initial=0.0) / unit > LARGEST_ENTRY + 0.5:
        unit *= 2
    fitted = ~np.isnan(bias)
    integers = np.where(fitted, np.rint(weights / unit), 0).astype(np.int32)
    offsets = np.where(fitted, np.rint(np.nan_to_num(bias) / unit), NEVER).astype(np.int32)
    return Table(np.clip(integers, -LARGEST_ENTRY, LARGEST_ENTRY), offsets, unit)


def score_table(unit: float) -> npt.NDArray[np.float32]:
    """Return the score of each integer logit from -32,768: float32 [65,536], the sigmoid.

    The lowest entry is 0: it stands for "no fitted head" and for logits under the table.
    """
    logits = np.arange(-HALF, HALF, dtype=np.float64) * unit
    scores = (1 / (1 + np.exp(-logits))).astype(np.float32)
    scores[0] = 0.0
    return scores


def share_table(unit: float, values: int) -> npt.NDArray[np.float32]:
    """Return exp(-distance) by integer distance, as float32 integers, down to the first 0.

    For the softmax over an axis: their sum over `values` stays under 2^24, so that it is exact in
    any order.
    """
    top = 1 << (23 - max(0, int(np.ceil(np.log2(values)))))
    distance = np.arange(SCORE_ENTRIES, dtype=np.float64) * unit
    shares: npt.NDArray[np.float32] = np.rint(top * np.exp(-distance)).astype(np.float32)
    return shares[: np.flatnonzero(shares)[-1] + 2]
