"""The gate's arithmetic: three criteria over the figures of rounds, by the published numbers."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scorer.student.folder import load_manifest
from scorer.student.manifest import Maturity, Round
from scorer.train.maturity import Criteria, judge, option_name, relative_gain, standings

BASELINE = Path(__file__).parents[2] / "models" / "metacan-v0-baseline"
SETTLED = [0.60, 0.61, 0.61, 0.61, 0.61, 0.611]


def rounds(
    precision: Sequence[float],
    churn: Sequence[float] | float = 0.01,
    rank: Sequence[float] | float = 0.99,
) -> list[Round]:
    """Return rounds with these figures; a single figure stands for every round but the first."""
    later = len(precision) - 1
    churns = [None, *([churn] * later if isinstance(churn, float) else churn)]
    ranks = [None, *([rank] * later if isinstance(rank, float) else rank)]
    figures = zip(precision, churns, ranks, strict=True)
    return [
        Round(
            number=number,
            works=100 * number,
            held_out=50,
            targets=3,
            labels_sha256=f"{number}",
            bundle=f"x@{number}",
            average_precision=found,
            churn=moved,
            spearman=order,
        )
        for number, (found, moved, order) in enumerate(figures, start=1)
    ]


def test_the_defaults_are_the_published_numbers(shared: Path) -> None:
    policy = json.loads((shared / "reference" / "published_policy.json").read_text())
    said, usual = policy["maturity_gate"], Criteria()
    assert usual.gain == said["ap_plateau_rel_gain_lt"]
    assert usual.window == said["ap_plateau_window"]
    assert usual.churn == said["churn_lt"]
    assert usual.rank == said["rank_spearman_gt"]
    assert usual.running == said["churn_consecutive"] == said["rank_consecutive"]


def test_a_student_that_has_settled_passes() -> None:
    found = judge(rounds(SETTLED), Criteria())
    assert found.passed
    assert found.holds == {"average_precision": True, "churn": True, "spearman": True}
    assert found.note == "6 rounds; average precision, churn and rank correlation have settled"
    assert found.rounds == len(found.history) == 6
    assert found.criteria == {
        "gain": 0.02,
        "window": 5.0,
        "churn": 0.05,
        "rank": 0.98,
        "running": 3.0,
        "holdout_share": 0.2,
    }


def test_one_criterion_that_does_not_hold_keeps_the_gate_shut() -> None:
    grew = judge(rounds([0.5, 0.6, 0.61, 0.61, 0.61, 0.62]), Criteria())
    moved = judge(rounds(SETTLED, churn=[0.2, 0.1, 0.01, 0.05, 0.01]), Criteria())
    turned = judge(rounds(SETTLED, rank=[0.9, 0.99, 0.99, 0.99, 0.97]), Criteria())
    assert not (grew.passed or moved.passed or turned.passed)
    assert grew.note == "6 rounds; average precision still grew by 24 % over the last 5 rounds"
    assert moved.note == "6 rounds; churn under 0.05 for 1 round of 3"
    assert turned.note == "6 rounds; rank correlation 0.97"
    assert [name for name, holds in moved.holds.items() if not holds] == ["churn"]


def test_the_note_says_all_that_does_not_hold_yet() -> None:
    precision = [0.4, 0.5, 0.51, 0.52, 0.52, 0.52, 0.5205]
    found = judge(rounds(precision, churn=0.12, rank=0.93), Criteria())
    assert found.note == (
        "7 rounds; average precision still grew by 4.1 % over the last 5 rounds, churn 0.12, "
        "rank correlation 0.93"
    )


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_plateau_needs_one_round_more_than_its_window(count: int) -> None:
    found = judge(rounds([0.6] * count), Criteria())
    assert not found.holds["average_precision"]
    assert judge(rounds([0.6] * 6), Criteria()).holds["average_precision"]


def test_one_round_has_nothing_to_compare_with() -> None:
    found = judge(rounds([0.6]), Criteria(window=1, running=1))
    assert not any(found.holds.values())
    assert found.note == "1 round; nothing to compare it with yet"


@pytest.mark.parametrize(("value", "holds"), [(0.0499, True), (0.05, False), (0.0501, False)])
def test_churn_must_be_under_its_limit(value: float, holds: bool) -> None:
    assert judge(rounds(SETTLED, churn=value), Criteria()).holds["churn"] is holds


@pytest.mark.parametrize(("value", "holds"), [(0.9801, True), (0.98, False), (0.9799, False)])
def test_rank_correlation_must_be_over_its_limit(value: float, holds: bool) -> None:
    assert judge(rounds(SETTLED, rank=value), Criteria()).holds["spearman"] is holds


@pytest.mark.parametrize(("last", "holds"), [(0.637, True), (0.6375, False), (0.64, False)])
def test_growth_must_be_under_its_limit(last: float, holds: bool) -> None:
    precision = [0.625, 0.7, 0.1, 0.9, 0.2, last]
    assert judge(rounds(precision), Criteria()).holds["average_precision"] is holds


def test_the_window_counts_rounds_back_from_the_last() -> None:
    assert relative_gain([0.1, 0.5, 0.9, 0.9, 0.9, 0.9, 0.6], 5) == pytest.approx(0.2)
    assert relative_gain([0.5, 0.6], 1) == pytest.approx(0.2)
    assert relative_gain([0.5, 0.6], 2) is None


def test_a_streak_must_be_of_the_last_rounds() -> None:
    early = judge(rounds([0.6] * 7, churn=[0.01, 0.01, 0.01, 0.01, 0.01, 0.2]), Criteria())
    late = judge(rounds([0.6] * 7, churn=[0.2, 0.2, 0.2, 0.01, 0.01, 0.01]), Criteria())
    assert (early.holds["churn"], late.holds["churn"]) == (False, True)


def test_a_standing_has_figure_and_limit() -> None:
    plateau, churn, rank = standings(rounds(SETTLED, churn=0.125), Criteria())
    assert (plateau.figure, plateau.limit) == (
        "+1.83 %",
        "grew by less than 2 % over the last 5 rounds",
    )
    assert (churn.figure, churn.limit) == (
        "0.125, 0.125, 0.125",
        "under 0.05 for 3 rounds running",
    )
    assert (rank.figure, rank.limit) == ("0.99, 0.99, 0.99", "over 0.98 for 3 rounds running")
    assert standings(rounds([0.5, 0.6]), Criteria())[0].figure == "2 rounds of 6"
    assert standings(rounds([0.5, 0.6]), Criteria())[1].figure == "–, 0.01"


figures = st.floats(0.01, 1)


@given(st.lists(st.tuples(figures, figures, figures), min_size=1, max_size=9))
def test_the_gate_passes_where_all_criteria_hold(found: list[tuple[float, float, float]]) -> None:
    precision, churn, rank = zip(*found, strict=True)
    history = rounds(precision, churn[1:], rank[1:])
    easy = Criteria(gain=0.5, window=2, churn=0.8, rank=0.2, running=2)
    judged = judge(history, easy)
    assert judged.passed == all(judged.holds.values())
    assert judged.holds["average_precision"] == (
        len(history) > 2 and round(precision[-1] / precision[-3] - 1, 6) < 0.5
    )
    assert judged.holds["churn"] == (len(history) > 2 and max(churn[-2:]) < 0.8)
    assert judged.holds["spearman"] == (len(history) > 2 and min(rank[-2:]) > 0.2)


def test_criteria_outside_their_range_are_refused() -> None:
    for wrong in ({"window": 0}, {"running": 0}, {"holdout_share": 1.0}, {"gain": -0.1}):
        with pytest.raises(ValidationError):
            Criteria(**wrong)


def test_the_command_calls_a_criterion_of_the_gate_so() -> None:
    assert [option_name(name) for name in ("gain", "holdout_share", "min_pos")] == [
        "gate-gain",
        "holdout-share",
        "min-pos",
    ]


def test_maturity_without_rounds_is_written_as_it_always_was() -> None:
    """So bundles that were trained before there were rounds keep their version."""
    plain = Maturity(rounds=1, criteria={}, passed=True, note="made")
    written = plain.model_dump(mode="json")
    assert written == {"rounds": 1, "criteria": {}, "passed": True, "note": "made"}
    assert Maturity.model_validate(written) == plain


def test_maturity_with_rounds_reads_back_whole() -> None:
    found = judge(rounds(SETTLED), Criteria())
    assert Maturity.model_validate_json(found.model_dump_json()) == found
    assert found.model_dump()["holds"] == found.holds


def test_the_shipped_student_keeps_its_version(shipped_bundle: Path) -> None:
    assert load_manifest(shipped_bundle).version == "metacan-ngram@6390ea90c7c8"


def test_the_shipped_baseline_has_not_passed_by_its_own_figures(shared: Path) -> None:
    """As the published student after its seven rounds: none of the three criteria holds."""
    maturity = load_manifest(BASELINE).maturity
    assert maturity == judge(maturity.history, Criteria())
    policy = json.loads((shared / "reference" / "published_policy.json").read_text())
    published = policy["maturity_gate"]["state_after_7_rounds"]
    assert maturity.rounds == 7
    assert not (maturity.passed or published["passed"])
    assert list(maturity.holds.values()) == [
        published[name] for name in ("ap_plateau", "churn_ok", "rank_ok")
    ]
