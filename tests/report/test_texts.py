"""Sentences and numbers: both languages say the same things, each in its own way."""

import re
from string import Formatter

import pytest

from scorer.report.language import Language, Texts, sentences

EN, FR = Texts(Language.en), Texts(Language.fr)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_sentences() -> None:
    assert len(sentences(Language.en)) > 100
    assert sorted(sentences(Language.en)) == sorted(sentences(Language.fr))


@pytest.mark.parametrize("key", sorted(sentences(Language.en)))
def test_both_languages_tell_the_same_facts(key: str) -> None:
    en, fr = sentences(Language.en)[key], sentences(Language.fr)[key]
    assert placeholders(en) == placeholders(fr)
    assert en.strip() == en != ""
    assert fr.strip() == fr != ""


@pytest.mark.parametrize("key", sorted(sentences(Language.fr)))
def test_no_line_can_break_before_french_punctuation(key: str) -> None:
    text = sentences(Language.fr)[key]
    assert re.search(r" [:;?!%»]|« ", text) is None
    assert re.search(r"\w[;?!»]|«\w", text) is None, "a space stands there in French"


def test_scores_have_three_decimals_and_the_sign_of_the_language() -> None:
    assert [t.score(0.5) for t in (EN, FR)] == ["0.500", "0,500"]
    assert [t.score(0.0204999) for t in (EN, FR)] == ["0.020", "0,020"]
    assert [t.score(0.9996) for t in (EN, FR)] == ["1.000", "1,000"]
    assert [t.score(None) for t in (EN, FR)] == ["–", "–"]


def test_thousands_are_set_apart_as_the_language_does() -> None:
    assert [t.number(4299418) for t in (EN, FR)] == ["4,299,418", "4\u202f299\u202f418"]
    assert [t.signed(-3953) for t in (EN, FR)] == ["−3,953", "−3\u202f953"]
    assert [t.signed(n) for t in (EN,) for n in (7, 0)] == ["+7", "0"]
    assert [t.percent(0.1234) for t in (EN, FR)] == ["12.3%", "12,3\u00a0%"]


def test_days_are_written_out() -> None:
    iso = "2026-11-30T16:06:09+00:00"
    assert [t.day(iso) for t in (EN, FR)] == ["November 30, 2026", "30 novembre 2026"]


def test_the_first_of_a_month_is_an_ordinal_in_french() -> None:
    firsts = [FR.day(f"{day}T09:00:00+00:00") for day in ("2026-12-01", "2026-12-11", "2001-01-21")]
    assert firsts == ["1er décembre 2026", "11 décembre 2026", "21 janvier 2001"]
    assert EN.day("2026-12-01T09:00:00+00:00") == "December 1, 2026"


def test_lists_end_as_the_language_has_it() -> None:
    assert [t.listed(["a", "b", "c"]) for t in (EN, FR)] == ["a, b, and c", "a, b et c"]


@pytest.mark.parametrize(("count", "en", "fr"), [(0, "s", ""), (1, "", ""), (2, "s", "s")])
def test_none_is_plural_in_english_and_singular_in_french(count: int, en: str, fr: str) -> None:
    assert EN.counted("explain.rest", count) == f"{count} other n-gram{en}"
    assert FR.counted("explain.rest", count) == f"{count} autre{fr} n-gramme{fr}"


def test_a_million_things_have_a_sentence() -> None:
    # French has a plural of its own for millions, which these sentences do not need.
    assert FR.counted("explain.rest", 2_000_000) == "2\u202f000\u202f000 autres n-grammes"


def test_values_are_not_read_as_sentences() -> None:
    assert EN("note.said", text="{stamp} 100% {0}") == "{stamp} 100% {0}"


def test_an_unknown_sentence_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"record\.nothing"):
        EN("record.nothing")
