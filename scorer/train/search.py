"""Choosing a recipe honestly: in every outer fold by inner folds of the works it learns from alone.

All stages - each outer fold, and all works for the bundle - see the same trials, one after the
other, so that a budget that runs out leaves the same choice to all of them. What the outer folds
then measure is the whole procedure that made the bundle.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import polars as pl

from scorer.engine.place import check_place
from scorer.engine.progress import Progress, Silence
from scorer.errors import InputError, OutputError, UsageError
from scorer.labels.sample import Labels
from scorer.student.manifest import Search, TrainingData
from scorer.train.fit import Recipe
from scorer.train.learner import Learner, NgramLearner
from scorer.train.search_fit import (
    Fit,
    Fitted,
    answers_of,
    encode_works,
    fit_and_score,
    learn_and_score,
)
from scorer.train.search_space import Settings, draw, in_words, recipe_with, space, widest
from scorer.train.search_stage import INNER_FOLDS, OWN_C, Hunt, make_stages
from scorer.train.search_table import Trial, table_path, trial_table
from scorer.train.trained import SOFT_WEIGHT, SearchRequest, TrainRequest

_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search came to."""

    recipe: Recipe
    of_folds: list[Recipe]
    """The recipe of each outer fold, chosen without the works that this fold scores."""
    trials: pl.DataFrame
    record: Search

    def noted(self, training: TrainingData) -> TrainingData:
        """Return what the manifest says of the training, what was chosen among it."""
        noted = training.model_copy(update={"search": self.record})
        if noted.distillation is None:
            return noted
        chosen = {"soft_weight": self.recipe.soft_weight}
        return noted.model_copy(
            update={"distillation": noted.distillation.model_copy(update=chosen)}
        )


