"""The stages of a search, and its trials in all of them: each outer fold's works, and all works."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from joblib import Parallel, delayed

from scorer.counted import counted
from scorer.engine.progress import Progress
from scorer.errors import InputError
from scorer.labels.sample import Labels
from scorer.policy.fit import ENOUGH_POSITIVES
from scorer.train.fit import Floats, Recipe, Rows
from scorer.train.folds import Fold, in_venues, venue_folds
from scorer.train.search_criterion import (
    Ask,
    Criterion,
    Figures,
    Gain,
    choose_c,
    figures,
    measured_pairs,
    with_own_c,
)
from scorer.train.search_fit import Answers, Booleans, Fit, Fitted, Ranking
from scorer.train.search_space import Settings, recipe_with
from scorer.train.search_table import Trial

INNER_FOLDS: Final = 3
OWN_C: Final = (0.05, 0.1, 0.2, 0.4)
"""What a head and target may have for a C of its own."""
BUNDLE: Final = "bundle"
"""The stage in which all works choose the recipe of the bundle."""


@dataclass(slots=True)
class Stage:
    """Works that a choice is made on, and its trials so far."""

    name: str
    rows: Rows
    """Rows of the labels, ascending."""
    folds: list[Fold]
    """Inner folds, rows of the labels."""
    pairs: tuple[int, ...]
    """Places of the pairs that are measured."""
    trials: list[Trial] = field(default_factory=list)
    usual: Figures | None = None
    """Those of the first trial."""
    best: Trial | None = None
    """The counted trial with the highest criterion, of those with a convincing gain; else the
    first, the usual recipe."""
    logits: Floats | None = None
    """Of the best trial: float64 [works, pairs]."""
    rankings: dict[tuple[object, ...], Ranking | None] = field(default_factory=dict)
    """By inner fold and what an importance depends on."""

    def scored(self) -> list[Booleans]:
        """Tell which of its works each inner fold scores: bool [works] each."""
        return [np.isin(self.rows, test) for _, test in self.folds]

    def collected(self, fitted: Sequence[Fitted]) -> Floats:
        """Return the logits of its inner folds as float64 [works, pairs]."""
        made = np.empty((len(self.rows), len(self.pairs)))
        for scored, (_, test), found in zip(self.scored(), self.folds, fitted, strict=True):
            made[scored] = found.logits[np.argsort(test, kind="stable")]
        return made

    def take(self, trial: Trial, logits: Floats) -> None:
        """Take note of a trial; logits stay where it is the best one."""
        self.trials.append(trial)
        if not trial.counted:
            return
        if self.best is None:
            self.usual, self.best, self.logits = trial.figures, trial, logits
        elif trial.gain.convincing and trial.criterion > self.best.criterion:
            self.best, self.logits = trial, logits


def make_stages(labels: Labels, answers: Answers, recipe: Recipe) -> list[Stage]:
    """Return a stage for each outer fold's works to learn from, then one for all works."""
    works = labels.works
    everyone = np.arange(works.height)
    try:
        outer = [train for train, _ in venue_folds(works, recipe.folds, recipe.seed)]
        inner = [
            [(rows[a], rows[b]) for a, b in venue_folds(works[rows], INNER_FOLDS, recipe.seed)]
            for rows in (*outer, everyone)
        ]
    except InputError as error:
        raise InputError(
            f"{in_venues(works)} are too "
            f"few for --search, which parts them into {recipe.folds} folds, and the rest of each "
            f"into {INNER_FOLDS}.\nLabel works of more venues, or train without --search."
        ) from error
    names = [*(f"fold {number}" for number in range(1, recipe.folds + 1)), BUNDLE]
    stages = [
        Stage(name, rows, folds, measured_pairs(answers, rows))
        for name, rows, folds in zip(names, (*outer, everyone), inner, strict=True)
    ]
    for stage in stages:
        if not stage.pairs:
            raise InputError(
                f"--search measures heads and targets with {ENOUGH_POSITIVES} positives or more; "
                f"there are none among the {counted(len(stage.rows), 'work')}"
                f"{_where(stage, recipe)}.\n"
                "Label more works, or train without --search."
            )
    return stages


