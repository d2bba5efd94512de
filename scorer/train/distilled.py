"""Distillation: n-gram heads that learn from an ensemble of n-grams and an encoder.

The ensemble is fitted on the same labelled works as the student, and on no others. What it thinks
of unlabelled works, and of the labelled ones themselves, comes to the labels as shares of "yes": it
knows words that no label holds, and has less part in the teachers' slips. Axes, which call nothing,
learn from the labels alone.

Each head has its own teacher's opinion and no other's. Mixing the teachers' opinions raises average
precision a little (0.668 to 0.674), but then heads agree far more often than their teachers do, and
a consensus would no longer be of two opinions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy.sparse import vstack

from scorer.labels.sample import Labels
from scorer.student.listing import list_ngrams
from scorer.train.embedded import Embedded, Vectors
from scorer.train.fit import ENCODER_C, Floats, Heads, Recipe, Rows
from scorer.train.folds import venue_folds
from scorer.train.learner import LearnedNgrams
from scorer.train.questions import Question, learn, outputs, questions, strength
from scorer.train.soft import Evidence, Small, sigmoid
from scorer.train.trained import SOFT_WEIGHT
from scorer.train.vocabulary import Vocabulary, chosen_ngrams, heaviest, no_ngrams

OWN_SHARE: Final = 0.5
"""How much of what a labelled work teaches is the ensemble's opinion, not the teacher's word."""
INNER_FOLDS: Final = 5
"""Folds, within the works learned from, for what an ensemble thinks of works it never saw."""
LEAST_UNLABELLED: Final = 8
"""An n-gram may be known from so many unlabelled works of a frame alone."""
_OFFSET: Final = 3.0
"""An unlabelled frame has a bias of its own while fitting, hardly held back: it lacks columns that
labelled works have, and what these would add on average must not fall to words of the title."""


@dataclass(frozen=True, slots=True)
class EmbeddedFrame:
    """Unlabelled works of one frame (its columns alone), and their embeddings [works, width]."""

    works: pl.DataFrame
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class DistilledLearner:
    """N-gram heads from labels and an ensemble's soft labels together."""

    recipe: Recipe
    embedded: Embedded
    """The labelled works."""
    unlabelled: Sequence[EmbeddedFrame]
    soft_weight: float = SOFT_WEIGHT
    """How much all unlabelled works count together, against all labelled ones."""

    def with_recipe(self, recipe: Recipe) -> "DistilledLearner":
        """Return the same way by another recipe, and by its soft weight if it has one."""
        chosen = recipe.soft_weight
        weight = self.soft_weight if chosen is None else chosen
        return replace(self, recipe=recipe, soft_weight=weight)

    def learn(self, labels: Labels, rows: Rows) -> LearnedNgrams:
        """Fit ensemble and student on some of the labelled works, and on the unlabelled ones."""
        works, asked = labels.works[rows], questions(labels, rows)
        of_labelled, of_others = self._opinions(labels, rows)
        binary = [
            taught(question, of_labelled, of_others, self.soft_weight)
            for question in _binary(asked)
        ]
        wide = Vocabulary.of(labels, self.recipe, self._candidates(labels, works))
        chosen = heaviest(wide, self._evidence(wide, works), binary, labels, self.recipe)
        known, regularisation = chosen.ngrams.height, strength(labels.targets, self.recipe)
        fitted = learn(self._evidence(chosen, works), binary, regularisation)
        seen = Evidence(chosen.features(works), np.empty((works.height, 0), np.float32))
        axes = [question for question in asked if question.link == "softmax"]
        of_axes = learn(seen, axes, regularisation)
        # Each has zeros, and no bias, where the other has its outputs.
        weights = (fitted[:known] + of_axes[:known]) * chosen.scales[:, None]
        bias = np.where(np.isnan(fitted[-1]), of_axes[-1], fitted[-1])
        return LearnedNgrams.of(labels, self.recipe, Heads(chosen.ngrams, weights, bias))

    def _opinions(self, labels: Labels, rows: Rows) -> tuple[Floats, Floats]:
        """Return the ensemble's logits of the labelled works, and of the unlabelled ones.

        For a labelled work, the mean of an ensemble that has learned from it and of one that has
        learned from other venues alone: half memory, half judgement.
        """
        works = labels.works[rows]
        vocabulary = chosen_ngrams(labels, rows, self.recipe)
        seen = Evidence(vocabulary.features(works), self.embedded.of_works(works))
        whole = _ensemble(seen, labels, rows)
        unseen = np.empty((len(rows), whole.shape[1]))
        for train, test in venue_folds(works, INNER_FOLDS, self.recipe.seed):
            part = _ensemble(_rows_of(seen, train), labels, rows[train])
            unseen[test] = logits(_rows_of(seen, test), part)
        known = logits(seen, whole)
        # A target that a fold could not learn has the opinion of the whole ensemble alone.
        of_labelled = np.where(np.isnan(unseen), known, (known + unseen) / 2)
        of_others = [
            logits(Evidence(vocabulary.features(frame.works), frame.vectors), whole)
            for frame in self.unlabelled
        ]
        return of_labelled, np.vstack(of_others)

    def _candidates(self, labels: Labels, works: pl.DataFrame) -> pl.DataFrame:
        """Return the n-grams to choose from, the commonest first: hot rows lie together."""
        settings = Vocabulary.of(labels, self.recipe, no_ngrams()).settings
        frames = {self.recipe.least_works: [works]}
        frames.setdefault(LEAST_UNLABELLED, []).extend(one.works for one in self.unlabelled)
        counted = [
            list_ngrams(frame, settings)
            .group_by("channel", "ngram")
            .agg(works=pl.len())
            .with_columns(enough=pl.col("works") >= least)
            for least, many in frames.items()
            for frame in many
        ]
        return (
            pl.concat(counted)
            .group_by("channel", "ngram")
            .agg(pl.col("works").sum(), pl.col("enough").any())
            .filter("enough")
            .sort("works", "channel", "ngram", descending=[True, False, False])
            .select("channel", "ngram")
        )

    def _evidence(self, vocabulary: Vocabulary, works: pl.DataFrame) -> Evidence:
        """Return the n-grams of all works, and for each unlabelled frame a column that marks it."""
        frames = [works, *(frame.works for frame in self.unlabelled)]
        frame = np.repeat(np.arange(len(frames)), [one.height for one in frames])
        marks = (frame[:, None] == np.arange(1, len(frames))) * np.float32(_OFFSET)
        return Evidence(vstack([vocabulary.features(one) for one in frames]).tocsr(), marks)


