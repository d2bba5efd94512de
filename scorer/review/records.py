"""The records behind scores: title, abstract, venue and the like, found by id in a frame.

A frame of any format will do; what is not Parquet is read through once into a temporary folder.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.engine.files import told
from scorer.engine.progress import Progress, Silence
from scorer.engine.tally import is_filled
from scorer.errors import InputError
from scorer.frame.contract import text
from scorer.frame.frame import Frame
from scorer.frame.lookup import IdLookup
from scorer.frame.readers.base import BadRecords
from scorer.frame.source import FrameSource
from scorer.review.cells import one_line, own_texts

RECORD: Final = ("title", "abstract", "venue", "year", "type", "field", "topic", "lang")
"""Columns of a record that people read: String, `year` Int32; null where there is none."""
ABSTRACT_FROM: Final = "abstract_from"
"""Beside `abstract`: the contract's column that it was read from, or null."""
HAS_ABSTRACT: Final = "has_abstract"
"""May be asked for besides: whether there is an abstract, Boolean; no text is made for it."""

_INVERTED: Final = "abstract_inverted_index"
_ABSTRACTS: Final = ("abstract", _INVERTED)
_BLOCK: Final = 16_384  # works; with abstracts 25 MB of text
# Wanted works that lie closer are read in one go: as many as convert writes into a row group, which
# must be read from its start.
_NEAR: Final = 131_072


@dataclass(frozen=True, slots=True)
class Records:
    """Records of works that were asked for."""

    works: pl.DataFrame
    """`id` and the columns asked for, a row for each id in the order asked; `abstract_from` beside
    `abstract`. All null where the frame lacks the work."""
    missing: tuple[str, ...]
    """Ids that the frame lacks."""
    columns: Mapping[str, str]
    """Contract column -> where the frame has it; a column that it lacks is all null."""
    notes: tuple[str, ...]
    """What the user should know of the frame's files."""

    def readable(self) -> pl.DataFrame:
        """Return `id` and the columns that the frame has, as people read them: plain, on one line.

        Whatever was asked for, `abstract_from` is left out.
        """
        has = {*self.columns, *(["abstract"] if _INVERTED in self.columns else [])}
        there = [name for name in RECORD if name in has and name in self.works.columns]
        texts = [one_line(self.works[name]) for name in there if name != "year"]
        return self.works.with_columns(texts).select("id", *there)


