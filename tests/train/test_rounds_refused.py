"""Training in rounds: what does not continue the rounds before, and what is not their state."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import scorer.train.distil
from scorer.errors import InputError, OutputError, UsageError
from scorer.labels.sample import read_label_table
from scorer.train.distil import train
from scorer.train.holdout import held_out_venues
from scorer.train.rounds import read_state
from scorer.train.trained import EncoderRequest, RoundsRequest

ANEW = "or begin anew with another --rounds-state."


@pytest.mark.parametrize(
    ("criteria", "recipe", "said"),
    [
        ({"churn": 0.1}, {}, "--gate-churn 0.1: the rounds of {} began with 0.05."),
        ({"holdout_share": 0.2}, {}, "--holdout-share 0.2: the rounds of {} began with 0.3."),
        ({}, {"seed": 3}, "--seed 3: the rounds of {} began with 0."),
        ({}, {"min_ess": 2.5}, "--min-ess 2.5: the rounds of {} began with 10."),
    ],
)
def test_options_that_contradict_the_first_round(
    rounds: Any, criteria: dict[str, float], recipe: dict[str, float], said: str
) -> None:
    asked = RoundsRequest(rounds.state, rounds.criteria.model_copy(update=criteria))
    request = rounds.request(rounds.table, rounds=asked, recipe=replace(rounds.recipe, **recipe))
    assert rounds.refusal(request, UsageError) == (
        f"{said.format(rounds.state)}\nLeave the option out, {ANEW}"
    )


def test_rounds_that_learn_in_another_way_do_not_continue(rounds: Any, tmp_path: Path) -> None:
    """Churn between two kinds of student tells nothing of how many labels are enough."""
    request = rounds.request(rounds.table, encoder=EncoderRequest(tmp_path / "none", "mixed"))
    assert rounds.refusal(request, UsageError) == (
        f"{rounds.state}: its rounds began with n-grams alone, this one asks for --encoder "
        "--mixed: rounds that learn in two ways cannot be compared.\n"
        f"Learn as they did, {ANEW}"
    )


def test_works_held_out_must_stay(rounds: Any) -> None:
    holdout = read_state(rounds.state).holdout
    lost = pl.col("id").str.strip_prefix("https://openalex.org/").is_in(list(holdout[:2]))
    request = rounds.request(rounds.table.filter(~lost))
    assert rounds.refusal(request, InputError) == (
        f"labels.parquet: lacks 2 of the {len(holdout)} works held out since the first round, "
        f"first: {holdout[0]}, {holdout[1]}.\n"
        f"Labels may grow from round to round, but keep these works, {ANEW}"
    )


def test_labels_of_works_held_out_must_stay(rounds: Any) -> None:
    state = read_state(rounds.state)
    place = state.answers["metaresearch"].index("1")
    own = pl.col("id").str.ends_with("/" + state.holdout[place])
    said = pl.when(own).then(pl.lit(["sts"])).otherwise(pl.col("codex_categories"))
    request = rounds.request(rounds.table.with_columns(codex_categories=said))
    assert rounds.refusal(request, InputError) == (
        f"labels.parquet: work {state.holdout[place]} is held out, and its labels for "
        "metaresearch are not those of the first round.\n"
        f"Keep the labels of works held out, {ANEW}"
    )


def test_other_heads_do_not_continue_the_rounds(rounds: Any) -> None:
    table = rounds.table
    request = rounds.request(table.drop(n for n in table.columns if n.startswith("gemma")))
    assert rounds.refusal(request, InputError) == (
        "labels.parquet: its heads are codex; the rounds before learned from codex, gemma.\n"
        f"Use labels of the same heads, {ANEW}"
    )


def test_a_target_that_is_gone_does_not_continue_the_rounds(rounds: Any) -> None:
    flags = [name for name in rounds.table.columns if name.endswith("about_ca_topic")]
    assert rounds.refusal(rounds.request(rounds.table.drop(flags)), InputError) == (
        "labels.parquet: has no work with about_ca_topic, which the rounds before have learned.\n"
        f"Labels may grow from round to round, but keep their targets, {ANEW}"
    )


def test_the_labels_of_an_earlier_round_are_no_new_round(rounds: Any) -> None:
    """The same labels give the same student: six times over, it would seem to have settled."""
    request = rounds.request(rounds.table[: rounds.sizes[1]])
    assert rounds.refusal(request, InputError) == (
        "labels.parquet: the labels of round 2, unchanged, so a new round would learn nothing "
        f"new.\nAdd labels, {ANEW}"
    )


def test_too_few_positives_among_the_works_held_out(
    begin: Callable[[Path], Any], tmp_path: Path
) -> None:
    made = begin(tmp_path)
    request = made.request(made.table[:14])
    works = read_label_table(tmp_path / "labels.parquet").works
    with pytest.raises(InputError) as found:
        train(request)
    assert str(found.value) == (
        f"labels.parquet: among the {held_out_venues(works, 0, 0.3).sum()} works held out no "
        "target has 5 works that most heads say yes to.\n"
        "Label more works, or hold out more of them: --holdout-share."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["labels.parquet"]


def change(path: Path, **changes: object) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rounds": []}, "rounds: Tuple should have at least 1 item after validation, not 0."),
        ({"more": 1}, "more: Extra inputs are not permitted."),
        ({"holdout": ["W2", "W1"]}, "as a whole: ids of the holdout must be distinct and in "),
        ({"scores": {}}, "as a whole: scores are needed for exactly the targets that are "),
        ({"answers": {"sts": "yes"}}, "answers.sts: String should match pattern "),
    ],
)
def test_a_state_that_is_not_whole(rounds: Any, changes: dict[str, Any], said: str) -> None:
    change(rounds.state, **changes)
    text = rounds.refusal(rounds.request(rounds.table), InputError)
    assert text.startswith(f"{rounds.state}: {said}")
    assert text.endswith(f".\nRestore the file, {ANEW}")


@pytest.mark.parametrize(
    ("place", "changes", "said"),
    [
        (1, {"number": 3}, "rounds must be numbered 1, 2, 3, ..."),
        (0, {"bundle": None}, "every round needs the version of its bundle"),
        (2, {"churn": None}, "every round after the first needs churn and spearman"),
    ],
)
def test_rounds_that_are_not_whole(
    rounds: Any, place: int, changes: dict[str, Any], said: str
) -> None:
    kept = json.loads(rounds.state.read_text())["rounds"]
    kept[place] |= changes
    change(rounds.state, rounds=kept)
    with pytest.raises(InputError) as found:
        read_state(rounds.state)
    assert str(found.value) == (f"{rounds.state}: as a whole: {said}.\nRestore the file, {ANEW}")


def test_a_state_of_another_schema_version(rounds: Any) -> None:
    change(rounds.state, schema_version=2)
    assert rounds.refusal(rounds.request(rounds.table), InputError) == (
        f"{rounds.state}: schema version 2, this program reads 1.\n"
        f"Use the program that wrote it, {ANEW}"
    )


@pytest.mark.parametrize("text", ['{"schema_version": 1', "[]", "{}", "7", "PAR1\xff"])
def test_a_file_that_is_no_state_is_left_alone(rounds: Any, text: str) -> None:
    rounds.state.write_text(text, encoding="latin-1")
    said = rounds.refusal(rounds.request(rounds.table), InputError)
    assert said.startswith(f"{rounds.state}: not a state of rounds (")
    assert said.endswith(f").\nRestore the file, {ANEW}")


def test_a_bundle_that_cannot_be_written_leaves_the_state(
    rounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OutputError("no space")

    monkeypatch.setattr(scorer.train.distil, "_write", full)
    assert rounds.refusal(rounds.request(rounds.table), OutputError) == "no space"


def test_a_state_in_the_folder_of_the_bundle_is_refused(rounds: Any) -> None:
    inside = rounds.student / "rounds.json"
    request = rounds.request(rounds.table, rounds=RoundsRequest(inside, rounds.criteria))
    assert rounds.refusal(request, UsageError) == (
        f"{inside}: lies in the bundle's folder, which each round replaces.\n"
        "Keep the state of the rounds elsewhere: --rounds-state."
    )


def test_a_state_that_cannot_be_written_is_told_before_training(rounds: Any) -> None:
    request = rounds.request(rounds.table)
    nowhere = RoundsRequest(rounds.folder / "none" / "rounds.json", rounds.criteria)
    assert rounds.refusal(replace(request, rounds=nowhere), OutputError) == (
        f"{rounds.folder}/none: no such folder. Make it first, or choose -o elsewhere."
    )
