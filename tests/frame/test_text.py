import re
import unicodedata
from itertools import pairwise

import ftfy
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scorer.frame.text import TOKEN, clean, longer_than_ten, plain_text, tokenise

checked = settings(max_examples=60)

# Pieces at which cleaning token by token could differ from cleaning the whole text.
ODD = [
    *(" ", "\n", "\t", "\u00a0", "\u0085", "\u2028", "\u3000", "\u200b", "\u001c", "\u0000"),
    *("\u0301", "\u0345", "\u00b4", "\u00ad", "\u1e9b\u0323", "e\u0301", "\ufb01", "\uff21", "²"),
    *("Σ", "ΑΣ", "ς", "İ", "I\u0307", "ß", "ſ", "ǅ", "가", "ᄀ", "ᅡ", "नमस्ते", "\u0e33", "①"),
    *("<", ">", "&", ";", "</", "<i>", "</i>", "<p>", "<br/>", "<!--", "-->", "<sub", "<b c"),
    *(
        "&amp;",
        "&amp;amp;",
        "&lt;",
        "&gt;",
        "&#",
        "&#x301;",
        "&nbsp;",
        "&#8211;",
        "amp;",
        "&lt;i&gt;",
    ),
    *("a", "B", "7", "abcdefghij", "'", ".", "-"),
]
odd_text = st.lists(st.sampled_from(ODD) | st.text(max_size=3), max_size=14).map("".join)


def column(*texts: str | None) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


def cleaned(text: str) -> str:
    return clean(column(text))[0]


def tokens(texts: pl.Series) -> list[list[str]]:
    found = tokenise(plain_text(texts))
    words = [found.unique[int(code)] for code in found.codes]
    bounds = found.offsets.tolist()
    return [words[start:end] for start, end in pairwise(bounds)]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("H<sub>2</sub>O", "h2o"),
        ("<i>E. coli</i>-free", "e. coli-free"),
        ("10<sup>-3</sup> <jats:italic>M</jats:italic>", "10-3 m"),
        ('a<span class="x">b</span>', "ab"),
        ("one<br/>two<p>three</p>", "one two three"),
        ("<jats:title>Aim</jats:title>To see", "aim to see"),
        ("<mml:math><mml:mi>x</mml:mi></mml:math>", "x"),
        ("a<!-- not shown -->b", "a b"),
    ],
)
def test_inline_tags_join_and_other_tags_part(text: str, form: str) -> None:
    assert cleaned(text) == form


def test_a_comment_is_removed_even_where_it_spans_lines() -> None:
    assert cleaned("before<!-- Word\n wrote\n this -->after") == "before after"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("R&amp;D", "r&d"),
        ("R&amp;amp;D", "r&d"),
        ("caf&eacute; &#8211; bar &#x2013; z", "café – bar – z"),
        ("E = mc&sup2;", "e = mc2"),
        ("a&nbsp;b", "a b"),
        ("&lt;i&gt;Salmo&lt;/i&gt; trutta", "salmo trutta"),
        ("&amp;lt;i&amp;gt;Salmo&amp;lt;/i&amp;gt; trutta", "salmo trutta"),
        ("p &lt; 0.05", "p < 0.05"),
        ("AT&T; B&Q", "at&t; b&q"),
        ("&unknown; x", "&unknown; x"),
    ],
)
def test_entities_are_decoded_twice_and_escaped_tags_are_removed(text: str, form: str) -> None:
    assert cleaned(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("\ufb01nding", "finding"),
        ("Cafe\u0301", "caf\u00e9"),
        ("no\u00a0break\u2003em\u0085next\u2028line", "no break em next line"),
        ("\uff21\uff22\uff23 \u2460", "abc 1"),
        ("ΟΔΟΣ ΟΔΟΣΑ", "οδος οδοσα"),
        ("  two\t\n spaces  ", "two spaces"),
        (" \u00a0 ", ""),
        ("", ""),
    ],
)
def test_text_is_nfkc_lower_case_with_single_spaces(text: str, form: str) -> None:
    assert cleaned(text) == form


