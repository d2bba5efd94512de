"""Tables as worksheets of an XLSX file, by xlsxwriter: texts stay texts, content decides bytes."""

import io
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import polars as pl

from scorer.errors import UsageError
from scorer.review.extra import library
from scorer.status import LIMITATIONS, STAMP

if TYPE_CHECKING:
    from polars.selectors import Selector
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

ROWS: Final = 1_048_575  # that a worksheet holds below its header
CHARACTERS: Final = 32_767  # that a cell holds
_CUT: Final = " …"
_WIDTHS: Final = {"title": 420, "abstract": 420, "venue": 180, "topic": 180}  # pixels
_WIDTH: Final = 110
# The bytes follow from the content, so the file does not say when it was made.
_CREATED: Final = datetime(2000, 1, 1)


def workbook(
    name: str,
    table: pl.DataFrame,
    about: Sequence[tuple[str, str | int]],
    adorn: "Callable[[Workbook, Worksheet], None] | None" = None,
) -> bytes:
    """Return an XLSX file: worksheet `name` with the table, and `about` with what it is.

    No text is taken for a formula, a number or a link. One that is longer than a cell holds is cut
    and ends in an ellipsis. `adorn` may add to the first worksheet.
    """
    xlsxwriter = library("xlsxwriter", "Writing XLSX")
    if table.height > ROWS:
        raise UsageError(
            f"XLSX holds {ROWS:,} rows, there are {table.height:,}.\n"
            "Write .csv or .jsonl, or ask for fewer works."
        )
    content = io.BytesIO()
    options = dict.fromkeys(("strings_to_formulas", "strings_to_numbers", "strings_to_urls"), False)
    book = xlsxwriter.Workbook(content, {"in_memory": True, **options})
    limits = " ".join(LIMITATIONS)
    book.set_properties({"created": _CREATED, "status": STAMP, "comments": f"{STAMP}. {limits}"})
    rows = table.with_columns(_fitting(name) for name in table.columns if _is_text(table[name]))
    _written(book, name, rows)
    told = [(what, str(value)) for what, value in about]
    told += [("limits", limit) for limit in LIMITATIONS]
    _written(book, "about", pl.DataFrame(told, schema=["what", "is"], orient="row"))
    if adorn is not None:
        adorn(book, book.get_worksheet_by_name(name))
    book.close()
    return content.getvalue()


def _written(book: "Workbook", name: str, table: pl.DataFrame) -> None:
    widths: dict[str | Selector, tuple[str, ...] | int] = {
        column: _WIDTHS.get(column, _WIDTH) for column in table.columns
    }
    if name == "about":
        widths = {"what": _WIDTH, "is": 700}
    table.write_excel(
        book,
        name,
        column_widths=widths,
        freeze_panes=(1, 0),
        table_style="Table Style Light 1",
        dtype_formats={pl.Int64: "0", pl.Int32: "0"},
    )


def _is_text(values: pl.Series) -> bool:
    return values.dtype in (pl.String, pl.Categorical) or isinstance(values.dtype, pl.Enum)


def _fitting(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String)
    # A cell counts as UTF-16 does: a character outside the first plane twice.
    wide = text.str.count_matches(r"[\x{10000}-\x{10FFFF}]")
    kept = pl.when(wide == 0).then(CHARACTERS - len(_CUT)).otherwise(CHARACTERS // 2 - len(_CUT))
    fits = text.str.len_chars() + wide <= CHARACTERS
    cut = pl.concat_str(text.str.head(kept), pl.lit(_CUT))
    return pl.when(fits.fill_null(True)).then(text).otherwise(cut).alias(name)
