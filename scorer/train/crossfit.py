"""Out-of-fold scores: each work scored by heads that saw neither it nor its venue."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold

from scorer.errors import InputError
from scorer.labels.sample import Labels
from scorer.student.ngrams import NgramEncoder
from scorer.train.fit import Floats, Recipe, features, fit_heads, settings_for
from scorer.train.quantise import quantise

_UNFITTED: Final = -1e6
"""The logit of a target that had one class only in a fold's training works: below all others."""


@dataclass(frozen=True, slots=True)
class OutOfFold:
    """Scores float32 and unrounded logits float64, both [works, outputs]."""

    scores: npt.NDArray[np.float32]
    logits: Floats


def out_of_fold(labels: Labels, outputs: int, recipe: Recipe) -> OutOfFold:
    """Score every labelled work by the heads of the folds it is not in; folds keep venues whole."""
    works = labels.works.height
    scores = np.full((works, outputs), np.nan, np.float32)
    logits = np.full((works, outputs), np.nan)
    for train, test in _folds(labels, recipe):
        heads = fit_heads(labels, train, recipe)
        settings = settings_for(labels, heads.vocabulary.height, 1.0)
        encoder = NgramEncoder(settings, heads.vocabulary)
        found = features(encoder, labels.works[test], heads.vocabulary)
        logits[test] = found @ heads.weights + np.nan_to_num(heads.bias, nan=_UNFITTED)
        scores[test] = quantise(heads.weights, heads.bias).scores(found)
    return OutOfFold(scores, logits)


def _folds(
    labels: Labels, recipe: Recipe
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Return (train, test) rows a fold; a work without a venue shares one with no other."""
    works = labels.works
    if "venue" in works.columns:
        venues = works["venue"].replace("", None)
        groups = venues.fill_null("\0" + works["id"]).rank("dense").to_numpy()
    else:
        groups = np.arange(works.height)
    if len(np.unique(groups)) < recipe.folds:
        raise InputError(
            f"{works.height} works in {len(np.unique(groups))} venues are too few for "
            f"{recipe.folds} folds.\nLabel works of more venues."
        )
    splitter = GroupKFold(recipe.folds, shuffle=True, random_state=recipe.seed)
    return list(splitter.split(np.zeros(works.height), groups=groups))
