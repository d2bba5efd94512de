"""Counting what a frame holds, batch by batch: filled columns, languages, years, titles."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from scorer.frame.oddities import odd_titles
from scorer.frame.text import longer_than_ten

_EXAMPLES: Final = 3
_SHOWN_TITLE: Final = 200  # characters of an example
_INVERTED: Final = "abstract_inverted_index"


@dataclass(slots=True)
class Tally:
    """What was counted so far."""

    filled: Counter[str] = field(default_factory=Counter)
    """Contract column -> works where it is neither null nor empty."""
    languages: Counter[str] = field(default_factory=Counter)
    years: Counter[int] = field(default_factory=Counter)
    with_abstract: int = 0
    usable: int = 0
    """Titles of more than ten characters, once cleaned."""
    null_titles: int = 0
    odd: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str | None, str]]] = field(default_factory=dict)
    """Kind of odd title -> the first few: (id, title)."""

    def add(self, works: pl.DataFrame) -> None:
        """Count a batch of contract columns."""
        filled = works.select(is_filled(name, works.schema[name]) for name in works.columns)
        self.filled.update({name: int(filled[name].sum()) for name in filled.columns})
        abstracts = [name for name in ("abstract", _INVERTED) if name in works.columns]
        if abstracts:
            self.with_abstract += int(filled.select(pl.any_horizontal(abstracts)).to_series().sum())
        if "lang" in works.columns:
            self.languages.update(_counts(works["lang"].filter(filled["lang"])))
        if "year" in works.columns:
            self.years.update(_counts(works["year"].drop_nulls()))
        self._titles(works)

    def _titles(self, works: pl.DataFrame) -> None:
        titles = works["title"]
        self.null_titles += titles.null_count()
        self.usable += int(longer_than_ten(titles).sum())
        kinds = odd_titles(titles)
        odd = works.select("id", "title").with_columns(kinds).filter(kinds.is_not_null())
        self.odd.update(_counts(odd["kind"]))
        for kind in odd["kind"].unique(maintain_order=True):
            shown = self.examples.setdefault(kind, [])
            here = odd.filter(pl.col("kind") == kind).head(_EXAMPLES - len(shown))
            shown += [(work, title[:_SHOWN_TITLE]) for work, title, _ in here.iter_rows()]


def is_filled(name: str, kind: pl.DataType) -> pl.Expr:
    """Tell where a contract column of a type is neither null nor empty (Boolean)."""
    column = pl.col(name)
    if kind == pl.String:
        empty = ["", "{}", "null"] if name == _INVERTED else [""]
        return (column.is_not_null() & ~column.str.strip_chars().is_in(empty)).fill_null(False)
    return column.is_not_null()


def _counts(values: pl.Series) -> dict[Any, int]:
    return dict(values.rename("value").value_counts().iter_rows())
