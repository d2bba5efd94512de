"""Fitting the heads: presence features, a logistic regression a head and target."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix, diags
from sklearn.linear_model import LogisticRegression

from scorer.labels.sample import Labels
from scorer.student.listing import list_ngrams
from scorer.student.manifest import NgramSettings
from scorer.student.ngrams import NgramEncoder
from scorer.targets import Targets
from scorer.train.feature_set import FeatureSet

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ITERATIONS: Final = 1000
# The first pass only tells which n-grams carry weight; the second one fits what ships.
ROUGH, FINE = 3e-3, 1e-3
_FEWEST_TO_FIT: Final = 2
ENCODER_C: Final = 0.1
"""C where heads read embeddings, alone or beside n-grams: these bring evidence of their own."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All the choices of a training; the defaults made the shipped bundle."""

    ngrams: int = 7_000
    """Most n-grams that the bundle keeps: those with the largest weight in any output."""
    least_works: int = 2
    """An n-gram must occur in that many works."""
    features: FeatureSet = field(default_factory=FeatureSet)
    regularisation: float = 0.2
    """C of the logistic regressions."""
    regularisation_of: Mapping[str, float] = field(default_factory=dict)
    """`head/target` -> the C of that pair, where it has one of its own."""
    scales: Mapping[str, float] = field(
        default_factory=lambda: {"venue": 0.5, "venue.word": 0.5, "venue.begin6": 0.5}
    )
    """Channel -> how large its features are while fitting: less than 1 holds a channel back. New
    venues come with every frame, so what a venue's name says counts half."""
    soft_weight: float | None = None
    """How much all unlabelled works count together, against all labelled ones, where a search of
    a distilled student varies that."""
    beta: float = 2.0
    folds: int = 5
    seed: int = 0
    min_pos: int = 20
    min_ess: float = 10.0

    def c(self, head: str, target: str) -> float:
        """Return the C of a head and target."""
        return self.regularisation_of.get(f"{head}/{target}", self.regularisation)


@dataclass(frozen=True, slots=True)
class Heads:
    """Fitted heads over a vocabulary (String columns `channel`, `ngram`).

    `weights`: float64 [n-grams, outputs]; `bias`: float64 [outputs], NaN where no head could be
    fitted. Outputs: head by head the binary targets, then each axis's values.
    """

    vocabulary: pl.DataFrame
    weights: Floats
    bias: Floats


def settings_for(labels: Labels, features: FeatureSet, ngrams: int, unit: float) -> NgramSettings:
    """Return the encoder's settings; abstracts are read where the labels carry them."""
    return features.settings(ngrams, unit, abstracts=has_abstracts(labels))


def has_abstracts(labels: Labels) -> bool:
    """Tell whether any labelled work has an abstract."""
    return any(
        name in labels.works.columns and labels.works[name].null_count() < labels.works.height
        for name in ("abstract", "abstract_inverted_index")
    )


def fit_heads(labels: Labels, rows: Rows, recipe: Recipe) -> Heads:
    """Fit every head on some of the labelled works; the vocabulary comes from these works alone.

    Two passes: all n-grams that occur often enough, then, anew, those whose weight matters. The
    first one has the shared C for all, so that no pair buys n-grams by a C of its own.
    """
    works = labels.works[rows]
    settings = settings_for(labels, recipe.features, 1, 1.0)
    vocabulary = common_ngrams(list_ngrams(works, settings), recipe.least_works)
    found = features(NgramEncoder(settings, vocabulary), works, vocabulary)
    if vocabulary.height > recipe.ngrams:
        shared = replace(recipe, regularisation_of={})
        weights, _ = _fit_outputs(labels, rows, found, vocabulary, shared, tolerance=ROUGH)
        importance = np.abs(weights).max(axis=1)
        kept = np.sort(np.argsort(-importance, kind="stable")[: recipe.ngrams])
        vocabulary, found = vocabulary[kept], found[:, kept]
    weights, bias = _fit_outputs(labels, rows, found, vocabulary, recipe, tolerance=FINE)
    return Heads(vocabulary, weights, bias)


def features(encoder: NgramEncoder, works: pl.DataFrame, vocabulary: pl.DataFrame) -> csr_matrix:
    """Return presence features [works, n-grams] through the encoder that scoring uses."""
    encoded = encoder.encode(works)
    return csr_matrix(
        (np.ones(len(encoded.ids)), encoded.ids - 1, encoded.offsets),
        shape=(works.height, vocabulary.height),
    )


