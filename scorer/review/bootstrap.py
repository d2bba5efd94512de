"""Replicate weights of a stratified sample: how a figure would vary, had the sample come out else.

Every figure of `evaluate` is a function of weights; computed by each column of these, it gives the
spread from which `interval` makes its limits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import InputError
from scorer.policy.fit import Floats, Weights

_BLOCK: Final = 1 << 24
"""Weights that are held at a time: 128 MB."""
_FEWEST: Final = 2
"""Works of a stratum from which a spread can be seen."""


@dataclass(frozen=True, slots=True)
class Design:
    """How the works were drawn: independently in each stratum, without replacement.

    `weight`: float64 [works], over 0, works of the frame that each one stands for. `stratum`: int64
    [works], codes from 0 on, none left out, each with two works or more unless all of it was
    drawn. `drawn`: float64 [strata], the share of the stratum that was drawn; 0 where the frame is
    to count as without end.
    """

    weight: Weights
    stratum: npt.NDArray[np.int64]
    drawn: Floats
    joined: int = 0
    """Strata of a single work that were joined with others, since one work shows no spread."""

    @classmethod
    def of(cls, weight: Weights, stratum: pl.Series | None, *, finite: bool | None = None) -> Self:
        """Return the design behind weights; raise `InputError` where one work is all there is.

        `stratum`: String [works]; None: works of the same weight are one, since weight = population
        / sample. `finite`: whether the weights tell how large the strata are in the frame; None: if
        they look so. They do not where one is under 1 (they were scaled), or where all are 1.
        """
        if len(weight) < _FEWEST:
            raise InputError("One work shows no spread: at least two are needed to evaluate.")
        names = pl.Series(weight) if stratum is None else stratum.fill_null("")
        codes = names.rank("dense").cast(pl.Int64).to_numpy() - 1
        if finite is None:
            finite = bool(weight.min() >= 1) and bool(weight.max() > 1)
        codes, joined = _joined(codes, weight, finite=finite)
        works, size = np.bincount(codes), np.bincount(codes, weight)
        drawn = np.minimum(works / size, 1.0) if finite else np.zeros(len(works))
        return cls(weight, codes, drawn, joined)

    @property
    def works(self) -> int:
        """Number of works."""
        return len(self.weight)

    def blocks(self, replicates: int, seed: int) -> Iterator[Floats]:
        """Yield weights, float64 [works, columns]: the design's own first, then all replicates.

        The rescaling bootstrap of Rao, Wu and Yue (1992): of the n works of a stratum, n - 1 are
        drawn with replacement; a work that was drawn r times weighs w (1 - c + c n r / (n - 1)).
        c = sqrt(1 - n / N) is the correction for a stratum of N works (Rao and Wu, 1988). The
        weights of a stratum always add up to what they are in the sample.
        """
        generator = np.random.default_rng(seed)
        yield self.weight[:, np.newaxis]
        width = max(1, _BLOCK // self.works)
        for start in range(0, replicates, width):
            yield self._block(generator, min(width, replicates - start))

    def _block(self, generator: np.random.Generator, columns: int) -> Floats:
        made = np.empty((self.works, columns))
        places = np.argsort(self.stratum, kind="stable")
        ends = np.cumsum(np.bincount(self.stratum))
        for works, drawn in zip(np.split(places, ends[:-1]), self.drawn, strict=True):
            correction = np.sqrt(1 - drawn)
            if correction == 0:  # all of the stratum is here: nothing about it is left to chance
                made[works] = self.weight[works, np.newaxis]
                continue
            size = len(works)
            draws = generator.integers(0, size, (size - 1, columns))
            draws *= columns
            draws += np.arange(columns)
            times = np.bincount(draws.ravel(), minlength=size * columns).reshape(size, columns)
            factor = times * (correction * size / (size - 1)) + (1 - correction)
            made[works] = factor * self.weight[works, np.newaxis]
        return made


def _joined(
    codes: npt.NDArray[np.int64], weight: Weights, *, finite: bool
) -> tuple[npt.NDArray[np.int64], int]:
    """Join strata of one work, unless it is all of its stratum; return new codes, and how many.

    They are put together; a single one goes to the stratum whose works weigh most like it.
    """
    works = np.bincount(codes)
    mean = np.bincount(codes, weight) / works
    lonely = np.flatnonzero((works < _FEWEST) & ~(finite & (mean <= 1)))
    if not len(lonely):
        return codes, 0
    into = np.arange(len(works))
    others = np.setdiff1d(into, lonely)
    if len(lonely) == 1 and len(others):
        into[lonely] = others[np.argmin(np.abs(np.log(mean[others] / mean[lonely])))]
    into[lonely] = into[lonely[0]]
    return np.unique(into[codes], return_inverse=True)[1].astype(np.int64), len(lonely)
