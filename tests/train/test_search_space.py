"""What a search may vary, and what it draws: the usual recipe first, then others, by seed."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.labels.sample import Labels, read_label_table
from scorer.student.folder import load_manifest
from scorer.train.feature_set import FeatureSet
from scorer.train.fit import Recipe
from scorer.train.search_fit import channels
from scorer.train.search_space import Dimension, draw, recipe_with, space, usual_settings, widest

seeds = st.integers(0, 1000)


@pytest.fixture(scope="module")
def labels(tiny_labels: Path) -> Labels:
    return read_label_table(tiny_labels)


def names(labels: Labels, recipe: Recipe, **fixed: frozenset[str]) -> set[str]:
    return {dimension.name for dimension in space(labels, recipe, **fixed)}


def test_the_usual_settings_are_the_recipe_as_it_is(labels: Labels) -> None:
    for recipe in (Recipe(), Recipe(ngrams=90, regularisation=0.7, least_works=5)):
        assert recipe_with(recipe, usual_settings(space(labels, recipe))) == recipe


@given(seed=seeds)
def test_trials_are_different_and_begin_with_the_usual_one(labels: Labels, seed: int) -> None:
    dimensions = space(labels, Recipe())
    drawn = draw(dimensions, 8, seed)
    assert drawn[0] == usual_settings(dimensions)
    assert len(drawn) == len({str(settings) for settings in drawn}) == 8
    for settings in drawn:
        assert all(settings[each.name] in each.values for each in dimensions)
    assert drawn == draw(dimensions, 8, seed)
    assert drawn[:5] == draw(dimensions, 5, seed)


def test_another_seed_draws_others(labels: Labels) -> None:
    dimensions = space(labels, Recipe())
    assert draw(dimensions, 8, 0)[1:] != draw(dimensions, 8, 1)[1:]


def test_a_small_space_gives_no_more_trials_than_it_holds() -> None:
    drawn = draw([Dimension("shape", (True, False)), Dimension("ngrams", (9,))], 12, 0)
    assert drawn == [{"shape": True, "ngrams": 9}, {"shape": False, "ngrams": 9}]


def test_the_soft_weight_is_varied_where_there_is_one(labels: Labels) -> None:
    recipe = Recipe(soft_weight=1.0)
    assert names(labels, recipe) - names(labels, Recipe()) == {"soft_weight"}
    assert recipe_with(recipe, usual_settings(space(labels, recipe))) == recipe
    assert recipe_with(recipe, {"soft_weight": 2.0}).soft_weight == 2.0


def test_what_the_user_asked_for_is_not_varied(labels: Labels) -> None:
    everything = names(labels, Recipe())
    assert {"ngrams", "regularisation", "title_beginnings", "whole"} <= everything
    assert names(labels, Recipe(), fixed=frozenset({"ngrams"})) == everything - {"ngrams"}


def test_fields_that_the_labels_lack_are_not_varied(
    make_labels: Callable[..., pl.DataFrame], abstract_bundle: Path, tmp_path: Path, labels: Labels
) -> None:
    everything = names(labels, Recipe())
    assert "abstract_bigrams" not in everything
    assert names(
        read_label_table(abstract_bundle.parent / "labels.parquet"), Recipe()
    ) == everything | {"abstract_bigrams"}
    bare = make_labels(60).drop("venue", "year").with_columns(topic=pl.lit(None, pl.String))
    bare.write_parquet(tmp_path / "bare.parquet")
    assert everything - names(read_label_table(tmp_path / "bare.parquet"), Recipe()) == {
        *("venue_words", "venue_beginnings", "venue_scale", "topic_words", "decade"),
    }


@given(seed=seeds)
def test_the_widest_features_hold_those_of_every_trial(labels: Labels, seed: int) -> None:
    dimensions = space(labels, Recipe())
    wide = channels(widest(dimensions, Recipe()).settings(1, 1.0, abstracts=True))
    for settings in draw(dimensions, 6, seed):
        reads = recipe_with(Recipe(), settings).features
        assert channels(reads.settings(1, 1.0, abstracts=True)) <= wide


def test_settings_reach_the_recipe() -> None:
    made = recipe_with(
        Recipe(),
        {
            "title_beginnings": (),
            "decade": False,
            "venue_scale": 0.25,
            "regularisation": 0.1,
            "ngrams": 50,
        },
    )
    assert made.features == FeatureSet(title_beginnings=(), decade=False)
    assert (made.regularisation, made.ngrams) == (0.1, 50)
    assert made.scales == dict.fromkeys(("venue", "venue.word", "venue.begin6"), 0.25)


def test_the_usual_features_are_those_of_the_shipped_bundle(shipped_bundle: Path) -> None:
    shipped = load_manifest(shipped_bundle).encoder
    made = FeatureSet().settings(shipped.ngrams, shipped.logit_unit, abstracts=False)
    assert made == shipped


def test_a_field_of_which_nothing_is_read_is_not_among_the_texts() -> None:
    nothing = FeatureSet(
        venue_words=False, venue_beginnings=(), topic_words=False, whole=(), decade=False
    )
    assert nothing.settings(1, 1.0, abstracts=False).fields() == ["title"]
    begins = FeatureSet(venue_words=False, whole=("type",)).settings(1, 1.0, abstracts=False)
    assert channels(begins) >= {"venue.begin6", "type"}
    assert "venue.word" not in channels(begins)
