"""The k best works of a file: exact, whatever the order of the rows and the way they are split."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scorer.policy.boundary import Boundary, Read, boundaries, count_covered, kth_scores
from scorer.policy.calls import SEGMENT

checked = settings(max_examples=80)
SEGMENTS = ["covered", "insufficient_payload", "excluded"]
# Neighbours in the lower and in the upper half of the bits, both ends, both zeros.
CLOSE = [float(np.nextafter(np.float32(0.5), np.float32(1))), 0.5, 0.5625, 0.0, -0.0, 1.0, 1e-30]
works = st.lists(
    st.tuples(
        st.text("019Wé\U0001f600", min_size=1, max_size=4),
        st.sampled_from(CLOSE),
        st.sampled_from(SEGMENTS),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda work: work[0],
)


def frame(rows: Sequence[tuple[str, float, str]]) -> pl.DataFrame:
    ids, scores, segments = zip(*rows, strict=True)
    return pl.DataFrame(
        {
            "id": pl.Series(ids, dtype=pl.String),
            "score": pl.Series(scores, dtype=pl.Float32),
            "segment": pl.Series(segments, dtype=SEGMENT),
        }
    )


def reader(rows: pl.DataFrame, batch: int = 1 << 17) -> Read:
    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for start in range(0, rows.height, batch):
            yield rows.select(columns)[start : start + batch]

    return read


def called(rows: pl.DataFrame, found: Boundary) -> list[str]:
    """Return the ids that a quota with this boundary calls, as `policy.calls` decides it."""
    value = pl.lit(found.value, pl.Float32)
    score = pl.col("score")
    best = (score > value) | ((score == value) & (pl.col("id") <= found.id))
    return rows.filter(best & (pl.col("segment") == "covered"))["id"].to_list()


@checked
@given(works, st.data())
@example([("b", 0.5, "covered"), ("a", 0.5, "covered"), ("c", 0.5, "covered")], None)
def test_exactly_the_k_best_are_called_whatever_the_order_and_the_split(
    rows: list[tuple[str, float, str]], data: st.DataObject | None
) -> None:
    covered = [row for row in rows if row[2] == "covered"]
    for k in range(1, len(covered) + 1):
        best = [work for work, *_ in sorted(covered, key=lambda row: (-row[1], row[0]))][:k]
        shuffled = frame(data.draw(st.permutations(rows)) if data else rows)
        batch = data.draw(st.integers(1, len(rows))) if data else 2
        found = boundaries(reader(shuffled, batch), {"score": k})["score"]
        assert sorted(called(shuffled, found)) == sorted(best)
        assert found == boundaries(reader(frame(rows)), {"score": k})["score"]
        assert kth_scores(reader(shuffled, batch), {"score": k}) == {"score": found.value}


@pytest.mark.parametrize("k", [1, 2, 4_999, 5_000, 5_001, 9_999, 10_000])
def test_ten_thousand_works_at_the_boundary_are_settled_by_id(k: int) -> None:
    numbers = np.random.default_rng(0).permutation(10_000)
    rows = frame([(f"W{n}", 0.25, "covered") for n in numbers] + [("W0x", 0.75, "covered")])
    found = boundaries(reader(rows, 700), {"score": k + 1})["score"]
    best = sorted(f"W{n}" for n in range(10_000))[:k]
    assert found == Boundary(0.25, best[-1])
    assert sorted(called(rows, found)) == sorted(["W0x", *best])


@pytest.mark.parametrize("k", [1, 150_000, 299_999, 300_000])
def test_more_ties_than_are_held_at_a_time_are_settled_too(k: int) -> None:
    order = np.random.default_rng(1).permutation(300_000)
    ids = pl.Series("id", order).cast(pl.String).str.zfill(6)
    rows = pl.DataFrame({"id": ids}).with_columns(
        pl.lit(0.5, pl.Float32).alias("score"), pl.lit("covered", SEGMENT).alias("segment")
    )
    assert boundaries(reader(rows), {"score": k}) == {"score": Boundary(0.5, f"{k - 1:06}")}


def test_ids_compare_as_strings() -> None:
    rows = frame([("W10", 0.5, "covered"), ("W9", 0.5, "covered"), ("W100", 0.5, "covered")])
    assert boundaries(reader(rows), {"score": 2})["score"] == Boundary(0.5, "W100")


def test_columns_are_settled_together() -> None:
    rows = frame([("a", 0.25, "covered"), ("b", 0.75, "covered")]).with_columns(
        (1 - pl.col("score")).alias("other")
    )
    found = boundaries(reader(rows), {"score": 1, "other": 1})
    assert found == {"score": Boundary(0.75, "b"), "other": Boundary(0.75, "a")}
    assert boundaries(reader(rows), {}) == {}


def test_only_covered_works_count() -> None:
    rows = frame([(str(n), 0.5, segment) for n, segment in enumerate(SEGMENTS)])
    assert count_covered(reader(rows)) == 1
    assert boundaries(reader(rows), {"score": 1})["score"] == Boundary(0.5, "0")
    with pytest.raises(ValueError, match="more works are wanted than there are"):
        boundaries(reader(rows), {"score": 2})
