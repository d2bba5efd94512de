"""Choosing the works that a second student scores again, from the parts of the first stage.

Parts are read a few columns at a time and more than once, so that memory grows with the frame by
four bytes a work while a share is chosen, and by one bit a work after that.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.shards import Piece
from scorer.frame.parquet import Batch
from scorer.policy.boundary import boundaries, kth_scores
from scorer.policy.calls import COVERED, SEGMENT
from scorer.policy.refinement import priorities, rank_of, within_band

Booleans = npt.NDArray[np.bool_]

_PRIORITY: Final = "priority"


@dataclass(frozen=True, slots=True)
class Last:
    """The last work that a share has room for."""

    rank: int
    """Its best rank; works with a better one are all chosen."""
    id: str
    """Of the works with that rank, those with ids up to this one are chosen, as strings."""
    at_least: Mapping[str, float] = field(default_factory=dict)
    """Score column -> the lowest score of a better rank; empty where that rank is the first."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which works of a frame are scored again.

    `bits`: uint8 [works / 8, rounded up], the first work in the lowest bit of the first byte.
    """

    works: int
    """How many are chosen."""
    bits: npt.NDArray[np.uint8]
    last: Last | None = None
    """Of a share: the last work that was chosen."""

    @classmethod
    def none_of(cls, works: int) -> Self:
        """Choose no work of a frame."""
        return cls(0, np.zeros(-(-works // 8), np.uint8))

    def within(self, start: int, stop: int) -> Booleans:
        """Tell which works from row `start` to `stop` are chosen: bool [stop - start]."""
        bits = np.unpackbits(self.bits[start // 8 : -(-stop // 8)], bitorder="little")
        return bits[start % 8 :][: stop - start].astype(bool)

    def works_with(self, chosen: int, works: int) -> int:
        """Return of about how many of a frame's works so many are chosen.

        A power of two, which goes into shards without a rest.
        """
        return 1 << max(0, (chosen * works // max(1, self.works)).bit_length() - 1)

    def narrowed(self, piece: Piece, works_a_shard: int, works: int, nothing: pa.Table) -> Piece:
        """Return the chosen works of a piece that was read; `nothing`: the rows where none is.

        What could not be read is no loss where nothing of its shard is chosen.
        """
        batch = piece.content
        if isinstance(batch, Batch):
            start, stop = batch.start, batch.start + batch.frame.height
        else:
            start = piece.shard * works_a_shard
            stop = min(start + works_a_shard, works)
        mark = self.within(start, stop)
        if not mark.any():
            return replace(piece, content=nothing)
        if not isinstance(batch, Batch):
            return piece
        kept = batch.kept.filter(pa.array(mark))
        return replace(piece, content=Batch(start, batch.frame.filter(pl.Series(mark)), kept))


def share_of_rows(share: float, rows: int) -> int:
    """Return how many works a share of so many is, rounded up.

    The share is taken as it is written: 7 % of 100 works are 7, though 0.07 in binary is a little
    more than that.
    """
    return math.ceil(Fraction(str(share)) * rows)


@dataclass(frozen=True, slots=True)
class FirstStage:
    """The parts of a first stage, and where their works stand in the frame."""

    parts: Sequence[Path]
    """Parquet files, one a shard."""
    works_a_shard: int
    works: int
    """Of the frame; shards that were left out have none of theirs as rows."""

    def read(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield columns of the parts in order, `segment` as its Enum."""
        for part in self.parts:
            with pq.ParquetFile(part) as file:
                rows = pl.from_arrow(file.read(columns=list(columns)))
            assert isinstance(rows, pl.DataFrame)
            yield rows.with_columns(pl.col("segment").cast(pl.String).cast(SEGMENT))


def choose_share(
    first: FirstStage, columns: Sequence[str], share: float, *, rows: int, covered: int
) -> Chosen:
    """Choose a share of the rows: covered works by their best rank in any column, ties by id.

    `columns`: of scores; `rows`, `covered`: how many rows, and how many of them covered, there are.
    """
    wanted = min(share_of_rows(share, rows), covered)
    if not wanted:
        return Chosen.none_of(first.works)
    best = _best_priorities(first, columns, wanted)

    def read(names: Sequence[str]) -> Iterator[pl.DataFrame]:
        stored = [name for name in names if name != _PRIORITY]
        for number, part in enumerate(first.read(stored)):
            start = number * first.works_a_shard
            yield part.with_columns(pl.Series(_PRIORITY, best[start : start + part.height]))

    last = boundaries(read, {_PRIORITY: wanted})[_PRIORITY]
    marks = (
        (part["segment"] == COVERED) & last.holds(part[_PRIORITY], part["id"])
        for part in read(["segment", "id"])
    )
    chosen = _marked(marks, first)
    rank = rank_of(last.value)
    at_least = kth_scores(first.read, dict.fromkeys(columns, rank - 1)) if rank > 1 else {}
    return replace(chosen, last=Last(rank, last.id, at_least))


def choose_band(first: FirstStage, values: dict[str, float], band: float) -> Chosen:
    """Choose the covered works with a score within `band` of its threshold.

    `values`: score column -> threshold.
    """
    parts = first.read(["segment", *values])
    return _marked((within_band(part, values, band) for part in parts), first)


def _best_priorities(
    first: FirstStage, columns: Sequence[str], wanted: int
) -> npt.NDArray[np.float32]:
    """Return each work's highest priority over the columns, float32 [works]; 0: not chosen.

    Whoever is chosen is among the `wanted` first of some column, so the others need no rank.
    """
    least = kth_scores(first.read, dict.fromkeys(columns, wanted))
    best = np.zeros(first.works, np.float32)
    for name in columns:
        places, scores = [], []
        for number, part in enumerate(first.read(["segment", name])):
            high = (part["segment"] == COVERED) & (part[name] >= least[name])
            places.append(number * first.works_a_shard + np.flatnonzero(high.to_numpy()))
            scores.append(part[name].filter(high).to_numpy())
        at = np.concatenate(places)
        best[at] = np.maximum(best[at], priorities(np.concatenate(scores)))
    return best


def _marked(marks: Iterator[pl.Series], first: FirstStage) -> Chosen:
    """Gather which works are chosen, shard by shard."""
    chosen = Chosen.none_of(first.works)
    count = 0
    for number, mark in enumerate(marks):
        places = number * first.works_a_shard + np.flatnonzero(mark.to_numpy())
        np.bitwise_or.at(chosen.bits, places >> 3, np.left_shift(1, places & 7).astype(np.uint8))
        count += len(places)
    return replace(chosen, works=count)
