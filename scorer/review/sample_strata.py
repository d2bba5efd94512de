"""The strata of an audit sample: what tells works apart, level by level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from scorer.errors import UsageError
from scorer.review.records import HAS_ABSTRACT
from scorer.review.scores import Scores
from scorer.status import SCORE_ONLY

Stratifier = Literal["calls", "segment", "lang", "abstract", "year"]
STRATIFIERS: Final[tuple[Stratifier, ...]] = ("calls", "segment", "lang", "abstract", "year")
OF_RECORD: Final = {"lang": "lang", "abstract": HAS_ABSTRACT, "year": "year"}
"""Stratifier -> the column of the record that it follows from."""
OTHER: Final = "other"
UNKNOWN: Final = "unknown"
SEPARATOR: Final = " / "

_EARLY: Final = 1980
"""Works of earlier years are few: they are one level, later ones go by decade."""
_COMMON: Final = 0.01
"""Share of the works from which on a language is a level of its own."""


def default_strata(*, frame: bool, segments: int) -> tuple[Stratifier, ...]:
    """Return the stratifiers of a sample: all that can be had and tell apart, but the year."""
    beside: tuple[Stratifier, ...] = ("lang", "abstract") if frame else ()
    between: tuple[Stratifier, ...] = ("segment",) if segments > 1 else ()
    return ("calls", *between, *beside)


@dataclass(frozen=True, slots=True)
class Strata:
    """Which stratifiers make the strata, and the columns that their levels follow from."""

    scores: Scores
    names: tuple[Stratifier, ...]
    target: str | None
    """The category or flag whose calls are told apart; None: any category's, `classification`."""

    @classmethod
    def of(
        cls, scores: Scores, names: Sequence[str], target: str | None, *, frame: bool
    ) -> "Strata":
        """Check the names; raise `UsageError` for one that is none, or needs a `frame`."""
        for name in names:
            if name not in STRATIFIERS:
                raise UsageError(f"--strata {name}: there are {', '.join(STRATIFIERS)}.")
            if name in OF_RECORD and not frame:
                raise UsageError(
                    f"--strata {name}: it stands in the works' records.\n"
                    "Name the frame that was scored: --frame"
                )
        return cls(scores, tuple(name for name in STRATIFIERS if name in names), target)

    @property
    def columns(self) -> list[str]:
        """Columns of the scored file that are needed."""
        if "calls" not in self.names:
            return []
        return ["classification"] if self.target is None else [*self.scores.call_lists(self.target)]

    @property
    def of_record(self) -> list[str]:
        """Columns of the frame's records that are needed."""
        return [OF_RECORD[name] for name in self.names if name in OF_RECORD]

    def levels(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return a work's level of each stratifier, String, none null."""
        # `with_columns` repeats a constant for every work.
        levels = rows.with_columns(self._level(name).alias(name) for name in self.names)
        return levels.select(self.names)

    def _level(self, name: Stratifier) -> pl.Expr:
        match name:
            case "calls" if self.target is None:
                return pl.col("classification").cast(pl.String)
            case "calls":
                assert self.target is not None
                return self.scores.call(self.target).cast(pl.String).fill_null(SCORE_ONLY)
            case "segment":
                return pl.col("segment").cast(pl.String)
            case _:
                return record_level(name)


def record_level(name: Stratifier) -> pl.Expr:
    """Return the level of a stratifier of `OF_RECORD`, String, from the column that it names."""
    match name:
        case "lang":
            lang = pl.col("lang").str.strip_chars().str.to_lowercase()
            return pl.when(lang != "").then(lang).otherwise(pl.lit(UNKNOWN))
        case "abstract":
            there = pl.col(HAS_ABSTRACT).fill_null(False)
            return pl.when(there).then(pl.lit("abstract")).otherwise(pl.lit("no abstract"))
        case "year":
            decade = pl.format("{}s", pl.col("year") // 10 * 10)
            early = pl.col("year") < _EARLY
            named = pl.when(early).then(pl.lit(f"before {_EARLY}")).otherwise(decade)
            return named.fill_null(UNKNOWN)
        case _:
            raise ValueError(f"{name} is no level of a record")


def grouped(cells: pl.DataFrame, sizes: pl.Series) -> pl.DataFrame:
    """Return levels in which rare languages are one, `other`.

    `cells`: a row for each combination of levels; `sizes`: works in each. A language stands for
    itself where at least 1 % of the works are in it.
    """
    if "lang" not in cells.columns:
        return cells
    total = int(sizes.sum())
    works = cells.select("lang", works=sizes).group_by("lang").agg(pl.col("works").sum())
    rare = works.filter(pl.col("works") < _COMMON * total)["lang"]
    own = pl.col("lang")
    is_rare = own.is_in(rare.implode()) & (own != UNKNOWN)
    return cells.with_columns(pl.when(is_rare).then(pl.lit(OTHER)).otherwise(own).alias("lang"))


def stratum_names(levels: pl.DataFrame) -> pl.Series:
    """Return the name of each row's stratum, String: its levels, joined."""
    if not levels.width:
        return pl.Series("stratum", ["all"] * levels.height, pl.String)
    names = levels.select(pl.concat_str(pl.all(), separator=SEPARATOR).alias("stratum"))
    return names.to_series()
