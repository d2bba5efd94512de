"""A table for people, as a file: CSV, XLSX, RIS or JSON Lines, told by the ending of its name.

Whatever the format, each row says `prediction_status`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from scorer.engine.files import told, write_atomically
from scorer.errors import UsageError
from scorer.review.cells import harmless
from scorer.review.extra import library
from scorer.review.ris import ris
from scorer.review.workbook import workbook

CSV: Final = ".csv"
XLSX: Final = ".xlsx"
RIS: Final = ".ris"
JSON_LINES: Final = ".jsonl"
FORMATS: Final = (CSV, XLSX, RIS, JSON_LINES)
_NEEDS: Final = {XLSX: "xlsxwriter", RIS: "rispy"}

About = Sequence[tuple[str, str | int]]
"""What a table is: (name, value)."""


def check_format(path: Path, formats: Sequence[str] = FORMATS) -> None:
    """Raise `UsageError` where `path` does not end in a format that can be written here."""
    ending = path.suffix.lower()
    if ending not in formats:
        raise UsageError(f"{path}: expected a name that ends in {', '.join(formats)}.")
    if ending in _NEEDS:
        library(_NEEDS[ending], f"Writing {ending}")


def write_table(path: Path, name: str, table: pl.DataFrame, about: About) -> None:
    """Write a table whole or not at all; `name` and `about`: its worksheet, and what it is."""
    match path.suffix.lower():
        case ".csv":
            content = csv(table)
        case ".xlsx":
            content = workbook(name, table, about)
        case ".ris":
            content = ris(table).encode()
        case _:
            content = table.write_ndjson().encode()
    with told(path):
        write_atomically(path, content)


def csv(table: pl.DataFrame) -> bytes:
    """Return a table as CSV: UTF-8 with the byte order mark that Excel looks for.

    A text that a spreadsheet would take for a formula has an apostrophe in front.
    """
    texts = [name for name in table.columns if table[name].dtype == pl.String]
    return table.with_columns(harmless(pl.col(texts))).write_csv(include_bom=True).encode()
