"""The recipe that the reference team deployed first, as a learner: TF-IDF and linear heads.

Words 1-2 and characters 3-5 inside words, of the title; a balanced logistic regression (C = 1) a
head and target. It is measured, never shipped.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer

from scorer.frame.text import clean
from scorer.labels.sample import Labels
from scorer.targets import Targets
from scorer.train.fit import FINE, Floats, Recipe, Rows, answers, fit_binary
from scorer.train.learner import UNFITTED, Made, Predicted
from scorer.train.questions import outputs
from scorer.train.soft import sigmoid

C = 1.0


@dataclass(frozen=True, slots=True)
class LearnedDeployed:
    """Heads over TF-IDF features: weights float64 [features, outputs], bias float64 [outputs]."""

    vectorizers: tuple[TfidfVectorizer, TfidfVectorizer]
    weights: Floats
    bias: Floats

    def predict(self, works: pl.DataFrame) -> Predicted:
        """Score works by their titles; axes have no head."""
        found = hstack([one.transform(_titles(works)) for one in self.vectorizers], format="csr")
        logits = found @ self.weights + np.nan_to_num(self.bias, nan=UNFITTED)
        return Predicted(sigmoid(logits.astype(np.float32)), logits)

    def made(self, targets: Targets) -> Made:
        """No bundle is made of it."""
        raise NotImplementedError(targets)


@dataclass(frozen=True, slots=True)
class DeployedLearner:
    """Fits the deployed recipe."""

    recipe: Recipe

    def with_recipe(self, recipe: Recipe) -> "DeployedLearner":
        """Return the same recipe: folds and seed alone are shared."""
        return DeployedLearner(recipe)

    def learn(self, labels: Labels, rows: Rows) -> LearnedDeployed:
        """Fit every binary head on some of the labelled works."""
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=2)
        titles = _titles(labels.works[rows])
        found: csr_matrix = hstack([words.fit_transform(titles), characters.fit_transform(titles)])
        found = found.tocsr()
        pairs = [(head, target) for head in labels.targets.head_names for target in _binary(labels)]
        fits = Parallel(n_jobs=-1)(
            delayed(fit_binary)(
                found,
                *answers(labels, rows, head, target),
                c=C,
                seed=self.recipe.seed,
                tolerance=FINE,
            )
            for head, target in pairs
        )
        width = outputs(labels.targets) // len(labels.targets.heads)
        weights = np.zeros((found.shape[1], outputs(labels.targets)))
        bias = np.full(outputs(labels.targets), np.nan)
        for (head, target), (weight, offset) in zip(pairs, fits, strict=True):
            place = labels.targets.head_names.index(head) * width + _binary(labels).index(target)
            weights[:, place], bias[place] = weight[0], offset[0]
        return LearnedDeployed((words, characters), weights, bias)


def _titles(works: pl.DataFrame) -> list[str]:
    return clean(works["title"]).fill_null("").to_list()


def _binary(labels: Labels) -> list[str]:
    return labels.targets.binary_names
