"""Parts of a sample that are evaluated by themselves: languages, with and without abstract, years.

The levels are those of audit strata.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from scorer.errors import InputError
from scorer.policy.fit import Booleans
from scorer.review.evaluate_judges import Judges
from scorer.review.records import find_records, record_columns
from scorer.review.sample import IN
from scorer.review.sample_strata import OF_RECORD, Stratifier, grouped, record_level


def groups(
    judges: Judges, by: Sequence[Stratifier], frame: str | Path | None, where: Path
) -> Mapping[Stratifier, Mapping[str, Booleans]]:
    """Return what works are split by -> level -> which works stand there, bool [works].

    The levels follow from `frame` where it is given, or else from what the labels, the sheets or
    the key have. Raises `InputError` where they have nothing.
    """
    works = judges.works
    if frame is not None:
        wanted = [OF_RECORD[name] for name in by]
        found = find_records(works["id"], frame, columns=wanted)
        levels = found.works.select(record_level(name).alias(name) for name in by)
    else:
        levels = pl.DataFrame([_own(works, name, where) for name in by])
    if "lang" in levels.columns:
        levels = grouped(levels, pl.Series(judges.design.weight))
    return {
        name: {level: (levels[name] == level).to_numpy() for level in sorted(levels[name].unique())}
        for name in by
    }


def _own(works: pl.DataFrame, name: Stratifier, where: Path) -> pl.Series:
    if IN + name in works.columns:
        return works[IN + name].alias(name)
    there = {"abstract", "abstract_inverted_index"} if name == "abstract" else {name}
    if not there & set(works.columns):
        raise InputError(
            f"{where}: no column {name!r}, so works cannot be split by it.\n"
            "Name the frame that was scored: --frame"
        )
    record = record_columns(works, [OF_RECORD[name]])
    return record.select(record_level(name).alias(name)).to_series()
