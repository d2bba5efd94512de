"""Anything may stand in a text or an index: nothing crashes, hangs or differs by neighbours."""

import json
import random

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.frame.abstract import deinvert
from scorer.frame.text import TOKEN, clean, longer_than_ten, plain_text, tokenise

thorough = settings(max_examples=300)

# What the cleaner looks for, in pieces: whole ones, halves, and what could be taken for one.
PIECES = [
    *("<i>", "</i>", "<sub>", "</sub>", "<scp>", "<mml:math", ">", "<mml:mi>"),
    *("</mml:mn><mml:mn>", "<!--", "-->", "<tex-math>", "</tex-math>", "<annotation>"),
    *('a="', "b='", "<br/>", "</", "<", "&amp;", "&amp;amp;", "&lt;", "&gt;", "&#"),
    *("&#x", "&#xD800;", "&#0;", "&#1114112;", ";", "&", "\\", "\\\\", "$", "$$", "{"),
    *("}", "\\alpha", "\\textit{", "\\'", '\\"', "\\c{", "\\n", "\\nu"),
    *("\\documentclass[", "\\begin{", "\\setlength{", "^", "_", "]", "[", "\\i", "\\%"),
    *("Ã©", "Ã", "Â", "â€™", "â", "€", "Ð¡", "Ñ", "\x80", "\x98The ", "\x9c", "ðŸ˜€"),
    *("√©", "вЂ", "ï»¿", "í\xa0½", "À\x80", "├⌐", "\ufffd", "\u00ad", "\u200b", "\u200d"),
    *("\ufeff", "\u0301", "\u202e", "\x00", "\x1f", "\u0085", "\u2028", "\u00a0"),
    *("\u3000", " ", "\n", "Σ", "ς", "İ", "ß", "ﬁ", "ﷺ", "東京", "가", "ᄀ", "नमस्ते"),
    *("العربية", "👩‍🔬", "\U000e0041", "\U0010ffff", "a", "Z", "0", "the"),
]  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join)
noise = st.binary(max_size=60).map(lambda raw: raw.decode(errors="replace"))
latin = st.binary(max_size=60).map(lambda raw: raw.decode("latin-1"))
windows = pieces.map(lambda text: text.encode().decode("cp1252", "replace"))


def words(texts: pl.Series) -> list[list[str]]:
    found = tokenise(plain_text(texts))
    bounds = found.offsets
    return [
        [found.unique[int(code)] for code in found.codes[bounds[row] : bounds[row + 1]]]
        for row in range(len(texts))
    ]


@thorough
@given(st.lists(st.none() | pieces | noise | latin | windows, min_size=1, max_size=3))
def test_any_text_has_a_clean_form_of_its_own(texts: list[str | None]) -> None:
    column = pl.Series(texts, dtype=pl.String)
    forms = clean(column)
    for text, form in zip(texts, forms, strict=True):
        alone = pl.Series([text], dtype=pl.String)
        assert clean(alone)[0] == form
        assert (form is None) is (text is None)
        assert form is None or (form == form.strip(" ") and "  " not in form)
        assert longer_than_ten(alone)[0] is (form is not None and len(form) > 10)
    assert words(column) == forms.str.extract_all(TOKEN).fill_null([]).to_list()


@thorough
@given(st.lists(noise | pieces | st.text('{}[]":,\\ 019', max_size=20), max_size=3))
def test_any_index_gives_a_text_or_an_error_that_names_its_work(indexes: list[str]) -> None:
    for index in indexes:
        try:
            found = deinvert(pl.Series([index]), pl.Series(["W7"]))
        except InputError as error:
            assert str(error).startswith("work W7: its abstract_inverted_index is not of the form")
        else:
            assert len(found) == 1


def test_an_index_that_was_damaged_gives_a_text_or_an_error() -> None:
    chance = random.Random(4)
    index = {f"w{place}é": [place, place + 30] for place in range(30)} | {'"\\': [60]}
    for layout in ((", ", ": "), (",", ":")):
        whole = json.dumps(index, ensure_ascii=False, separators=layout)
        for _ in range(300):
            start = chance.randrange(len(whole))
            middle = "".join(chance.choices('{}[]":, 0\\', k=chance.randrange(3)))
            damaged = whole[:start] + middle + whole[start + chance.randrange(4) :]
            try:
                found = deinvert(pl.Series([damaged, whole]), pl.Series(["W0", "W1"]))
            except InputError as error:
                assert str(error).startswith("work W0: ")
            else:
                assert found[1].count(" ") == 60
