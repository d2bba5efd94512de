"""The works whose scores differ most between two students."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.stats import rankdata

from scorer.frame.contract import text
from scorer.policy.fit import Scores
from scorer.review.cells import one_line
from scorer.review.compare_pairs import Pair
from scorer.review.compare_results import Moved


def moved(pairs: Sequence[Pair], works: pl.DataFrame, top: int) -> tuple[Moved, ...]:
    """Return the `top` works of a contract frame with the largest difference of two scores.

    Each work once, by the pair for which it is largest; equal ones in the order of their ids.
    """
    distances = np.stack([_distance(pair) for pair in pairs])
    which, largest = distances.argmax(axis=0), distances.max(axis=0)
    order = np.lexsort((works["id"].rank("ordinal").to_numpy(), -largest))[:top]
    order = order[largest[order] > 0]
    titles = one_line(text(works, "title").gather(order.tolist()))
    ids = works["id"].gather(order.tolist())
    places = {number: _places(pairs[number]) for number in set(which[order].tolist())}
    return tuple(
        Moved(
            id=work,
            title=title,
            head=pairs[number].head,
            target=pairs[number].target,
            a=float(pairs[number].scores[0][row]),
            b=float(pairs[number].scores[1][row]),
            place_a=int(places[number][0, row]),
            place_b=int(places[number][1, row]),
            judged=int(pairs[number].known.sum()),
            yes=bool(pairs[number].yes[row]),
        )
        for work, title, row, number in zip(
            ids, titles, order.tolist(), which[order].tolist(), strict=True
        )
    )


def _distance(pair: Pair) -> Scores:
    a, b = pair.scores
    return np.where(pair.known, np.abs(b - a), np.float32(0))


def _places(pair: Pair) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the place of each judged work by A's scores and by B's: int64 [2, works], else 0."""
    places = np.zeros((2, len(pair.known)), np.int64)
    for side, score in enumerate(pair.scores):
        places[side, pair.known] = rankdata(-score[pair.known], method="min")
    return places
