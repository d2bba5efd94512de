"""A search: nested folds that leak nothing, the same seed the same choice, and a budget."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.labels.sample import Labels, read_label_table
from scorer.student.folder import load_manifest, read_card
from scorer.train import card, learner
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.folds import venue_folds
from scorer.train.search import Searched, search
from scorer.train.search_fit import answers_of
from scorer.train.search_space import recipe_with
from scorer.train.search_stage import BUNDLE, INNER_FOLDS, make_stages
from scorer.train.search_table import table_path
from scorer.train.trained import SearchRequest, TrainRequest

RECIPE = Recipe(ngrams=60, folds=2)
STAGES = ["fold 1", "fold 2", BUNDLE]
FITS = len(STAGES) * INNER_FOLDS
ASKED = SearchRequest(trials=3)


@pytest.fixture(scope="module")
def labels(searchable: Path) -> Labels:
    return read_label_table(searchable)


@pytest.fixture(scope="module")
def found(labels: Labels) -> Searched:
    return search(labels, RECIPE, ASKED)


def without_time(trials: pl.DataFrame) -> pl.DataFrame:
    return trials.drop("seconds")


def of(stage: str, searched: Searched) -> pl.DataFrame:
    return without_time(searched.trials).filter(stage=stage)


@settings(max_examples=30)
@given(
    venues=st.lists(st.sampled_from([None, "", *"abcdefghijkl"]), min_size=200, max_size=200),
    seed=st.integers(0, 99),
)
def test_no_venue_of_an_outer_fold_is_in_its_inner_folds(
    labels: Labels, venues: list[str | None], seed: int
) -> None:
    works = labels.works.with_columns(venue=pl.Series(venues, dtype=pl.String))
    recipe = replace(RECIPE, folds=3, seed=seed)
    if works["venue"].replace("", None).n_unique() < 8:
        return
    stages = make_stages(replace(labels, works=works), answers_of(labels), recipe)
    # A work without a venue is a venue of its own.
    keys = works["venue"].replace("", None).fill_null("\0" + works["id"]).to_numpy()
    for stage, (_, test) in zip(stages, venue_folds(works, 3, seed), strict=False):
        seen = np.concatenate([rows for fold in stage.folds for rows in fold])
        assert not set(keys[seen]) & set(keys[test])
        assert not set(seen) & set(test)
    for stage in stages:
        assert len(stage.folds) == INNER_FOLDS
        for learned, scored in stage.folds:
            assert not set(keys[learned]) & set(keys[scored])
            assert sorted([*learned, *scored]) == stage.rows.tolist()
        everyone = np.concatenate([scored for _, scored in stage.folds])
        assert sorted(everyone) == stage.rows.tolist()
    assert stages[-1].rows.tolist() == list(range(200))


def test_an_outer_folds_choice_does_not_depend_on_the_works_that_it_scores(
    searchable: Path, labels: Labels, found: Searched, tmp_path: Path
) -> None:
    """Other titles and other labels for these works: the same figures, the same recipe."""
    _, test = venue_folds(labels.works, RECIPE.folds, RECIPE.seed)[0]
    away = pl.Series(np.isin(np.arange(labels.works.height), test))
    pl.read_parquet(searchable).with_columns(
        title=pl.when(away).then(pl.lit("citation peer review " + "zebra " * 9)).otherwise("title"),
        codex_categories=pl.when(away)
        .then(pl.lit(["bibliometrics"]))
        .otherwise(pl.col("codex_categories")),
        codex_about_ca_topic=pl.col("codex_about_ca_topic") ^ away,
    ).write_parquet(tmp_path / "changed.parquet")
    changed = search(read_label_table(tmp_path / "changed.parquet"), RECIPE, ASKED)
    assert of("fold 1", changed).equals(of("fold 1", found))
    assert changed.of_folds[0] == found.of_folds[0]
    assert not of("fold 2", changed).equals(of("fold 2", found))
    assert not of(BUNDLE, changed).equals(of(BUNDLE, found))


def test_the_same_seed_finds_the_same(labels: Labels, found: Searched) -> None:
    again = search(labels, RECIPE, ASKED)
    assert without_time(again.trials).equals(without_time(found.trials))
    assert (again.recipe, again.of_folds, again.record) == (
        found.recipe,
        found.of_folds,
        found.record,
    )
    other = search(labels, replace(RECIPE, seed=5), ASKED)
    assert not without_time(other.trials).equals(without_time(found.trials))


def test_every_trial_is_a_row_of_every_stage(found: Searched) -> None:
    trials = found.trials
    assert trials["trial"].to_list() == [n for n in (1, 2, 3, 4) for _ in STAGES]
    assert trials["stage"].to_list() == STAGES * 4
    assert trials["counted"].all()
    assert (trials["seconds"] > 0).all()
    means = (pl.col("average_precision") + pl.col("average_precision_weighted")) / 2
    assert trials.select((means - pl.col("criterion")).abs().max()).item() < 1e-6
    usual = trials.filter(trial=1)
    assert usual["regularisation"].to_list() == [RECIPE.regularisation] * 3
    assert usual["title_beginnings"].to_list() == ["4 6"] * 3
    assert "ngrams" not in trials.columns, "60 n-grams were asked for"


def test_each_stage_takes_its_best_convincing_trial(found: Searched) -> None:
    for stage, recipe in zip(STAGES, [*found.of_folds, found.recipe], strict=True):
        rows = found.trials.filter(stage=stage)
        usual, *others = rows.rows(named=True)
        best = usual
        for row in others:
            if row["gain"] > 2 * row["gain_error"] and row["criterion"] > best["criterion"]:
                best = row
        assert rows.filter("chosen")["trial"].to_list() == [best["trial"]]
        assert recipe.regularisation == best["regularisation"]
        assert recipe.features.shape == best["shape"]
        assert json.loads(best["regularisation_of"]) == recipe.regularisation_of
        for row in others[:-1]:
            gain = row["criterion"] - usual["criterion"]
            assert row["gain"] == pytest.approx(gain, abs=3e-6)


def test_a_recipe_that_is_better_takes_the_usual_ones_place(labels: Labels) -> None:
    """N-grams of 20 works at least: hardly any; trials that read rarer ones are better."""
    poor = replace(RECIPE, least_works=20)
    found = search(labels, poor, replace(ASKED, trials=8))
    assert found.recipe.least_works < 20
    assert found.record.chosen["least_works"] == found.recipe.least_works
    assert found.trials.filter(stage=BUNDLE).filter("chosen")["gain"].item() > 0


def test_a_c_of_its_own_is_that_of_the_pair(labels: Labels, found: Searched) -> None:
    names = {f"{head}/{target}" for head, target in answers_of(labels).pairs}
    for recipe in (found.recipe, *found.of_folds):
        assert set(recipe.regularisation_of) <= names
        for name, c in recipe.regularisation_of.items():
            head, target = name.split("/")
            assert recipe.c(head, target) == c != recipe.regularisation
        assert recipe.c("codex", "insufficient_payload") == recipe.regularisation


@pytest.mark.parametrize("criterion", ["plain", "weighted"])
def test_the_criterion_is_what_is_compared(labels: Labels, criterion: Any) -> None:
    trials = search(labels, RECIPE, SearchRequest(trials=2, criterion=criterion)).trials
    column = "average_precision" + ("_weighted" if criterion == "weighted" else "")
    assert trials["criterion"].equals(trials[column])


def minutes() -> Callable[[], float]:
    """A clock on which a minute passes between any two looks."""
    passed: Iterator[int] = count()
    return lambda: 60.0 * next(passed)


def test_a_budget_ends_the_search_with_the_best_so_far(labels: Labels, found: Searched) -> None:
    said: list[str] = []
    asked = replace(ASKED, budget=FITS + 8)
    cut = search(labels, RECIPE, asked, say=said.append, clock=minutes())
    assert cut.record.cut_by_budget
    assert (cut.record.trials, cut.record.planned) == (1, 3)
    assert said[1] == (
        f"the budget of {FITS + 8} min ended the search: 1 of 3 trials were finished; the best of "
        "them is trained"
    )
    assert said[2] == "chosen: as usual"
    assert (cut.recipe, cut.of_folds) == (RECIPE, [RECIPE] * 2)
    kept = cut.trials.filter(trial=2)
    assert 0 < kept.height < len(STAGES)
    assert not (kept["counted"] | kept["chosen"]).any()
    before = without_time(found.trials).drop("counted", "chosen")
    assert without_time(cut.trials).drop("counted", "chosen").equals(before[: cut.trials.height])


def test_a_budget_may_end_the_search_before_any_trial(labels: Labels) -> None:
    said: list[str] = []
    asked = replace(ASKED, budget=0.5)
    cut = search(labels, RECIPE, asked, say=said.append, clock=minutes())
    assert said == [
        "the budget of 0.5 min ended the search within its first trial; the usual recipe is "
        "trained",
        "chosen: as usual",
    ]
    assert cut.recipe == RECIPE
    assert (cut.trials.height, cut.record.trials, cut.record.cut_by_budget) == (0, 0, True)
    assert {"trial", "stage", "criterion", "seconds", "chosen"} <= set(cut.trials.columns)


def test_a_budget_may_end_the_search_before_each_pair_has_its_c(labels: Labels) -> None:
    said: list[str] = []
    asked = replace(ASKED, budget=3 * FITS + 5)
    cut = search(labels, RECIPE, asked, say=said.append, clock=minutes())
    assert said[1] == (
        f"the budget of {3 * FITS + 5} min ended the search before C's of their own; the best of "
        "3 trials is trained"
    )
    assert cut.record.cut_by_budget
    assert set(cut.trials["trial"]) == {1, 2, 3}


def test_a_budget_that_suffices_changes_nothing(labels: Labels, found: Searched) -> None:
    ample = search(labels, RECIPE, replace(ASKED, budget=10_000), clock=minutes())
    assert ample.record == found.record
    assert without_time(ample.trials).equals(without_time(found.trials))


@pytest.fixture
def request_of(searchable: Path, tmp_path: Path) -> Callable[..., TrainRequest]:
    usual = {
        "output": tmp_path / "student",
        "labels": searchable,
        "recipe": RECIPE,
        "search": ASKED,
    }
    return lambda **changes: TrainRequest(**(usual | changes))


def test_a_searched_bundle_is_the_same_bytes_again_and_its_table_lies_beside_it(
    request_of: Callable[..., TrainRequest], found: Searched, tmp_path: Path
) -> None:
    manifest = train(request_of())
    folder = tmp_path / "student"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["student", "student.trials.parquet"]
    table = pl.read_parquet(table_path(folder))
    assert without_time(table).equals(without_time(found.trials))
    assert pl.read_parquet_metadata(table_path(folder))["model_version"] == manifest.version
    assert manifest.training.search == found.record
    assert load_manifest(folder) == manifest
    again = tmp_path / "again"
    train(request_of(output=again, name="student"))
    for file in folder.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes(), file.name


def test_the_figures_are_those_of_the_outer_folds_by_their_own_recipes(
    request_of: Callable[..., TrainRequest],
    found: Searched,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    fit_heads, used = learner.fit_heads, []

    def spy(labels: Labels, rows: np.ndarray, recipe: Recipe) -> Any:
        used.append(recipe)
        return fit_heads(labels, rows, recipe)

    monkeypatch.setattr(learner, "fit_heads", spy)
    train(request_of())
    assert used == [*found.of_folds, found.recipe]

    text = " ".join(read_card(tmp_path / "student").split())
    assert "## How the recipe was chosen" in text
    assert (
        "compared 3 recipes by plain and design-weighted average precision, half each: the mean "
        "over head and target pairs with 20 positives or more" in text
    )
    assert "The figures below are those of the outer folds alone." in text
    for row in ("| this bundle |", "| fold 1 |", "| fold 2 |"):
        assert row in text
    assert "--search --trials 3" in text
    assert f"(C = {found.recipe.regularisation:g}" in text


@pytest.mark.parametrize(("folds", "told"), [(({}, {}), False), (({}, {"shape": False}), True)])
def test_the_card_says_where_folds_chose_different_recipes(
    found: Searched, folds: tuple[dict[str, Any], ...], told: bool
) -> None:
    record = found.record.model_copy(update={"chosen_in_folds": folds})
    said = card._search(record, RECIPE)
    assert ("whose scores are not on one scale" in said) is told


def test_the_card_calls_choices_by_names_that_people_read(found: Searched) -> None:
    chosen = {
        "least_works": 3,
        "title_bigrams": False,
        "whole": ["topic", "lang"],
        "regularisation_of": {"codex/sts": 0.05, "gemma/sts": 0.4},
    }
    record = found.record.model_copy(update={"chosen": chosen})
    assert (
        "| this bundle | fewest works with an n-gram 3; title bigrams no; fields read as a whole: "
        "topic, lang; C of its own: codex sts 0.05, gemma sts 0.4 |"
    ) in card._search(record, RECIPE)


def test_a_cut_search_is_told_in_manifest_and_card(
    request_of: Callable[..., TrainRequest], tmp_path: Path
) -> None:
    manifest = train(request_of(search=replace(ASKED, budget=1e-9)))
    assert manifest.training.search is not None
    assert manifest.training.search.cut_by_budget
    text = " ".join(read_card(tmp_path / "student").split())
    assert "Its budget ended it after 0 of 3 trials." in text
    assert "--search --trials 3 --budget 1e-09" in text
    assert pl.read_parquet(table_path(tmp_path / "student")).height == 0


def test_the_card_says_what_a_budget_left_out_where_all_trials_were_done(found: Searched) -> None:
    record = found.record.model_copy(update={"cut_by_budget": True, "trials": found.record.planned})
    said = card._search(record, RECIPE)
    assert "Its budget ended it before C was chosen for each head and target." in said


def test_a_bundle_without_a_search_says_nothing_of_one(tiny_bundle: Path) -> None:
    manifest = load_manifest(tiny_bundle)
    assert manifest.training.search is None
    assert '"search"' not in (tiny_bundle / "bundle.json").read_text()
    assert "How the recipe was chosen" not in read_card(tiny_bundle)


def test_a_chosen_recipe_is_that_of_its_settings() -> None:
    made = recipe_with(RECIPE, {"regularisation": 0.4, "shape": False})
    assert (made.regularisation, made.features.shape, made.ngrams) == (0.4, False, 60)
