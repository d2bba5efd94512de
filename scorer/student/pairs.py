"""A table from pairs of small integers to a value, looked up for millions of pairs at a time.

Bigrams are pairs of word numbers. The rows of the (sparse) pair matrix are shifted against each
other until no two entries share a place, and laid over one another (row displacement: Tarjan and
Yao, *Storing a sparse table*, CACM 22(11), 1979). A look-up is three reads from small arrays.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int32]

_HALF: Final = 32


class PairTable:
    """Maps (first, second) to a value over 0; pairs that are not in it map to 0."""

    def __init__(self, first: Integers, second: Integers, value: Integers) -> None:
        """Build from three int32 arrays [entries]; numbers start at 1, pairs are distinct."""
        width = int(second.max(initial=0)) + 1
        height = int(first.max(initial=0)) + 1
        order = np.lexsort((second, first))
        first, second, value = first[order], second[order], value[order]
        bounds = np.searchsorted(first, np.arange(height + 1))
        self.shifts = np.zeros(height, np.int32)
        taken = np.zeros(len(first) * 2 + width, bool)
        # Full rows first: they are hard to place, the sparse ones fit into the holes they leave.
        for row in np.argsort(-np.diff(bounds), kind="stable"):
            columns = second[bounds[row] : bounds[row + 1]]
            if len(columns) == 0:
                break
            shift = _first_fit(taken, columns)
            if shift + width > len(taken):
                taken = np.concatenate([taken, np.zeros(len(taken) + width, bool)])
            taken[shift + columns] = True
            self.shifts[row] = shift
        size = int(self.shifts.max(initial=0)) + width
        # The row that owns a place, above the value there: one read gives both.
        self.entries = np.zeros(size, np.int64)
        self.entries[self.shifts[first] + second] = (first.astype(np.int64) << _HALF) | value

    def get(self, first: Integers, second: Integers) -> Integers:
        """Return int32 [pairs]: the value of each pair, 0 where it has none or a number is 0."""
        places = self.shifts.take(first)
        places += second
        entries = self.entries.take(places)
        values = entries.astype(np.int32)  # the lower half
        values *= (entries >> _HALF) == first
        return values


def _first_fit(taken: npt.NDArray[np.bool_], columns: Integers) -> int:
    """Return the smallest shift at which none of `columns` falls on a taken place."""
    span = len(taken) - int(columns.max())
    blocked = np.zeros(span, bool)
    for column in columns:
        blocked |= taken[column : column + span]
    free = int(np.argmin(blocked))
    return free if not blocked[free] else len(taken)
