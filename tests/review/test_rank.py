"""The review queue: its orders, its filters, what stands in its rows."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from scorer.errors import UsageError
from scorer.review import rank_order
from scorer.review.rank import Queue, RankRequest, rank
from scorer.review.scores import Scores

CODEX, GEMMA = "score_codex_metaresearch", "score_gemma_metaresearch"
STRENGTH = {"consensus": 2, "candidate": 1, "none": 0}


def ranked(scored: Path, by: str = "metaresearch", **asked: Any) -> Queue:
    return rank(RankRequest(scored, by, **{"top": 1000, **asked}))


def refusal(scored: Path, **asked: Any) -> str:
    with pytest.raises(UsageError) as told:
        ranked(scored, **asked)
    return str(told.value)


def covered(scored: Path) -> Iterator[dict[str, Any]]:
    """Yield the covered works, with what orders follow from in plain Python."""
    policy = Scores.open(scored).manifest.policy
    for row in pl.read_parquet(scored).iter_rows(named=True):
        if row["segment"] != "covered":
            continue
        pair = {"codex": row[CODEX], "gemma": row[GEMMA]}
        near = []
        for head, score in pair.items():
            value = policy.entry(head, "metaresearch").value  # type: ignore[union-attr]
            side = (1 - score) / (1 - value) if score > value else score / value
            near.append(side)
        consensus = "metaresearch" in row["consensus_categories"]
        candidate = "metaresearch" in row["candidate_categories"]
        yield {
            "id": row["id"],
            "call": 2 if consensus else 1 if candidate else 0,
            "mean": sum(pair.values()) / 2,
            "max": max(pair.values()),
            "disagreement": max(pair.values()) - min(pair.values()),
            "uncertainty": max(near),
            **pair,
        }


@pytest.mark.parametrize(
    ("order", "keys"),
    [
        (None, ["call", "mean"]),
        ("consensus", ["call", "mean"]),
        ("mean", ["mean"]),
        ("max", ["max"]),
        ("disagreement", ["disagreement"]),
        ("uncertainty", ["uncertainty"]),
        ("codex", ["codex"]),
        ("gemma", ["gemma"]),
    ],
)
def test_works_stand_in_the_order_asked(scored: Path, order: str | None, keys: list[str]):
    works = {work["id"]: work for work in covered(scored)}
    queue = ranked(scored, order=order)
    assert set(queue.works["id"]) == set(works)
    assert queue.works["rank"].to_list() == list(range(1, len(works) + 1))
    values = [tuple(works[work][key] for key in keys) for work in queue.works["id"]]
    for before, after in pairwise(values):
        # The product is kept in float32 where the scores are: equal up to its rounding.
        assert before[:-1] > after[:-1] or (
            before[:-1] == after[:-1] and before[-1] >= after[-1] - 1e-6
        )


def test_rows_hold_the_scores_and_calls_of_the_file(scored: Path):
    expected = {work["id"]: work for work in covered(scored)}
    for row in ranked(scored).works.iter_rows(named=True):
        work = expected[row["id"]]
        assert (row[CODEX], row[GEMMA]) == (work["codex"], work["gemma"])
        assert row["mean"] == pytest.approx(work["mean"], abs=1e-12)
        assert row["max"] == work["max"]
        assert row["disagreement"] == pytest.approx(work["disagreement"], abs=1e-6)
        assert row["uncertainty"] == pytest.approx(work["uncertainty"], abs=1e-5)
        assert STRENGTH[row["call"]] == work["call"]


def test_called_by_names_the_heads(scored: Path):
    rows = {row["id"]: row for row in pl.read_parquet(scored).iter_rows(named=True)}
    for row in ranked(scored).works.iter_rows(named=True):
        of_work = rows[row["id"]]
        heads = [h for h in ("codex", "gemma") if "metaresearch" in of_work[f"{h}_categories"]]
        assert row["called_by"] == ", ".join(heads)


def test_ties_go_by_id_whatever_the_order_of_rows(
    scored: Path, remade: Callable[[Path, Callable[[pa.Table], pa.Table]], Path]
):
    def tied_and_reversed(table: pa.Table) -> pa.Table:
        for name in (CODEX, GEMMA):
            place = table.schema.get_field_index(name)
            halves = pa.array([0.5] * table.num_rows, pa.float32())
            table = table.set_column(place, table.schema.field(place), halves)
        return table.take(pa.array(range(table.num_rows)[::-1]))

    queue = ranked(remade(scored, tied_and_reversed), order="mean", top=50)
    ids = pl.read_parquet(scored).filter(pl.col("segment").cast(pl.String) == "covered")["id"]
    assert queue.works["id"].to_list() == sorted(ids)[:50]


@pytest.mark.parametrize("top", [1, 10, 120])
def test_what_is_let_go_on_the_way_changes_nothing(
    scored: Path,
    remade: Callable[[Path, Callable[[pa.Table], pa.Table]], Path],
    top: int,
    monkeypatch: pytest.MonkeyPatch,
):
    whole = ranked(scored).works
    monkeypatch.setattr(rank_order, "_HELD", 0)
    many_groups = remade(scored, lambda table: table)  # row groups of 50
    queue = ranked(many_groups, top=top)
    assert queue.works["id"].to_list() == whole["id"].to_list()[:top]
    assert queue.eligible == whole.height


def test_a_filter_sees_the_file_the_record_and_what_follows(scored: Path, tiny_frame: Path):
    queue = ranked(
        scored,
        frame=tiny_frame,
        where="call = 'consensus' AND year >= 2000 AND doi LIKE '10.1/1%' AND mean > 0.5",
    )
    rows = pl.read_parquet(scored).filter(pl.col("segment").cast(pl.String) == "covered")
    frame = pl.read_parquet(tiny_frame).select(
        pl.col("id").str.strip_prefix("https://openalex.org/"), "year"
    )
    there = rows.join(frame, on="id").filter(
        pl.col("consensus_categories").list.contains("metaresearch"),
        pl.col("year") >= 2000,
        pl.col("doi").str.starts_with("10.1/1"),
        pl.mean_horizontal(CODEX, GEMMA) > 0.5,
    )
    assert there.height
    assert set(queue.works["id"]) == set(there["id"])
    assert queue.eligible == there.height


def test_records_stand_beside_the_works(scored: Path, tiny_frame: Path):
    works = ranked(scored, frame=tiny_frame, top=3).works
    assert works.columns[:8] == ["rank", "id", "title", "venue", "year", "field", "topic", "lang"]
    assert works["title"].null_count() == 0
    assert works.columns[-5:-1] == ["doi", "model_version", "policy_version", "score_status"]
    assert works["prediction_status"].to_list() == ["machine_predicted_unvalidated"] * 3


def test_a_filter_that_no_work_passes_gives_an_empty_queue(scored: Path, tiny_frame: Path):
    queue = ranked(scored, frame=tiny_frame, where="mean > 1")
    assert queue.works.height == 0
    assert "title" in queue.works.columns


def test_works_that_the_frame_lacks_are_counted(scored: Path, tiny_frame: Path, tmp_path: Path):
    best = ranked(scored, top=2).works["id"]
    part = tmp_path / "part.parquet"
    frame = pl.read_parquet(tiny_frame)
    frame.filter(pl.col("id") != f"https://openalex.org/{best[0]}").write_parquet(part)
    queue = ranked(scored, top=2, frame=part)
    assert queue.missing == 1
    assert queue.works["title"][0] is None


def test_other_segments_are_ranked_where_asked_for(scored: Path):
    whole = ranked(scored, segments=("covered", "insufficient_payload"))
    some = ranked(scored, segments=("insufficient_payload",))
    assert whole.works.height == 200
    assert set(some.works["segment"]) == {"insufficient_payload"}


def test_a_head_that_has_not_learned_the_target_has_no_say(scored: Path):
    works = ranked(scored, by="sts").works
    assert "score_codex_sts" not in works.columns
    assert works["mean"].to_list() == works["score_gemma_sts"].cast(pl.Float64).to_list()
    assert works["disagreement"].null_count() == works.height


def test_scores_alone_are_ranked_by_mean(scores_alone: Path):
    queue = ranked(scores_alone)
    assert queue.order.name == "mean"
    assert queue.works["mean"].is_sorted(descending=True)
    assert queue.works["call"].null_count() == queue.works.height
    assert queue.works["score_status"][0].startswith("score_only:")


def test_what_does_not_fit_is_refused(scored: Path, scores_alone: Path):
    assert refusal(scored, by="study_design").startswith("--by study_design: no category or flag")
    assert refusal(scored, order="best") == (
        "--order best: no such order.\n"
        "There are consensus, mean, max, disagreement, uncertainty, codex, gemma."
    )
    assert refusal(scored, by="sts", order="codex").startswith(
        "--order codex: head codex has not learned sts.\nThere are consensus, mean, max"
    )
    assert "one head alone has learned sts" in refusal(scored, by="sts", order="disagreement")
    assert refusal(scores_alone, order="consensus").startswith(
        "--order consensus: alone.scored.parquet holds scores alone, no calls.\nThere are mean, "
    )
    assert refusal(scored, top=0) == "--top 0: expected at least 1."
    assert refusal(scored, where="lang = 'en'") == (
        "--where \"lang = 'en'\": 'lang' stands in the works' records.\n"
        "Name the frame that was scored: --frame"
    )
    assert refusal(scored, where="nothing = 1").startswith("--where 'nothing = 1': no column 'noth")
    assert refusal(scored, where="mean").startswith("--where 'mean': gives Float64, expected a con")
