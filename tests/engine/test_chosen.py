"""Which works are scored again: the same ones as plain Python chooses, however shards are cut."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.engine.chosen import Chosen, FirstStage, choose_band, choose_share, share_of_rows

checked = settings(max_examples=40)
SEGMENTS = ("covered", "covered", "covered", "insufficient_payload", "excluded")
NEAR = float(np.nextafter(np.float32(0.5), np.float32(1)))
COLUMNS = ("score_codex_sts", "score_gemma_sts")
Work = tuple[str, float, float, str]
"""Id, a score of each head, segment."""
works = st.lists(
    st.tuples(
        st.text("019Wé\U0001f600", min_size=1, max_size=4),
        st.sampled_from([0.0, 0.25, 0.5, NEAR, 1.0]) | st.floats(0, 1, width=32),
        st.sampled_from([0.125, 0.25, 0.30000001192092896, 0.5]) | st.floats(0, 1, width=32),
        st.sampled_from(SEGMENTS),
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda work: work[0],
)


def write(rows: Sequence[Work], shard: int, folder: Path) -> FirstStage:
    """Write works as the parts of a first stage."""
    parts = []
    for start in range(0, len(rows), shard):
        ids, codex, gemma, segments = zip(*rows[start : start + shard], strict=True)
        table = pa.table(
            {
                "id": pa.array(ids),
                "segment": pa.array(segments).dictionary_encode(),
                "score_codex_sts": pa.array(codex, pa.float32()),
                "score_gemma_sts": pa.array(gemma, pa.float32()),
            }
        )
        parts.append(folder / f"{len(parts)}.parquet")
        pq.write_table(table, parts[-1])
    return FirstStage(parts, shard, len(rows))


def best_ranks(rows: Sequence[Work]) -> dict[str, int]:
    """Return id -> best rank over the heads among covered works: 1 + how many stand higher."""
    covered = [row for row in rows if row[3] == "covered"]
    return {
        row[0]: min(1 + sum(other[at] > row[at] for other in covered) for at in (1, 2))
        for row in covered
    }


def ids(rows: Sequence[Work], chosen: Chosen) -> set[str]:
    mark = chosen.within(0, len(rows))
    assert mark.sum() == chosen.works
    return {row[0] for row, there in zip(rows, mark, strict=True) if there}


@checked
@given(works, st.integers(1, 100), st.sampled_from([1, 3, 8, 64]))
def test_a_share_is_the_covered_works_of_the_best_ranks_ties_by_id(
    rows: list[Work], percent: int, shard: int
) -> None:
    ranks = best_ranks(rows)
    wanted = -(-percent * len(rows) // 100)
    best = sorted(ranks, key=lambda work: (ranks[work], work.encode()))[:wanted]
    with TemporaryDirectory() as folder:
        first = write(rows, shard, Path(folder))
        chosen = choose_share(first, COLUMNS, percent / 100, rows=len(rows), covered=len(ranks))
    assert ids(rows, chosen) == set(best)
    if not best:
        assert chosen.last is None
        return
    assert chosen.last is not None
    assert (chosen.last.rank, chosen.last.id) == (ranks[best[-1]], best[-1])
    surely = {
        row[0]
        for row in rows
        if row[3] == "covered"
        and any(row[at] >= chosen.last.at_least.get(name, 2) for at, name in enumerate(COLUMNS, 1))
    }
    assert surely == {work for work, rank in ranks.items() if rank < chosen.last.rank}


@checked
@given(works, st.sampled_from([0.1, 0.2, 0.05, 1.0]), st.sampled_from([1, 3, 8, 64]))
def test_a_band_is_the_covered_works_with_a_score_so_near(
    rows: list[Work], band: float, shard: int
) -> None:
    value = float(np.float32(0.3))
    near = {row[0] for row in rows if row[3] == "covered" and abs(row[2] - value) <= band}
    with TemporaryDirectory() as folder:
        first = write(rows, shard, Path(folder))
        chosen = choose_band(first, {"score_gemma_sts": value}, band)
    assert ids(rows, chosen) == near


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.data())
def test_a_bit_a_work_tells_any_stretch(marks: list[bool], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(marks)))
    stop = data.draw(st.integers(start, len(marks)))
    chosen = Chosen(sum(marks), np.packbits(marks, bitorder="little"))
    assert chosen.within(start, stop).tolist() == marks[start:stop]


@pytest.mark.parametrize(
    ("share", "rows", "works"),
    [(0.07, 100, 7), (0.05, 200, 10), (0.05, 201, 11), (0.001, 20, 1), (1.0, 17, 17), (0.29, 0, 0)],
)
def test_a_share_is_rounded_up_from_what_is_written(share: float, rows: int, works: int) -> None:
    """0.07 in binary is a little more than 7 %: 8 of 100 works would be a surprise."""
    assert share_of_rows(share, rows) == works


def test_shards_without_rows_move_no_mark(tmp_path: Path) -> None:
    """A shard that was skipped in the first stage has no rows; the others keep their places."""
    rows: list[Work] = [(f"W{n}", n / 10, 0.5, "covered") for n in range(8)]
    first = write(rows, 4, tmp_path)
    empty = pq.read_table(first.parts[0])
    pq.write_table(empty.slice(0, 0), first.parts[0])
    chosen = choose_share(first, COLUMNS[:1], 0.5, rows=4, covered=4)
    assert pl.Series(chosen.within(0, 8)).arg_true().to_list() == [6, 7]
