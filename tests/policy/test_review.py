"""What points people to the works worth a look: disagreement, nearness to a threshold."""

import polars as pl
from hypothesis import given
from policy_cases import (
    NOTHING,
    Case,
    Said,
    at,
    best,
    case_of,
    cases,
    checked,
    plain_distance,
    targets_of,
)

from scorer.policy.policy import Entry


@checked
@given(cases())
def test_review_columns_lie_between_zero_and_one(case: Case) -> None:
    found = case.calls()
    for name in ("teacher_disagreement", "threshold_uncertainty"):
        assert found[name].dtype == pl.Float32
        assert found[name].null_count() == 0
        assert all(0 <= value <= 1 for value in found[name])


@checked
@given(cases())
def test_teacher_disagreement_is_that_of_plain_python(case: Case) -> None:
    """A direct head stands at 0 or 1, and has no say where its label is missing."""
    expected = [plain_distance(case, row) for row in range(len(case.ids))]
    assert case.calls()["teacher_disagreement"].to_list() == expected


def one_target(entry: Entry, scores: list[float], **more) -> pl.DataFrame:
    targets = targets_of("codex", categories=("metaresearch",), flags=("canada",))
    return case_of(
        targets, {"metaresearch": {"codex": entry}}, {"codex": {"metaresearch": scores}}, **more
    ).calls()


def test_teacher_disagreement_is_the_largest_distance_between_heads() -> None:
    targets = targets_of("a", "b", "c", unavailable={"c": ("sts",)})
    found = case_of(
        targets,
        {},
        {
            "a": {"metaresearch": [0.5, 0.5, 0.25], "sts": [0.0, 1.0, 0.5]},
            "b": {"metaresearch": [0.25, 0.5, 0.25], "sts": [0.0, 0.25, 0.5]},
            "c": {"metaresearch": [1.0, 0.5, 0.25], "sts": [0.0, 0.0, 0.0]},
        },
    ).calls()
    # The third head has not learned `sts`: its 0 there disagrees with nobody.
    assert found["teacher_disagreement"].to_list() == [0.75, 0.75, 0.0]


def test_threshold_uncertainty_is_one_at_the_threshold_and_zero_at_the_ends() -> None:
    found = one_target(at(0.5), [0.5, 0.75, 1.0, 0.25, 0.0])
    assert found["threshold_uncertainty"].to_list() == [1.0, 0.5, 0.0, 0.5, 0.0]
    found = one_target(at(0.25), [0.25, 0.4375, 1.0, 0.125, 0.0])
    assert found["threshold_uncertainty"].to_list() == [1.0, 0.75, 0.0, 0.5, 0.0]
    found = one_target(best(0.5, ""), [0.5, 0.75, 0.25])
    assert found["threshold_uncertainty"].to_list() == [1.0, 0.5, 0.5]


def test_threshold_uncertainty_at_the_ends_of_the_range() -> None:
    assert one_target(at(0.0), [0.0, 0.25, 1.0])["threshold_uncertainty"].to_list() == [1, 0.75, 0]
    assert one_target(at(1.0), [0.0, 0.25, 1.0])["threshold_uncertainty"].to_list() == [0, 0.25, 1]


def test_threshold_uncertainty_is_that_of_the_nearest_threshold() -> None:
    targets = targets_of("a", "b")
    found = case_of(
        targets,
        {"sts": {"a": at(0.5)}, "about_ca_topic": {"b": at(0.5)}},
        {"a": {"sts": [0.0, 0.25]}, "b": {"about_ca_topic": [0.75, 0.0], "sts": [0.5, 0.5]}},
    ).calls()
    assert found["threshold_uncertainty"].to_list() == [0.5, 0.5]


def test_a_direct_head_stands_at_its_label_and_nowhere_without_one() -> None:
    yes, no = Said(NOTHING | {"sts": True}), Said(NOTHING)
    unsaid = Said(NOTHING | {"sts": None, "about_ca_topic": None})
    found = case_of(
        targets_of("a", "b"),
        {},
        {"a": {"sts": [0.5] * 4}, "b": {"sts": [0.75, 0.25, 0.75, 0.75]}},
        labels={"a": [yes, no, unsaid, None]},
    ).calls()
    # The student's own score of the direct head, 0.5, is nobody's stand.
    assert found["teacher_disagreement"].to_list() == [0.25, 0.25, 0.0, 0.0]


def test_a_direct_head_has_a_say_on_a_target_that_it_had_not_learned() -> None:
    targets = targets_of("a", "b", unavailable={"a": ("sts",)})
    found = case_of(
        targets,
        {},
        {"b": {"sts": [0.75]}},
        labels={"a": [Said(NOTHING)]},
    ).calls()
    assert found["teacher_disagreement"].to_list() == [0.75]


def test_a_direct_head_has_no_threshold_to_be_near_to() -> None:
    found = case_of(
        targets_of("a", "b"),
        {"sts": {"b": at(0.5)}},
        {"a": {"sts": [0.5, 0.5]}, "b": {"sts": [0.25, 1.0]}},
        labels={"a": [Said(NOTHING), None]},
    ).calls()
    assert found["threshold_uncertainty"].to_list() == [0.5, 0.0]
