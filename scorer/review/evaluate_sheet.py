"""A coder's sheet read back: every cell as text, named as the spreadsheet program names it.

The contract of the sheet is in `sheet.py`; XLSX and CSV come out alike.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Self
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import InputError, UsageError
from scorer.frame.contract import bare_id
from scorer.frame.files import LocalFile
from scorer.frame.readers.delimited import encoding_of
from scorer.frame.readers.dialect import dialect
from scorer.review.cells import restored
from scorer.review.extra import library
from scorer.review.sheet import ANSWERS, ANSWERS_SHEET, WORDS, Answer, answer_column

SUFFIXES: Final = (".xlsx", ".csv")
YES: Final = 1
NO: Final = 0
UNSURE: Final = -1
_CODE: Final[dict[Answer, int]] = {"yes": YES, "no": NO, "unsure": UNSURE}
_CODES: Final = {word: _CODE[answer] for answer, words in WORDS.items() for word in words}
_FIRST_ROW: Final = 2  # the header is row 1


def split_sheets(files: Sequence[Path]) -> tuple[Path | None, tuple[Path, ...]]:
    """Tell label tables from sheets: (table, sheets).

    Raises `UsageError` where files of both kinds are given, or more than one table.
    """
    sheets = tuple(path for path in files if path.suffix.lower() in SUFFIXES)
    tables = [path for path in files if path not in sheets]
    if len(tables) > 1 or (tables and sheets):
        raise UsageError(
            f"{', '.join(map(str, files))}: expected one label table (Parquet), or the sheets of "
            "one sample (XLSX or CSV)."
        )
    return (tables[0] if tables else None), sheets


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one coder answered.

    `cells`: String columns as the sheet has them, blanks null, `id` as in the scored file.
    `places`: of the columns in the sheet, from 0. `row`: int64 [works], as spreadsheet programs
    number them.
    """

    path: Path
    coder: str
    cells: pl.DataFrame
    places: tuple[int, ...]
    row: npt.NDArray[np.int64]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read XLSX or CSV; raise `InputError` where it is no sheet, or a work occurs twice."""
        if not path.is_file():
            raise InputError(f"{path}: no such file. Check the path.")
        rows = list(_xlsx(path) if path.suffix.lower() == ".xlsx" else _csv(path))
        header = [(name or "").strip() for name in rows[0]] if rows else []
        if "id" not in header:
            raise InputError(
                f"{path}: no column 'id' in row 1, so no answer belongs to a work.\n"
                "Give a sheet that scorer sample wrote, its header as it was."
            )
        for name in header:
            if name and header.count(name) > 1:
                raise InputError(f"{path}: column {name!r} occurs more than once. Rename one.")
        there = [place for place, row in enumerate(rows[1:]) if any(row)]
        places = tuple(place for place, name in enumerate(header) if name)
        cells = pl.DataFrame(
            [
                pl.Series(header[place], [_cell(rows[1 + row], place) for row in there], pl.String)
                for place in places
            ]
        )
        ids = bare_id(pl.col("id").str.strip_chars())
        cells = cells.with_columns(restored(ids) if path.suffix.lower() == ".csv" else ids)
        row = np.array(there, np.int64) + _FIRST_ROW
        sheet = cls(path, _coder(path, cells), cells, places, row)
        sheet._check_ids()
        return sheet

    def answers(self, target: str) -> npt.NDArray[np.int8]:
        """Return the answers for a target, int8 [works]: `YES`, `NO` or `UNSURE`.

        Raises `InputError` that names the first cell which is blank, or holds another word.
        """
        column = answer_column(target)
        if column not in self.cells.columns:
            near = get_close_matches(column, self.cells.columns, n=1)
            instead = f" Is it {near[0]!r}?" if near else ""
            raise InputError(
                f"{self.path}: no column {column!r}, though the sample asks for it.{instead}\n"
                "Put the column back under its name."
            )
        said = self.cells[column].str.strip_chars().str.to_lowercase()
        codes = said.replace_strict(_CODES, default=None, return_dtype=pl.Int8)
        if codes.null_count():
            raise self._wrong(column, int(codes.is_null().arg_true()[0]), codes.null_count())
        return codes.to_numpy()

    def _wrong(self, column: str, work: int, wrong: int) -> InputError:
        found = (self.cells[column][work] or "").strip()
        what = f"holds {found[:40]!r}" if found else "is blank"
        others = wrong - 1
        is_one = others == 1
        more = f" {others:,} more {'cell' if is_one else 'cells'} of that column "
        more = f"{more}{'is' if is_one else 'are'} blank or wrong." if others else ""
        return InputError(
            f"{self.path}: cell {self._named(column, work)} ({column}, work "
            f"{self.cells['id'][work]}) {what}; expected {', '.join(ANSWERS[:-1])} or "
            f"{ANSWERS[-1]}.\nAnswer it in the sheet and evaluate again.{more}"
        )

    def _named(self, column: str, work: int) -> str:
        """Return the cell as spreadsheet programs call it: column letters, row number."""
        cell_name: Any = library("xlsxwriter.utility", "Evaluating").xl_rowcol_to_cell
        return str(cell_name(self.row[work] - 1, self.places[self.cells.columns.index(column)]))

    def _check_ids(self) -> None:
        ids = self.cells["id"]
        if ids.null_count():
            row = self.row[ids.is_null().arg_true()[0]]
            raise InputError(
                f"{self.path}: row {row}: no id, though other cells are filled.\n"
                "Take the row out, or put its id back."
            )
        again = ids.is_first_distinct().not_().arg_true()
        if len(again):
            raise InputError(
                f"{self.path}: row {self.row[again[0]]}: work {ids[again[0]]} occurs a second "
                "time.\nKeep one row for each work."
            )


def _coder(path: Path, cells: pl.DataFrame) -> str:
    """Return the coder that a sheet names, or else the file's own name."""
    named = cells["coder"].drop_nulls().unique().to_list() if "coder" in cells.columns else []
    return f"coder {named[0]}" if len(named) == 1 else path.stem


def _cell(row: Sequence[str | None], place: int) -> str | None:
    """Return a cell; blanks, and those after the end of a short row, are null."""
    text = row[place] if place < len(row) else None
    return text if text and text.strip() else None


def _xlsx(path: Path) -> Iterator[list[str | None]]:
    openpyxl = library("openpyxl", "Reading XLSX")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        if ANSWERS_SHEET not in book.sheetnames:
            raise InputError(
                f"{path}: no worksheet {ANSWERS_SHEET!r}; it has {', '.join(book.sheetnames)}.\n"
                "Give a sheet that scorer sample wrote, its worksheet under its name."
            )
        for row in book[ANSWERS_SHEET].iter_rows(values_only=True):
            yield [None if value is None else str(value) for value in row]
    except (BadZipFile, KeyError, OSError, ValueError) as error:
        raise InputError(f"{path}: not an XLSX file ({error}). Save it as one again.") from error


def _csv(path: Path) -> Iterator[list[str | None]]:
    encoding, _ = encoding_of(LocalFile.at(path), None)
    text = path.read_bytes().decode(encoding, "replace")
    found = dialect(text)
    lines = io.StringIO(text, newline="")
    if found.said:
        lines.readline()
    try:
        yield from csv.reader(lines, delimiter=found.delimiter, strict=True)
    except csv.Error as error:
        raise InputError(
            f"{path}: cannot be read as CSV ({error}): a quote may be open.\nSave the sheet again."
        ) from error
