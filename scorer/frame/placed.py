"""Words with their places, flat over a batch, and the running texts that they make.

Every shape of an inverted index ends here: one ordering for all, without Python code per work.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

LARGEST_POSITION: Final = 999_999_999
"""A position beyond it is damage: no abstract has a billion words."""

Ints = npt.NDArray[np.int64]


class Unreadable(Exception):  # noqa: N818 - told to the user as an `InputError`, with the work's id
    """The index in row `row` of those given cannot be read; the text says why."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row


@dataclass(frozen=True, slots=True)
class Placed:
    """The words of some inverted indexes, each with the places where it stands.

    `words`: Arrow large_string. `owners`, `rows`, `positions`: int64 [places], for each place its
    word (an index into `words`), its index and its position there. Within an index, places come in
    order of appearance.
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
    owners = placed.owners.take(_order(placed, counts, offsets))
    words = placed.words.take(pa.array(owners))
    lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), words)
    joined = pc.binary_join(lists, pa.scalar(" ", words.type))
    empty = pa.array(counts == 0)
    texts = pc.if_else(empty, pa.scalar(None, joined.type), joined)
    return pl.Series("abstract", texts, dtype=pl.String)


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
