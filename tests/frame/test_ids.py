import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.frame import ids as ids_module
from scorer.frame.ids import check_ids

checked = settings(max_examples=60)


def check(*batches: list[str | None]) -> None:
    columns = [pl.Series("id", batch, dtype=pl.String) for batch in batches]
    check_ids(lambda: iter(columns), sum(map(len, batches)), "frame.parquet")


def refusal(*batches: list[str | None]) -> str:
    with pytest.raises(InputError) as caught:
        check(*batches)
    return str(caught.value)


# How many hashes are held: all at once, or so few that the ids are read in several shares.
@pytest.fixture(params=[1_000, 3, 1], ids=["one share", "shares of three", "shares of one"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(ids_module, "_HASHES_HELD", request.param)
    return request.param


def test_distinct_ids_pass(held: int) -> None:
    check([f"W{number}" for number in range(10)], [], ["w1", "W1 ", ""])


def test_no_ids_at_all_pass(held: int) -> None:
    check()
    check([])


def test_null_ids_are_counted_and_the_first_five_rows_named(held: int) -> None:
    assert refusal(["a", None, "b"], [None, None], ["c", None, None, None]) == (
        "frame.parquet: null ids: 6, first in rows 1, 3, 4, 6, 7 (counted from 0).\n"
        "Every work needs an id: give these rows one, or leave them out."
    )


def test_duplicate_ids_are_counted_and_the_first_five_named_in_file_order(held: int) -> None:
    text = refusal(["g", "f", "e", "d"], ["c", "b", "a", "lone"], list("abcdefg"), ["b"])
    assert text == (
        "frame.parquet: ids that occur more than once: 7, "
        "first: g (2 times), f (2 times), e (2 times), "
        "d (2 times), c (2 times).\n"
        "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same)."
    )


def test_a_duplicate_within_one_batch_is_found(held: int) -> None:
    assert "ids that occur more than once: 1, first: x (3 times)." in refusal(["x", "x", "y", "x"])


def test_null_ids_are_told_before_duplicates(held: int) -> None:
    assert refusal(["x", "x", None]).startswith("frame.parquet: null ids: 1, first in rows 2 ")


def test_equal_hashes_of_different_ids_are_no_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pl.Series, "hash", lambda self: pl.repeat(7, len(self), dtype=pl.UInt64, eager=True)
    )
    check(["a", "b"], ["c"])
    assert "first: a (2 times)" in refusal(["a", "b"], ["a"])


@checked
@given(
    st.lists(st.lists(st.sampled_from("abcdefghijkl"), max_size=5), max_size=5),
    st.integers(1, 30),
)
def test_the_answer_is_that_of_a_count_whatever_the_batches_and_shares(
    batches: list[list[str]], held: int
) -> None:
    every = [work for batch in batches for work in batch]
    repeated = [work for work in dict.fromkeys(every) if every.count(work) > 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids_module, "_HASHES_HELD", held)
        if not repeated:
            check(*batches)
            return
        first = ", ".join(f"{work} ({every.count(work)} times)" for work in repeated[:5])
        assert refusal(*batches).splitlines()[0] == (
            f"frame.parquet: ids that occur more than once: {len(repeated)}, first: {first}."
        )