def search(
    labels: Labels,
    recipe: Recipe,
    request: SearchRequest,
    *,
    say: Callable[[str], None] = lambda _: None,
    learner: Learner | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Searched:
    """Choose a recipe for every outer fold and for the bundle.

    `learner`: what learns by these recipes; None: plain n-grams.
    Raises `InputError` where the labels are too few for nested folds, or leave nothing to measure.
    """
    ends = math.inf if request.budget is None else clock() + request.budget * _MINUTE
    if request.criterion == "weighted" and not labels.weighted:
        raise InputError(
            "--criterion weighted needs design weights, and the labels have no column 'weight'.\n"
            "Add it (population / sample), or choose --criterion plain."
        )
    answers = answers_of(labels)
    stages = make_stages(labels, answers, recipe)
    dimensions = space(labels, recipe, request.fixed | _asked_for(recipe))
    settings = draw(dimensions, request.trials, recipe.seed)
    fit: Callable[[Fit], Fitted]
    plain = learner is None or isinstance(learner, NgramLearner)
    if learner is None or plain:
        least = min(recipe_with(recipe, each).least_works for each in settings)
        encoded = encode_works(labels, widest(dimensions, recipe), least)
        fit = partial(fit_and_score, encoded, answers)
    else:
        fit = partial(learn_and_score, learner, labels, answers)
    hunt = Hunt(
        fit=fit,
        answers=answers,
        stages=stages,
        recipe=recipe,
        criterion=request.criterion,
        in_time=lambda: clock() < ends,
        progress=progress or Silence(),
        processes=-1 if plain else 1,  # embeddings of many works are not sent from one to another
    )
    counted, cut = _hunt(hunt, settings, say, clock)
    if cut:
        say(_cut_short(request, counted, len(settings)))
    best = {stage.name: stage.best for stage in stages}
    recipes = [_chosen_recipe(recipe, stage.best) for stage in stages]
    chosen = [_unusual(settings[0], stage.best) for stage in stages]
    say(f"chosen: {described(chosen[-1])}")
    return Searched(
        recipe=recipes[-1],
        of_folds=recipes[:-1],
        trials=trial_table([trial for stage in stages for trial in stage.trials], best),
        record=Search(
            criterion=request.criterion,
            trials=counted,
            planned=len(settings),
            inner_folds=INNER_FOLDS,
            chosen=chosen[-1],
            chosen_in_folds=tuple(chosen[:-1]),
            cut_by_budget=cut,
        ),
    )


def check_search(request: TrainRequest) -> None:
    """Raise before the work where a search makes no sense, or its table cannot be written."""
    asked = request.search
    if asked is None:
        return
    if request.rounds is not None:
        raise UsageError(
            "--search chooses a recipe anew, and rounds are compared by one recipe for all.\n"
            "Give --search or --rounds-state, not both."
        )
    if asked.budget is not None and not asked.budget > 0:
        raise UsageError(
            f"--budget {asked.budget:g} leaves no time to search in.\n"
            "Give it minutes, more than 0, or leave it out."
        )
    if request.encoder is not None and request.encoder.use != "ensemble":
        raise UsageError(
            "--search varies what a student of n-grams reads; heads on an encoder have one "
            "recipe.\nLeave --search out, or distil: --ensemble DIR --unlabelled FRAME."
        )
    place = table_path(request.output)
    for source in request.inputs():
        check_place(place, source)
    if request.out_of_fold is not None and request.out_of_fold.resolve() == place:
        raise UsageError(
            f"{place}: the trials of --search go there.\n"
            "Keep the out-of-fold scores elsewhere: --out-of-fold."
        )
    if place.exists() and not request.overwrite:
        raise OutputError(
            f"{place}: exists already, and the trials of --search go there.\n"
            "Choose another -o, or say --overwrite."
        )


def described(chosen: Settings) -> str:
    """Return in words what a recipe has that the usual one has not."""
    told = (f"{in_words(name)} {_told(value)}" for name, value in chosen.items())
    return "; ".join(told) or "as usual"


def _told(value: Any) -> str:  # noqa: ANN401 - a setting's own type
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case list():
            return ", ".join(map(str, value)) or "none"
        case dict():
            return ", ".join(f"{name.replace('/', ' ')} {c:g}" for name, c in value.items())
    return str(value)


def _hunt(
    hunt: Hunt, settings: Sequence[Settings], say: Callable[[str], None], clock: Callable[[], float]
) -> tuple[int, bool]:
    """Run the trials, then the one of own C's; return how many counted, and if time ran out.

    `settings`: of each trial, from number 1.
    """
    fits = len(hunt.stages) * INNER_FOLDS
    every = (len(settings) + len(OWN_C) - 1) * fits
    hunt.progress.start(every, 0)
    began = clock()
    for number, each in enumerate(settings, start=1):
        if not hunt.run(number, each):
            return number - 1, True
        if number == 1:
            minutes = (clock() - began) * (every / fits - 1) / _MINUTE
            say(
                f"{len(settings)} trials and one of C's of their own, {len(hunt.stages)} x "
                f"{INNER_FOLDS} fits each: some {max(1, round(minutes))} min"
            )
    return len(settings), not hunt.own_c(len(settings) + 1)


def _asked_for(recipe: Recipe) -> frozenset[str]:
    """Return the options of the recipe that are not as usual: they were asked for, so they stay."""
    asked = {"ngrams"} if recipe.ngrams != Recipe().ngrams else set()
    return frozenset(asked | ({"soft_weight"} if recipe.soft_weight != SOFT_WEIGHT else set()))


def _cut_short(request: SearchRequest, counted: int, planned: int) -> str:
    said = f"the budget of {request.budget:g} min ended the search"
    if counted == 0:
        return f"{said} within its first trial; the usual recipe is trained"
    if counted == planned:
        return f"{said} before C's of their own; the best of {planned} trials is trained"
    return f"{said}: {counted} of {planned} trials were finished; the best of them is trained"


def _chosen_recipe(recipe: Recipe, best: Trial | None) -> Recipe:
    if best is None:
        return recipe
    return replace(
        recipe_with(recipe, best.settings), regularisation_of=dict(best.regularisation_of)
    )


def _unusual(usual: Settings, best: Trial | None) -> dict[str, Any]:
    """Return what a stage chose that is not as usual, as JSON has it."""
    if best is None:
        return {}
    found = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in best.settings.items()
        if value != usual[name]
    }
    own = dict(best.regularisation_of)
    return found | ({"regularisation_of": own} if own else {})
