"""The review queue: which works to look at first for one target, with their records.

One pass over the narrow columns of the scored file holds no more than the works that may still be
in the queue; only theirs are looked up in the frame, unless a filter names columns of the record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl

from scorer.engine.progress import Progress, Silence
from scorer.errors import UsageError
from scorer.frame.where import Where
from scorer.review.alongside import rows_with_records
from scorer.review.cells import one_line
from scorer.review.rank_order import (
    CALL,
    DERIVED,
    DISAGREEMENT,
    MAX,
    MEAN,
    UNCERTAINTY,
    Best,
    Order,
)
from scorer.review.records import HAS_ABSTRACT, RECORD, find_records
from scorer.review.scores import REVIEWED, Scores, check_segments

CALLED_BY: Final = "called_by"
_RECORD_TYPES: Final = {
    **{name: pl.Int32() if name == "year" else pl.String() for name in RECORD},
    HAS_ABSTRACT: pl.Boolean(),
}
_STATUSES: Final = ("model_version", "policy_version", "score_status", "prediction_status")


@dataclass(frozen=True, slots=True)
class RankRequest:
    """What to rank, by what."""

    scores: Path
    by: str
    """A category or a flag."""
    order: str | None = None
    """One of `rank_order.ORDERS`, or a head."""
    top: int = 100
    where: str | None = None
    """SQL over columns of the scored file, of the frame's records, and `rank_order.DERIVED`."""
    segments: tuple[str, ...] = REVIEWED
    frame: str | Path | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Queue:
    """The works of a review queue, and how they came to be there."""

    works: pl.DataFrame
    """A row a work, in order: `rank` from 1, `id`, the record, `target`, `call`, `called_by`, the
    heads' scores for the target, `DERIVED`, columns carried along, and the statuses."""
    order: Order
    eligible: int
    """Works of the segments that the filter lets through; the queue holds the first of them."""
    missing: int
    """Works of the queue that the frame lacks."""

    @property
    def target(self) -> str:
        """What the works are ranked by."""
        return self.order.target

    def about(self) -> list[tuple[str, str | int]]:
        """Return what the queue is: (name, value)."""
        manifest = self.order.scores.manifest
        return [
            ("target", self.target),
            ("order", self.order.name),
            ("eligible_works", self.eligible),
            ("missing_records", self.missing),
            ("scores", manifest.output.name),
            ("scores_sha256", manifest.output.sha256),
            ("model_version", manifest.in_words("model_version")),
            ("policy_version", manifest.in_words("policy_version")),
            ("score_status", manifest.in_words("score_status")),
            ("prediction_status", manifest.prediction_status),
        ]


def rank(request: RankRequest, progress: Progress | None = None) -> Queue:
    """Rank the works of a scored file for review.

    Raises `UsageError` for a target, order, segment or filter that does not fit the file,
    `InputError` for a file that is not as its manifest says, or a frame with none of its works.
    """
    progress = progress or Silence()
    if request.top < 1:
        raise UsageError(f"--top {request.top}: expected at least 1.")
    check_segments(request.segments)
    scores = Scores.open(request.scores)
    order = Order.of(scores, request.by, request.order)
    filtering = _Filter.of(request, scores, order)
    narrow = ["id", *order.score_columns(), *DERIVED]
    best = Best(order, request.top, filtering.empty.select(narrow))
    progress.start(scores.rows, 0)
    with rows_with_records(
        scores,
        filtering.columns(),
        request.frame,
        filtering.of_record,
        mapping=request.mapping,
        progress=progress,
    ) as batches:
        for rows in batches:
            best.add(filtering.kept(order.derived(rows)).select(narrow))
            progress.advance(rows.height)
    found = best.works()
    record, missing = _record(found["id"], scores, request, progress)
    works = _queue(found, record, order)
    return Queue(works, order, best.seen, missing)


