"""Delimited text: which character parts the cells."""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scorer.frame.contract import NATIVE_NAMES

DELIMITERS: Final = {
    ",": "comma-separated text",
    "\t": "tab-separated text",
    ";": "semicolon-separated text",
    "|": "text separated by bars",
}
"""Delimiter -> what people call such a file; the first wins where nothing tells."""

CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x19\x1c-\x1f]")
"""Characters that no header has, and texts seldom."""

_SAID: Final = re.compile(r"\Asep=(.)\r?\n?\Z", re.IGNORECASE)
_COMPARED: Final = 20  # rows; enough to tell a delimiter from a character of the titles
_KNOWN: Final = {name for names in NATIVE_NAMES.values() for name in names}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a delimited file is written."""

    delimiter: str
    said: bool
    """Whether its first line is Excel's `sep=;`, ahead of the header."""
    clear: bool
    """Whether the text looks delimited at all: a header of several cells, and rows as wide."""


def dialect(head: str) -> Dialect:
    """Find the delimiter from the beginning of a text.

    The header decides, for titles are full of commas: the delimiter that makes most of the
    contract's names out of it, then the one that makes most cells.
    """
    lines = head.splitlines(keepends=True)
    said = _SAID.match(lines[0]) if lines else None
    if said:
        return Dialect(said[1], said=True, clear=True)
    rows = {delimiter: _rows(lines, delimiter) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=lambda delimiter: _fit(rows[delimiter]))
    return Dialect(best, said=False, clear=_clear(rows[best]))


def _rows(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _COMPARED:
                break
    except csv.Error:  # a cell too long to be a header's: the rows before it tell enough
        pass
    return rows


def _fit(rows: list[list[str]]) -> tuple[int, int]:
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    return len(_KNOWN.intersection(header)), len(header)


def _clear(rows: list[list[str]]) -> bool:
    if not rows or rows[0][0].lstrip().startswith(("{", "[")):
        return False
    if any(CONTROLS.search(cell) for cell in rows[0]):
        return False
    width = len(rows[0])
    if width == 1:
        return rows[0][0].strip().lower() in _KNOWN
    # The last row may be cut off where the head ends.
    return len(rows) == 1 or any(len(row) == width for row in rows[1:])
