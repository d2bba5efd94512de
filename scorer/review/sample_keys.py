"""Random keys of works for drawing samples: from the id and a seed alone.

So a sample does not depend on the order of rows, on batches, or on a version of a library.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

Keys = npt.NDArray[np.uint64]

_OFFSET: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(0x100000001B3)
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)


def seeded_keys(ids: pl.Series, seed: int, stream: int = 0) -> Keys:
    """Return a key for each id (String, none null), uint64 [works], uniform over seeds.

    FNV-1a of the id's bytes (Fowler, Noll and Vo), mixed with the seed by the finaliser of
    SplitMix64 (Steele, Lea and Flood, 2014). `stream`: another order under the same seed.
    """
    start = _mixed(np.array([seed % (1 << 64)], np.uint64) + _GOLDEN)
    start = _mixed(start ^ (np.array([stream], np.uint64) * _GOLDEN))
    return _mixed(_mixed(_hashed(ids)) ^ start)


def _hashed(ids: pl.Series) -> Keys:
    """Hash one byte of all ids at a time: ids are short, and there are millions of them."""
    texts = ids.cast(pl.Binary).rechunk().to_arrow()
    _, offsets, data = texts.buffers()
    place = np.frombuffer(offsets, np.int64)[texts.offset :][: len(ids) + 1]
    content = np.frombuffer(data or b"", np.uint8)
    starts, lengths = place[:-1], np.diff(place)
    hashes = np.full(len(ids), _OFFSET)
    for at in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > at)
        hashes[rows] = (hashes[rows] ^ content[starts[rows] + at]) * _PRIME
    return hashes


def _mixed(keys: Keys) -> Keys:
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Keys = keys ^ (keys >> np.uint64(31))
    return mixed
