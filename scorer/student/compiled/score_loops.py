"""The compiled loop from n-gram ids to scores."""

from typing import Final

import numpy as np
import numpy.typing as npt

from scorer.compiling import compiled, inlined

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]

NO_PLACE: Final = 255
"""Above the places of all values."""
AT_ONCE: Final = 8
"""Rows of the table that are added in int16: its entries are at most an eighth of the largest."""
_FEW: Final = AT_ONCE // 2


@inlined
def id_at(ids: Ids, place: int, stop: int) -> np.int32:
    """Return the id at a place, 0 from `stop` on: the first row of the table is zero."""
    found: np.int32 = ids[min(place, stop - 1)] * np.int32(place < stop)
    return found


@inlined
def highest_of(sums: Ids, first: int, last: int) -> int:
    """Return the place of the highest from `first` on, the first of equals."""
    chosen, highest = 0, sums[first]
    for output in range(first + 1, last):
        if sums[output] > highest:
            chosen, highest = output - first, sums[output]
    return chosen


@inlined
def best_of_sum(
    parts: Floats, firsts: Places, fitted: npt.NDArray[np.bool_], group: int, heads: int
) -> int:
    """Return the place of the highest sum over an axis's fitted heads, the first of equals."""
    chosen, highest = 0, -1.0
    for value in range(firsts[group + 1] - firsts[group]):
        # In float64 the sum of a few float32 is exact: the order of the heads cannot matter.
        total = 0.0
        for head in range(group, group + heads):
            if fitted[head]:
                total += np.float64(parts[firsts[head] + value])
        if total > highest:
            chosen, highest = value, total
    return chosen


@compiled
def score_works(  # noqa: PLR0912 - one loop: each call would be handed its arrays at every work
    ids: Ids,
    offsets: Places,
    table: npt.NDArray[np.int16],
    bias: Ids,
    scores: Floats,
    firsts: Places,
    shares: Floats,
    share_starts: Places,
    share_ends: Places,
    fitted: npt.NDArray[np.bool_],
    sums: Ids,
    parts: Floats,
    found: Floats,
    best: npt.NDArray[np.uint8],
    best_mean: npt.NDArray[np.uint8],
) -> None:
    """Put the outputs of each work into `found`, float32 [outputs, works].

    An output's logit is its bias and the sum of its column of `table`, int16 [n-grams + 1, outputs]
    over the work's ids. `table` and `bias` may be wider than the outputs, so that a row fills whole
    registers. Outputs before `firsts[0]` are looked up in `scores`, the score by logit, 0
    in the middle. Those from `firsts[i]` to `firsts[i + 1]` are an axis of a head: each one's
    exponential, by its distance from the highest in `shares[share_starts[i]:share_ends[i]]`, over
    their sum. Where `found` has no row for them, they are not put there.

    `best`, uint8 [heads of axes, works]: the place of each one's highest share, the first of
    equals; `best_mean`, uint8 [axes, works]: that of the highest sum over the heads of the axis
    that are `fitted`, bool [heads of axes]. `sums`, int32, as wide as `table`, and `parts`,
    float32 [outputs]: room to work in.
    """
    half = len(scores) // 2
    outputs, width = firsts[-1], table.shape[1]
    every_share = len(found) == outputs
    heads = len(best) // max(1, len(best_mean))
    for row in range(len(offsets) - 1):
        for output in range(width):
            sums[output] = bias[output]
        place, stop = offsets[row], offsets[row + 1]
        while place + AT_ONCE <= stop:
            # The sum of eight is an int16 still: so more of them are added at a time.
            one, two = table[ids[place]], table[ids[place + 1]]
            three, four = table[ids[place + 2]], table[ids[place + 3]]
            five, six = table[ids[place + 4]], table[ids[place + 5]]
            seven, eight = table[ids[place + 6]], table[ids[place + 7]]
            for output in range(width):
                first = np.int16(one[output] + two[output])
                second = np.int16(three[output] + four[output])
                third = np.int16(five[output] + six[output])
                fourth = np.int16(seven[output] + eight[output])
                sums[output] += np.int16(np.int16(first + second) + np.int16(third + fourth))
            place += AT_ONCE
        while place < stop:
            one, two = table[ids[place]], table[id_at(ids, place + 1, stop)]
            three = table[id_at(ids, place + 2, stop)]
            four = table[id_at(ids, place + 3, stop)]
            for output in range(width):
                first = np.int16(one[output] + two[output])
                second = np.int16(three[output] + four[output])
                sums[output] += np.int16(first + second)
            place += _FEW
        for output in range(outputs):
            sums[output] = min(max(sums[output], -half), half - 1)
        for output in range(firsts[0]):
            found[output, row] = scores[sums[output] + half]
        for axis in range(len(best_mean)):
            least, most = NO_PLACE, 0
            for group in range(axis * heads, (axis + 1) * heads):
                chosen = highest_of(sums, firsts[group], firsts[group + 1])
                best[group, row] = chosen
                if fitted[group]:
                    least, most = min(least, chosen), max(most, chosen)
            # Where all heads agree, so does their mean: the shares are not needed for it.
            best_mean[axis, row] = most
            if least >= most and not every_share:
                continue
            for group in range(axis * heads, (axis + 1) * heads):
                first, last = firsts[group], firsts[group + 1]
                start, furthest = share_starts[group], share_ends[group] - share_starts[group] - 1
                highest = sums[first + best[group, row]]
                total = np.float32(0)
                for output in range(first, last):
                    parts[output] = shares[start + min(highest - sums[output], furthest)]
                    total += parts[output]
                for output in range(first, last):
                    parts[output] /= total
                    if every_share:
                        found[output, row] = parts[output]
            if least < most:
                best_mean[axis, row] = best_of_sum(parts, firsts, fitted, axis * heads, heads)
