"""Sheets read back as coders leave them: answers by cell, and errors that name the cell."""

import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import polars as pl
import pytest

from scorer.errors import InputError, UsageError
from scorer.review.evaluate_sheet import NO, UNSURE, YES, Sheet, split_sheets

Write = Callable[..., Path]
ROWS = [
    ["id", "title", "answer_sts", "answer_metaresearch", "note", "coder"],
    ["W1", "One", "yes", "no", "sure?", "2"],
    ["W2", "Two\nlines, and a comma", " No ", "UNSURE", None, "2"],
    ["W3", "Three", "unsure", "Yes", None, "2"],
]


@pytest.fixture(params=["xlsx", "csv"])
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    """Write rows as a sheet of either format: `write(rows, name)`."""

    def sheet(rows: list[list[str | None]], name: str = "audit.coder2") -> Path:
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "xlsx":
            book = openpyxl.Workbook()
            book.active.title = "answers"
            for row in rows:
                book.active.append(row)
            book.save(path)
        else:
            table = pl.DataFrame(rows[1:], schema=rows[0], orient="row")
            table.write_csv(path, include_bom=True)
        return path

    return sheet


def changed(row: int, column: int, value: str | None) -> list[list[str | None]]:
    """Return the rows with another cell."""
    rows = [list(one) for one in ROWS]
    rows[row][column] = value
    return rows


def test_answers_count_without_regard_to_case_and_spaces(write: Write):
    sheet = Sheet.read(write(ROWS))
    assert sheet.coder == "coder 2"
    assert sheet.cells["id"].to_list() == ["W1", "W2", "W3"]
    assert sheet.answers("sts").tolist() == [YES, NO, UNSURE]
    assert sheet.answers("metaresearch").tolist() == [NO, UNSURE, YES]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["Oui", "1", "TRUE", "vrai", "YES"], YES),
        (["non", "0", "False", "FAUX", " no"], NO),
        (["incertain", "Incertaine", "unsure"], UNSURE),
    ],
)
def test_french_words_numbers_and_truth_values_count_as_answers(
    write: Write, words: list[str], code: int
):
    rows = [["id", "answer_sts"], *([f"W{place}", word] for place, word in enumerate(words))]
    assert Sheet.read(write(rows)).answers("sts").tolist() == [code] * len(words)


def test_cells_that_a_spreadsheet_typed_as_numbers_or_truth_values_are_answers(tmp_path: Path):
    book = openpyxl.Workbook()
    book.active.title = "answers"
    for row in (["id", "answer_sts"], ["W1", 1], ["W2", 0], ["W3", True], ["W4", False]):
        book.active.append(row)
    path = tmp_path / "typed.xlsx"
    book.save(path)
    assert Sheet.read(path).answers("sts").tolist() == [YES, NO, YES, NO]


@pytest.mark.parametrize("word", ["oiu", "nom", "2", "vraie", "y"])
def test_other_words_still_name_their_cell(write: Write, word: str):
    path = write(changed(2, 2, word))
    with pytest.raises(InputError, match=rf"cell C3 \(answer_sts, work W2\) holds '{word}'; exp"):
        Sheet.read(path).answers("sts")


@pytest.mark.parametrize("blank", [None, "  "])
def test_a_blank_answer_is_named_by_its_cell(write: Write, blank: str | None):
    path = write(changed(3, 3, blank))
    with pytest.raises(InputError) as found:
        Sheet.read(path).answers("metaresearch")
    assert str(found.value) == (
        f"{path}: cell D4 (answer_metaresearch, work W3) is blank; expected yes, no or unsure.\n"
        "Answer it in the sheet and evaluate again."
    )


