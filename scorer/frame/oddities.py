"""Titles that are no titles: what kinds there are, and which title is of which kind."""

from collections.abc import Mapping
from typing import Final

import polars as pl

LONGEST: Final = 1_000
"""Characters; a longer title is an abstract or a table of contents in the wrong place."""

_PATTERNS: Final[Mapping[str, str]] = {
    "empty": r"\A\s*\z",
    "file name": r"(?i)\A[^/]{1,250}\.(pdf|docx?|odt|rtf|xlsx?|pptx?|txt|tex|ps|html?|xml|csv|zip"
    r"|jpe?g|png|tiff?|mp[34])\z",
    "DOI": r"(?i)\A((https?://)?(dx\.)?doi\.org/|doi:?\s*)?10\.\d{4,9}/\S+\z",
    "URL": r"(?i)\A((https?|ftp)://|www\.)\S+\z",
    # GSE12345, NM_000546.6, "CCDC 1234567: Experimental Crystal Structure Determination"
    "accession code": r"\A([A-Z]{1,6}[_-]?\d{3,}(\.\d+)?\z|[A-Z]{1,6} \d{5,}(\z|:))",
    "markup": r"<[A-Za-z/!][^>]*>|&(#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z]+);",
    "one word": r"\A[\p{Latin}\p{Greek}\p{Cyrillic}\p{N}\p{P}]+\z",
}
KINDS: Final = (*_PATTERNS, "all capitals", "over 1,000 characters")
"""In the order in which they are tried; a title is of the first kind that fits."""


def odd_titles(titles: pl.Series) -> pl.Series:
    """Return the kind of each title (String); null for ordinary titles, and for no title.

    A title is judged as the source has it, apart from white space around it.
    """
    title = pl.col("title").str.strip_chars()
    fits = {kind: title.str.contains(pattern) for kind, pattern in _PATTERNS.items()}
    fits["all capitals"] = title.str.contains(r"\p{Lu}{2}") & ~title.str.contains(r"\p{Ll}")
    fits["over 1,000 characters"] = title.str.len_chars() > LONGEST
    first = pl.coalesce(pl.when(fits[kind]).then(pl.lit(kind)) for kind in KINDS)
    return titles.rename("title").to_frame().select(first.alias("kind")).to_series()