@dataclass(frozen=True, slots=True)
class _Filter:
    """Which works may be in the queue, and what has to be read to tell."""

    request: RankRequest
    scores: Scores
    order: Order
    where: Where | None
    of_record: tuple[str, ...]
    """Columns of the frame's records that the filter names."""
    empty: pl.DataFrame
    """All columns that the filter may name, without rows."""

    @classmethod
    def of(cls, request: RankRequest, scores: Scores, order: Order) -> "_Filter":
        """Read the filter; raise `UsageError` where it does not fit the columns there are."""
        empty = order.derived(scores.lazy().head(0).collect())
        if request.where is None:
            return cls(request, scores, order, None, (), empty)
        where = Where.parse(request.where)
        beside = {name: kind for name, kind in _RECORD_TYPES.items() if name not in empty.columns}
        wanted = tuple(name for name in where.columns if name in beside)
        if request.frame is not None:
            empty = empty.hstack(pl.DataFrame(schema=beside))
        elif wanted:
            raise UsageError(
                f"--where {where.text!r}: {wanted[0]!r} stands in the works' records.\n"
                "Name the frame that was scored: --frame"
            )
        where.check_names([*DERIVED, *beside, *scores.columns] if request.frame else empty.columns)
        where.check_types(empty)
        return cls(request, scores, order, where, wanted, empty)

    def columns(self) -> list[str]:
        """Return the columns of the scored file that the order and the filter look at."""
        named = self.where.columns if self.where else []
        columns = dict.fromkeys([*self.order.columns(), *named])
        return [name for name in columns if name in self.scores.columns]

    def kept(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that may be in the queue."""
        rows = rows.filter(pl.col("segment").is_in(self.request.segments))
        return rows if self.where is None else rows.filter(self.where.holds(rows))


def _record(
    ids: pl.Series, scores: Scores, request: RankRequest, progress: Progress
) -> tuple[pl.DataFrame, int]:
    """Return the works' records, a row for each id, and how many the frame lacks.

    Without a frame, what the scored file itself carries of them.
    """
    if request.frame is not None and not len(ids):
        return pl.DataFrame(schema={"id": pl.String(), **_RECORD_TYPES}).drop(HAS_ABSTRACT), 0
    if request.frame is not None:
        found = find_records(ids, request.frame, mapping=request.mapping, progress=progress)
        for note in found.notes:
            progress.note(note)
        return found.readable(), len(found.missing)
    carried = [
        name
        for name, kind in _RECORD_TYPES.items()
        if name in scores.manifest.kept and scores.lazy().collect_schema()[name] == kind
    ]
    works = scores.of_works(ids, carried)
    return works.with_columns(one_line(works[name]) for name in carried if name != "year"), 0


def _queue(found: pl.DataFrame, record: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Put the columns of a queue together."""
    scores = order.scores
    carried = [name for name in scores.manifest.kept if name not in record.columns]
    names = [name for name in carried if name not in found.columns]
    lists = (
        {} if scores.score_only else {f"{h}_{scores.what(order.target)}": h for h in scores.heads}
    )
    rest = scores.of_works(found["id"], ["segment", "classification", *names, *_STATUSES, *lists])
    heads = [
        pl.when(pl.col(name).list.contains(order.target)).then(pl.lit(head))
        for name, head in lists.items()
    ]
    by = (
        pl.concat_str(heads, separator=", ", ignore_nulls=True)
        if heads
        else pl.lit(None, pl.String)
    )
    return pl.DataFrame(
        [
            pl.int_range(1, found.height + 1, eager=True).alias("rank"),
            *record,
            pl.repeat(order.target, found.height, eager=True).alias("target"),
            found[CALL],
            rest.with_columns(by.alias(CALLED_BY))[CALLED_BY],
            *found.select(*order.score_columns(), MEAN, MAX, DISAGREEMENT, UNCERTAINTY),
            *rest.drop("id", *lists),
        ]
    )
