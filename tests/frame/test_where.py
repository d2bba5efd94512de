"""A condition in SQL is read, checked against the columns, and judged for one work at a time."""

import polars as pl
import pytest

from scorer.errors import UsageError
from scorer.frame.where import Where

WORKS = pl.DataFrame(
    {"id": ["W1", "W2", "W3"], "lang": ["fr", None, "en"], "year": [2010, 2011, None]},
    schema_overrides={"year": pl.Int32},
)
EXAMPLE = "For instance: --where \"lang = 'fr' AND year >= 2010\""


def kept(text: str) -> list[str]:
    return WORKS.filter(Where.parse(text).holds(WORKS))["id"].to_list()


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        where = Where.parse(text)
        where.check_names(WORKS.columns)
        where.check_types(WORKS.clear())
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("lang = 'fr' AND year >= 2010", ["W1"]),
        ("lang <> 'fr'", ["W3"]),
        ("lang IS NULL OR year IS NULL", ["W2", "W3"]),
        ("year IN (2010, 2011)", ["W1", "W2"]),
        ("id LIKE '%2' OR UPPER(lang) = 'EN'", ["W2", "W3"]),
        ("1 = 1", ["W1", "W2", "W3"]),
        ("NULL", []),
    ],
)
def test_a_work_stays_where_the_condition_holds_and_null_does_not(
    text: str, works: list[str]
) -> None:
    assert kept(text) == works


def test_what_is_no_condition_is_told_in_one_line() -> None:
    assert refusal("year >") == (f"--where 'year >': unable to parse 'year >' as Expr.\n{EXAMPLE}")
    assert (
        refusal("year + 1") == f"--where 'year + 1': gives Int32, expected a condition.\n{EXAMPLE}"
    )


def test_an_unknown_column_is_told_with_those_there_are() -> None:
    assert refusal("langue = 'fr'") == (
        "--where \"langue = 'fr'\": no column 'langue'.\n"
        "Columns: id, lang, year. Text stands in 'single quotes'."
    )


def test_types_that_do_not_fit_are_told() -> None:
    assert refusal("lang >= 2010") == (
        f"--where 'lang >= 2010': cannot compare string with numeric type (i32).\n{EXAMPLE}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "year > AVG(year)",
        "COUNT(*) > 1",
        "ROW_NUMBER() OVER (ORDER BY year) = 1",
        "LAG(year) OVER (ORDER BY year) = 1",
        "QUANTILE_CONT(year, 0.5) > 1",
        "CORR(year, year) > 0",
    ],
)
def test_a_condition_over_several_works_is_refused(text: str) -> None:
    assert refusal(text) == (
        f"--where {text!r}: looks at several works at once, as AVG, COUNT and OVER do.\n"
        "Works are judged one by one: compare columns of one work with values."
    )


def test_words_in_quotes_are_no_operations() -> None:
    assert kept("lang = 'Len' OR lang = 'Over' OR lang = 'fr'") == ["W1"]
