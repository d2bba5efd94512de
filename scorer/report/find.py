"""Finding one work by its id: its row in a scored file, its record in the frame; near ids if none.

Files may hold millions of works: ids are compared as a column, and one row is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from scorer.engine.files import file_hash
from scorer.engine.progress import Progress
from scorer.errors import InputError
from scorer.frame.addresses import doi, openalex_id
from scorer.frame.contract import bare_id
from scorer.frame.found import find_files
from scorer.report.page import Note
from scorer.review.records import RECORD, Records, find_records
from scorer.review.scores import Scores

_INVERTED: Final = "abstract_inverted_index"
_LONGEST_ID: Final = 64  # what is longer is no id with a slip in it
_SLIPS: Final = 2  # a wrong, missing or extra character is one, two swapped ones are two
_SUGGESTED: Final = 3
_MOST_HASHED: Final = 4 << 30
"""Bytes: a larger frame is compared by size alone, hashing it would take minutes."""


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A work's record in a frame."""

    work: dict[str, Any]
    """Its row, as `scorer.report.facts.record_of` takes it."""
    contract: pl.DataFrame
    """The same as the student reads it, one row: columns that the frame lacks are not there."""
    notes: tuple[Note, ...]


def bare(work: str) -> str:
    """Return an id as scored files have it: with an OpenAlex address or without, it is one work."""
    found: str = pl.select(bare_id(pl.lit(work.strip()))).item()
    return found


def names_of(work: str) -> list[str]:
    """Return the ids that a word may mean, the most literal first.

    People paste addresses: of OpenAlex in any form, and of a DOI where works go by their DOI.
    """
    names = [bare(work)]
    if found := openalex_id(work):
        names.append(found)
    if found := doi(work):
        names += [
            found,
            found.lower(),
            f"https://doi.org/{found}",
            f"https://doi.org/{found.lower()}",
        ]
    return list(dict.fromkeys(names))


def find_row(scores: Scores, work: str) -> dict[str, Any] | None:
    """Return the row of a work, told by its id or address: column -> value; None where it lacks."""
    names = names_of(work)
    rows = scores.lazy().filter(pl.col("id").is_in(names)).collect(engine="streaming")
    found = {row["id"]: row for row in rows.iter_rows(named=True)}
    return next((found[name] for name in names if name in found), None)


def no_such_work(scores: Scores, work: str) -> InputError:
    """Return the error for an id that a scored file lacks; it names near ones."""
    work = openalex_id(work) or bare(work)
    near = near_ids(scores.lazy(), work)
    meant = f"Did you mean {' or '.join(near)}?" if near else "Check the id, or name another file."
    shown = work if len(work) <= _LONGEST_ID else f"{work[:_LONGEST_ID]}…"
    return InputError(f"{scores.path}: no work {shown!r} among {scores.rows:,}.\n{meant}")


def near_ids(works: pl.LazyFrame, work: str) -> list[str]:
    """Return ids that one slip, or two characters swapped, would turn into `work`; nearest first.

    What two ids have in common at their beginnings and ends is all but the place of a slip.
    """
    if not 0 < len(work) <= _LONGEST_ID:
        return []
    ids = pl.col("id")
    length = ids.str.len_chars().cast(pl.Int32)
    shorter, longer = pl.min_horizontal(length, len(work)), pl.max_horizontal(length, len(work))
    same = pl.lit(0, pl.Int32)
    for size in range(1, len(work) + 1):
        same += ids.str.starts_with(work[:size]).cast(pl.Int32)
        same += ids.str.ends_with(work[-size:]).cast(pl.Int32)
    slips = (longer - pl.min_horizontal(same, shorter)).alias("slips")
    near = works.select(ids, slips).filter(pl.col("slips") <= min(_SLIPS, len(work) - 1))
    nearest = near.sort("slips", "id").head(_SUGGESTED).collect(engine="streaming")
    return nearest["id"].to_list()


def find_record(
    work: str, frame: str, *, mapping: Mapping[str, str], progress: Progress | None
) -> FoundRecord:
    """Find a work's record in a frame of any format, by its id or address.

    Raises `InputError` where the frame cannot be read or does not hold the work.
    """
    ids = pl.Series("id", names_of(work))
    records = find_records(ids, frame, mapping=mapping, progress=progress, one=True)
    there = next(place for place, name in enumerate(ids) if name not in records.missing)
    return FoundRecord(
        records.works.row(there, named=True),
        contract(records)[there : there + 1],
        tuple(Note("said", {"text": note}) for note in records.notes),
    )


def contract(records: Records) -> pl.DataFrame:
    """Return records as the student reads them: columns that the frame lacks are not there."""
    there = [name for name in RECORD if name in records.columns]
    if _INVERTED in records.columns and "abstract" not in there:
        there.append("abstract")
    return records.works.select("id", *there)


def frame_notes(location: str, scores: Scores) -> list[Note]:
    """Return what is to be said where a frame is not the one that was scored, or may not be."""
    said = scores.manifest.frame
    files = [found.file for found in find_files(location)]
    names = {"frame": Path(location).name, "scores": scores.path.name}
    if sorted(file.size for file in files) != sorted(source.size for source in said):
        return [Note("frame_differs", names)]
    if any(file.local is None for file in files):
        return [Note("frame_remote", names)]
    if sum(file.size for file in files) > _MOST_HASHED:
        return [Note("frame_large", names)]
    same = sorted(map(file_hash, files)) == sorted(source.sha256 for source in said)
    return [] if same else [Note("frame_differs", names)]
