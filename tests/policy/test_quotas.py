"""Quotas: exactly the k best works, ties settled by id, whatever the order and the batches."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from policy_cases import checked, targets_of

from scorer.policy.calls import SEGMENT, call_sets
from scorer.policy.policy import Policy, Quota

TARGETS = targets_of("codex", categories=("metaresearch",), flags=())
SCORE = "score_codex_metaresearch"


def works(scores: list[float], segment: str = "covered") -> pl.DataFrame:
    """Works whose ids are not in the order of their rows, nor of their numbers as strings."""
    ids = [f"W{7 * row % 101}" for row in range(len(scores))]
    return pl.DataFrame(
        {
            "id": ids,
            "segment": pl.Series([segment] * len(ids), dtype=SEGMENT),
            SCORE: pl.Series(scores, dtype=pl.Float32),
        }
    )


def quota(frame: pl.DataFrame, k: int) -> Policy:
    """The quota of the k best works; of equal scores, the ids that come first as strings."""
    ranked = sorted(frame.select(SCORE, "id").iter_rows(), key=lambda work: (-work[0], work[1]))
    value, boundary = ranked[k - 1]
    entry = Quota(k=k, value=value, boundary_id=boundary, found_by="test")
    return Policy(entries={"metaresearch": {"codex": entry}})


def called(frame: pl.DataFrame, policy: Policy) -> list[str]:
    sets = call_sets(frame, TARGETS, policy)
    return frame["id"].filter(sets["codex_categories"] != 0).to_list()


ties = st.lists(st.sampled_from([0.1, 0.5, 0.5, 0.5, 0.9]), min_size=1, max_size=60)


@checked
@given(ties, st.integers(1, 60), st.integers(0, 99), st.integers(1, 20))
def test_a_quota_calls_exactly_k_works_in_any_order_and_batches(
    scores: list[float], k: int, seed: int, batch: int
) -> None:
    frame = works(scores)
    k = min(k, frame.height)
    policy = quota(frame, k)
    expected = set(called(frame, policy))
    assert len(expected) == k
    shuffled = frame[np.random.default_rng(seed).permutation(frame.height)]
    found = [work for part in shuffled.iter_slices(batch) for work in called(part, policy)]
    assert len(found) == k
    assert set(found) == expected


@checked
@given(ties, st.integers(1, 60), st.integers(0, 99))
def test_excluding_works_takes_their_own_calls_and_no_other(
    scores: list[float], k: int, seed: int
) -> None:
    """No work moves up: who is called depends on the work alone."""
    frame = works(scores)
    policy = quota(frame, min(k, frame.height))
    chosen = np.random.default_rng(seed).random(frame.height) < 0.5
    segment = pl.Series(["excluded" if c else "covered" for c in chosen], dtype=SEGMENT)
    left = frame["id"].filter(pl.Series(~chosen)).to_list()
    expected = [work for work in called(frame, policy) if work in left]
    assert called(frame.with_columns(segment=segment), policy) == expected


def test_all_works_at_one_score_are_called_by_id_alone() -> None:
    frame = works([0.5] * 101)
    for k in (1, 50, 101):
        assert sorted(called(frame, quota(frame, k))) == sorted(frame["id"].to_list())[:k]
