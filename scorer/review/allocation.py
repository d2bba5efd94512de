"""How many works of a sample each stratum gets."""

import heapq
from collections.abc import Sequence
from math import sqrt
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from scorer.counted import counted
from scorer.errors import UsageError
from scorer.policy.fit import Floats

Allocation = Literal["neyman", "proportional", "fixed"]
FEWEST: Final = 2
"""Works of a stratum, where it has as many: from one alone no variance follows."""

Counts = npt.NDArray[np.int64]


def apportion(works: int, sizes: Counts, spread: Floats) -> Counts:
    """Share out `works` over strata: int64 [strata], `FEWEST` at least, no more than there are.

    `sizes`: N_h, int64 [strata], none 0; `spread`: S_h, float64 [strata], over 0. Minimises the sum
    of (N_h S_h)² / n_h, which is Neyman's (1934) criterion, over whole numbers within these bounds:
    each further work goes where N_h S_h / sqrt(n_h (n_h + 1)) is largest (Wright, 2012, American
    Statistician 66, 217-224). With S_h the same everywhere that is in proportion to size; with
    S_h = 1 / N_h the same number everywhere.

    Raises `UsageError` where there are too few works for that, or more than the strata hold.
    """
    given = np.minimum(sizes, FEWEST)
    if works < given.sum():
        raise UsageError(
            f"{counted(works, 'work')} {'is' if works == 1 else 'are'} too few for "
            f"{counted(len(sizes), 'stratum', 'strata')}: {FEWEST} each take "
            f"{int(given.sum()):,}.\nRaise -n, or name fewer --strata."
        )
    if works > sizes.sum():
        raise UsageError(f"{works:,} works were asked for, there are {int(sizes.sum()):,}.")
    claims = sizes * spread
    waiting = [(-_claim(claims, given, h), h) for h in range(len(sizes)) if given[h] < sizes[h]]
    heapq.heapify(waiting)
    for _ in range(works - int(given.sum())):
        _, stratum = waiting[0]
        given[stratum] += 1
        if given[stratum] < sizes[stratum]:
            heapq.heapreplace(waiting, (-_claim(claims, given, stratum), stratum))
        else:
            heapq.heappop(waiting)
    return given


def expected_spread(score_sums: Floats, sizes: Counts) -> Floats:
    """Return a guess of S_h, float64 [strata], from the scores of each target.

    `score_sums`: float64 [strata, targets], sums of the heads' mean scores. A mean score stands in
    for the share p of works of which the target is true, by (sum + 1/2) / (N_h + 1), which is never
    0 or 1; S² = p (1 - p), added up over the targets (Cochran, 1977, section 5A.4, compromise among
    several items). Scores are no probabilities: a bad guess costs precision, never the validity
    of the design, since the inclusion probabilities are known whatever the guess.
    """
    if not score_sums.shape[1]:
        return np.ones(len(sizes))
    share = (score_sums + 0.5) / (sizes[:, None] + 1.0)
    spread: Floats = np.sqrt((share * (1 - share)).sum(axis=1))
    return spread


def _claim(claims: Floats, given: Counts, stratum: int) -> float:
    now = int(given[stratum])
    return float(claims[stratum]) / sqrt(now * (now + 1))


def given_numbers(levels: Sequence[str], sizes: Counts, asked: dict[str, int]) -> Counts:
    """Share out a given number of works for each level in proportion to its strata's sizes.

    `levels`: that of each stratum. Raises `UsageError` where a level gets no number, or a number
    is for none.
    """
    for name in asked:
        if name not in levels:
            there = ", ".join(dict.fromkeys(levels))
            raise UsageError(f"--works {name}: no work stands there; there are {there}.")
    given = np.zeros(len(sizes), np.int64)
    for name in dict.fromkeys(levels):
        if name not in asked:
            raise UsageError(
                f"--works: nothing for {name}, and every work must be able to be drawn.\n"
                f"Add --works {name}=N, at least {FEWEST} for each of its strata."
            )
        of_level = np.array([level == name for level in levels])
        most, least = sizes[of_level].sum(), np.minimum(sizes[of_level], FEWEST).sum()
        if not least <= asked[name] <= most:
            raise UsageError(
                f"--works {name}={asked[name]}: its strata hold {most:,} works and take {least:,} "
                "at least."
            )
        given[of_level] = apportion(asked[name], sizes[of_level], np.ones(int(of_level.sum())))
    return given
