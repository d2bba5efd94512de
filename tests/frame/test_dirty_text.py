"""One clean form for each kind of dirt that titles and abstracts come with."""

import polars as pl
import pytest

from scorer.frame.text import TOKEN, clean, longer_than_ten, plain_text, tokenise


def cleaned(text: str) -> str:
    return clean(pl.Series([text]))[0]


def tokens(text: str) -> list[str]:
    found = tokenise(plain_text(pl.Series([text])))
    return [found.unique[int(code)] for code in found.codes]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            "no\u00a0break, thin\u2009space, wide\u3000\u202fspace",
            "no break, thin space, wide space",
        ),
        ("infor\u00admation", "information"),
        ("zero\u200bwidth \u2060and\ufeff joiners\u200d", "zerowidth and joiners"),
        ("\u202aleft\u202c to \u2067right\u2069", "left to right"),
        ("\ufb01nding the \ufb02ow, o\ufb03ce", "finding the flow, office"),
        ("Cafe\u0301 a\u0300 Que\u0301bec", "café à québec"),
        ("e\u00ad\u0301t\u00e9", "été"),
        ("\uff26\uff35\uff2c\uff2c \u2460 \u00b2", "full 1 2"),
        ("one\x00two\x07three\x1bfour\x7ffive", "one two three four five"),
        ("\x00\x01 \x02", ""),
        ("a\ufffdb", "a\ufffdb"),
    ],
)
def test_invisible_and_composed_characters(text: str, form: str) -> None:
    assert cleaned(text) == form
    assert tokens(text) == pl.Series([form]).str.extract_all(TOKEN)[0].to_list()


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        ("harper-replication-web.PDF", "harper-replication-web.pdf", "harper replication web pdf"),
        ("iqa20160108_03.txt.gz", "iqa20160108_03.txt.gz", "iqa20160108 03 txt gz"),
        (
            "https://doi.org/10.1111/crj.13516?a=1&amp;b=2",
            "https://doi.org/10.1111/crj.13516?a=1&b=2",
            "https doi org 10 1111 crj 13516 a 1 b 2",
        ),
        (
            "10.1016/s0967-0653(97)81094-0",
            "10.1016/s0967-0653(97)81094-0",
            "10 1016 s0967 0653 97 81094 0",
        ),
        (
            "10.1002/(SICI)1097-4571(1999)50:1<3::AID-ASI2>3.0.CO;2-7",
            "10.1002/(sici)1097-4571(1999)50:1<3::aid-asi2>3.0.co;2-7",
            "10 1002 sici 1097 4571 1999 50 1 3 aid asi2 3 0 co 2 7",
        ),
        ("GSE12345", "gse12345", "gse12345"),
        ("PRJNA_0042.v1", "prjna_0042.v1", "prjna 0042 v1"),
    ],
)
def test_a_title_that_is_a_name_or_an_address_keeps_its_characters(
    text: str, form: str, words: str
) -> None:
    assert cleaned(text) == form
    assert tokens(text) == words.split()
    assert longer_than_ten(pl.Series([text]))[0] is (len(form) > 10)


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        ("\u200fتقييم جودة البحوث\u200e", "تقييم جودة البحوث", ["تقييم", "جودة", "البحوث"]),
        ("הערכת מחקר", "הערכת מחקר", ["הערכת", "מחקר"]),
        ("می\u200cخواهم", "میخواهم", ["میخواهم"]),
        ("Open 🔓 science 👩\u200d🔬❤\ufe0f", "open 🔓 science 👩🔬❤", ["open", "science"]),
        ("科学论文质量评价：研究", "科学论文质量评价:研究", ["科学论文质量评价", "研究"]),
        ("データの再現性", "データの再現性", ["データの再現性"]),
    ],
)
def test_scripts_without_capitals_or_spaces(text: str, form: str, words: list[str]) -> None:
    assert cleaned(text) == form
    assert tokens(text) == words


def test_a_title_counts_by_its_clean_form_alone() -> None:
    titles = pl.Series(
        [
            "<i>" + "\u00ad" * 20 + "ten letter</i>",
            "eleven char",
            "\x00" * 30,
            "$\\textit{short}$",
            "科学论文质量评价研究方",
            "科学论文质量评价研究",
        ]
    )
    assert longer_than_ten(titles).to_list() == [False, True, False, False, True, False]


LONG = 100_000


@pytest.mark.parametrize(
    "piece",
    [
        *("lorem ipsum ", "<", "<i>", "<!--<b>", "<a b=\"<a c='", "&amp;amp;", "&#", "\\", "$a"),
        *("\\alpha ", "\\textit{", "}{\\a", "\\setlength{\\x}{", "QuÃ©bec ", "ÃÂ", "\x92"),
        "\u0301",
        *("東京", "👩\u200d", "<mml:mi>x</mml:mi> ", "<tex-math> <math>", "<annotation>", "\\'{"),
        "\x98The \x9c",
    ],
)
def test_an_abstract_of_a_hundred_thousand_characters_is_cleaned_like_a_short_one(
    piece: str,
) -> None:
    text = (piece * LONG)[:LONG]
    assert tokens(text) == pl.Series([cleaned(text)]).str.extract_all(TOKEN)[0].to_list()


def test_dirt_in_one_row_leaves_the_others_alone() -> None:
    texts = pl.Series(["Ãtude", "plain", None, "QuÃ©bec", "$x$", "a &amp; b", "p < 0.05", "é"])
    alone = [clean(texts[row : row + 1])[0] for row in range(len(texts))]
    assert clean(texts).to_list() == alone
    assert alone[1:] == ["plain", None, "québec", "x", "a & b", "p < 0.05", "é"]
