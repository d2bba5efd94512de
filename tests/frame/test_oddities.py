"""Titles that are no titles are told by kind; ordinary ones are left alone."""

import polars as pl
import pytest

from scorer.frame.oddities import KINDS, odd_titles


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("Final thesis v2.DOCX", "file name"),
        ("IMG_20198362.jpg", "file name"),
        ("10.1000/xyz123", "DOI"),
        ("https://doi.org/10.1000/xyz123", "DOI"),
        ("doi: 10.1000/xyz123", "DOI"),
        ("https://example.org/a%20b", "URL"),
        ("www.example.org", "URL"),
        ("GSE12345", "accession code"),
        ("NM_000546.6", "accession code"),
        ("CCDC 1234567: Experimental Crystal Structure Determination", "accession code"),
        ("The <i>E. coli</i> genome", "markup"),
        ("Fish &amp; chips", "markup"),
        ("Editorial", "one word"),
        ("Введение", "one word"),
        ("REVIEW OF THE LITERATURE", "all capitals"),
        ("word " * 250, "over 1,000 characters"),
        (None, None),
        ("Effects of COVID-19 on p < 0.05 & more", None),
        ("COVID-19: A review of 2019", None),
        ("A study of example.org", None),
        ("文献计量学研究", None),
        ("文献计量学研究 和 引用", None),
    ],
)
def test_the_kind_of_a_title(title: str | None, kind: str | None) -> None:
    assert odd_titles(pl.Series([title], dtype=pl.String)).to_list() == [kind]
    assert kind is None or kind in KINDS
