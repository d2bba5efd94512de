"""Scored rows with columns of their records beside them, in batches: for filters and strata.

A frame in the order of the scored file, as `run` leaves it, is read alongside and nothing is held.
In another order, what is asked of the frame is held: the columns, the id and 16 bytes a work.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from scorer.engine.progress import Progress
from scorer.frame.frame import Frame
from scorer.frame.lookup import IdLookup
from scorer.review.records import no_work_found, opened_frame, record_columns
from scorer.review.scores import Scores

_BLOCK = 16_384  # works; with abstracts 25 MB of text


@contextmanager
def rows_with_records(
    scores: Scores,
    columns: Sequence[str],
    location: str | Path | None,
    of_record: Sequence[str],
    *,
    mapping: Mapping[str, str],
    progress: Progress,
) -> Iterator[Iterable[pl.DataFrame]]:
    """Open rows in batches: `columns` of the scored file and `of_record` of the frame, if any."""
    if not of_record:
        yield scores.batches(columns)
        return
    assert location is not None, "the caller checks that there is a frame where one is needed"
    with opened_frame(location, of_record, mapping=mapping, progress=progress) as frame:
        yield Alongside(scores, columns, frame, of_record)


class Alongside:
    """The rows of a scored file, each with what a frame has of the work."""

    def __init__(
        self, scores: Scores, columns: Sequence[str], frame: Frame, of_record: Sequence[str]
    ) -> None:
        """Read `columns` of the scored file and, of the frame, `of_record` (see records.py)."""
        self._scores = scores
        self._columns = list(dict.fromkeys(["id", *columns]))
        self._frame = frame
        self._of_record = of_record
        self.missing = 0
        """Works so far that the frame lacks; their records are null."""

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in file order; `InputError` where the frame has none of them."""
        self.missing, first_missing = 0, ""
        in_order: _InOrder | None = _InOrder(self._records())
        held = None
        for rows in self._scores.batches(self._columns):
            records = in_order.take(rows.height) if in_order else None
            if records is None or not records["id"].equals(rows["id"]):
                in_order = None
                held = held or _Held(self._records())
                records = held.find(rows["id"])
                there = records["id"].is_not_null()
                self.missing += int((~there).sum())
                first_missing = first_missing or str(rows["id"].filter(~there).first())
            yield rows.hstack(records.drop("id"))
        if self.missing and self.missing == self._scores.rows:
            name = self._frame.files[0].name
            raise no_work_found(name, self.missing, first_missing)

    def _records(self) -> Iterator[pl.DataFrame]:
        for batch in self._frame.batches(_BLOCK):
            yield record_columns(batch.frame, self._of_record)


class _InOrder:
    """Batches of one size, taken in pieces of another."""

    def __init__(self, batches: Iterator[pl.DataFrame]) -> None:
        self._batches = batches
        self._held = pl.DataFrame()

    def take(self, rows: int) -> pl.DataFrame | None:
        """Return the next rows, or None where there are too few left."""
        parts, there = [self._held], self._held.height
        while there < rows:
            batch = next(self._batches, None)
            if batch is None:
                return None
            parts.append(batch)
            there += batch.height
        whole = pl.concat([part for part in parts if part.height])
        self._held = whole.slice(rows)
        return whole.head(rows)


class _Held:
    """All records of a frame, found by id."""

    def __init__(self, batches: Iterator[pl.DataFrame]) -> None:
        records = pl.concat(batches).filter(pl.col("id").is_not_null())
        self._records = records.unique("id", keep="first", maintain_order=True)
        self._lookup = IdLookup(self._records["id"])

    def find(self, ids: pl.Series) -> pl.DataFrame:
        """Return a record for each id, all null where there is none."""
        places = self._lookup.find(ids)
        at = pl.Series(places).replace(-1, None).cast(pl.UInt32)
        return self._records.select(pl.all().gather(at))
