"""Training in rounds: what is held out, what is measured, what the state keeps."""

import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import scorer.train.distil
from scorer.cli.train import _GATE
from scorer.cli.train import train as train_command
from scorer.engine.files import sha256
from scorer.labels.sample import Labels, read_label_table
from scorer.student.bundle import load_student
from scorer.student.folder import load_manifest, read_card
from scorer.train.holdout import held_out_venues
from scorer.train.maturity import Criteria
from scorer.train.measure import churn, mean_average_precision, mean_scores, rank_correlation
from scorer.train.rounds import RoundsState, read_state
from scorer.train.trained import RoundsRequest, TrainRequest


def test_works_held_out_are_whole_venues_of_the_first_round(three_rounds: Any) -> None:
    first = three_rounds.table[: three_rounds.sizes[0]].with_columns(
        id=pl.col("id").str.strip_prefix("https://openalex.org/")
    )
    chosen = held_out_venues(first, 0, 0.3)
    assert list(read_state(three_rounds.state).holdout) == sorted(first.filter(chosen)["id"])


def test_no_work_of_a_venue_held_out_is_learned_from(
    rounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by the folds nor by the heads that ship, nor if it came in a later round."""
    seen: list[Labels] = []
    learn = scorer.train.distil._learn

    def spy(request: TrainRequest, labels: Labels, *others: Any) -> Any:
        seen.append(labels)
        return learn(request, labels, *others)

    monkeypatch.setattr(scorer.train.distil, "_learn", spy)
    manifest = rounds.train(rounds.table[:200])
    (labels,) = seen
    chosen = held_out_venues(read_label_table(rounds.folder / "labels.parquet").works, 0, 0.3)
    held_out = len(read_state(rounds.state).holdout)
    assert not held_out_venues(labels.works, 0, 0.3).any()
    assert labels.works.height == manifest.training.rows == 200 - chosen.sum()
    assert rounds.said[1] == (
        f"round 4: {labels.works.height} works to learn from, {held_out} held out; "
        f"{chosen.sum() - held_out} later works of their venues left out"
    )


def test_figures_are_those_of_the_scores_that_ship(three_rounds: Any) -> None:
    state = read_state(three_rounds.state)
    student = load_student(three_rounds.student)
    works = read_label_table(three_rounds.folder / "labels.parquet").works
    held_out = works.filter(pl.col("id").is_in(list(state.holdout))).sort("id")
    scores = student.score(held_out)
    binary = np.hstack([scores.binary[head] for head in ("codex", "gemma")])
    names = list(state.scores)
    assert mean_scores(binary, student.manifest.targets, names) == state.scores
    last = state.rounds[-1]
    assert last.average_precision == mean_average_precision(state.scores, state.answers)
    assert (last.targets, last.held_out, last.number) == (len(names), len(state.holdout), 3)
    assert last.works == student.manifest.training.rows
    assert last.labels_sha256 == sha256(three_rounds.folder / "labels.parquet")


def test_a_round_is_compared_with_the_one_before(rounds: Any) -> None:
    before = read_state(rounds.state)
    rounds.train(rounds.table[:200])
    after = read_state(rounds.state)
    assert after.rounds[:3] == before.rounds
    assert after.rounds[3].churn == churn(after.scores, before.scores, before.answers)
    assert after.rounds[3].spearman == rank_correlation(after.scores, before.scores, before.answers)
    frozen = ("heads", "options", "criteria", "holdout", "answers")
    assert all(getattr(after, name) == getattr(before, name) for name in frozen)


def test_manifest_and_state_tell_the_same(three_rounds: Any) -> None:
    state = read_state(three_rounds.state)
    assert [m.maturity.rounds for m in three_rounds.manifests] == [1, 2, 3]
    assert [m.version for m in three_rounds.manifests] == [done.bundle for done in state.rounds]
    told, kept = three_rounds.manifests[-1].maturity, state.maturity()
    assert told.history[:-1] == kept.history[:-1]
    assert told.history[-1] == kept.history[-1].model_copy(update={"bundle": None})
    assert (told.holds, told.note, told.passed) == (kept.holds, kept.note, kept.passed)
    assert told.criteria == three_rounds.criteria.model_dump()
    assert three_rounds.manifests[0].maturity.note == "1 round; nothing to compare it with yet"
    assert load_manifest(three_rounds.student) == three_rounds.manifests[-1]


def test_the_same_labels_give_the_same_rounds(
    three_rounds: Any, begin: Callable[[Path], Any], tmp_path: Path
) -> None:
    manifest = begin(tmp_path).train(three_rounds.table[: three_rounds.sizes[0]])
    assert manifest.version == three_rounds.manifests[0].version


def test_a_gate_that_asks_for_little_passes(rounds: Any) -> None:
    content = json.loads(rounds.state.read_text())
    content["criteria"] |= {"gain": 9.0, "churn": 1.0, "rank": -1.0}
    rounds.state.write_text(json.dumps(content))
    asked = RoundsRequest(rounds.state, given=frozenset())
    maturity = rounds.train(rounds.table, rounds=asked).maturity
    assert maturity.passed
    assert all(maturity.holds.values())
    assert "The maturity gate **has passed**: 4 rounds; " in read_card(rounds.student)


def test_the_card_shows_the_rounds_and_what_holds(three_rounds: Any) -> None:
    card = read_card(three_rounds.student)
    maturity = three_rounds.manifests[-1].maturity
    assert f"The maturity gate **has not passed**: {maturity.note}.\n" in card
    first, _, last = maturity.history
    assert f"| 1 | {first.works} | {first.average_precision:.4f} | – | – |\n" in card
    assert (
        f"| 3 | {last.works} | {last.average_precision:.4f} | {last.churn:.4g} "
        f"| {last.spearman:.4g} |\n"
    ) in card
    assert "| average precision | grew by less than 2 % over the last 2 rounds | " in card
    assert "--rounds-state rounds.json --gate-window 2 --gate-running 2 --holdout-share 0.3\n" in (
        card
    )


def test_ordinary_training_has_no_rounds(tiny_bundle: Path) -> None:
    assert "Rounds" not in read_card(tiny_bundle)
    written = json.loads((tiny_bundle / "bundle.json").read_text())["maturity"]
    assert written == {
        "rounds": 1,
        "criteria": {},
        "passed": True,
        "note": "trained in one round on a complete sample, so there are no rounds to compare",
    }


def test_options_that_are_not_given_follow_the_first_round(rounds: Any) -> None:
    """The request has other defaults; what the user did not ask for cannot contradict."""
    asked = RoundsRequest(rounds.state, Criteria(), given=frozenset({"beta"}))
    recipe = replace(rounds.recipe, ngrams=7000)
    manifest = rounds.train(rounds.table, rounds=asked, recipe=recipe)
    assert manifest.encoder.ngrams <= 60
    assert manifest.maturity.criteria == rounds.criteria.model_dump()


def test_a_target_that_is_new_joins_the_training_alone(rounds: Any) -> None:
    new = pl.int_range(pl.len()) >= rounds.sizes[-1]
    said = pl.when(new).then(pl.lit(["brand_new"])).otherwise(pl.col("codex_categories"))
    manifest = rounds.train(rounds.table.with_columns(codex_categories=said))
    assert "brand_new" in manifest.targets.categories
    assert "brand_new" not in read_state(rounds.state).answers


def test_a_round_whose_state_was_not_kept_is_done_again(
    rounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle is in place, the state is not: the same command ends in the same version."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(scorer.train.distil, "write_state", stop)
        rounds.train(rounds.table)
    made = load_manifest(rounds.student).version
    assert len(read_state(rounds.state).rounds) == 3
    assert rounds.train(rounds.table).version == made
    assert read_state(rounds.state).rounds[-1].bundle == made


def test_a_state_reads_back_as_it_was_written(three_rounds: Any) -> None:
    state = read_state(three_rounds.state)
    assert RoundsState.model_validate_json(state.model_dump_json()) == state


@pytest.mark.parametrize(("option", "criterion"), _GATE.items())
def test_the_command_has_the_defaults_of_the_criteria(option: str, criterion: str) -> None:
    parameters = inspect.signature(train_command).parameters
    assert parameters[option].default == getattr(Criteria(), criterion)


def test_every_criterion_is_an_option() -> None:
    assert sorted(_GATE.values()) == sorted(Criteria.model_fields)