@contextmanager
def opened_frame(
    location: str | Path,
    columns: Sequence[str],
    *,
    mapping: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Iterator[Frame]:
    """Open a frame of any format for its id, title and `columns`.

    A record that cannot be read is skipped: it was scored or left out before, and a work that lacks
    its record is counted as missing.
    """
    wanted = list(dict.fromkeys(["id", "title", *columns]))
    if HAS_ABSTRACT in wanted:
        wanted.remove(HAS_ABSTRACT)
        wanted.append("abstract")
    if "abstract" in wanted:
        wanted = [*dict.fromkeys([*wanted, _INVERTED])]
    source = FrameSource.find(location, wanted=wanted, mapping=mapping or {}, keep=())
    if source.is_parquet:
        yield source.open()
        return
    with tempfile.TemporaryDirectory(prefix="scorer-records-") as folder:
        with told(Path(folder)):
            said = (progress or Silence()).read
            frame = source.spool(Path(folder), BadRecords("skip"), said)
        if frame.skipped:
            skipped = f"{location}: records left out since they cannot be read: {frame.skipped:,}."
            frame = replace(frame, notes=[*frame.notes, skipped])
        yield frame


def find_records(
    ids: pl.Series,
    location: str | Path,
    *,
    columns: Sequence[str] = RECORD,
    mapping: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    one: bool = False,
) -> Records:
    """Find the records of `ids` (String, each once) in a frame, in memory for these works alone.

    `one`: the ids are spellings of one work, the first of them the usual one. Raises `InputError`
    where the frame cannot be read, or has none of the works.
    """
    with opened_frame(location, columns, mapping=mapping, progress=progress) as frame:
        lookup = IdLookup(ids)
        at = _places(frame, lookup)
        found = [_read(frame, lookup, columns, *span) for span in _spans(at[at >= 0])]
        missing = tuple(ids.filter(at < 0))
        if missing and not found:
            raise no_work_found(location, 1 if one else len(ids), missing[0])
        works = pl.DataFrame({"id": ids})
        if found:
            known = pl.concat(found).unique("id", keep="first", maintain_order=True)
            works = works.join(known, on="id", how="left", maintain_order="left")
        else:
            works = works.join(_no_records(columns), on="id", how="left")
        return Records(works, missing, frame.columns, tuple(frame.notes))


def no_work_found(location: str | Path, works: int, example: str) -> InputError:
    """Return the error for a frame that is another than the one that was scored."""
    which = f"none of the {works:,} works, for instance" if works > 1 else "no work"
    return InputError(
        f"{location}: has {which} {example}.\nName the frame that was scored: --frame"
    )


def record_columns(works: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return `columns` of a batch of a frame; those that it lacks all null.

    An abstract is de-inverted where only its index is there; `abstract_from` tells so.
    """
    made = {name: text(works, name) for name in columns if name not in ("year", HAS_ABSTRACT)}
    if "year" in columns:
        absent = pl.repeat(None, works.height, dtype=pl.Int32, eager=True)
        made["year"] = works["year"] if "year" in works.columns else absent
    if HAS_ABSTRACT in columns:
        there = [is_filled(name, works.schema[name]) for name in _ABSTRACTS if name in works]
        has = pl.any_horizontal(there) if there else pl.repeat(False, pl.len())
        made[HAS_ABSTRACT] = works.select(has).to_series()
    record = pl.DataFrame({"id": works["id"], **{name: made[name] for name in columns}})
    if "abstract" not in columns:
        return record
    # An empty text stands for a missing one, as in tables.
    filled = pl.when(pl.col("abstract").str.strip_chars() != "")
    record = record.with_columns(filled.then("abstract").alias("abstract"))
    own = text(works.drop(_INVERTED, strict=False), "abstract").str.strip_chars().fill_null("")
    origin = (
        pl.when(pl.col("abstract").is_null())
        .then(None)
        .when(own != "")
        .then(pl.lit("abstract"))
        .otherwise(pl.lit(_INVERTED))
    )
    return record.with_columns(origin.alias(ABSTRACT_FROM))


def _places(frame: Frame, lookup: IdLookup) -> npt.NDArray[np.int64]:
    """Return the first row of each listed id in the frame, -1 where it is not there."""
    at = np.full(len(lookup), -1)
    start = 0
    for ids in frame.ids():
        places = lookup.find(ids.fill_null(""))
        rows = np.flatnonzero(places >= 0)[::-1]  # so that the first of a repeated id stays
        fresh = rows[at[places[rows]] < 0]
        at[places[fresh]] = start + fresh
        start += len(ids)
    return at


def _spans(rows: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield stretches of the frame that hold the rows: (start, a multiple of a block; end)."""
    blocks = np.unique(rows // _BLOCK)
    if len(blocks):
        for near in np.split(blocks, np.flatnonzero(np.diff(blocks) * _BLOCK > _NEAR) + 1):
            yield int(near[0]) * _BLOCK, (int(near[-1]) + 1) * _BLOCK


def _no_records(columns: Sequence[str]) -> pl.DataFrame:
    ids = pl.Series("id", [], pl.String)
    return record_columns(pl.DataFrame([ids]), columns)


def _read(
    frame: Frame, lookup: IdLookup, columns: Sequence[str], start: int, stop: int
) -> pl.DataFrame:
    found = []
    for batch in frame.batches(_BLOCK, start=start, limit=stop):
        wanted = lookup.find(batch.frame["id"].fill_null("")) >= 0
        found.append(own_texts(record_columns(batch.frame.filter(wanted), columns)))
    return pl.concat(found)