def logits(evidence: Evidence, fitted: Floats) -> Floats:
    """Return logits float64 [works, outputs] of `learn`'s result; NaN where it has no head."""
    found: Floats = evidence.times(fitted[:-1].astype(np.float32)) + fitted[-1]
    return found


def taught(
    question: Question, of_labelled: Floats, of_others: Floats, soft_weight: float
) -> Question:
    """Return the binary question with what the ensemble thinks of its works, and of others.

    Both logits float64 [works, outputs].
    """
    columns = question.columns
    own = sigmoid(of_labelled[:, columns].astype(np.float32))
    mixed = replace(question, shares=(1 - OWN_SHARE) * question.shares + OWN_SHARE * own)
    shares = sigmoid(of_others[:, columns].astype(np.float32))
    whole = question.weights.sum(axis=0, dtype=np.float64)
    return mixed.with_more(shares, balanced(shares) * (soft_weight * whole))


def balanced(shares: Small) -> Floats:
    """Return weights [works, outputs] that add up to 1 an output.

    Likely positives count as much, together, as likely negatives. A work's weight follows from its
    share alone, so that the share which it teaches stays the same.
    """
    positive = shares.astype(np.float64)
    halves = [part / np.maximum(part.sum(axis=0), 1e-9) for part in (positive, 1 - positive)]
    weights: Floats = (halves[0] + halves[1]) / 2
    return weights


def _ensemble(evidence: Evidence, labels: Labels, rows: Rows) -> Floats:
    """Fit the binary outputs on n-grams and embeddings together, as the mixed student does."""
    regularisation = np.full(outputs(labels.targets), ENCODER_C)
    return learn(evidence, _binary(questions(labels, rows)), regularisation)


def _binary(asked: list[Question]) -> list[Question]:
    return [question for question in asked if question.link == "sigmoid"]


def _rows_of(evidence: Evidence, rows: Rows) -> Evidence:
    return Evidence(evidence.ngrams[rows], evidence.vectors[rows])
