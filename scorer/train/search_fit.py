"""Fits of a search: all works are encoded once, and a trial fits binary heads on some of them.

A fit here is `fit_heads` without the axes, which no criterion looks at. A student that learns in
another way than plain n-grams has no such short cut: it learns all that it always does.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags

from scorer.labels.sample import Labels
from scorer.student import shape
from scorer.student.listing import list_ngrams
from scorer.student.manifest import NgramSettings
from scorer.student.ngrams import NgramEncoder
from scorer.targets import INSUFFICIENT_PAYLOAD
from scorer.train.feature_set import FeatureSet
from scorer.train.fit import (
    FINE,
    ROUGH,
    Floats,
    Recipe,
    Rows,
    common_ngrams,
    features,
    fit_binary,
    settings_for,
)
from scorer.train.learner import UNFITTED, Learner
from scorer.train.questions import outputs

Booleans = npt.NDArray[np.bool_]
Ranking = npt.NDArray[np.int32]
"""The n-grams of a fit by falling importance: places among its columns."""

_CHANNEL_SUFFIXES: Final = (("words", "word"), ("bigrams", "bigram"))


@dataclass(frozen=True, slots=True)
class Encoded:
    """All labelled works as presence features, of more n-grams than any trial reads.

    `found`: [works, n-grams]; `channels`: the channel of each n-gram; `order`: its place by channel
    and text, which settles ties.
    """

    found: csr_matrix
    channels: npt.NDArray[np.str_]
    order: Rows
    abstracts: bool

    def columns(self, recipe: Recipe, rows: Rows) -> Rows:
        """Return the n-grams that a training on these rows sees, the commonest first."""
        works = np.bincount(self.found[rows].indices, minlength=len(self.order))
        settings = recipe.features.settings(1, 1.0, abstracts=self.abstracts)
        wanted = np.isin(self.channels, list(channels(settings)))
        columns = np.flatnonzero(wanted & (works >= recipe.least_works))
        return columns[np.lexsort((self.order[columns], -works[columns]))]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the teachers said for each head and binary target: bool [pairs, works]."""

    pairs: tuple[tuple[str, str], ...]
    judged: Booleans
    positive: Booleans
    weight: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """One fit: works to learn from and works to score, rows of the labels."""

    train: Rows
    test: Rows
    recipe: Recipe
    pairs: tuple[int, ...]
    """Places of the pairs that are scored."""
    ranking: Ranking | None = None
    """That of an earlier fit on the same works and features by the same C, to spare its pass."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Logits float64 [works to score, pairs], the ranking of the n-grams, and the seconds taken."""

    logits: Floats
    ranking: Ranking | None
    """None where all n-grams found room."""
    seconds: float


def encode_works(labels: Labels, reads: FeatureSet, least_works: int) -> Encoded:
    """Encode the labelled works by features that hold those of all trials."""
    settings = settings_for(labels, reads, 1, 1.0)
    vocabulary = common_ngrams(list_ngrams(labels.works, settings), least_works)
    found = features(NgramEncoder(settings, vocabulary), labels.works, vocabulary)
    named = vocabulary.with_row_index("place").sort("channel", "ngram")["place"].to_numpy()
    order = np.empty(vocabulary.height, np.int64)
    order[named] = np.arange(vocabulary.height)
    abstracts = any(text.field == "abstract" for text in settings.text)
    return Encoded(found, vocabulary["channel"].to_numpy().astype(str), order, abstracts)


def channels(settings: NgramSettings) -> set[str]:
    """Return the names of the channels that an encoder with these settings reads."""
    named: set[str] = {*settings.whole}
    for text in settings.text:
        named |= {
            f"{text.field}.{end}" for wanted, end in _CHANNEL_SUFFIXES if getattr(text, wanted)
        }
        named |= {f"{text.field}.begin{length}" for length in text.beginnings}
    named |= {"decade"} if settings.decade else set()
    return named | ({shape.WORDS, shape.LETTERS, shape.CAPITALS} if settings.shape else set())


def answers_of(labels: Labels) -> Answers:
    """Return the answers to all binary targets but `insufficient_payload`, which a rule decides."""
    pairs = tuple(
        (head, target)
        for head in labels.targets.head_names
        for target in labels.targets.binary_names
        if target != INSUFFICIENT_PAYLOAD and labels.has(head, target)
    )
    return Answers(
        pairs,
        np.array([labels.judged(*pair) for pair in pairs]).reshape(len(pairs), -1),
        np.array([labels.positive(*pair) for pair in pairs]).reshape(len(pairs), -1),
        labels.weight,
    )


def fit_and_score(encoded: Encoded, answers: Answers, fit: Fit) -> Fitted:
    """Fit the heads on some works and score others, as training does.

    First all n-grams and pairs, roughly, unless a ranking is given; then the n-grams that matter.
    """
    started = time.perf_counter()
    recipe, ranking = fit.recipe, fit.ranking
    columns = encoded.columns(recipe, fit.train)
    if len(columns) > recipe.ngrams:
        if ranking is None:
            everyone = range(len(answers.pairs))
            weights, _ = _fit_pairs(encoded, answers, fit, columns, everyone, tolerance=ROUGH)
            importance = np.abs(weights).max(axis=1)
            ranking = np.argsort(-importance, kind="stable").astype(np.int32)
        columns = columns[np.sort(ranking[: recipe.ngrams])]
    weights, bias = _fit_pairs(encoded, answers, fit, columns, fit.pairs, tolerance=FINE)
    logits = encoded.found[fit.test][:, columns] @ weights + np.nan_to_num(bias, nan=UNFITTED)
    return Fitted(logits, ranking, time.perf_counter() - started)


def learn_and_score(learner: Learner, labels: Labels, answers: Answers, fit: Fit) -> Fitted:
    """Learn from some works and score others by a learner's whole way, axes and all."""
    started = time.perf_counter()
    learned = learner.with_recipe(fit.recipe).learn(labels, fit.train)
    targets = labels.targets
    width = outputs(targets) // len(targets.heads)
    columns = [
        targets.head_names.index(head) * width + targets.binary_names.index(target)
        for head, target in (answers.pairs[pair] for pair in fit.pairs)
    ]
    logits = learned.predict(labels.works[fit.test]).logits[:, columns]
    return Fitted(logits, None, time.perf_counter() - started)


def _fit_pairs(
    encoded: Encoded,
    answers: Answers,
    fit: Fit,
    columns: Rows,
    pairs: Sequence[int],
    *,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """Return weights float64 [n-grams, pairs] and bias float64 [pairs], all by the shared C."""
    recipe = fit.recipe
    scales = np.array([recipe.scales.get(name, 1.0) for name in encoded.channels[columns]])
    scaled = (encoded.found[fit.train][:, columns] @ diags(scales)).tocsr()
    scaled.sort_indices()
    fitted = [
        fit_binary(
            scaled,
            answers.judged[pair, fit.train],
            answers.positive[pair, fit.train],
            c=recipe.regularisation,
            seed=recipe.seed,
            tolerance=tolerance,
        )
        for pair in pairs
    ]
    weights = np.vstack([part for part, _ in fitted]) * scales
    return weights.T, np.concatenate([bias for _, bias in fitted])