def output_names(targets: Targets) -> list[tuple[str, str]]:
    """Return (head, target or axis) of each fit, in the order of the outputs."""
    names = [*targets.binary_names, *(axis.name for axis in targets.axes)]
    return [(head, name) for head in targets.head_names for name in names]


def common_ngrams(listed: pl.DataFrame, least: int) -> pl.DataFrame:
    """Return the n-grams of at least `least` works, the commonest first: hot rows lie together."""
    return (
        listed.group_by("channel", "ngram")
        .len("works")
        .filter(pl.col("works") >= least)
        .sort("works", "channel", "ngram", descending=[True, False, False])
        .select("channel", "ngram")
    )


def _fit_outputs(
    labels: Labels,
    rows: Rows,
    found: csr_matrix,
    vocabulary: pl.DataFrame,
    recipe: Recipe,
    *,
    tolerance: float,
) -> tuple[Floats, Floats]:
    scale = np.array([recipe.scales.get(name, 1.0) for name in vocabulary["channel"]])
    scaled = (found @ diags(scale)).tocsr()
    axes = {axis.name: len(axis.values) for axis in labels.targets.axes}
    # Solvers are single-threaded and start from zeros: how many run at a time changes nothing.
    fits = Parallel(n_jobs=-1)(
        delayed(_fit_axis)(
            scaled,
            values(labels, rows, head, name),
            axes[name],
            c=recipe.c(head, name),
            tolerance=tolerance,
        )
        if name in axes
        else delayed(fit_binary)(
            scaled,
            *answers(labels, rows, head, name),
            c=recipe.c(head, name),
            seed=recipe.seed,
            tolerance=tolerance,
        )
        for head, name in output_names(labels.targets)
    )
    weights = np.vstack([part for part, _ in fits]) * scale
    return weights.T, np.concatenate([bias for _, bias in fits])


def answers(
    labels: Labels, rows: Rows, head: str, target: str
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which works a head judged for a target, and which of them it said yes to."""
    if not labels.has(head, target):
        nothing = np.zeros(len(rows), bool)
        return nothing, nothing
    return labels.judged(head, target)[rows], labels.positive(head, target)[rows]


def values(labels: Labels, rows: Rows, head: str, axis: str) -> Rows:
    """Return the number of the axis value that a head gave each work, -1 for none."""
    if not labels.has(head, axis):
        return np.full(len(rows), -1)
    return np.where(labels.judged(head, axis)[rows], labels.value(head, axis)[rows], -1)


def fit_binary(
    found: csr_matrix,
    judged: npt.NDArray[np.bool_],
    positive: npt.NDArray[np.bool_],
    *,
    c: float,
    seed: int,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """Fit one head on the works it judged; with one class only there is nothing to fit.

    Returns weights float64 [1, n-grams], bias float64 [1] (NaN: not fitted).
    """
    answers = positive[judged]
    if len(np.unique(answers)) < _FEWEST_TO_FIT:
        return np.zeros((1, found.shape[1])), np.array([np.nan])
    model = LogisticRegression(
        C=c,
        class_weight="balanced",
        solver="liblinear",
        tol=tolerance,
        max_iter=_ITERATIONS,
        random_state=seed,
    ).fit(found[judged], answers)
    return model.coef_, model.intercept_


def _fit_axis(
    found: csr_matrix, values: Rows, count: int, *, c: float, tolerance: float
) -> tuple[Floats, Floats]:
    """Fit a multinomial head over an axis's values; a value never seen gets no chance."""
    weights, bias = np.zeros((count, found.shape[1])), np.full(count, np.nan)
    known = values >= 0
    seen = np.unique(values[known])
    if len(seen) < _FEWEST_TO_FIT:
        return weights, bias
    model = LogisticRegression(
        C=c,
        class_weight="balanced",
        solver="lbfgs",
        tol=tolerance,
        max_iter=_ITERATIONS,
    ).fit(found[known], values[known])
    # With two values scikit-learn keeps the one that stands for the second.
    one_sided = len(model.coef_) < len(seen)
    weights[seen] = np.vstack([-model.coef_, model.coef_]) / 2 if one_sided else model.coef_
    both = np.concatenate([-model.intercept_, model.intercept_]) / 2
    bias[seen] = both if one_sided else model.intercept_
    return weights, bias
