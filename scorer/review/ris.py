"""A review queue as RIS, by rispy: for ASReview, Rayyan, Zotero and EndNote.

Everywhere `scorer.frame` reads RIS it finds the same ids, titles and abstracts again.
"""

import re
from typing import Any, Final

import polars as pl

from scorer.review.cells import folded
from scorer.review.extra import library

# OpenAlex's types as RIS names them; any other is generic.
_TYPES: Final = {
    **dict.fromkeys(("article", "review", "letter", "editorial", "erratum"), "JOUR"),
    "book": "BOOK",
    "book-chapter": "CHAP",
    "dissertation": "THES",
    "report": "RPRT",
    "dataset": "DATA",
    "preprint": "UNPB",
}
_FIELDS: Final = {
    "id": "id",
    "title": "title",
    "abstract": "abstract",
    "venue": "alternate_title3",
    "year": "year",
    "lang": "language",
    "type": "type_of_work",
    "doi": "doi",
}
"""Column of a queue -> rispy's name of the tag: ID, TI, AB, JF, PY, LA, M3, DO."""
_KEYWORDS: Final = ("topic", "field")
_ELSEWHERE: Final = frozenset((*_FIELDS, *_KEYWORDS))
_GENERIC: Final = "GEN"
_OPENALEX: Final = re.compile(r"W\d+")


def ris(table: pl.DataFrame) -> str:
    """Return the works as RIS records, in order.

    The status stands among the keywords, which programs show as tags, and in the notes with all
    other columns: programs keep both.
    """
    rispy = library("rispy", "Writing RIS")

    class Writer(rispy.RisWriter):  # type: ignore[name-defined,misc]
        """Without a number before each record, which RIS does not know."""

        def set_header(self, count: int) -> str:
            return ""

    texts = [name for name in table.columns if table[name].dtype == pl.String]
    rows = table.with_columns(folded(table[name]) for name in texts)
    works = [_reference(row) for row in rows.iter_rows(named=True)]
    return str(rispy.dumps(works, implementation=Writer))


def _reference(row: dict[str, Any]) -> dict[str, Any]:
    """Return a work by rispy's names; list tags as lists, nothing that is null."""
    made: dict[str, Any] = {"type_of_reference": _TYPES.get(row.get("type") or "", _GENERIC)}
    made |= {
        name: str(row[column])
        for column, name in _FIELDS.items()
        if row.get(column) not in (None, "")
    }
    if _OPENALEX.fullmatch(row["id"]):
        made["urls"] = [f"https://openalex.org/{row['id']}"]
    topics = [row[name] for name in _KEYWORDS if row.get(name)]
    said = {name: value for name, value in row.items() if name not in _ELSEWHERE}
    said = {"prediction_status": said.pop("prediction_status"), "id": row["id"], **said}
    note = "; ".join(
        f"{name}: {_shown(value)}" for name, value in said.items() if value is not None
    )
    return {**made, "keywords": [row["prediction_status"], *topics], "notes": [note]}


def _shown(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
