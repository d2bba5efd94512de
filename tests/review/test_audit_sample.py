"""The audit sample: probabilities that are what they say, and draws that seeds alone decide."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from scorer.errors import UsageError
from scorer.review import sample_draw
from scorer.review.sample import Sample, SampleRequest, sample
from scorer.review.sample_strata import grouped
from scorer.review.scores import Scores

Remade = Callable[[Path, Callable[[pa.Table], pa.Table]], Path]


def drawn(scored: Path, works: int | None = 60, **asked: Any) -> Sample:
    return sample(SampleRequest(scored, works, **asked))


def refusal(scored: Path, works: int | None = 60, **asked: Any) -> str:
    with pytest.raises(UsageError) as told:
        drawn(scored, works, **asked)
    return str(told.value)


def covered(scored: Path) -> pl.DataFrame:
    return pl.read_parquet(scored).filter(pl.col("segment").cast(pl.String) == "covered")


@pytest.mark.parametrize("allocation", ["neyman", "proportional", "fixed"])
def test_weights_add_up_to_the_works_of_each_stratum(scored: Path, allocation: str):
    found = drawn(scored, allocation=allocation)
    works = covered(scored).with_columns(calls=pl.col("classification").cast(pl.String))
    sizes = dict(works["calls"].value_counts().iter_rows())
    assert found.key.height == 60
    assert found.key["id"].n_unique() == 60
    assert dict(found.strata.select("stratum", "works").iter_rows()) == sizes
    for (stratum,), rows in found.key.group_by("stratum"):
        assert rows["stratum_works"].unique().to_list() == [sizes[stratum]]
        assert rows["stratum_sample"].unique().to_list() == [rows.height]
        assert rows["pi"].unique().to_list() == [rows.height / sizes[stratum]]
        assert rows["weight"].sum() == pytest.approx(sizes[stratum])
        assert rows.height >= 2
        of_file = works.filter(pl.col("calls") == stratum)["id"]
        assert set(rows["id"]) <= set(of_file)


def test_the_key_holds_scores_and_statuses_of_the_file(scored: Path):
    key = drawn(scored).key
    rows = pl.read_parquet(scored).with_columns(pl.col(pl.Categorical).cast(pl.String))
    same = ["segment", "classification", "teacher_disagreement", "score_gemma_sts", "score_status"]
    expected = key.select("id").join(rows, on="id", how="left", maintain_order="left")
    assert key.select(same).equals(expected.select(same))
    assert key["prediction_status"].unique().to_list() == ["machine_predicted_unvalidated"]
    assert key["id"].is_sorted()


def test_a_seed_gives_the_same_sample_whatever_the_order_of_rows(scored: Path, remade: Remade):
    backwards = remade(scored, lambda table: table.take(pa.array(range(table.num_rows)[::-1])))
    one, two = drawn(scored, seed=5), drawn(backwards, seed=5)
    assert one.key.equals(two.key)
    assert one.strata.equals(two.strata)
    assert not one.key["id"].equals(drawn(scored, seed=6).key["id"])


def test_what_is_let_go_on_the_way_changes_nothing(
    scored: Path, tiny_frame: Path, remade: Remade, monkeypatch: pytest.MonkeyPatch
):
    many_groups = remade(scored, lambda table: table)  # row groups of 50
    whole = [drawn(many_groups, works, frame=tiny_frame) for works in (40, 120)]
    monkeypatch.setattr(sample_draw, "_HELD", 0)
    again = [drawn(many_groups, works, frame=tiny_frame) for works in (40, 120)]
    assert [one.key.equals(two.key) for one, two in zip(whole, again, strict=True)] == [True] * 2


def test_every_work_is_drawn_as_often_as_its_probability_says(scored: Path):
    seeds = 150
    times: dict[str, int] = {}
    pi: dict[str, float] = dict.fromkeys(covered(scored)["id"], 0.0)
    stratum = dict(
        covered(scored).select("id", pl.col("classification").cast(pl.String)).iter_rows()
    )
    for seed in range(seeds):
        found = drawn(scored, 50, seed=seed, allocation="fixed")
        for work in found.key["id"]:
            times[work] = times.get(work, 0) + 1
    probabilities = dict(found.strata.select("stratum", "pi").iter_rows())
    for work in pi:
        expected = probabilities[stratum[work]]
        spread = np.sqrt(expected * (1 - expected) / seeds)
        assert abs(times.get(work, 0) / seeds - expected) < 4.5 * spread + 1e-9


def test_the_weighted_total_is_unbiased(scored: Path):
    """The Horvitz-Thompson estimate of a known total, over seeds."""
    known = dict(covered(scored).select("id", "score_codex_metaresearch").iter_rows())
    totals = [
        sum(known[work] * weight for work, weight in found.key.select("id", "weight").iter_rows())
        for found in (drawn(scored, 30, seed=seed) for seed in range(100))
    ]
    error = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - sum(known.values())) < 4 * error


def test_strata_follow_from_file_and_frame(scored: Path, tiny_frame: Path, tmp_path: Path):
    frame = tmp_path / "frame.parquet"
    works = pl.read_parquet(tiny_frame).with_row_index()
    works.with_columns(
        lang=pl.when(pl.col("index") < 60)
        .then(pl.lit("FR "))
        .when(pl.col("index") == 80)
        .then(pl.lit("de"))
        .when(pl.col("index") > 190)
        .then(None)
        .otherwise(pl.lit("en")),
        abstract=pl.when(pl.col("index") % 2 == 0).then(pl.lit("A text")),
    ).write_parquet(frame)
    found = drawn(scored, 100, frame=frame, strata=("abstract", "lang", "year"))
    assert found.stratifiers == ("lang", "abstract", "year")
    levels = {name: set(found.key[f"in_{name}"]) for name in found.stratifiers}
    assert levels["lang"] == {"fr", "en", "other", "unknown"}
    assert levels["abstract"] == {"abstract", "no abstract"}
    assert levels["year"] == {"1990s", "2000s", "2010s", "2020s"}
    assert found.strata["works"].sum() == covered(scored).height
    assert found.records is not None
    assert found.records["id"].equals(found.key["id"])
    first = found.key.row(0, named=True)
    assert first["stratum"] == " / ".join(first[f"in_{name}"] for name in found.stratifiers)


def test_rare_languages_are_one_level():
    cells = pl.DataFrame({"calls": ["none"] * 4, "lang": ["en", "fr", "de", "unknown"]})
    merged = grouped(cells, pl.Series([9900, 100, 99, 1]))
    assert merged["lang"].to_list() == ["en", "other", "other", "unknown"]
    merged = grouped(cells, pl.Series([9702, 100, 97, 1]))
    assert merged["lang"].to_list() == ["en", "fr", "other", "unknown"]


def test_a_target_makes_its_own_strata_and_is_asked_alone(scored: Path):
    found = drawn(scored, target="metaresearch")
    assert found.asked == ("metaresearch",)
    calls = covered(scored).select(Scores.open(scored).call("metaresearch").cast(pl.String))
    sizes = dict(calls.to_series().value_counts().iter_rows())
    assert dict(found.strata.select("stratum", "works").iter_rows()) == sizes
    assert drawn(scored, target="sts", ask=("metaresearch",)).asked == ("metaresearch",)


def test_all_but_insufficient_payload_is_asked(scored: Path):
    names = Scores.open(scored).targets.binary_names
    assert drawn(scored).asked == tuple(n for n in names if n != "insufficient_payload")


def test_segments_asked_for_are_strata_of_their_own(scored: Path):
    found = drawn(scored, segments=("covered", "insufficient_payload"))
    assert found.stratifiers == ("calls", "segment")
    assert found.strata["works"].sum() == 200


def test_numbers_are_given_for_each_level_of_calls(scored: Path):
    numbers = {"none": 20, "candidate": 10, "consensus": 5}
    found = drawn(scored, None, allocation="fixed", numbers=numbers)
    assert dict(found.strata.select("stratum", "sample").iter_rows()) == numbers


def test_scores_alone_are_one_stratum(scores_alone: Path):
    found = drawn(scores_alone)
    assert found.strata["stratum"].to_list() == ["score_only"]
    assert drawn(scores_alone, target="sts").strata["stratum"].to_list() == ["score_only"]


def test_what_does_not_fit_is_refused(scored: Path):
    total = covered(scored).height
    assert refusal(scored, None) == "Say how many works to draw: -n N."
    assert refusal(scored, 0) == "-n 0: expected at least 1."
    assert refusal(scored, 500) == f"500 works were asked for, there are {total}."
    assert refusal(scored, 5).startswith("5 works are too few for 3 strata: 2 each take 6.")
    assert refusal(scored, strata=("lang",)) == (
        "--strata lang: it stands in the works' records.\nName the frame that was scored: --frame"
    )
    assert refusal(scored, strata=("colour",)).startswith("--strata colour: there are calls, seg")
    assert refusal(scored, ask=("genre",)).startswith("--ask genre: no category or flag of tiny")
    assert refusal(scored, target="genre").startswith("--target genre: no category or flag of")
    assert "give one of them" in refusal(scored, allocation="fixed", numbers={"none": 3})
    assert "that is --allocation fixed" in refusal(scored, None, numbers={"none": 3})
    assert "add --strata calls" in refusal(
        scored, None, numbers={"none": 3}, allocation="fixed", strata=("segment",)
    )
    assert refusal(scored, segments=("excluded",)).endswith("no work in excluded to draw.")
