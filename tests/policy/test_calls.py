"""Calls: what heads say, and what union, intersection and majority make of it."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_cases import (
    CATEGORIES,
    FLAGS,
    MODES,
    OFF,
    Case,
    at,
    best,
    case_of,
    cases,
    checked,
    combined,
    plain_calls,
    targets_of,
)

from scorer.policy.calls import (
    CLASSIFICATION,
    WHATS,
    Mode,
    kinds,
    name_lists,
    sets_of_lists,
)
from scorer.policy.policy import Entry, Silent
from scorer.targets import INSUFFICIENT_PAYLOAD


def targets_in(case: Case, what: str) -> list[str]:
    return getattr(case.targets, what)


@checked
@given(cases(), st.sampled_from(MODES))
def test_calls_are_those_of_plain_python(case: Case, mode: Mode) -> None:
    """Union, intersection and majority too, with direct heads and excluded works among them."""
    found, heads = case.calls(mode), len(case.heads)
    for what in WHATS:
        for head in case.heads:
            expected = plain_calls(case, head, targets_in(case, what))
            assert found[f"{head}_{what}"].to_list() == expected
        assert found[f"candidate_{what}"].to_list() == combined(case, what, 1)
        assert found[f"consensus_{what}"].to_list() == combined(case, what, heads)
        assert (f"majority_{what}" in found.columns) == (mode == "majority")
        if mode == "majority":
            assert found[f"majority_{what}"].to_list() == combined(case, what, heads // 2 + 1)


@checked
@given(cases())
def test_consensus_is_within_majority_and_each_head_and_those_within_candidate(case: Case) -> None:
    found = case.calls("majority")
    for what in WHATS:
        for kind in [*case.heads, "majority"]:
            rows = found.select(f"consensus_{what}", f"{kind}_{what}", f"candidate_{what}")
            for consensus, own, candidate in rows.iter_rows():
                assert set(consensus) <= set(own) <= set(candidate)


@checked
@given(cases(), st.sampled_from(CATEGORIES + FLAGS), st.floats(0, 1))
def test_raising_a_threshold_never_adds_a_call(case: Case, target: str, higher: float) -> None:
    lower = 0.3
    if higher < lower:
        lower, higher = higher, lower
    what = "categories" if target in CATEGORIES else "flags"

    def called(value: float) -> list[list[str]]:
        policy = case.with_entry(target, dict.fromkeys(case.heads, at(value)))
        rows = case.calls("majority", policy)
        kinds = [*case.heads, "candidate", "consensus", "majority"]
        return [calls for kind in kinds for calls in rows[f"{kind}_{what}"].to_list()]

    for few, many in zip(called(higher), called(lower), strict=True):
        assert set(few) <= set(many)


@checked
@given(cases(most_direct=0), st.sampled_from(CATEGORIES + FLAGS))
def test_a_silent_head_never_calls_and_stops_the_consensus(case: Case, target: str) -> None:
    policy = case.with_entry(target, {"codex": Silent(reason="support")})
    found = case.calls(policy=policy)
    what = "categories" if target in CATEGORIES else "flags"
    covered = found.filter(pl.Series(case.segments, dtype=pl.String) == "covered")
    for kind in ("codex", "consensus"):
        assert all(target not in calls for calls in covered[f"{kind}_{what}"].to_list())


@checked
@given(cases(heads=(3,), most_direct=1), st.permutations(["codex", "gemma", "third"]))
def test_the_order_of_the_heads_changes_the_order_of_columns_alone(
    case: Case, order: list[str]
) -> None:
    expected = case.calls("majority")
    found = case.reordered(order).calls("majority")
    assert sorted(found.columns) == sorted(expected.columns)
    assert found.select(expected.columns).equals(expected)


@checked
@given(cases(heads=(3,)), st.permutations(range(4)))
def test_the_order_of_the_works_changes_the_order_of_rows_alone(
    case: Case, order: list[int]
) -> None:
    order = [row for row in order if row < len(case.ids)]
    assert case.of_rows(order).calls("majority").equals(case.calls("majority")[order])


@checked
@given(cases(), st.sampled_from(MODES))
def test_a_work_without_usable_title_is_called_insufficient_payload_alone(
    case: Case, mode: Mode
) -> None:
    found = case.calls(mode)
    found = found.filter(pl.Series(case.segments, dtype=pl.String) == INSUFFICIENT_PAYLOAD)
    for row in found.iter_rows(named=True):
        for kind in kinds(case.targets, mode):
            assert row[f"{kind}_categories"] == [INSUFFICIENT_PAYLOAD]
            assert row[f"{kind}_flags"] == []
            assert row[f"{kind}_domain"] is None
            assert row[f"{kind}_genre"] is None


@checked
@given(cases(), st.sampled_from(MODES))
def test_an_excluded_work_is_in_no_list_and_classified_none(case: Case, mode: Mode) -> None:
    """Whatever its title, scores and labels."""
    found = case.calls(mode).filter(pl.Series(case.segments, dtype=pl.String) == "excluded")
    for row in found.iter_rows(named=True):
        assert row["classification"] == "none"
        for kind in kinds(case.targets, mode):
            assert [row[f"{kind}_categories"], row[f"{kind}_flags"]] == [[], []]
            assert row[f"{kind}_domain"] is None, "it depends on a call"


@checked
@given(cases(), st.sampled_from(MODES))
def test_classification_says_which_kind_of_category_call_there_is(case: Case, mode: Mode) -> None:
    found = case.calls(mode)
    assert found["classification"].dtype == CLASSIFICATION
    asked = {"both": ["consensus", "candidate"]}.get(mode, [mode])
    for row in found.iter_rows(named=True):
        there = [kind for kind in asked if row[f"{kind}_categories"]]
        assert row["classification"] == [*there, "none"][0]


def one_target(entry: Entry, scores: list[float], **more) -> pl.DataFrame:
    targets = targets_of("codex", categories=("metaresearch",), flags=("canada",))
    return case_of(
        targets, {"metaresearch": {"codex": entry}}, {"codex": {"metaresearch": scores}}, **more
    ).calls()


def called(entry: Entry, scores: list[float], ids: list[str] | None = None) -> list[bool]:
    return (one_target(entry, scores, ids=ids)["codex_categories"].list.len() > 0).to_list()


def test_thresholds_compare_in_float32() -> None:
    # 0.1 lies under its own float32 form, 0.3 over it: both call the score that was stored.
    for value in (0.1, 0.3, 0.7):
        stored = np.float32(value)
        under, over = np.nextafter(stored, np.float32(0)), np.nextafter(stored, np.float32(1))
        assert called(at(value), [under, stored, over]) == [False, True, True]
        assert called(best(value, ""), [under, stored, over]) == [False, False, True]


def test_thresholds_at_the_ends_of_the_range_call_all_or_the_certain_alone() -> None:
    assert called(at(0.0), [0.0, 0.5, 1.0]) == [True, True, True]
    assert called(at(1.0), [0.0, 0.5, 1.0]) == [False, False, True]


def test_a_quota_calls_equal_scores_up_to_the_boundary_id_compared_as_strings() -> None:
    ids = ["W1", "W10", "W2", "W9", "W1", "W9"]
    scores = [0.5, 0.5, 0.5, 0.5, 0.4, 0.6]
    assert called(best(0.5, "W10"), scores, ids) == [True, True, False, False, False, True]
    assert called(best(0.5, "W2"), scores, ids) == [True, True, True, False, False, True]


def test_calls_stand_in_manifest_order() -> None:
    targets = targets_of("codex")
    entries = {name: {"codex": at(0.5)} for name in reversed(targets.binary_names)}
    scores = {"codex": {name: [1.0] for name in targets.binary_names}}
    found = case_of(targets, entries, scores).calls()
    assert found["codex_categories"].to_list() == [list(CATEGORIES)]
    assert found["codex_flags"].to_list() == [list(FLAGS)]


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_one_head_agrees_with_itself(rows: int) -> None:
    found = one_target(at(0.5), [0.75] * rows)
    assert found.height == rows
    assert found["consensus_categories"].to_list() == [["metaresearch"]] * rows
    assert found["candidate_categories"].to_list() == [["metaresearch"]] * rows
    assert found["teacher_disagreement"].to_list() == [0.0] * rows


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_single_head_that_is_silent_everywhere_has_rows_without_calls(rows: int) -> None:
    found = one_target(OFF, [0.75] * rows)
    assert found["codex_categories"].to_list() == [[]] * rows
    assert found["threshold_uncertainty"].to_list() == [0.0] * rows
    assert found["classification"].to_list() == ["none"] * rows


def test_the_rule_on_empty_titles_holds_for_a_bundle_without_that_category() -> None:
    targets = targets_of("a", categories=("metaresearch", "sts"))
    entries = {name: {"a": at(0.0)} for name in targets.binary_names}
    scores = {"a": {"sts": [1.0, 1.0]}}
    found = case_of(targets, entries, scores, segments=[INSUFFICIENT_PAYLOAD, "covered"]).calls()
    assert found["a_categories"].to_list() == [[INSUFFICIENT_PAYLOAD], ["metaresearch", "sts"]]
    assert found["consensus_categories"].to_list() == found["a_categories"].to_list()


def test_sixty_three_categories_and_the_rule_on_empty_titles_fit_one_set() -> None:
    categories = ("metaresearch", *(f"c{number}" for number in range(62)))
    targets = targets_of("a", categories=categories, flags=())
    entries = {name: {"a": at(0.5)} for name in (categories[0], categories[-1])}
    scores = {"a": {categories[0]: [0.0, 1.0, 1.0], categories[-1]: [1.0, 1.0, 1.0]}}
    found = case_of(
        targets, entries, scores, segments=["covered", "covered", INSUFFICIENT_PAYLOAD]
    ).calls()
    assert found["candidate_categories"].to_list() == [
        ["c61"],
        ["metaresearch", "c61"],
        [INSUFFICIENT_PAYLOAD],
    ]


def test_names_of_a_set_are_made_from_its_bits() -> None:
    sets = pl.Series([0, 0b101, 0b010, 0, 0b101], dtype=pl.UInt64)
    found = name_lists(sets, CATEGORIES)
    assert found.type == pa.list_(pa.string())
    both = ["metaresearch", INSUFFICIENT_PAYLOAD]
    assert found.to_pylist() == [[], both, ["sts"], [], both]
    assert name_lists(sets[:0], FLAGS).to_pylist() == []


@checked
@given(st.lists(st.integers(0, 2**64 - 1), max_size=5), st.integers(1, 64))
def test_bits_of_lists_of_names_are_the_way_back(sets: list[int], places: int) -> None:
    names = [f"n{place}" for place in range(places)]
    bits = pl.Series([number % 2**places for number in sets], dtype=pl.UInt64)
    found = sets_of_lists(pl.Series(name_lists(bits, names)), names)
    assert found.dtype == pl.UInt64
    assert found.to_list() == bits.to_list()


def test_a_null_list_has_no_bit() -> None:
    lists = pl.Series([None, ["sts"], []], dtype=pl.List(pl.String))
    assert sets_of_lists(lists, CATEGORIES).to_list() == [0, 0b10, 0]
