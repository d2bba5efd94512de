"""The public names of `scorer`: each is there, and the same as where it is made."""

from importlib import import_module

import pytest

import scorer


@pytest.mark.parametrize("name", scorer.__all__)
def test_every_public_name_is_loaded_from_its_home(name: str) -> None:
    found = getattr(scorer, name)
    if name != "__version__":
        assert getattr(import_module(scorer._HOME[name]), name) is found


def test_review_is_there_for_notebooks() -> None:
    assert {"rank", "sample", "evaluate"} <= set(scorer.__all__)
    assert set(scorer._HOME) | {"__version__"} == set(scorer.__all__)
