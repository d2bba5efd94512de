from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.policy.calls import (
    CLASSIFICATION,
    SEGMENT,
    AxisChoices,
    Mode,
    call_columns,
    choose_axes,
    name_lists,
    score_only_columns,
)
from scorer.policy.policy import Policy, Quota, Silent, Threshold
from scorer.targets import INSUFFICIENT_PAYLOAD, Axis, Binary, Head, Label, Targets

Entry = Threshold | Quota | Silent
checked = settings(max_examples=30, deadline=None)

LABEL = Label(en="x", fr="x")
CATEGORIES = ("metaresearch", "sts", INSUFFICIENT_PAYLOAD)
FLAGS = ("about_ca_system", "about_ca_topic")
AXES = {"domain": ("methods", "reporting", "incentives"), "genre": ("empirical", "review")}
OFF = Silent(reason="off")


def targets_of(
    *heads: str,
    categories: tuple[str, ...] = CATEGORIES,
    flags: tuple[str, ...] = FLAGS,
    unavailable: dict[str, tuple[str, ...]] | None = None,
) -> Targets:
    return Targets(
        heads=tuple(Head(name=h, unavailable=(unavailable or {}).get(h, ())) for h in heads),
        binary=(
            *(Binary(name=name, kind="category", label=LABEL) for name in categories),
            *(Binary(name=name, kind="flag", label=LABEL) for name in flags),
        ),
        axes=tuple(
            Axis(
                name=name,
                label=LABEL,
                values=values,
                value_labels=(LABEL,) * len(values),
                only_with="metaresearch" if name == "domain" else None,
            )
            for name, values in AXES.items()
        ),
    )


def at(value: float) -> Threshold:
    return Threshold(value=value, found_by="test")


def best(value: float, boundary: str) -> Quota:
    return Quota(k=1, value=value, boundary_id=boundary, found_by="test")


@dataclass(frozen=True)
class Case:
    """Works with their scores [head][target][work] and axis scores [head][axis][work][value]."""

    targets: Targets
    policy: Policy
    ids: list[str]
    covered: list[bool]
    scores: dict[str, dict[str, list[float]]]
    axes: dict[str, dict[str, np.ndarray]]

    def frame(self) -> pl.DataFrame:
        segments = ["covered" if covered else INSUFFICIENT_PAYLOAD for covered in self.covered]
        columns = {
            "id": pl.Series(self.ids, dtype=pl.String),
            "segment": pl.Series(segments, dtype=SEGMENT),
        }
        for head in self.targets.head_names:
            for target in self.targets.binary_names:
                columns[f"score_{head}_{target}"] = pl.Series(
                    self.scores[head][target], dtype=pl.Float32
                )
        return pl.DataFrame(columns)

    def calls(self, mode: Mode = "both", policy: Policy | None = None) -> pl.DataFrame:
        choices = choose_axes(self.axes, self.targets)
        return call_columns(self.frame(), choices, self.targets, policy or self.policy, mode)


def case_of(
    targets: Targets,
    entries: dict[str, dict[str, Entry]],
    scores: dict[str, dict[str, list[float]]],
    *,
    ids: list[str] | None = None,
    covered: list[bool] | None = None,
    axes: dict[str, dict[str, np.ndarray]] | None = None,
) -> Case:
    """A case in which entries that are not named are silent, scores 0, and axes undecided."""
    rows = len(next(iter(next(iter(scores.values())).values())))
    heads, names = targets.head_names, targets.binary_names
    return Case(
        targets=targets,
        policy=Policy(
            entries={t: {h: entries.get(t, {}).get(h, OFF) for h in heads} for t in names}
        ),
        ids=ids or [f"W{row}" for row in range(rows)],
        covered=covered or [True] * rows,
        scores={h: {t: scores.get(h, {}).get(t, [0.0] * rows) for t in names} for h in heads},
        axes=axes
        or {
            h: {a.name: np.zeros((rows, len(a.values)), np.float32) for a in targets.axes}
            for h in heads
        },
    )


# Scores on both sides of every threshold, at it, and at what float64 makes of it.
SCORES = [0.0, 0.1, 0.25, 0.3, float(np.float32(0.3)), 0.5, 0.7, 1.0]
ENTRY = st.one_of(
    st.sampled_from([at(value) for value in SCORES]),
    st.sampled_from([best(value, work) for value in SCORES for work in ("W10", "W2", "W99", "")]),
    st.sampled_from([OFF, Silent(reason="support"), Silent(reason="unavailable")]),
)


TARGETS = {number: targets_of(*["codex", "gemma", "third"][:number]) for number in (1, 2, 3)}


