"""Heads on a frozen encoder, with n-grams beside it or without: hard labels, fitted at once."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from scorer.labels.sample import Labels
from scorer.student.manifest import (
    MODEL_FILE,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    MixedSettings,
)
from scorer.targets import Targets
from scorer.train.embedded import Embedded
from scorer.train.fit import ENCODER_C, Floats, Heads, Recipe, Rows
from scorer.train.learner import UNFITTED, LearnedNgrams, Made, Predicted, vocabulary_bytes
from scorer.train.merge import merged_graph
from scorer.train.questions import learn, outputs, questions
from scorer.train.soft import Evidence, sigmoid
from scorer.train.vocabulary import Vocabulary, chosen_ngrams, no_ngrams


@dataclass(frozen=True, slots=True)
class LearnedOnEncoder:
    """Heads on an encoder: weights float64 [width, outputs], and those of n-grams beside it.

    `bias`: float64 [outputs], NaN where no head could be fitted; n-grams have none of their own.
    """

    embedded: Embedded
    weights: Floats
    bias: Floats
    ngrams: LearnedNgrams | None

    def predict(self, works: pl.DataFrame) -> Predicted:
        """Score works that were embedded; scores are the bundle's, but for their last bits."""
        seen = self.embedded.of_works(works) @ self.weights
        seen += np.nan_to_num(self.bias, nan=UNFITTED)
        rounded, logits = seen, seen
        if self.ngrams is not None:
            found = self.ngrams.features(works)
            logits = seen + found @ self.ngrams.heads.weights
            rounded = seen + self.ngrams.table.logits(found) * self.ngrams.table.unit
        return Predicted(sigmoid(rounded.astype(np.float32)), logits)

    def made(self, targets: Targets) -> Made:
        """Return the merged graph, the tokenizer, and n-grams where there are some."""
        encoder = self.embedded.encoder
        files = {TOKENIZER_FILE: (encoder.path / TOKENIZER_FILE).read_bytes()}
        if self.ngrams is None:
            files[MODEL_FILE] = merged_graph(encoder, self.weights, self.bias, targets)
            return Made(encoder.settings, files)
        slim = self.ngrams.without_zeros()
        files[MODEL_FILE] = merged_graph(encoder, self.weights, self.bias, targets, slim.table)
        files[VOCABULARY_FILE] = vocabulary_bytes(slim.heads.vocabulary)
        return Made(MixedSettings(ngram=slim.settings, tokenizer=encoder.settings), files)


@dataclass(frozen=True, slots=True)
class EncoderLearner:
    """Heads on embeddings of all labelled works, and on n-grams beside them if `mixed`."""

    recipe: Recipe
    embedded: Embedded
    mixed: bool

    def with_recipe(self, recipe: Recipe) -> "EncoderLearner":
        """Return the same way by another recipe."""
        return replace(self, recipe=recipe)

    def learn(self, labels: Labels, rows: Rows) -> LearnedOnEncoder:
        """Fit every head on some of the labelled works; n-grams come from these works alone."""
        works = labels.works[rows]
        vocabulary = Vocabulary.of(labels, self.recipe, no_ngrams())
        if self.mixed:
            vocabulary = chosen_ngrams(labels, rows, self.recipe)
        evidence = Evidence(vocabulary.features(works), self.embedded.of_works(works))
        asked = questions(labels, rows)
        fitted = learn(evidence, asked, np.full(outputs(labels.targets), ENCODER_C))
        known = vocabulary.ngrams.height
        weights = fitted[:known] * vocabulary.scales[:, None]
        beside = None
        if self.mixed:
            heads = Heads(vocabulary.ngrams, weights, np.zeros(fitted.shape[1]))
            beside = LearnedNgrams.of(labels, self.recipe, heads)
        return LearnedOnEncoder(self.embedded, fitted[known:-1], fitted[-1], beside)
