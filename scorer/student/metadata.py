"""Columns whose values repeat from work to work: each distinct value is looked at once."""

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.frame.contract import text

Codes = npt.NDArray[np.int64]


def decades(frame: pl.DataFrame) -> tuple[pl.Series, Codes]:
    """Return the distinct decades, as text, and each work's number among them: int64 [works]."""
    values, codes = _distinct(frame["year"].cast(pl.Int32) // 10)
    return values.cast(pl.String).fill_null(""), codes


def distinct_texts(frame: pl.DataFrame, name: str) -> tuple[pl.Series, Codes]:
    """Return the distinct values of a column, and each work's number among them: int64 [works].

    A missing value is the empty string.
    """
    return _distinct(text(frame, name).fill_null(""))


def _distinct(values: pl.Series) -> tuple[pl.Series, Codes]:
    encoded = pc.dictionary_encode(values.to_arrow(), null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return pl.Series(encoded.dictionary, dtype=values.dtype), codes