@st.composite
def cases(draw: st.DrawFn, heads: tuple[int, ...] = (1, 2, 3)) -> Case:
    """Draw a case of up to four works; scores come from a drawn seed, which is much faster."""
    targets = TARGETS[draw(st.sampled_from(heads))]
    names, rows = targets.head_names, draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    return case_of(
        targets,
        {t: {h: draw(ENTRY) for h in names} for t in targets.binary_names},
        {h: {t: rng.choice(SCORES, rows).tolist() for t in targets.binary_names} for h in names},
        ids=rng.permutation(["W1", "W2", "W10", "W3", "W9", "V"])[:rows].tolist(),
        covered=draw(st.lists(st.booleans(), min_size=rows, max_size=rows)),
        axes={
            h: {
                name: rng.choice(np.float32([0.0, 0.2, 0.4, 0.5]), (rows, len(values)))
                for name, values in AXES.items()
            }
            for h in names
        },
    )


def decides(entry: Entry, score: float, work: str) -> bool:
    """What the contract says of one score, in plain Python."""
    score = np.float32(score)
    match entry:
        case Threshold():
            return bool(score >= np.float32(entry.value))
        case Quota():
            value = np.float32(entry.value)
            return bool(score > value) or bool(score == value and work <= entry.boundary_id)
        case Silent():
            return False


def plain_calls(case: Case, head: str, names: list[str]) -> list[list[str]]:
    found = []
    for row, work in enumerate(case.ids):
        if case.covered[row]:
            found.append(
                [
                    name
                    for name in names
                    if decides(case.policy.entry(head, name), case.scores[head][name][row], work)
                ]
            )
        else:
            found.append([INSUFFICIENT_PAYLOAD] if INSUFFICIENT_PAYLOAD in names else [])
    return found


def combined(case: Case, what: str, combine: Callable[..., bool]) -> list[list[str]]:
    names = case.targets.categories if what == "categories" else case.targets.flags
    heads = [plain_calls(case, head, names) for head in case.targets.head_names]
    return [
        [name for name in names if combine(name in calls for calls in row)]
        for row in zip(*heads, strict=True)
    ]


@checked
@given(cases())
def test_calls_are_those_of_plain_python(case: Case) -> None:
    found = case.calls()
    for what in ("categories", "flags"):
        names = getattr(case.targets, what)
        for head in case.targets.head_names:
            assert found[f"{head}_{what}"].to_list() == plain_calls(case, head, names)
        assert found[f"candidate_{what}"].to_list() == combined(case, what, any)
        assert found[f"consensus_{what}"].to_list() == combined(case, what, all)


@checked
@given(cases())
def test_consensus_is_within_each_head_and_each_head_within_candidate(case: Case) -> None:
    found = case.calls()
    for what in ("categories", "flags"):
        for head in case.targets.head_names:
            rows = found.select(f"consensus_{what}", f"{head}_{what}", f"candidate_{what}")
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
        entries = case.policy.entries | {target: dict.fromkeys(case.targets.head_names, at(value))}
        rows = case.calls(policy=Policy(entries=entries))
        kinds = [*case.targets.head_names, "candidate", "consensus"]
        return [calls for kind in kinds for calls in rows[f"{kind}_{what}"].to_list()]

    for few, many in zip(called(higher), called(lower), strict=True):
        assert set(few) <= set(many)


@checked
@given(cases(), st.sampled_from(CATEGORIES + FLAGS))
def test_a_silent_head_never_calls_and_stops_the_consensus(case: Case, target: str) -> None:
    silenced = case.policy.entries[target] | {"codex": Silent(reason="support")}
    found = case.calls(policy=Policy(entries=case.policy.entries | {target: silenced}))
    what = "categories" if target in CATEGORIES else "flags"
    covered = found.filter(pl.Series(case.covered, dtype=pl.Boolean))
    for kind in ("codex", "consensus"):
        assert all(target not in calls for calls in covered[f"{kind}_{what}"].to_list())


@checked
@given(cases(heads=(3,)), st.permutations(["codex", "gemma", "third"]))
def test_the_order_of_the_heads_changes_the_order_of_columns_alone(
    case: Case, order: list[str]
) -> None:
    other = Case(
        targets=case.targets.model_copy(update={"heads": tuple(Head(name=h) for h in order)}),
        policy=case.policy,
        ids=case.ids,
        covered=case.covered,
        scores=case.scores,
        axes=case.axes,
    )
    expected = case.calls()
    found = other.calls()
    assert sorted(found.columns) == sorted(expected.columns)
    assert found.select(expected.columns).equals(expected)


@checked
@given(cases(), st.sampled_from(["both", "candidate", "consensus"]))
def test_a_work_without_usable_title_is_called_insufficient_payload_alone(
    case: Case, mode: Mode
) -> None:
    found = case.calls(mode).filter(~pl.Series(case.covered, dtype=pl.Boolean))
    for row in found.iter_rows(named=True):
        for kind in [*case.targets.head_names, "candidate", "consensus"]:
            assert row[f"{kind}_categories"] == [INSUFFICIENT_PAYLOAD]
            assert row[f"{kind}_flags"] == []
            assert row[f"{kind}_domain"] is None
            assert row[f"{kind}_genre"] is None