@dataclass(frozen=True, slots=True)
class Hunt:
    """All stages, and what their trials have in common."""

    fit: Callable[[Fit], Fitted]
    """Fits and scores; processes share its work, so it must be one that can be sent to them."""
    answers: Answers
    stages: list[Stage]
    recipe: Recipe
    criterion: Criterion
    in_time: Callable[[], bool]
    progress: Progress
    processes: int = -1
    """-1: as many as there are cores."""

    def run(self, number: int, settings: Settings) -> bool:
        """Run a trial in all stages; False where time ran out before it was finished.

        A trial that not all stages finished is kept, but not counted.
        """
        recipe = recipe_with(self.recipe, settings)
        groups = [
            [
                Fit(*fold, recipe, stage.pairs, stage.rankings.get(ranking_key(place, recipe)))
                for place, fold in enumerate(stage.folds)
            ]
            for stage in self.stages
        ]
        fitted = self._fitted(groups)
        finished = len(fitted) == len(groups)
        for stage, found in zip(self.stages, fitted, strict=False):
            for place, each in enumerate(found):
                stage.rankings[ranking_key(place, recipe)] = each.ranking
            logits = stage.collected(found)
            measured = figures(logits, self.answers, stage.rows, stage.pairs)
            trial = Trial(
                number=number,
                stage=stage.name,
                settings=settings,
                figures=measured,
                criterion=measured.value(self.criterion),
                gain=Gain.of(measured, stage.usual or measured, self.criterion),
                seconds=sum(each.seconds for each in found),
                counted=finished,
            )
            stage.take(trial, logits)
        return finished

    def own_c(self, number: int) -> bool:
        """Let each pair choose a C of its own on top of each stage's best trial.

        That is one trial more: it must beat the best one on works that did not choose the C's.
        Returns False where time ran out before it was finished; then nothing comes of it.
        """
        groups = [self._other_c(stage) for stage in self.stages]
        fitted = self._fitted(groups)
        if len(fitted) < len(groups):
            return False
        for stage, fits, found in zip(self.stages, groups, fitted, strict=True):
            self._take_own_c(stage, number, fits, found)
        return True

    def _other_c(self, stage: Stage) -> list[Fit]:
        """Return fits of the best trial's recipe by each other C, fold by fold."""
        assert stage.best is not None
        recipe = recipe_with(self.recipe, stage.best.settings)
        return [
            Fit(
                *fold,
                replace(recipe, regularisation=c),
                stage.pairs,
                stage.rankings[ranking_key(place, recipe)],
            )
            for c in OWN_C
            if c != recipe.regularisation
            for place, fold in enumerate(stage.folds)
        ]

    def _take_own_c(
        self, stage: Stage, number: int, fits: Sequence[Fit], found: Sequence[Fitted]
    ) -> None:
        best, logits = stage.best, stage.logits
        assert best is not None
        assert logits is not None
        shared = recipe_with(self.recipe, best.settings).regularisation
        by_c = {shared: logits}
        for start in range(0, len(fits), INNER_FOLDS):
            same = slice(start, start + INNER_FOLDS)
            by_c[fits[start].recipe.regularisation] = stage.collected(found[same])
        ask = Ask(self.answers, stage.pairs, shared, self.criterion)
        judged = with_own_c(ask, by_c, stage.rows, stage.scored())
        measured = figures(judged, self.answers, stage.rows, stage.pairs)
        chosen = choose_c(ask, by_c, stage.rows)
        names = ["/".join(self.answers.pairs[pair]) for pair in stage.pairs]
        trial = Trial(
            number=number,
            stage=stage.name,
            settings=best.settings,
            figures=measured,
            criterion=measured.value(self.criterion),
            gain=Gain.of(measured, best.figures, self.criterion),
            seconds=sum(each.seconds for each in found),
            regularisation_of={
                name: c for name, c in zip(names, chosen, strict=True) if c != shared
            },
        )
        stage.take(trial, judged)

    def _fitted(self, groups: Sequence[Sequence[Fit]]) -> list[list[Fitted]]:
        """Fit group by group, a core each fit; no group in which a fit would begin too late."""

        def begun() -> Iterator[Any]:
            for fit in (fit for group in groups for fit in group):
                if not self.in_time():
                    return
                yield delayed(self.fit)(fit)

        # One fit at a time goes out to a core, so that little is in hand when the time is up.
        pool = Parallel(
            n_jobs=self.processes, batch_size=1, pre_dispatch="n_jobs", return_as="generator"
        )
        found: list[Fitted] = []
        for fitted in pool(begun()):
            self.progress.advance(1)
            found.append(fitted)
        whole, start = [], 0
        for group in groups:
            if start + len(group) <= len(found):
                whole.append(found[start : start + len(group)])
            start += len(group)
        return whole


def ranking_key(fold: int, recipe: Recipe) -> tuple[object, ...]:
    """Return what a ranking of n-grams depends on, in a stage's inner fold."""
    scales = tuple(sorted(recipe.scales.items()))
    return fold, recipe.features, scales, recipe.least_works, recipe.regularisation


def _where(stage: Stage, recipe: Recipe) -> str:
    return "" if stage.name == BUNDLE else f" outside {stage.name} of {recipe.folds}"
