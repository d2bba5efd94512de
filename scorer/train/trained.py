"""What a training is asked for, and what it comes to before it is written as a bundle."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from scorer.policy.policy import Policy
from scorer.student.manifest import Maturity, NgramSettings, TrainingData
from scorer.targets import Targets
from scorer.train.fit import Recipe
from scorer.train.maturity import Criteria
from scorer.train.quantise import Table


@dataclass(frozen=True, slots=True)
class RoundsRequest:
    """Where rounds keep their state, and what the gate asks for."""

    state: Path
    criteria: Criteria = field(default_factory=Criteria)
    given: frozenset[str] | None = None
    """Names of the criteria and of the recipe's options that were asked for: they must be those of
    the rounds before, and the others follow them. None: all of them were asked for."""


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """What to learn from, and where the bundle goes."""

    output: Path
    labels: Path | None = None
    """A label table; or `sample` and `heads`, the JSON files of the labelling step."""
    sample: Path | None = None
    heads: dict[str, Path] = field(default_factory=dict)
    name: str | None = None
    """By default the output folder's name."""
    source: str = "labels of the user"
    licence: str = "not stated"
    attribution: str = "not stated"
    recipe: Recipe = field(default_factory=Recipe)
    overwrite: bool = False
    out_of_fold: Path | None = None
    """Where the scores go that thresholds are fitted on: `scorer thresholds fit` reads them."""
    rounds: RoundsRequest | None = None
    """None: one training, without rounds."""

    def bundle_name(self) -> str:
        """Return the bundle's name."""
        return self.name or self.output.resolve().name


ONE_ROUND: Final = Maturity(
    rounds=1,
    criteria={},
    passed=True,
    note="trained in one round on a complete sample, so there are no rounds to compare",
)


@dataclass(frozen=True, slots=True)
class Trained:
    """A student, its policy and its figures."""

    targets: Targets
    settings: NgramSettings
    vocabulary: pl.DataFrame
    table: Table
    policy: Policy
    metrics: dict[str, Any]
    training: TrainingData
    unseen: pl.DataFrame
    """`id` and float32 score columns [works], each work's by heads that saw neither it nor its
    venue."""
    weighted: bool
    """Whether the labels came with design weights."""
    maturity: Maturity = ONE_ROUND
