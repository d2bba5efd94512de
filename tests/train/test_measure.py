"""What a round is measured by: the holdout, the majority, average precision, churn, ranks."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from scorer.labels.sample import read_label_table
from scorer.targets import Binary, Head, Label, Targets
from scorer.train.holdout import held_out_venues, majority_answers, measured_targets
from scorer.train.measure import (
    churn,
    mean_average_precision,
    mean_scores,
    positive_set,
    rank_correlation,
)


def fraction(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) / 2**256


def works(venues: list[str | None]) -> pl.DataFrame:
    ids = [f"W{n}" for n in range(len(venues))]
    return pl.DataFrame({"id": ids, "venue": pl.Series(venues, dtype=pl.String)})


def test_a_venue_is_held_out_by_the_hash_of_seed_and_venue() -> None:
    names = [f"Journal {n}" for n in range(200)]
    found = held_out_venues(works(names), 7, 0.2)
    assert found.tolist() == [fraction(f"7:{name}") < 0.2 for name in names]
    assert found.tolist() != held_out_venues(works(names), 8, 0.2).tolist()
    assert 20 < found.sum() < 60


def test_venues_stay_whole_and_works_without_one_stand_for_themselves() -> None:
    found = held_out_venues(works(["A"] * 20 + ["B"] * 20 + [None] * 100 + [""] * 100), 0, 0.5)
    assert len(set(found[:20])) == len(set(found[20:40])) == 1
    assert found[40:].tolist() == [fraction(f"0:W{n}") < 0.5 for n in range(40, 240)]


def test_without_a_column_of_venues_every_work_stands_for_itself() -> None:
    table = works([None] * 50)
    assert (
        held_out_venues(table.drop("venue"), 0, 0.4).tolist()
        == held_out_venues(table, 0, 0.4).tolist()
    )


def test_more_works_change_no_choice() -> None:
    names = [f"Journal {n % 30}" for n in range(100)]
    few, many = (held_out_venues(works(names[:size]), 0, 0.2) for size in (40, 100))
    assert few.tolist() == many[:40].tolist()


def test_the_majority_is_more_than_half_of_the_heads_that_judged(tmp_path: Path) -> None:
    declined, yes, no = ["insufficient_payload"], ["sts"], list[str]()
    said = {
        "a": [yes, yes, yes, yes, declined, None],
        "b": [yes, yes, no, declined, declined, None],
        "c": [no, yes, no, None, no, None],
    }
    kind = pl.List(pl.String)
    table = pl.DataFrame(
        {
            "id": [f"W{n}" for n in range(6)],
            "title": ["A title"] * 6,
            **{f"{head}_categories": pl.Series(rows, dtype=kind) for head, rows in said.items()},
        }
    )
    table.write_parquet(tmp_path / "labels.parquet")
    labels = read_label_table(tmp_path / "labels.parquet")
    assert majority_answers(labels, "sts") == "11010-"
    assert majority_answers(labels, "insufficient_payload") == "00001-"
    two = table.drop("c_categories")
    two.write_parquet(tmp_path / "labels.parquet")
    assert majority_answers(read_label_table(tmp_path / "labels.parquet"), "sts") == "1101--", (
        "one head of two is no majority"
    )


def test_a_target_is_measured_from_five_positives_on() -> None:
    assert measured_targets({"a": "11110", "b": "11111", "c": "0-1111100"}) == ["b", "c"]


def test_scores_are_the_mean_of_the_heads() -> None:
    label = Label(en="x", fr="x")
    targets = Targets(
        heads=(Head(name="a"), Head(name="b")),
        binary=tuple(Binary(name=n, kind="category", label=label) for n in ("x", "y")),
    )
    scores = np.array([[0.5, 0.25, 1.0, 0.75], [0.0, 1.0, 0.5, 0.5]], np.float32)
    assert mean_scores(scores, targets, ["y", "x"]) == {"y": (0.5, 0.75), "x": (0.75, 0.25)}


def test_average_precision_leaves_out_works_that_no_head_judged() -> None:
    scores = {"x": (0.9, 0.8, 0.7, 0.6, 0.5), "y": (0.1, 0.2, 0.3, 0.4, 0.5)}
    answers = {"x": "1-010", "y": "10001"}
    expected = [
        average_precision_score([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.5]),
        average_precision_score([1, 0, 0, 0, 1], scores["y"]),
    ]
    assert mean_average_precision(scores, answers) == pytest.approx(np.mean(expected), abs=1e-6)


def test_the_positive_set_is_the_best_of_each_target_ties_by_id() -> None:
    scores = {"x": (0.5, 0.9, 0.5, 0.5), "y": (0.1, 0.2, 0.9, 0.4)}
    assert positive_set(scores, {"x": "1100", "y": "01-0"}) == {("x", 1), ("x", 0), ("y", 3)}


def test_churn_is_one_less_the_overlap_over_all_targets() -> None:
    answers = {"x": "1100", "y": "1000"}
    before = {"x": (0.9, 0.8, 0.1, 0.1), "y": (0.9, 0.1, 0.1, 0.1)}
    now = {"x": (0.9, 0.1, 0.8, 0.1), "y": (0.8, 0.2, 0.1, 0.1)}
    assert churn(before, before, answers) == 0
    assert churn(now, before, answers) == 0.5
    assert churn({name: tuple(s[::-1]) for name, s in before.items()}, before, answers) == 1


def test_rank_correlation_is_spearmans_mean_over_targets() -> None:
    chance = np.random.default_rng(0)
    now, before = (
        {name: tuple(chance.integers(0, 9, 30) / 9) for name in ("x", "y")} for _ in range(2)
    )
    answers = {"x": "1" * 30, "y": "-" * 5 + "0" * 25}
    expected = [
        spearmanr(now["x"], before["x"]).statistic,
        spearmanr(now["y"][5:], before["y"][5:]).statistic,
    ]
    assert rank_correlation(now, before, answers) == pytest.approx(np.mean(expected), abs=5e-5)
    assert rank_correlation(now, now, answers) == 1


@pytest.mark.filterwarnings("error")
def test_scores_that_rank_nothing_agree_with_nothing() -> None:
    flat, steep = {"x": (0.0, 0.0, 0.0)}, {"x": (0.1, 0.2, 0.3)}
    for now, before in ((flat, steep), (steep, flat), (flat, flat)):
        assert rank_correlation(now, before, {"x": "110"}) == 0


def test_labels_of_some_works_keep_their_order_and_targets(
    make_labels: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    make_labels(30).write_parquet(tmp_path / "labels.parquet")
    labels = read_label_table(tmp_path / "labels.parquet")
    rows = np.array([20, 3, 7])
    some = labels.only(rows)
    assert some.works["id"].to_list() == ["W21", "W4", "W8"]
    assert some.targets == labels.targets
    assert some.weight.tolist() == labels.weight[rows].tolist()
    for look in (some.positive, some.judged):
        whole = getattr(labels, look.__name__)("codex", "metaresearch")
        assert look("codex", "metaresearch").tolist() == whole[rows].tolist()
