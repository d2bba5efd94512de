"""Replicate weights of a stratified sample: how a figure would vary, had the sample come out else.

Every figure of `evaluate` is a function of weights; computed by each column of these, it gives the
spread from which `bootstrap_interval` makes its limits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import InputError
from scorer.policy.fit import Booleans, Floats, Weights

Kind = TypeVar("Kind", bound=np.generic)

_BLOCK: Final = 1 << 24
"""Weights that are held at a time: 128 MB."""
_FEWEST: Final = 2
"""Works of a stratum from which a spread can be seen."""
_FURTHER: Final = 250
"""Works of each kind that may be further ones: as many tell the odds, and more would cost time."""


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
    further: tuple[npt.NDArray[np.int64], ...]
    """Works that replicates take their further works from, each as often as its odds are."""
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
        return cls(weight, codes, drawn, _further(weight, codes, drawn), joined)

    @property
    def works(self) -> int:
        """Number of works."""
        return len(self.weight)

    @property
    def doubled(self) -> npt.NDArray[np.int64]:
        """The works that have a double, in order: those that are further works."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.further]))

    def again(self, values: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
        """Return what is so of works, [works], of works and doubles: [works + doubles]."""
        return np.concatenate([values, values[self.doubled]])

    def either(self, yes: Booleans) -> Booleans:
        """Return the answers of works, bool [works], and the others, which doubles give."""
        return np.concatenate([yes, ~yes[self.doubled]])

    def blocks(self, replicates: int, seed: int) -> Iterator[Floats]:
        """Yield weights, float64 [works + doubles, columns]: the design's own, then all replicates.

        In the sample itself doubles weigh nothing: see `again` and `either`.

        The Bayesian bootstrap (Rubin, 1981) in each stratum: its N works are shared out over the n
        that were drawn by a Dirichlet distribution. Its shapes are 1 - 2 / n and not 1, and what is
        shared out is narrowed by c = sqrt(1 - n / N) as in the rescaling bootstrap (Rao and Wu,
        1988), so that a total varies as it does over samples: N^2 (1 - n / N) s^2 / n. The weights
        of a stratum always add up to what they are in the sample.

        What no drawn work shows no such weights show either: where 30 works stand for 30,000 and
        all of them are a no, they would say that there is no yes. So each replicate holds two
        further works, each as heavy as a drawn one of its stratum: one is any work of the frame
        that was not drawn; one is of any stratum, where there are several. They have the score and
        the calls of a drawn work of their stratum, and an answer that is yes or no by even odds.
        For a share of works of one weight this comes near the mid-P limits (Lancaster, 1961).
        """
        generator = np.random.default_rng(seed)
        doubled = self.doubled
        yield np.concatenate([self.weight, np.zeros(len(doubled))])[:, np.newaxis]
        width = max(1, _BLOCK // (self.works + len(doubled)))
        for start in range(0, replicates, width):
            yield self._block(generator, doubled, min(width, replicates - start))

    def _block(
        self, generator: np.random.Generator, doubled: npt.NDArray[np.int64], columns: int
    ) -> Floats:
        further = []
        for likely in self.further:
            work = generator.choice(likely, columns)
            other = generator.integers(0, 2, columns, dtype=bool)
            row = np.where(other, self.works + np.searchsorted(doubled, work), work)
            further.append((self.stratum[work], row, generator.standard_gamma(1, columns)))
        made = np.zeros((self.works + len(doubled), columns))
        places = np.argsort(self.stratum, kind="stable")
        ends = np.cumsum(np.bincount(self.stratum))
        for number, works in enumerate(np.split(places, ends[:-1])):
            correction = np.sqrt(1 - self.drawn[number])
            made[works] = self.weight[works, np.newaxis] * (1 - correction)
            if correction == 0:  # all of the stratum is here: nothing about it is left to chance
                continue
            heavy = _gammas(generator, len(works), columns)
            beside = [(row, (of == number) * weight) for of, row, weight in further]
            whole = heavy.sum(axis=0) + sum(weight for _, weight in beside)
            size = correction * self.weight[works].sum()
            made[works] += heavy * (size / whole)
            for row, weight in beside:
                made[row, np.arange(columns)] += weight * (size / whole)
        return made


def _further(
    weight: Weights, stratum: npt.NDArray[np.int64], drawn: Floats
) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the works that further works are taken from: int64 [_FURTHER] of each kind.

    First by how many works of the frame that were not drawn they stand for; then all strata alike
    that have such works, where there are several: of one, both kinds would be the same.
    """
    generator = np.random.default_rng(0)
    left = 1 - drawn[stratum]
    of_frame = weight * left
    of_strata = (left > 0) / np.bincount(stratum)[stratum]
    kinds = [of_frame, of_strata][: int((drawn < 1).sum())]
    return tuple(generator.choice(len(weight), _FURTHER, p=odds / odds.sum()) for odds in kinds)


def _gammas(generator: np.random.Generator, works: int, columns: int) -> Floats:
    """Return float64 [works, columns] whose shares of their sum are Dirichlet with 1 - 2 / works.

    Of two works one has all: so the Dirichlet distribution ends as its shapes go to 0.
    """
    if works == _FEWEST:
        one = generator.integers(0, 2, columns)
        return np.stack([one, 1 - one]).astype(np.float64)
    return generator.standard_gamma(1 - 2 / works, (works, columns))


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
