import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scorer.student.pairs import PairTable

checked = settings(max_examples=60)
pairs = st.dictionaries(
    st.tuples(st.integers(1, 12), st.integers(1, 12)), st.integers(1, 2**31 - 1), max_size=80
)


def integers(values: list[int]) -> np.ndarray:
    return np.array(values, np.int32)


def table_of(entries: dict[tuple[int, int], int]) -> PairTable:
    return PairTable(
        integers([first for first, _ in entries]),
        integers([second for _, second in entries]),
        integers(list(entries.values())),
    )


def every_answer(entries: dict[tuple[int, int], int]) -> tuple[list[int], list[int]]:
    """Answers of the table and of the dictionary to every pair of its numbers, 0 among them."""
    height = max((first for first, _ in entries), default=0)
    width = max((second for _, second in entries), default=0)
    asked = [(first, second) for first in range(height + 1) for second in range(width + 1)]
    found = table_of(entries).get(integers([f for f, _ in asked]), integers([s for _, s in asked]))
    return found.tolist(), [entries.get(pair, 0) for pair in asked]


@checked
@given(pairs)
@example({})
@example({(1, 1): 5})
@example({(3, 7): 1, (7, 3): 2, (7, 7): 3})
def test_a_table_answers_as_a_dictionary_does(entries: dict[tuple[int, int], int]) -> None:
    found, expected = every_answer(entries)
    assert found == expected


def test_number_zero_has_no_value_on_either_side() -> None:
    table = table_of({(1, 1): 8, (2, 1): 9})
    assert table.get(integers([0, 0, 1, 2]), integers([0, 1, 0, 0])).tolist() == [0, 0, 0, 0]


def test_looking_up_nothing_gives_nothing() -> None:
    found = table_of({(1, 1): 8}).get(integers([]), integers([]))
    assert (found.tolist(), found.dtype) == ([], np.int32)


def test_a_full_row_among_sparse_ones_keeps_every_value() -> None:
    full = {(2, second): 1_000 + second for second in range(1, 301)}
    sparse = {(first, 1 + first * 37 % 300): first for first in range(3, 200)}
    found, expected = every_answer(full | sparse)
    assert found == expected


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_hardly_fit_into_one_another_keep_every_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    second = np.concatenate([rng.choice(100, 25, replace=False) + 1 for _ in range(100)])
    first = np.repeat(np.arange(1, 101), 25)
    value = np.arange(1, len(first) + 1)
    table = PairTable(*(part.astype(np.int32) for part in (first, second, value)))
    found = table.get(first.astype(np.int32), second.astype(np.int32))
    assert np.flatnonzero(found != value).tolist() == []
