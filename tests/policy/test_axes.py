"""Axes: best values of the heads, of their mean and of their labels, and what they come to."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from policy_cases import AXES, NOTHING, Case, Said, at, case_of, cases, checked, targets_of

from scorer.policy.axes import AxisChoices, choose_axes, where_most_agree


@checked
@given(cases())
def test_axes_are_each_heads_best_value_or_label_and_that_of_the_mean(case: Case) -> None:
    found = case.calls("majority")
    for axis, values in AXES.items():
        learned = {head: case.axes[head][axis] for head in case.heads}
        for row in range(len(case.ids)):
            own = {head: values[int(np.argmax(scores[row]))] for head, scores in learned.items()}
            mean = sum(scores[row].astype(np.float64) for scores in learned.values())
            said = [label.axes[axis] for label in case.labels_of(row) if label]
            own |= case.said_of(row, axis)
            votes = Counter(own.values())
            kinds = own | {
                "candidate": next((v for v in said if v), values[int(np.argmax(mean))]),
                "consensus": own[case.heads[0]] if len(votes) == 1 else None,
                "majority": next((v for v, n in votes.items() if 2 * n > len(own)), None),
            }
            for kind, value in kinds.items():
                usable = case.usable[row] and (
                    axis != "domain" or "metaresearch" in found[f"{kind}_categories"][row]
                )
                assert found[f"{kind}_{axis}"][row] == (value if usable else None)


def test_domain_is_set_only_where_that_kind_of_call_has_metaresearch() -> None:
    targets = targets_of("a", "b")
    sure = np.array([[0.9, 0.05, 0.05]] * 3, np.float32)
    axes = {h: {"domain": sure, "genre": np.ones((3, 2), np.float32)} for h in ("a", "b")}
    found = case_of(
        targets,
        {"metaresearch": {"a": at(0.5), "b": at(0.5)}},
        {"a": {"metaresearch": [1.0, 1.0, 0.0]}, "b": {"metaresearch": [1.0, 0.0, 0.0]}},
        axes=axes,
    ).calls()
    assert found["a_domain"].to_list() == ["methods", "methods", None]
    assert found["b_domain"].to_list() == ["methods", None, None]
    assert found["candidate_domain"].to_list() == ["methods", "methods", None]
    assert found["consensus_domain"].to_list() == ["methods", None, None]
    assert found["consensus_genre"].to_list() == ["empirical"] * 3


def test_an_axis_that_a_head_has_not_learned_has_no_value_there_and_no_consensus() -> None:
    targets = targets_of("a", "b", unavailable={"b": ("genre",)})
    axes = {
        "a": {"genre": np.array([[0.2, 0.8]], np.float32), "domain": np.ones((1, 3), np.float32)},
        "b": {"genre": np.array([[0.9, 0.1]], np.float32), "domain": np.ones((1, 3), np.float32)},
    }
    found = case_of(targets, {}, {"a": {"sts": [0.0]}}, axes=axes).calls()
    genres = [found[f"{kind}_genre"][0] for kind in ("a", "b", "candidate", "consensus")]
    assert genres == ["review", None, "review", None]


def test_an_axis_that_no_head_has_learned_has_no_value() -> None:
    targets = targets_of("a", "b", unavailable={"a": ("genre",), "b": ("genre",)})
    found = case_of(targets, {}, {"a": {"sts": [0.0, 0.0]}}).calls()
    for kind in ("a", "b", "candidate", "consensus"):
        assert found[f"{kind}_genre"].to_list() == [None, None]


def test_the_best_mean_of_an_axis_is_exact_whatever_the_order_of_the_heads() -> None:
    # In float32 the second sum falls below the first or not with the order of the three numbers.
    parts = np.float32([[0.883, 0.470], [0.216, 0.326], [0.431, 0.734]])
    chosen = set()
    for order in permutations(range(3)):
        targets = targets_of("a", "b", "c")
        scores = {
            head: {"genre": parts[[row]], "domain": np.zeros((1, 3), np.float32)}
            for head, row in zip("abc", order, strict=True)
        }
        chosen.add(choose_axes(scores, targets).by_mean["genre"][0])
    assert chosen == {"review"}


def test_of_equal_axis_values_the_first_wins() -> None:
    targets = targets_of("a")
    choices = choose_axes(
        {"a": {"domain": np.float32([[0.2, 0.4, 0.4]]), "genre": np.float32([[0.0, 0.0]])}}, targets
    )
    assert choices.by_head["a"]["domain"].to_list() == ["reporting"]
    assert choices.by_mean["genre"].to_list() == ["empirical"]


def test_axis_choices_without_axes_are_empty() -> None:
    targets = targets_of("a").model_copy(update={"axes": ()})
    assert choose_axes({"a": {}}, targets) == AxisChoices({"a": {}}, {})


def test_a_label_beats_the_best_mean_and_a_missing_one_leaves_it() -> None:
    genres = np.float32([[0.2, 0.8]] * 3)
    axes = {h: {"domain": np.ones((3, 3), np.float32), "genre": genres} for h in ("a", "b")}
    labels = [Said({"sts": True}, {"genre": "empirical"}), Said({"sts": True}), None]
    found = case_of(
        targets_of("a", "b"),
        {},
        {"a": {"sts": [0.0] * 3}},
        axes=axes,
        labels={
            "a": [
                replace(label, binary=NOTHING | label.binary) if label else None for label in labels
            ]
        },
    ).calls()
    assert found["a_genre"].to_list() == ["empirical", None, None]
    assert found["b_genre"].to_list() == ["review"] * 3
    assert found["candidate_genre"].to_list() == ["empirical", "review", "review"]
    assert found["consensus_genre"].to_list() == [None] * 3


def test_of_two_labels_that_differ_the_first_head_of_the_manifest_wins() -> None:
    """However the labels were given: the order of options on the command line decides nothing."""
    case = case_of(
        targets_of("a", "b"),
        {},
        {"a": {"sts": [0.0]}},
        labels={
            "b": [Said(NOTHING, {"genre": "empirical"})],
            "a": [Said(NOTHING, {"genre": "review"})],
        },
    )
    assert case.calls()["candidate_genre"].to_list() == ["review"]


@pytest.mark.parametrize(
    ("said", "most"),
    [
        (["x", "x", "y"], "x"),
        (["x", "y", "y"], "y"),
        (["x", "y", "z"], None),
        (["x", "x", None], "x"),
        (["x", None, None], None),
        ([None, None, None], None),
        (["x", "x", "y", "y"], None),
        (["x", "x", "x", None], "x"),
        (["x", "x", None, None], None),
    ],
)
def test_a_majority_is_more_than_half_of_all_heads(said: list[str], most: str | None) -> None:
    columns = [pl.Series([value, "same"], dtype=pl.String) for value in said]
    assert where_most_agree(columns).to_list() == [most, "same"]


def test_a_majority_of_no_works_is_empty_text() -> None:
    found = where_most_agree([pl.Series([], dtype=pl.String)] * 3)
    assert (found.dtype, found.to_list()) == (pl.String, [])