@checked
@given(cases())
def test_axes_are_each_heads_best_value_and_that_of_the_mean(case: Case) -> None:
    found = case.calls()
    for axis, values in AXES.items():
        columns = {head: case.axes[head][axis] for head in case.targets.head_names}
        for row in range(len(case.ids)):
            own = {head: values[int(np.argmax(scores[row]))] for head, scores in columns.items()}
            mean = sum(scores[row].astype(np.float64) for scores in columns.values())
            agreed = next(iter(own.values())) if len(set(own.values())) == 1 else None
            kinds = own | {"candidate": values[int(np.argmax(mean))], "consensus": agreed}
            for kind, value in kinds.items():
                usable = case.covered[row] and (
                    axis != "domain" or "metaresearch" in found[f"{kind}_categories"][row]
                )
                assert found[f"{kind}_{axis}"][row] == (value if usable else None)


@checked
@given(cases(), st.sampled_from(["both", "candidate", "consensus"]))
def test_classification_says_which_kind_of_category_call_there_is(case: Case, mode: Mode) -> None:
    found = case.calls(mode)
    assert found["classification"].dtype == CLASSIFICATION
    rows = found.select("consensus_categories", "candidate_categories", "classification")
    for consensus, candidate, word in rows.iter_rows():
        agreed = bool(consensus) and mode != "candidate"
        said = bool(candidate) and mode != "consensus"
        assert word == ("consensus" if agreed else "candidate" if said else "none")


@checked
@given(cases())
def test_review_columns_lie_between_zero_and_one(case: Case) -> None:
    found = case.calls()
    for name in ("teacher_disagreement", "threshold_uncertainty"):
        assert found[name].dtype == pl.Float32
        assert found[name].null_count() == 0
        assert all(0 <= value <= 1 for value in found[name])


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


def test_columns_stand_in_the_order_of_the_contract() -> None:
    found = case_of(targets_of("a", "b"), {}, {"a": {"sts": [0.0]}}).calls()
    kinds = ["a", "b", "candidate", "consensus"]
    assert found.columns == [
        *(f"{kind}_{what}" for kind in kinds for what in ("categories", "flags")),
        *(f"{kind}_{axis}" for axis in AXES for kind in kinds),
        *("classification", "teacher_disagreement", "threshold_uncertainty"),
    ]


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


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("heads", [("a",), ("a", "b")], ids=["one head", "two heads"])
def test_before_maturity_every_call_is_null_and_not_empty(
    heads: tuple[str, ...], rows: int
) -> None:
    targets = targets_of(*heads)
    case = case_of(targets, {}, {"a": {"sts": [1.0] * rows}})
    found = score_only_columns(case.frame(), targets)
    assert found.height == rows
    assert found["classification"].to_list() == ["score_only"] * rows
    assert found["teacher_disagreement"].to_list() == [float(len(heads) - 1)] * rows
    unset = found.drop("classification", "teacher_disagreement")
    assert unset.null_count().row(0) == (rows,) * unset.width


def test_before_maturity_the_columns_are_those_of_calls_in_name_type_and_order() -> None:
    case = case_of(targets_of("a", "b"), {}, {"a": {"sts": [1.0, 0.0]}})
    assert score_only_columns(case.frame(), case.targets).schema == case.calls().schema


def test_the_rule_on_empty_titles_holds_for_a_bundle_without_that_category() -> None:
    targets = targets_of("a", categories=("metaresearch", "sts"))
    entries = {name: {"a": at(0.0)} for name in targets.binary_names}
    scores = {"a": {"sts": [1.0, 1.0]}}
    found = case_of(targets, entries, scores, covered=[False, True]).calls()
    assert found["a_categories"].to_list() == [[INSUFFICIENT_PAYLOAD], ["metaresearch", "sts"]]
    assert found["consensus_categories"].to_list() == found["a_categories"].to_list()


def test_sixty_three_categories_and_the_rule_on_empty_titles_fit_one_set() -> None:
    categories = ("metaresearch", *(f"c{number}" for number in range(62)))
    targets = targets_of("a", categories=categories, flags=())
    entries = {name: {"a": at(0.5)} for name in (categories[0], categories[-1])}
    scores = {"a": {categories[0]: [0.0, 1.0, 1.0], categories[-1]: [1.0, 1.0, 1.0]}}
    found = case_of(targets, entries, scores, covered=[True, True, False]).calls()
    assert found["candidate_categories"].to_list() == [
        ["c61"],
        ["metaresearch", "c61"],
        [INSUFFICIENT_PAYLOAD],
    ]


def test_names_of_a_set_are_made_from_its_bits() -> None:
    targets = targets_of("a")
    sets = pl.Series([0, 0b101, 0b010, 0, 0b101], dtype=pl.UInt64)
    found = name_lists(sets, targets, "categories")
    assert found.dtype == pl.List(pl.String)
    both = ["metaresearch", INSUFFICIENT_PAYLOAD]
    assert found.to_list() == [[], both, ["sts"], [], both]
    assert name_lists(sets[:0], targets, "flags").to_list() == []


def test_axis_choices_without_axes_are_empty() -> None:
    targets = targets_of("a").model_copy(update={"axes": ()})
    assert choose_axes({"a": {}}, targets) == AxisChoices({"a": {}}, {})
