"""No cell begins as a formula, and none is lost by that."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.review.cells import folded, harmless, one_line, own_texts, restored
from scorer.review.scores import CALL

TEXTS = st.text(st.sampled_from("'=+-@\t\r\n＝a 1"), max_size=6) | st.text(max_size=20)


def through(text: str | None, *steps: object) -> str | None:
    cells = pl.DataFrame({"cell": pl.Series([text], dtype=pl.String)})
    for step in steps:
        cells = cells.select(step(pl.col("cell")))  # type: ignore[operator]
    return cells["cell"][0]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "＝1", "-"])
def test_a_formula_gets_an_apostrophe(text: str):
    assert through(text, harmless) == f"'{text}"


@pytest.mark.parametrize("text", ["1", "a=b", "", None, "'tis", " =1"])
def test_another_text_stays(text: str | None):
    assert through(text, harmless) == text


@given(TEXTS)
def test_what_was_made_harmless_can_be_restored(text: str):
    assert through(text, harmless, restored) == text


@given(TEXTS)
def test_nothing_harmless_begins_as_a_formula(text: str):
    assert not (through(text, harmless) or "").startswith(tuple("=+-@\t\r\n＝＋－＠"))


def test_a_text_for_people_is_plain_and_on_one_line():
    texts = pl.Series(["<b>A</b> &amp; B\r\n\tC\u2028D ", None])
    assert one_line(texts).to_list() == ["A & B C D", None]
    assert folded(pl.Series(["<b>\x0b\x1c\x85x"])).to_list() == ["<b> x"]


def test_signs_that_turn_the_direction_go_and_letters_stay():
    texts = pl.Series(["\u202eA\u202c \u2067\u05d0\u2069 B", "\u2068\u05d0\u05d1", "\u202e=1+1"])
    assert one_line(texts).to_list() == ["A \u05d0 B", "\u05d0\u05d1", "=1+1"]


def test_rows_with_texts_of_their_own_are_the_same_rows():
    rows = pl.DataFrame({"id": ["W1", None], "call": pl.Series(["none", None], dtype=CALL)})
    assert own_texts(rows.tail(1)).equals(rows.tail(1))
    assert own_texts(rows).schema == rows.schema
