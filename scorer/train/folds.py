"""Folds that keep venues whole: a work is scored by heads that saw no other work of its venue."""

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.model_selection import GroupKFold

from scorer.counted import counted
from scorer.errors import InputError

Fold = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Rows to learn from, rows to score."""


def venue_folds(works: pl.DataFrame, folds: int, seed: int) -> list[Fold]:
    """Return (train, test) rows a fold; a work without a venue shares one with no other."""
    groups = venue_groups(works)
    if len(np.unique(groups)) < folds:
        raise InputError(
            f"{in_venues(works)} are too few for {folds} folds.\nLabel works of more venues."
        )
    splitter = GroupKFold(folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(works.height), groups=groups))


def in_venues(works: pl.DataFrame) -> str:
    """Return how many works of how many venues there are, in words."""
    venues = len(np.unique(venue_groups(works)))
    return f"{counted(works.height, 'work')} in {counted(venues, 'venue')}"


def venue_groups(works: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Return a number for each work, the same for works of the same venue: float64 [works]."""
    if "venue" not in works.columns:
        return np.arange(works.height, dtype=np.float64)
    venues = works["venue"].replace("", None)
    return venues.fill_null("\0" + works["id"]).rank("dense").cast(pl.Float64).to_numpy()
