"""Texts as cells: on one line, and none of them a formula to a spreadsheet program.

Spreadsheet programs take a cell of a CSV file that begins with one of these signs for a formula,
whoever wrote the title (OWASP: CSV Injection). An apostrophe in front makes it text.
"""

from typing import Final

import polars as pl

from scorer.frame.text import plain_text

_FORMULA: Final = r"[=+\-@\t\r\n＝＋－＠]"
_BREAKS: Final = r"[\s\p{Cc}]+"
# Embeddings, overrides and isolates: left open, they turn the direction of what stands beside.
_TURNS: Final = r"[\u{202A}-\u{202E}\u{2066}-\u{2069}]"


def one_line(texts: pl.Series) -> pl.Series:
    """Return texts as people read them: without markup, on one line; null stays."""
    return folded(plain_text(texts))


def folded(texts: pl.Series) -> pl.Series:
    """Return texts on one line: line ends, control characters and runs of spaces are one space.

    Signs that turn the direction of writing go: the letters have one of their own.
    """
    return texts.str.replace_all(_TURNS, "").str.replace_all(_BREAKS, " ").str.strip_chars(" ")


def harmless(texts: pl.Expr) -> pl.Expr:
    """Put an apostrophe before texts (String) that a spreadsheet would take for a formula.

    One that has apostrophes there already gets one more, so that `restored` is exact.
    """
    return texts.str.replace(rf"\A'*{_FORMULA}", "'${0}")


def restored(texts: pl.Expr) -> pl.Expr:
    """Take away the apostrophe that `harmless` put there."""
    return texts.str.replace(rf"\A'('*{_FORMULA})", "${1}")


def own_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with texts of their own: a few that are kept must not keep those of a batch."""
    copied = pl.from_arrow(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    assert isinstance(copied, pl.DataFrame)
    return copied
