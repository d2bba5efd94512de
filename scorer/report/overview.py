"""What a scored file holds, counted in one pass: score distributions, heads against each other.

Plots and tables of the site's overview read these counts, never the works themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.policy.calls import COVERED, WHATS, category_names, sets_of_lists
from scorer.report.overview_groups import BY, KINDS, Bits, Groups
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets, score_column

BINS: Final = 50
"""Of a score distribution, over [0, 1]."""
CELLS: Final = 40
"""Of a head-by-head density, along each side."""
_FINE: Final = 200  # a multiple of both: scores are binned once

Counts = npt.NDArray[np.int64]
Pair = tuple[str, str]


@dataclass(slots=True)
class Agreement:
    """How many works two heads call: both, the first alone, the second alone."""

    both: int = 0
    first: int = 0
    second: int = 0

    @property
    def overlap(self) -> float | None:
        """Share of what either calls that both call (Jaccard, 1912); None where neither calls."""
        either = self.both + self.first + self.second
        return self.both / either if either else None


class Overview:
    """Counts over the works of a scored file, a batch at a time; memory stays flat."""

    def __init__(self, targets: Targets, *, score_only: bool) -> None:
        """Start with none; `score_only`: there are no calls to count."""
        self.targets = targets
        self.covered = 0
        """Works with a usable title, not excluded: distributions and densities are theirs."""
        self.distributions: dict[str, dict[str, Counts]] = {}
        """Target -> head that has learned it -> works by score, int64 [BINS]."""
        self.densities: dict[str, dict[Pair, Counts]] = {}
        """Target -> two heads -> works by both scores, int64 [CELLS, CELLS], first head first."""
        self.agreements: dict[str, dict[Pair, Agreement]] = {}
        """Target -> two heads -> whose calls meet."""
        self.groups = Groups()
        """Calls by year, field and language."""
        self._score_only = score_only
        for target in targets.binary_names:
            heads = [head.name for head in targets.heads if target not in head.unavailable]
            pairs = combinations(heads, 2)
            self.distributions[target] = {head: np.zeros(BINS, np.int64) for head in heads}
            self.densities[target] = {p: np.zeros((CELLS, CELLS), np.int64) for p in pairs}
            everyone = combinations(targets.head_names, 2)
            self.agreements[target] = {} if score_only else {p: Agreement() for p in everyone}

    def columns(self) -> list[str]:
        """Return the columns of the scored file that are counted."""
        kinds = [] if self._score_only else [*self.targets.head_names, *KINDS]
        lists = [f"{kind}_{what}" for kind in kinds for what in WHATS]
        return ["segment", *self.targets.score_columns, *lists]

    def add(self, rows: pl.DataFrame) -> None:
        """Count a batch: `columns()`, and those of `BY` from the works' records."""
        self._add_scores(rows.filter(pl.col("segment") == COVERED))
        if self._score_only:
            return
        kinds = [*self.targets.head_names, *KINDS]
        sets = {kind: call_bits(rows, kind, self.targets) for kind in kinds}
        self._add_agreement(sets)
        on_research = [name for name in self.targets.categories if name != INSUFFICIENT_PAYLOAD]
        self.groups.add(rows.select(BY), sets, binary_places(self.targets), on_research)

    def _add_scores(self, rows: pl.DataFrame) -> None:
        self.covered += rows.height
        for target, by_head in self.distributions.items():
            fine = {head: _binned(rows[score_column(head, target)]) for head in by_head}
            for head, bins in fine.items():
                by_head[head] += np.bincount(bins, minlength=_FINE).reshape(BINS, -1).sum(axis=1)
            densities = self.densities[target]
            for one, two in densities:
                side = _FINE // CELLS
                places = fine[one] // side * np.uint16(CELLS) + fine[two] // side
                cells = np.bincount(places, minlength=CELLS**2)
                densities[one, two] += cells.reshape(CELLS, CELLS)

    def _add_agreement(self, sets: Mapping[str, Bits]) -> None:
        for place, target in enumerate(binary_places(self.targets)):
            bit = np.uint64(1 << place)
            for (one, two), agreement in self.agreements.get(target, {}).items():
                first, second = sets[one] & bit != 0, sets[two] & bit != 0
                both = int((first & second).sum())
                agreement.both += both
                agreement.first += int(first.sum()) - both
                agreement.second += int(second.sum()) - both


def binary_places(targets: Targets) -> list[str]:
    """Return the names behind the bits of `call_bits`."""
    return [*category_names(targets), *targets.flags]


def call_bits(rows: pl.DataFrame, kind: str, targets: Targets) -> Bits:
    """Return what is called, uint64 [works]: bit `i` for name `i` of `binary_places`."""
    names = category_names(targets)
    categories = sets_of_lists(rows[f"{kind}_categories"], names).to_numpy()
    flags = sets_of_lists(rows[f"{kind}_flags"], targets.flags).to_numpy()
    bits: Bits = categories | flags << np.uint64(len(names))
    return bits


def _binned(scores: pl.Series) -> npt.NDArray[np.uint16]:
    """Return which of the fine bins each score lies in; 1 lies in the last."""
    bins = (scores.to_numpy() * np.float32(_FINE)).astype(np.uint16)
    return np.minimum(bins, np.uint16(_FINE - 1))
