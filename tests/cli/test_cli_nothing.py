"""Frames without works, and labels of hardly any: a plain line in place of tables of nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Scorer = Callable[..., Any]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name of a frame without works, in the folder gone to."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(schema={"id": pl.String, "title": pl.String}).write_parquet("empty.parquet")
    return Path("empty.parquet")


def test_a_frame_without_works_ends_in_one_line(
    scorer: Scorer, empty: Path, tiny_bundle: Path
) -> None:
    ended = scorer("run", empty, "--model", tiny_bundle, "-o", "out.parquet")
    assert ended.code == 0
    assert ended.out == (
        "No works in empty.parquet; out.parquet has no rows. Check that it is the one you mean.\n"
    )
    ended = scorer(
        "call", "out.parquet", "--policy", tiny_bundle / "policy.json", "-o", "c.parquet"
    )
    assert ended.code == 0
    assert ended.out == (
        "No works in out.parquet; c.parquet has no rows. Check that it is the one you mean.\n"
    )
    assert scorer("verify", "out.parquet").code == 0


def test_a_queue_without_works_is_no_table(scorer: Scorer, empty: Path, tiny_bundle: Path) -> None:
    assert scorer("run", empty, "--model", tiny_bundle, "-o", "out.parquet", "-q").code == 0
    ended = scorer("rank", "out.parquet", "--by", "metaresearch")
    assert ended.code == 0
    assert ended.out.splitlines()[0].startswith("0 of 0 works, by consensus first")
    assert "─" not in ended.out


@pytest.mark.parametrize(("works", "told"), [(12, True), (150, False)])
def test_hardly_any_labels_train_with_a_note(
    scorer: Scorer, labels_without_axes: Path, tmp_path: Path, works: int, told: bool
) -> None:
    few = tmp_path / "few.parquet"
    pl.read_parquet(labels_without_axes).head(works).write_parquet(few)
    ended = scorer("train", few, "-o", tmp_path / "mine", "--ngrams", 60)
    assert ended.code == 0
    note = (
        "Note: 12 works in 5 folds are too few to learn much or to measure it; figures begin at "
        "20 positives. Label 100 or more.\n"
    )
    assert (note in ended.err) == told
