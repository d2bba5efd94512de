"""Scored rows get their records beside them, whatever order the frame is in."""

from pathlib import Path

import polars as pl
import pytest

from scorer.errors import InputError
from scorer.review import alongside
from scorer.review.alongside import Alongside
from scorer.review.records import opened_frame
from scorer.review.scores import Scores


def beside(scored: Path, frame: Path) -> tuple[pl.DataFrame, int]:
    with opened_frame(frame, ["title", "year"]) as opened:
        rows = Alongside(Scores.open(scored), ["segment"], opened, ["title", "year"])
        return pl.concat(rows), rows.missing


def expected(scored: Path, frame: Path) -> pl.DataFrame:
    ids = pl.col("id").str.strip_prefix("https://openalex.org/")
    works = pl.read_parquet(frame).select(ids, "title", pl.col("year").cast(pl.Int32))
    return pl.read_parquet(scored, columns=["id"]).join(
        works, on="id", how="left", maintain_order="left"
    )


@pytest.mark.parametrize("block", [7, 64, 16_384])
def test_a_frame_in_the_same_order_is_read_alongside(
    scored: Path, tiny_frame: Path, block: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(alongside, "_BLOCK", block)
    monkeypatch.setattr(alongside, "_Held", None)  # it is not needed
    rows, missing = beside(scored, tiny_frame)
    assert rows.select("id", "title", "year").equals(expected(scored, tiny_frame))
    assert missing == 0


def test_a_frame_in_another_order_gives_the_same(scored: Path, tiny_frame: Path, tmp_path: Path):
    other = tmp_path / "shuffled.parquet"
    pl.read_parquet(tiny_frame).sample(fraction=1, shuffle=True, seed=3).write_parquet(other)
    rows, missing = beside(scored, other)
    assert rows.select("id", "title", "year").equals(expected(scored, tiny_frame))
    assert missing == 0


def test_works_that_the_frame_lacks_are_counted(scored: Path, tiny_frame: Path, tmp_path: Path):
    part = tmp_path / "part.parquet"
    pl.read_parquet(tiny_frame).head(150).write_parquet(part)
    rows, missing = beside(scored, part)
    assert rows.select("id", "title", "year").equals(expected(scored, part))
    assert missing == 50


def test_a_frame_of_other_works_is_refused(scored: Path, tiny_frame: Path, tmp_path: Path):
    other = tmp_path / "other.parquet"
    renamed = pl.read_parquet(tiny_frame).with_columns(id=pl.format("X{}", "id"))
    renamed.write_parquet(other)
    with pytest.raises(InputError, match=r"other.parquet: has none of the 200 works, for instanc"):
        beside(scored, other)
