"""The n-grams that heads read, chosen by what they weigh when all that occur often are fitted."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix, diags

from scorer.labels.sample import Labels
from scorer.student.listing import list_ngrams
from scorer.student.manifest import NgramSettings
from scorer.student.ngrams import NgramEncoder
from scorer.train.fit import Floats, Recipe, Rows, common_ngrams, features, settings_for
from scorer.train.questions import Question, learn, questions, strength
from scorer.train.soft import Evidence, Stop

_ROUGH: Final = Stop(steps=60)
"""Enough to tell which n-grams carry weight; another fit gives the weights that ship."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """N-grams (String columns `channel`, `ngram`), maybe none, and their scales while fitting."""

    settings: NgramSettings
    ngrams: pl.DataFrame
    scales: Floats

    @classmethod
    def of(cls, labels: Labels, recipe: Recipe, ngrams: pl.DataFrame) -> "Vocabulary":
        """Make n-grams ready for look-ups."""
        settings = settings_for(labels, recipe.features, max(1, ngrams.height), 1.0)
        scales = np.array([recipe.scales.get(name, 1.0) for name in ngrams["channel"]], np.float64)
        return cls(settings, ngrams, scales)

    def features(self, works: pl.DataFrame) -> csr_matrix:
        """Return scaled presence features float32 [works, n-grams]."""
        if not self.ngrams.height:
            return csr_matrix((works.height, 0), dtype=np.float32)
        found = features(NgramEncoder(self.settings, self.ngrams), works, self.ngrams)
        return (found @ diags(self.scales)).astype(np.float32).tocsr()


def no_ngrams() -> pl.DataFrame:
    """Return an empty vocabulary."""
    return pl.DataFrame(schema={"channel": pl.String, "ngram": pl.String})


def chosen_ngrams(labels: Labels, rows: Rows, recipe: Recipe) -> Vocabulary:
    """Return the n-grams that weigh most for the binary targets, by these labelled works alone."""
    works = labels.works[rows]
    settings = settings_for(labels, recipe.features, 1, 1.0)
    common = common_ngrams(list_ngrams(works, settings), recipe.least_works)
    wide = Vocabulary.of(labels, recipe, common)
    evidence = Evidence(wide.features(works), np.empty((works.height, 0), np.float32))
    return heaviest(wide, evidence, questions(labels, rows), labels, recipe)


def heaviest(
    wide: Vocabulary, evidence: Evidence, asked: list[Question], labels: Labels, recipe: Recipe
) -> Vocabulary:
    """Return the `recipe.ngrams` n-grams with the largest weight in any binary output.

    An axis reads what they have chosen: calls rest on binary scores, and n-grams for axes would
    take the place of theirs.
    """
    if wide.ngrams.height <= recipe.ngrams:
        return wide
    binary = [question for question in asked if question.link == "sigmoid"]
    fitted = learn(evidence, binary, strength(labels.targets, recipe), stop=_ROUGH)
    weights = fitted[: wide.ngrams.height] * wide.scales[:, None]
    importance = np.abs(weights).max(axis=1)
    kept = np.sort(np.argsort(-importance, kind="stable")[: recipe.ngrams])
    return Vocabulary.of(labels, recipe, wide.ngrams[kept])
