"""Numbers of things, as notes and errors say them."""

import pytest

from scorer.counted import counted


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 works"), (1, "1 work"), (2, "2 works"), (4299418, "4,299,418 works")]
)
def test_one_thing_is_singular(count: int, told: str) -> None:
    assert counted(count, "work") == told


def test_a_plural_may_be_named() -> None:
    assert [counted(n, "stratum", "strata") for n in (1, 2)] == ["1 stratum", "2 strata"]
