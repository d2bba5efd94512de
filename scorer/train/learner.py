"""What a training fits, behind one small interface: a learner learns, what it learned can predict.

Out-of-fold scores, the final fit and rounds use it alike, whatever the student reads.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.sparse import csr_matrix

from scorer.labels.sample import Labels
from scorer.student.manifest import MODEL_FILE, VOCABULARY_FILE, Encoding, NgramSettings
from scorer.student.ngrams import NgramEncoder
from scorer.targets import Targets
from scorer.train.fit import Floats, Heads, Recipe, Rows, features, fit_heads, settings_for
from scorer.train.graph import build_graph
from scorer.train.quantise import Table, quantise

UNFITTED: Final = -1e6
"""The logit of a target that had one class only in a fold's training works: below all others."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """Scores float32, as the bundle gives them, and unrounded logits float64: [works, outputs]."""

    scores: npt.NDArray[np.float32]
    logits: Floats


@dataclass(frozen=True, slots=True)
class Made:
    """What a bundle is made of: the encoder's settings, and files by name."""

    settings: Encoding
    files: Mapping[str, bytes]


class Learned(Protocol):
    """Heads that were learned, and what they read."""

    @property
    def bias(self) -> Floats:
        """Biases float64 [outputs]: NaN where no head could be fitted."""
        ...

    def predict(self, works: pl.DataFrame) -> Predicted:
        """Score works of a contract frame, each by itself."""
        ...

    def made(self, targets: Targets) -> Made:
        """Return graph, vocabulary and settings of the bundle."""
        ...


class Learner(Protocol):
    """A way to learn heads from labels."""

    @property
    def recipe(self) -> Recipe:
        """The choices that all ways share."""
        ...

    def with_recipe(self, recipe: Recipe) -> "Learner":
        """Return the same way by another recipe: that of a fold, where a search chose it."""
        ...

    def learn(self, labels: Labels, rows: Rows) -> Learned:
        """Learn from some of the labelled works, and from no others."""
        ...


@dataclass(frozen=True, slots=True)
class LearnedNgrams:
    """Heads over n-grams alone."""

    settings: NgramSettings
    heads: Heads
    table: Table

    @classmethod
    def of(cls, labels: Labels, recipe: Recipe, heads: Heads) -> "LearnedNgrams":
        """Round the heads' weights to integers."""
        table = quantise(heads.weights, heads.bias)
        settings = settings_for(labels, recipe.features, heads.vocabulary.height, table.unit)
        return cls(settings, heads, table)

    @property
    def bias(self) -> Floats:
        """Biases float64 [outputs]: NaN where no head could be fitted."""
        return self.heads.bias

    def features(self, works: pl.DataFrame) -> csr_matrix:
        """Return presence features [works, n-grams]."""
        encoder = NgramEncoder(self.settings, self.heads.vocabulary)
        return features(encoder, works, self.heads.vocabulary)

    def predict(self, works: pl.DataFrame) -> Predicted:
        """Score works of a contract frame, bit for bit as the bundle does."""
        found = self.features(works)
        logits = found @ self.heads.weights + np.nan_to_num(self.heads.bias, nan=UNFITTED)
        return Predicted(self.table.scores(found), logits)

    def made(self, targets: Targets) -> Made:
        """Return graph, vocabulary and settings of an `ngram` bundle."""
        slim = self.without_zeros()
        files = {
            MODEL_FILE: build_graph(slim.table, targets),
            VOCABULARY_FILE: vocabulary_bytes(slim.heads.vocabulary),
        }
        return Made(slim.settings, files)

    def without_zeros(self) -> "LearnedNgrams":
        """Leave out n-grams whose every weight was rounded to zero."""
        used = np.flatnonzero(self.table.weights.any(axis=1))
        heads = Heads(self.heads.vocabulary[used], self.heads.weights[used], self.heads.bias)
        table = Table(self.table.weights[used], self.table.bias, self.table.unit)
        settings = self.settings.model_copy(update={"ngrams": heads.vocabulary.height})
        return LearnedNgrams(settings, heads, table)


@dataclass(frozen=True, slots=True)
class NgramLearner:
    """The plain student: n-grams, hard labels, scikit-learn's logistic regressions."""

    recipe: Recipe

    def with_recipe(self, recipe: Recipe) -> "NgramLearner":
        """Return the same way by another recipe."""
        return NgramLearner(recipe)

    def learn(self, labels: Labels, rows: Rows) -> LearnedNgrams:
        """Fit every head on some of the labelled works."""
        return LearnedNgrams.of(labels, self.recipe, fit_heads(labels, rows, self.recipe))


def vocabulary_bytes(vocabulary: pl.DataFrame) -> bytes:
    """Return `vocabulary.parquet`."""
    schema = pa.schema([("channel", pa.string()), ("ngram", pa.string())])
    sink = io.BytesIO()
    pq.write_table(vocabulary.to_arrow().cast(schema), sink, compression="zstd")
    return sink.getvalue()