@pytest.mark.parametrize("text", ["p < 0.05 and n > 3", "a & b", "1<2", "x <- y", "α<β", "&;"])
def test_brackets_and_ampersands_that_are_no_markup_stay(text: str) -> None:
    assert cleaned(text) == text


def test_null_stays_null_and_has_no_token() -> None:
    texts = column(None, "A b", None, "<i>C</i>", "")
    assert clean(texts).to_list() == [None, "a b", None, "c", ""]
    assert plain_text(texts).to_list() == [None, "A b", None, "C", ""]
    assert tokens(texts) == [[], ["a", "b"], [], ["c"], []]
    assert longer_than_ten(column(None)).to_list() == [False]


def test_cleaning_leaves_the_column_that_it_was_given_as_it_was() -> None:
    texts = column("<i>A</i> &amp; b", "c")
    for reads in (clean, plain_text, longer_than_ten):
        reads(texts)
        assert texts.to_list() == ["<i>A</i> &amp; b", "c"]


def test_an_empty_column_has_no_tokens() -> None:
    found = tokenise(column())
    assert (len(found.unique), found.codes.tolist(), found.offsets.tolist()) == (0, [], [0])
    assert clean(column()).to_list() == []
    assert longer_than_ten(column()).to_list() == []


def test_chunks_and_slices_of_a_column_give_the_tokens_of_its_texts() -> None:
    chunked = pl.concat([column("a-b c", "D"), column("", "e  f")], rechunk=False)
    assert chunked.n_chunks() == 2
    assert tokens(chunked) == [["a", "b", "c"], ["d"], [], ["e", "f"]]
    assert tokens(chunked[1:]) == [["d"], [], ["e", "f"]]


def test_tokens_are_runs_of_letters_and_digits() -> None:
    text = "SARS-CoV-2's “β-blocker”_x, 3.5 µg/mL: 東京"
    assert tokens(column(text)) == [
        ["sars", "cov", "2", "s", "β", "blocker", "x", "3", "5", "μg", "ml", "東京"]
    ]


@checked
@given(st.lists(st.none() | odd_text, max_size=4))
@example(["ΑΣ\u0301", "\u00b4x", "A\u001cB", "<i>Σ</i>Σ", "&amp;lt;b&amp;gt;"])
def test_tokens_are_those_of_the_clean_form(texts: list[str | None]) -> None:
    expected = clean(column(*texts)).str.extract_all(TOKEN).fill_null([]).to_list()
    assert tokens(column(*texts)) == expected


@checked
@given(st.none() | odd_text)
@example("abcdefghij")
@example("a-b.c d,e f g h i j k")
@example("abcde<i>fghij</i>")
@example("abcdefghij\u0301")
@example("          a b c d e f g h i j k")
def test_longer_than_ten_counts_the_characters_of_the_clean_form(text: str | None) -> None:
    form = clean(column(text))[0]
    assert longer_than_ten(column(text))[0] is (form is not None and len(form) > 10)


@checked
@given(st.lists(st.none() | odd_text, min_size=1, max_size=5))
def test_cleaning_does_not_depend_on_neighbours(texts: list[str | None]) -> None:
    together = clean(column(*texts)).to_list()
    assert together == [clean(column(text))[0] for text in texts]
    assert longer_than_ten(column(*texts)).to_list() == [
        longer_than_ten(column(text))[0] for text in texts
    ]


# White_Space of Unicode; Python's own `\s` has four separators more.
_WHITE = re.compile("[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
# Lower-casing of the final sigma aside, Python and Polars share tables for what Python knows.
undisturbed = st.text(
    st.characters(
        exclude_categories=("Cs", "Cn", "Co", "Cc", "Cf", "Mn"), exclude_characters="<&$\\"
    ),
    max_size=20,
).filter(lambda text: ftfy.fix_encoding(text) == text)


@checked
@given(undisturbed)
def test_the_clean_form_of_undisturbed_text_is_that_of_plain_python(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text).lower()
    assert cleaned(text) == _WHITE.sub(" ", folded).strip(" ")
