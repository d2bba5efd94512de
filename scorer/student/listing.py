"""All n-grams of works as text, for training to choose a vocabulary from."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.frame.contract import text
from scorer.frame.text import Tokens, clean, plain_text, tokenise
from scorer.student import shape
from scorer.student.channels import Ids, beginnings, rows_of
from scorer.student.manifest import NgramSettings, TextField
from scorer.student.metadata import Codes, decades, distinct_texts


def list_ngrams(frame: pl.DataFrame, settings: NgramSettings) -> pl.DataFrame:
    """Return every n-gram of every work: `row` (UInt32), `channel`, `ngram` (String), distinct."""
    found = []
    for field in settings.text:
        plain = plain_text(text(frame, field.field))
        tokens = tokenise(plain)
        found += [
            _listed(rows, channel, ngrams) for channel, rows, ngrams in _text_ngrams(tokens, field)
        ]
        if field.field == "title" and settings.shape:
            rows = np.arange(frame.height)
            found += [
                _listed(rows, channel, pl.Series(values).cast(pl.String))
                for channel, values in shape.of_titles(tokens, plain)
            ]
    for channel, values, codes in _single_values(frame, settings):
        found.append(_listed(np.arange(frame.height), channel, values.gather(codes)))
    return pl.concat(found).unique(maintain_order=True)


def _text_ngrams(tokens: Tokens, field: TextField) -> Iterator[tuple[str, Ids, pl.Series]]:
    rows = rows_of(tokens)
    words = tokens.unique.gather(tokens.codes)
    if field.words:
        yield f"{field.field}.word", rows, words
    for length in field.beginnings:
        found = beginnings(words, length)
        there = found.is_not_null()
        yield f"{field.field}.begin{length}", rows[there.to_numpy()], found.filter(there)
    if field.bigrams and len(rows):
        same = rows[1:] == rows[:-1]
        pairs = pl.select(pl.concat_str(words.head(-1), words.tail(-1), separator=" ")).to_series()
        yield f"{field.field}.bigram", rows[1:][same], pairs.filter(pl.Series(same))


def _single_values(
    frame: pl.DataFrame, settings: NgramSettings
) -> Iterator[tuple[str, pl.Series, Codes]]:
    """Yield (channel, distinct values, codes [works]); a missing value is the empty string.

    A column that is not there tells nothing: its values are unknown, not missing.
    """
    for name in settings.whole:
        if name not in frame.columns:
            continue
        values, codes = distinct_texts(frame, name)
        yield name, clean(values), codes
    if settings.decade and "year" in frame.columns:
        yield "decade", *decades(frame)


def _listed(rows: npt.NDArray[np.integer[Any]], channel: str, ngrams: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"row": rows.astype(np.uint32), "ngram": ngrams.cast(pl.String)}).select(
        "row", pl.lit(channel).alias("channel"), "ngram"
    )
