"""What a search may vary, and the trials it draws: settings of a recipe, the usual one first."""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from scorer.labels.sample import Labels
from scorer.train.feature_set import WHOLE_FIELDS, FeatureSet
from scorer.train.fit import Recipe, has_abstracts

Settings = Mapping[str, Any]
"""Dimension -> value."""

_KEEP: Final = 0.75
"""How often a draw leaves a dimension at its usual value: the usual recipe is a good one, and to
change many things at once seldom does well."""
_DRAWS_A_TRIAL: Final = 100
"""Draws in vain until the space counts as used up."""
_FEATURES: Final = frozenset(field.name for field in fields(FeatureSet))
_VENUE_SCALE: Final = "venue_scale"


_WORDS: Final = {
    "whole": "fields read as a whole:",
    "shape": "length of the title",
    "least_works": "fewest works with an n-gram",
    "ngrams": "n-grams kept",
    "regularisation": "C",
    "regularisation_of": "C of its own:",
    "soft_weight": "weight of the unlabelled works",
    _VENUE_SCALE: "what venues count",
}


@dataclass(frozen=True, slots=True)
class Dimension:
    """One choice: its name and its values, the usual one first."""

    name: str
    values: tuple[Any, ...]
    needs: str | None = None
    """A column of the works without which the choice changes nothing."""


def space(labels: Labels, recipe: Recipe, fixed: Collection[str] = ()) -> tuple[Dimension, ...]:
    """Return the choices that these labels leave open.

    `fixed` names choices that the user made: they are not varied.
    """
    filled = {name for name in labels.works.columns if not labels.works[name].is_null().all()}
    if has_abstracts(labels):
        filled.add("abstract")
    return tuple(
        dimension
        for dimension in _dimensions(recipe)
        if dimension.name not in fixed and (dimension.needs is None or dimension.needs in filled)
    )


def _dimensions(recipe: Recipe) -> tuple[Dimension, ...]:
    soft = recipe.soft_weight
    usual, size = recipe.features, recipe.ngrams
    return (
        Dimension("title_bigrams", _first(usual.title_bigrams, True, False)),
        Dimension("title_beginnings", _first(usual.title_beginnings, (4, 6), (6,), (4, 5, 6), ())),
        Dimension("abstract_bigrams", _first(usual.abstract_bigrams, True, False), "abstract"),
        Dimension("venue_words", _first(usual.venue_words, True, False), "venue"),
        Dimension("venue_beginnings", _first(usual.venue_beginnings, (6,), ()), "venue"),
        Dimension(_VENUE_SCALE, _first(_venue_scale(recipe), 0.5, 0.25, 1.0), "venue"),
        Dimension("topic_words", _first(usual.topic_words, True, False), "topic"),
        Dimension(
            "whole",
            _first(
                usual.whole,
                WHOLE_FIELDS,
                ("topic", "field", "lang", "type"),
                ("venue", "topic", "field"),
            ),
        ),
        Dimension("decade", _first(usual.decade, True, False), "year"),
        Dimension("shape", _first(usual.shape, True, False)),
        Dimension("least_works", _first(recipe.least_works, 2, 3)),
        Dimension("ngrams", _first(size, max(1, size // 2), 2 * size)),
        Dimension("regularisation", _first(recipe.regularisation, 0.05, 0.1, 0.2, 0.4)),
        *([Dimension("soft_weight", _first(soft, 0.5, 1.0, 2.0))] if soft is not None else []),
    )


def in_words(name: str) -> str:
    """Return what a reader of the card calls a choice: of itself, words with spaces."""
    return _WORDS.get(name, name.replace("_", " "))


def usual_settings(dimensions: Collection[Dimension]) -> dict[str, Any]:
    """Return the first value of each dimension."""
    return {dimension.name: dimension.values[0] for dimension in dimensions}


def draw(dimensions: Collection[Dimension], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the settings of the trials, all different: the usual ones first, then draws.

    Fewer than `trials` where the space holds no more.
    """
    chance = random.Random(seed)
    drawn = [usual_settings(dimensions)]
    in_vain = 0
    while len(drawn) < trials and in_vain < _DRAWS_A_TRIAL:
        found = {dimension.name: _value(dimension, chance) for dimension in dimensions}
        if found in drawn:
            in_vain += 1
        else:
            drawn.append(found)
            in_vain = 0
    return drawn


def recipe_with(recipe: Recipe, settings: Settings) -> Recipe:
    """Return the recipe with these settings; what they do not name stays."""
    features = {name: value for name, value in settings.items() if name in _FEATURES}
    of_recipe = {
        name: value
        for name, value in settings.items()
        if name not in _FEATURES and name != _VENUE_SCALE
    }
    made = replace(recipe, features=replace(recipe.features, **features), **of_recipe)
    if _VENUE_SCALE in settings:
        scales = {name: float(settings[_VENUE_SCALE]) for name in _venue_channels(made)}
        made = replace(made, scales={**recipe.scales, **scales})
    return made


def widest(dimensions: Collection[Dimension], recipe: Recipe) -> FeatureSet:
    """Return the features that hold those of every trial: the works are encoded once by them."""
    reads: dict[str, Any] = {}
    for dimension in dimensions:
        if dimension.name not in _FEATURES:
            continue
        if isinstance(dimension.values[0], tuple):
            wanted = {part for value in dimension.values for part in value}
            order = WHOLE_FIELDS if dimension.name == "whole" else sorted(wanted)
            reads[dimension.name] = tuple(part for part in order if part in wanted)
        else:
            reads[dimension.name] = any(dimension.values)
    return replace(recipe.features, **reads)


def _first(usual: Any, *others: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a setting's own type
    return (usual, *(value for value in others if value != usual))


def _value(dimension: Dimension, chance: random.Random) -> Any:  # noqa: ANN401 - as above
    usual, *others = dimension.values
    if not others or chance.random() < _KEEP:
        return usual
    return chance.choice(others)


def _venue_scale(recipe: Recipe) -> float:
    return recipe.scales.get("venue", 1.0)


def _venue_channels(recipe: Recipe) -> list[str]:
    lengths = recipe.features.venue_beginnings
    return ["venue", "venue.word", *(f"venue.begin{length}" for length in lengths)]
