"""The columns of contract 4 together: names, types, order, and rows before maturity."""

import pytest
from policy_cases import AXES, MODES, NOTHING, Said, case_of, targets_of

from scorer.policy.calls import Mode
from scorer.policy.columns import score_only_columns
from scorer.targets import INSUFFICIENT_PAYLOAD


@pytest.mark.parametrize("mode", ["both", "majority"])
def test_columns_stand_in_the_order_of_the_contract(mode: Mode) -> None:
    found = case_of(targets_of("a", "b"), {}, {"a": {"sts": [0.0]}}).calls(mode)
    kinds = ["a", "b", "candidate", "consensus", *(["majority"] if mode == "majority" else [])]
    assert found.columns == [
        *(f"{kind}_{what}" for kind in kinds for what in ("categories", "flags")),
        *(f"{kind}_{axis}" for axis in AXES for kind in kinds),
        *("classification", "teacher_disagreement", "threshold_uncertainty"),
        # `genre` depends on no call: its columns hold the best values already.
        *(f"best_{kind}_domain" for kind in ("a", "b", "candidate")),
    ]


def test_with_direct_heads_the_best_values_of_every_axis_stand_beside_the_labels() -> None:
    labels = {"b": [Said(NOTHING, {"genre": "review"}), None]}
    case = case_of(targets_of("a", "b"), {}, {"a": {"sts": [0.0] * 2}}, labels=labels)
    found = case.calls()
    assert found.columns[-6:] == [
        f"best_{kind}_{axis}" for axis in AXES for kind in ("a", "b", "candidate")
    ]
    assert found["b_genre"].to_list() == ["review", None]
    assert found["best_b_genre"].to_list() == ["empirical"] * 2


def test_best_values_stand_in_every_row_with_a_usable_title_whatever_is_called() -> None:
    segments = ["covered", INSUFFICIENT_PAYLOAD, "excluded", "excluded"]
    case = case_of(
        targets_of("a"),
        {},
        {"a": {"sts": [0.0] * 4}},
        segments=segments,
        usable=[True, False, True, False],
    )
    found = case.calls()
    assert found["best_a_domain"].to_list() == ["methods", None, "methods", None]
    assert found["a_domain"].to_list() == [None] * 4


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("heads", [("a",), ("a", "b")], ids=["one head", "two heads"])
def test_before_maturity_every_call_is_null_and_not_empty(
    heads: tuple[str, ...], rows: int
) -> None:
    targets = targets_of(*heads)
    case = case_of(targets, {}, {"a": {"sts": [1.0] * rows}})
    found = score_only_columns(case.frame(), targets, case.policy)
    assert found.height == rows
    assert found["classification"].to_list() == ["score_only"] * rows
    assert found["teacher_disagreement"].to_list() == [float(len(heads) - 1)] * rows
    unset = found.drop("classification", "teacher_disagreement")
    assert unset.null_count().row(0) == (rows,) * unset.width


@pytest.mark.parametrize("mode", MODES)
def test_before_maturity_the_columns_are_those_of_calls_in_name_type_and_order(mode: Mode) -> None:
    case = case_of(targets_of("a", "b"), {}, {"a": {"sts": [1.0, 0.0]}})
    found = score_only_columns(case.frame(), case.targets, case.policy, mode)
    assert found.schema == case.calls(mode).schema
