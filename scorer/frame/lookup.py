"""Finding works by id in a list that stays the same from batch to batch."""

import numpy as np
import numpy.typing as npt
import polars as pl


class IdLookup:
    """Places of ids in a list, by binary search over 64-bit hashes; ids decide, hashes only lead.

    Holds the ids and 16 bytes each.
    """

    def __init__(self, ids: pl.Series) -> None:
        """Sort the hashes of `ids` (String, none null, each once)."""
        hashes = ids.hash().to_numpy()
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]
        self._ids = ids

    def __len__(self) -> int:
        """Return how many ids are listed."""
        return len(self._ids)

    def find(self, ids: pl.Series) -> npt.NDArray[np.int64]:
        """Return the place of each id in the list, -1 where it is not there."""
        places = np.full(len(ids), -1)
        if not len(self._ids):
            return places
        hashes = ids.hash().to_numpy()
        at = np.searchsorted(self._hashes, hashes)
        open_rows = np.arange(len(ids))
        while len(open_rows):  # once, but for different ids with the same hash
            there = at[open_rows] < len(self._hashes)
            open_rows = open_rows[there]
            same_hash = self._hashes[at[open_rows]] == hashes[open_rows]
            open_rows = open_rows[same_hash]
            listed = self._order[at[open_rows]]
            same = (self._ids.gather(listed) == ids.gather(open_rows)).to_numpy()
            places[open_rows[same]] = listed[same]
            open_rows = open_rows[~same]
            at[open_rows] += 1
        return places


class IdsFound:
    """Which ids of a list have been found so far, over all batches."""

    def __init__(self, lookup: IdLookup) -> None:
        """Start with none."""
        self._found = np.zeros(len(lookup), bool)

    def add(self, places: npt.NDArray[np.int64]) -> None:
        """Take note of places that `IdLookup.find` gave."""
        self._found[places[places >= 0]] = True

    def count(self) -> int:
        """Return how many there are."""
        return int(self._found.sum())
