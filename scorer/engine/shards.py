"""A frame in shards, and these in pieces: what is read, scored and held at a time.

A shard is a part of the output, so its size decides bytes. A piece decides none: it may be as small
as memory asks for.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from scorer.errors import InputError
from scorer.frame.frame import Frame
from scorer.frame.parquet import Batch


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive works of a shard that are read and scored together."""

    shard: int
    content: Batch | pa.Table | InputError
    """What was read, then the rows that were made of it; or why that could not be done."""
    ends: bool
    """Whether it is the shard's last."""


@dataclass(frozen=True, slots=True)
class Shard:
    """All that was made of a shard's pieces."""

    number: int
    tables: Sequence[pa.Table]
    failed: InputError | None
    """Why some of its works have no rows: the first reason that was met."""


def pieces(
    frame: Frame, *, works: int, works_a_shard: int, works_a_piece: int, first: int
) -> Generator[Piece]:
    """Yield the first `works` works of a frame from shard `first` on.

    What cannot be read is a piece too, the last one of its shard; reading goes on with the next.
    `works_a_piece` must go into `works_a_shard` without a rest.
    """
    while first * works_a_shard < works:
        try:
            for batch in frame.batches(works_a_piece, start=first * works_a_shard, limit=works):
                end = batch.start + batch.frame.height
                ends = end % works_a_shard == 0 or end == works
                yield Piece(first, batch, ends)
                first += ends
        except InputError as error:
            yield Piece(first, error, ends=True)
            first += 1


def gathered(scored: Iterable[Piece]) -> Iterator[Shard]:
    """Yield the shards that pieces make up, in their order."""
    tables: list[pa.Table] = []
    failed = None
    for piece in scored:
        if isinstance(piece.content, InputError):
            failed = failed or piece.content
        else:
            tables.append(piece.content)
        if piece.ends:
            yield Shard(piece.shard, tables, failed)
            tables, failed = [], None