def test_a_misspelled_answer_is_named_by_its_cell_and_others_are_counted(write: Write):
    rows = changed(2, 2, "yess")
    rows[3][2] = None
    path = write(rows)
    with pytest.raises(InputError) as found:
        Sheet.read(path).answers("sts")
    assert str(found.value) == (
        f"{path}: cell C3 (answer_sts, work W2) holds 'yess'; expected yes, no or unsure.\n"
        "Answer it in the sheet and evaluate again. "
        "1 more cell of that column is blank or wrong."
    )


def test_rows_that_a_spreadsheet_left_empty_do_not_shift_the_names_of_cells(tmp_path: Path):
    book = openpyxl.Workbook()
    book.active.title = "answers"
    for row in (ROWS[0], ROWS[1], [None] * 6, ["W9", "Nine", "maybe", "no", None, "2"]):
        book.active.append(row)
    book.save(tmp_path / "audit.xlsx")
    with pytest.raises(InputError, match=r"cell C4 \(answer_sts, work W9\) holds 'maybe'"):
        Sheet.read(tmp_path / "audit.xlsx").answers("sts")


def test_a_column_that_is_gone_or_renamed_is_an_error(write: Write):
    path = write(changed(0, 2, "answer_st"))
    with pytest.raises(InputError) as found:
        Sheet.read(path).answers("sts")
    assert str(found.value) == (
        f"{path}: no column 'answer_sts', though the sample asks for it. Is it 'answer_st'?\n"
        "Put the column back under its name."
    )


def test_works_that_occur_twice_or_lost_their_id_are_named_by_row(write: Write):
    with pytest.raises(InputError, match=r": row 4: work W1 occurs a second time\.\nKeep one row"):
        Sheet.read(write(changed(3, 0, "W1")))
    with pytest.raises(InputError, match=r": row 3: no id, though other cells are filled\."):
        Sheet.read(write(changed(2, 0, None), "other"))


def test_a_sheet_without_ids_is_none(write: Write):
    with pytest.raises(InputError, match="no column 'id' in row 1, so no answer belongs to a work"):
        Sheet.read(write(changed(0, 0, "work")))


def test_csv_that_a_spreadsheet_saved_with_semicolons_in_windows_letters_is_read(tmp_path: Path):
    path = tmp_path / "audit.coder1.csv"
    path.write_bytes(
        "id;title;answer_sts;coder\r\n'=W1;Été;peut-être;1\r\nW2;Deux;no;1\r\n".encode("cp1252")
    )
    sheet = Sheet.read(path)
    assert sheet.cells["id"].to_list() == ["=W1", "W2"]
    assert sheet.cells["title"].to_list() == ["Été", "Deux"]
    with pytest.raises(InputError, match=r"cell C2 \(answer_sts, work =W1\) holds 'peut-être'"):
        sheet.answers("sts")


def test_files_that_are_no_sheets_are_told(tmp_path: Path):
    (tmp_path / "a.xlsx").write_bytes(b"no zip at all")
    with pytest.raises(InputError, match=r"a\.xlsx: not an XLSX file"):
        Sheet.read(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match=r"b\.csv: no such file\. Check the path\."):
        Sheet.read(tmp_path / "b.csv")
    openpyxl.Workbook().save(tmp_path / "c.xlsx")
    with pytest.raises(InputError, match=r"no worksheet 'answers'; it has Sheet\.\nGive a sheet"):
        Sheet.read(tmp_path / "c.xlsx")
    (tmp_path / "d.csv").write_text('id,answer_sts\nW1,"yes')
    with pytest.raises(InputError, match=re.escape("cannot be read as CSV")):
        Sheet.read(tmp_path / "d.csv")


def test_tables_and_sheets_are_told_apart_by_their_endings():
    table, one, two = Path("l.parquet"), Path("a.coder1.XLSX"), Path("a.coder2.csv")
    assert split_sheets([table]) == (table, ())
    assert split_sheets([one, two]) == (None, (one, two))
    for files in ([table, one], [table, table]):
        with pytest.raises(UsageError, match="expected one label table"):
            split_sheets(files)
