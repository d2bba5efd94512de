"""Out-of-fold scores: each work scored by heads that saw neither it nor its venue."""

from collections.abc import Sequence

import numpy as np

from scorer.labels.sample import Labels
from scorer.train.folds import venue_folds
from scorer.train.learner import Learner, Predicted
from scorer.train.questions import outputs


def out_of_fold(
    labels: Labels, learner: Learner, of_folds: Sequence[Learner] | None = None
) -> Predicted:
    """Score every labelled work by the heads of the folds it is not in; folds keep venues whole.

    `of_folds`: the learner of each fold, where a search chose its recipe without the works it
    scores. Nothing of the works to score reaches a learner: it is given the others' rows alone.
    """
    shape = (labels.works.height, outputs(labels.targets))
    scores, logits = np.full(shape, np.nan, np.float32), np.full(shape, np.nan)
    folds = venue_folds(labels.works, learner.recipe.folds, learner.recipe.seed)
    learners = [learner] * len(folds) if of_folds is None else of_folds
    for (train, test), chosen in zip(folds, learners, strict=True):
        found = chosen.learn(labels, train).predict(labels.works[test])
        logits[test], scores[test] = found.logits, found.scores
    return Predicted(scores, logits)
