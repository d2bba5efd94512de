"""Counts of the overview against plain references, whatever the batches."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.frame.contract import bare_id
from scorer.report.overview import BINS, CELLS, Agreement, Overview
from scorer.report.overview_groups import ANY, BY, Groups
from scorer.review.alongside import Alongside
from scorer.review.records import opened_frame
from scorer.review.scores import Scores

PAIR = ("codex", "gemma")


@pytest.fixture(scope="module")
def scores(odd_scores: Path) -> Scores:
    return Scores.open(odd_scores)


@pytest.fixture(scope="module")
def works(scores: Scores, odd_frame: Path) -> pl.DataFrame:
    """Rows of the scored file with year, field and language beside."""
    columns = Overview(scores.targets, score_only=False).columns()
    with opened_frame(odd_frame, BY) as frame:
        return pl.concat(list(Alongside(scores, columns, frame, BY)))


@pytest.fixture(scope="module")
def overview(scores: Scores, works: pl.DataFrame) -> Overview:
    made = Overview(scores.targets, score_only=False)
    made.add(works)
    return made


def test_distributions_are_those_of_numpy(overview: Overview, works: pl.DataFrame) -> None:
    covered = works.filter(pl.col("segment") == "covered")
    assert overview.covered == covered.height == 199
    for target, by_head in overview.distributions.items():
        for head, counts in by_head.items():
            values = covered[f"score_{head}_{target}"].to_numpy()
            wanted, _ = np.histogram(values, bins=BINS, range=(0, 1))
            assert counts.tolist() == wanted.tolist()


def test_a_head_that_has_not_learned_a_target_has_no_distribution(overview: Overview) -> None:
    assert list(overview.distributions["sts"]) == ["gemma"]
    assert overview.densities["sts"] == {}
    assert list(overview.densities["metaresearch"]) == [PAIR]


def test_densities_are_those_of_numpy(overview: Overview, works: pl.DataFrame) -> None:
    covered = works.filter(pl.col("segment") == "covered")
    one, two = (covered[f"score_{head}_metaresearch"].to_numpy() for head in PAIR)
    wanted, _, _ = np.histogram2d(one, two, bins=CELLS, range=[[0, 1], [0, 1]])
    assert overview.densities["metaresearch"][PAIR].tolist() == wanted.astype(int).tolist()


def test_a_score_of_one_lies_in_the_last_bin(scores: Scores, works: pl.DataFrame) -> None:
    ones = works.with_columns(
        pl.lit(1.0, pl.Float32).alias(c) for c in scores.targets.score_columns
    )
    made = Overview(scores.targets, score_only=False)
    made.add(ones)
    assert made.distributions["metaresearch"]["codex"][-1] == made.covered
    assert made.densities["metaresearch"][PAIR][-1, -1] == made.covered


def test_agreement_is_that_of_sets(overview: Overview, works: pl.DataFrame) -> None:
    for target in ("metaresearch", "bibliometrics", "about_ca_topic", "insufficient_payload"):
        what = "flags" if target.startswith("about") else "categories"
        called = [
            set(works.filter(pl.col(f"{head}_{what}").list.contains(target))["id"]) for head in PAIR
        ]
        met = overview.agreements[target][PAIR]
        assert met == Agreement(
            len(called[0] & called[1]), len(called[0] - called[1]), len(called[1] - called[0])
        )
        if called[0] | called[1]:
            assert met.overlap == len(called[0] & called[1]) / len(called[0] | called[1])
    assert Agreement().overlap is None


@pytest.mark.parametrize("by", BY)
def test_groups_are_those_of_a_plain_count(
    overview: Overview, works: pl.DataFrame, odd_frame: Path, by: str
) -> None:
    frame = pl.read_parquet(odd_frame).with_columns(bare_id(pl.col("id")))
    value = dict(frame.select("id", by).iter_rows())
    all_works, any_candidate, flagged = Counter(), Counter(), Counter()
    for row in works.iter_rows(named=True):
        group = value[row["id"]]
        all_works[group] += 1
        any_candidate[group] += bool(set(row["candidate_categories"]) - {"insufficient_payload"})
        flagged[group] += "about_ca_topic" in row["consensus_flags"]
    counted = overview.groups.of(by)
    assert dict(counted.select(by, "works").iter_rows()) == all_works
    assert dict(counted.select(by, f"candidate {ANY}").iter_rows()) == any_candidate
    assert dict(counted.select(by, "consensus about_ca_topic").iter_rows()) == flagged
    known = counted[by].drop_nulls().to_list()
    if by == "year":
        assert known == sorted(known)
    else:
        assert counted["works"].to_list() == sorted(counted["works"], reverse=True)


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 209), max_size=6))
def test_batches_change_nothing(
    scores: Scores, works: pl.DataFrame, overview: Overview, cuts: list[int]
) -> None:
    made = Overview(scores.targets, score_only=False)
    edges = [0, *sorted(cuts), works.height]
    for start, stop in pairwise(edges):
        made.add(works[start:stop])
    assert made.covered == overview.covered
    assert made.agreements == overview.agreements
    for target in scores.targets.binary_names:
        for head, counts in overview.distributions[target].items():
            assert (made.distributions[target][head] == counts).all()
        for pair, cells in overview.densities[target].items():
            assert (made.densities[target][pair] == cells).all()
    for by in BY:
        assert made.groups.of(by).equals(overview.groups.of(by))


def test_scores_alone_have_distributions_and_no_calls(scores: Scores, works: pl.DataFrame) -> None:
    made = Overview(scores.targets, score_only=True)
    assert made.columns() == ["segment", *scores.targets.score_columns]
    made.add(works.select(*made.columns(), *BY))
    assert made.distributions["metaresearch"]["codex"].sum() == made.covered == 199
    assert made.agreements["metaresearch"] == {}
    assert all(made.groups.of(by).is_empty() for by in BY)


def test_nothing_counted_is_an_empty_table() -> None:
    assert Groups().of("year").schema == {"year": pl.Int32, "works": pl.Int64}
