"""`scorer run --memory SIZE`: sizes as people write them, bounds that can be kept and others."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def score(
    scorer: Run,
    tiny_frame: Path,
    tiny_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """`scorer run` on the tiny frame with what else is given."""
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "dirty_decay_ms:500")  # what --memory sets is undone
    words = ("run", tiny_frame, "--model", tiny_bundle, "-o", tmp_path / "out.parquet", "-q")
    return lambda *options: scorer(*words, *options)


@pytest.mark.parametrize("size", ["8GB", "8 gb", "8GiB", "8000000000"])
def test_a_bound_that_can_be_kept_is_taken(score: Run, size: str) -> None:
    assert score("--memory", size).code == 0


@pytest.mark.parametrize("size", ["much", "", "-5MB"])
def test_what_is_no_size_is_a_usage_error(score: Run, size: str) -> None:
    ended = score("--memory", size)
    assert ended.code == 2
    assert ended.err == f"Error: --memory {size}: expected a size, for instance 500MB.\n"


def test_a_bound_that_cannot_be_kept_is_refused_in_plain_words(score: Run, tmp_path: Path) -> None:
    ended = score("--memory", "10MB")
    assert ended.code == 2
    first, second = ended.err.splitlines()
    assert re.fullmatch(
        r"Error: --memory 10MB: too little to score this frame in; [\d,]+MB is enough\.", first
    )
    assert second == "Give that much, or leave the option out."
    assert not (tmp_path / "out.parquet").exists()


def test_ray_has_bounds_of_its_own(score: Run) -> None:
    ended = score("--memory", "1GB", "--engine", "ray")
    assert (ended.code, ended.err) == (
        2,
        "Error: --memory: for --engine local alone.\n"
        "Give Ray's nodes fewer processors instead (ray start --num-cpus).\n",
    )
