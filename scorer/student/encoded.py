"""What an encoder gives and a session takes: the n-gram ids of each work of a batch."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

MOST_NGRAMS_A_WORK: Final = 4096
"""With integers of at most 4095 in the table, every partial sum stays under 2^24: exact float32."""

Ids = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EncodedWorks:
    """The n-grams of a batch: work `i` has the distinct `ids[offsets[i]:offsets[i + 1]]`.

    `ids`: int32 [n-grams], from 1; their order within a work means nothing: sums are exact.
    `offsets`: int64 [works + 1]. `title_letters`: int64 [works], the characters of each title's
    tokens, where the encoder counts them.
    """

    ids: Ids
    offsets: Offsets
    title_letters: Offsets | None = None


def capped(works: EncodedWorks) -> EncodedWorks:
    """Leave each work its `MOST_NGRAMS_A_WORK` lowest ids, the commonest n-grams in training."""
    counts = np.diff(works.offsets)
    if counts.max(initial=0) <= MOST_NGRAMS_A_WORK:
        return works
    rows = np.repeat(np.arange(len(counts)), counts)
    ids = works.ids[np.lexsort((works.ids, rows))]
    within = np.arange(len(ids)) - np.repeat(works.offsets[:-1], counts)
    kept = np.minimum(counts, MOST_NGRAMS_A_WORK)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return replace(works, ids=ids[within < MOST_NGRAMS_A_WORK], offsets=offsets)
