"""What a training is asked for, and what it comes to before it is written as a bundle."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from scorer.policy.policy import Policy
from scorer.student.manifest import NgramSettings, TrainingData
from scorer.targets import Targets
from scorer.train.fit import Recipe
from scorer.train.quantise import Table


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

    def bundle_name(self) -> str:
        """Return the bundle's name."""
        return self.name or self.output.resolve().name


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
    weighted: bool
    """Whether the labels came with design weights."""
