"""Words with their places, flat over a batch, and the running texts that they make.

Every shape of an inverted index ends here: one ordering for all, without Python code per work.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

LARGEST_POSITION: Final = 999_999_999
"""A position beyond it is damage: no abstract has a billion words."""

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Unreadable(Exception):  # noqa: N818 - told to the user as an `InputError`, with the work's id
    """The index in row `row` of those given cannot be read; the text says why."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row


@dataclass(frozen=True, slots=True)
class Placed:
    """The words of some inverted indexes, each with the places where it stands.

    `words`: Arrow large_string, each with a space after it. `owners`, `rows`, `positions`: int64
    [places], for each place its word (an index into `words`), its index and its position there.
    Within an index, places come in order of appearance.
    """

    words: pa.Array
    owners: Ints
    rows: Ints
    positions: Ints


def running_texts(placed: Placed, height: int) -> pl.Series:
    """Return the text of each of `height` indexes, null where it has no place.

    Words come in position order, gaps close up, words at one position stay in order of appearance.
    """
    counts = np.bincount(placed.rows, minlength=height)
    offsets = np.zeros(height + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    words = placed.words.take(pa.array(placed.owners.take(_order(placed, counts, offsets))))
    texts = _cut(words, offsets, empty=counts == 0)
    return pl.Series("abstract", texts, dtype=pl.String)


def _cut(words: pa.Array, offsets: Ints, *, empty: Bools) -> pa.Array:
    """Return the texts of some lists of words: the words end to end but for the last space."""
    _, ends, data = words.buffers()
    bounds = np.frombuffer(ends, np.int64).take(offsets) if len(words) else offsets
    cuts = np.column_stack([bounds[:-1], bounds[1:] - ~empty]).ravel()
    pieces = pa.Array.from_buffers(words.type, len(cuts) - 1, [None, pa.py_buffer(cuts), data])
    return pieces.take(pa.array(np.arange(0, len(cuts), 2), mask=empty))


def _order(placed: Placed, counts: Ints, offsets: Ints) -> Ints:
    """Return the places of the batch, by index and position.

    Nearly every index fills 0, 1, 2, … without gap or repeat: there a position is already the
    place where the word goes. Only the others are sorted.
    """
    within = placed.positions < counts.take(placed.rows)
    order = np.full(len(placed.rows), -1)
    fitting = np.flatnonzero(within)
    order[(offsets.take(placed.rows) + placed.positions).take(fitting)] = fitting
    uneven = np.zeros(len(counts), bool)
    uneven[placed.rows[~within]] = True
    targets = np.repeat(np.arange(len(counts)), counts)
    uneven[targets[order < 0]] = True  # two words at one position leave a hole elsewhere
    if uneven.any():
        some = np.flatnonzero(uneven.take(placed.rows))
        ranks = np.lexsort((placed.positions.take(some), placed.rows.take(some)))
        order[uneven.take(targets)] = some.take(ranks)
    return order
