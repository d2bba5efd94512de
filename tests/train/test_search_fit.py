"""The fits of a search are those of training, only cheaper."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from scorer.labels.sample import Labels, read_label_table
from scorer.student.listing import list_ngrams
from scorer.student.ngrams import NgramEncoder
from scorer.train.feature_set import FeatureSet
from scorer.train.fit import Recipe, features, fit_heads, output_names, settings_for
from scorer.train.folds import venue_folds
from scorer.train.learner import UNFITTED, NgramLearner
from scorer.train.search_fit import (
    Fit,
    answers_of,
    channels,
    encode_works,
    fit_and_score,
    learn_and_score,
)

WIDE = FeatureSet(title_beginnings=(4, 5, 6))
READS = (
    FeatureSet(),
    FeatureSet(title_bigrams=False, title_beginnings=(5,), venue_words=False, decade=False),
    FeatureSet(venue_words=False, venue_beginnings=(), topic_words=False, shape=False),
)


@pytest.fixture(scope="module")
def labels(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Labels:
    """Without axes and declined works: then a search fits the very heads that training fits."""
    table = make_labels(200)
    table = table.drop(name for name in table.columns if name.endswith(("_domain", "_genre")))
    path = tmp_path_factory.mktemp("labels") / "labels.parquet"
    table.filter(~pl.col("title").str.starts_with("scan")).write_parquet(path)
    return read_label_table(path)


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("ngrams", [60, 7000])
def test_a_fit_scores_as_training_would(labels: Labels, reads: FeatureSet, ngrams: int) -> None:
    train, test = venue_folds(labels.works, 3, 0)[0]
    recipe = Recipe(ngrams=ngrams, features=reads, regularisation=0.3)
    heads = fit_heads(labels, train, recipe)
    encoder = NgramEncoder(settings_for(labels, reads, 1, 1.0), heads.vocabulary)
    found = features(encoder, labels.works[test], heads.vocabulary)
    expected = found @ heads.weights + np.nan_to_num(heads.bias, nan=UNFITTED)
    answers = answers_of(labels)
    assert list(answers.pairs) == output_names(labels.targets)
    everyone = tuple(range(len(answers.pairs)))
    fitted = fit_and_score(
        encode_works(labels, WIDE, 2), answers, Fit(train, test, recipe, everyone)
    )
    np.testing.assert_allclose(fitted.logits, expected, rtol=1e-9, atol=1e-9)


def test_a_learner_scores_what_it_scores_out_of_a_search(labels: Labels) -> None:
    train, test = venue_folds(labels.works, 3, 0)[0]
    answers = answers_of(labels)
    recipe = Recipe(ngrams=60, regularisation=0.3)
    pairs = (1, len(answers.pairs) - 1)
    found = learn_and_score(
        NgramLearner(Recipe()), labels, answers, Fit(train, test, recipe, pairs)
    )
    whole = NgramLearner(recipe).learn(labels, train).predict(labels.works[test]).logits
    places = [output_names(labels.targets).index(answers.pairs[pair]) for pair in pairs]
    np.testing.assert_array_equal(found.logits, whole[:, places])


def test_a_ranking_spares_the_first_pass_and_changes_nothing(labels: Labels) -> None:
    train, test = venue_folds(labels.works, 3, 0)[1]
    encoded, answers = encode_works(labels, WIDE, 2), answers_of(labels)
    fit = Fit(train, test, Recipe(ngrams=40), (0, 3))
    first = fit_and_score(encoded, answers, fit)
    assert first.logits.shape == (len(test), 2)
    assert first.ranking is not None
    again = fit_and_score(encoded, answers, replace(fit, ranking=first.ranking))
    np.testing.assert_array_equal(again.logits, first.logits)
    backwards = fit_and_score(encoded, answers, replace(fit, ranking=first.ranking[::-1]))
    assert not np.allclose(backwards.logits, first.logits)


def test_with_room_for_all_n_grams_there_is_no_ranking(labels: Labels) -> None:
    train, test = venue_folds(labels.works, 3, 0)[0]
    fit = Fit(train, test, Recipe(), (0,))
    assert fit_and_score(encode_works(labels, WIDE, 2), answers_of(labels), fit).ranking is None


@pytest.mark.parametrize("reads", READS)
def test_channels_are_those_that_training_lists(labels: Labels, reads: FeatureSet) -> None:
    settings = reads.settings(1, 1.0, abstracts=False)
    listed = set(list_ngrams(labels.works, settings)["channel"])
    assert channels(settings) == listed


def test_what_a_rule_decides_is_not_measured(tiny_labels: Path) -> None:
    answers = answers_of(read_label_table(tiny_labels))
    targets = {target for _, target in answers.pairs}
    assert "insufficient_payload" not in targets
    assert {"metaresearch", "about_ca_topic"} <= targets
    assert answers.judged.shape == answers.positive.shape == (len(answers.pairs), 300)
