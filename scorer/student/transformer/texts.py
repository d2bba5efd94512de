"""A work as one text, in the words of its fields: what a tokenizer reads."""

from typing import Final

import polars as pl

from scorer.frame.contract import text
from scorer.frame.text import plain_text
from scorer.student.manifest import TokenizerSettings

_SPACE: Final = r"[\s\p{Cc}]+"


def work_texts(frame: pl.DataFrame, settings: TokenizerSettings) -> pl.Series:
    """Return the text of each work of a contract frame: String [works], none null.

    Fields are freed of markup, LaTeX and mojibake as everywhere, white space is folded; case and
    signs stay, for the tokenizer has rules of its own. What is missing or empty is left out, and
    the words between it and its neighbours with it.
    """
    groups = [
        _joined([_field(frame, name) for name in group], settings.between_fields)
        for group in settings.text
    ]
    return _joined(groups, settings.between_groups).fill_null("").alias("text")


def _field(frame: pl.DataFrame, name: str) -> pl.Series:
    folded = plain_text(text(frame, name)).str.replace_all(_SPACE, " ").str.strip_chars(" ")
    return folded.replace("", None)


def _joined(parts: list[pl.Series], between: str) -> pl.Series:
    """Join what is not null; null where all is."""
    columns = {f"part{place}": part for place, part in enumerate(parts)}
    joined = pl.concat_str(*columns, separator=between, ignore_nulls=True)
    return pl.DataFrame(columns).select(joined.replace("", None)).to_series()
