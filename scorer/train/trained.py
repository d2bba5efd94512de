"""What a training is asked for, and what it comes to before it is written as a bundle."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from scorer.policy.policy import Policy
from scorer.student.calibration import Calibration, Method
from scorer.student.manifest import (
    MODEL_FILE,
    TOKENIZER_FILE,
    Encoding,
    Maturity,
    TrainingData,
)
from scorer.targets import Targets
from scorer.train.fit import Recipe
from scorer.train.learner import Learned
from scorer.train.maturity import Criteria
from scorer.train.rounds import Use


@dataclass(frozen=True, slots=True)
class RoundsRequest:
    """Where rounds keep their state, and what the gate asks for."""

    state: Path
    criteria: Criteria = field(default_factory=Criteria)
    given: frozenset[str] | None = None
    """Names of the criteria and of the recipe's options that were asked for: they must be those of
    the rounds before, and the others follow them. None: all of them were asked for."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """How long to search for a recipe, and what for."""

    trials: int = 12
    criterion: Literal["plain", "weighted", "both"] = "both"
    budget: float | None = None
    """In minutes; None: until all trials are done."""
    fixed: frozenset[str] = frozenset()
    """Names of settings that were asked for: they are not varied."""


SOFT_WEIGHT: Final = 1.0
"""Between 0.5 and 2 little changes, from 4 on the unlabelled works drown the labels."""


@dataclass(frozen=True, slots=True)
class EncoderRequest:
    """A frozen encoder, and what it is for."""

    folder: Path
    use: Use
    unlabelled: tuple[Path, ...] = ()
    """Frames whose works an ensemble scores, for the n-grams to learn from."""
    soft_weight: float = SOFT_WEIGHT
    """How much all unlabelled works count together, against all labelled ones."""


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
    calibrate: Method | None = None
    """How out-of-fold scores are mapped to the share of the teacher's yes; None: not at all."""
    overwrite: bool = False
    out_of_fold: Path | None = None
    """Where the scores go that thresholds are fitted on: `scorer thresholds fit` reads them."""
    rounds: RoundsRequest | None = None
    """None: one training, without rounds."""
    search: SearchRequest | None = None
    """None: train by the recipe as it is."""
    encoder: EncoderRequest | None = None
    """None: n-grams that learn from the labels alone."""

    def inputs(self) -> list[Path]:
        """Return the files that are read: nothing may be written over them."""
        named = [self.labels, self.sample, *self.heads.values()]
        if self.encoder is not None:
            folder = self.encoder.folder
            named += [*self.encoder.unlabelled, folder / MODEL_FILE, folder / TOKENIZER_FILE]
        return [path for path in named if path is not None]

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
    settings: Encoding
    files: Mapping[str, bytes]
    """Graph, vocabulary and tokenizer, by name."""
    learned: Learned
    policy: Policy
    metrics: dict[str, Any]
    training: TrainingData
    unseen: pl.DataFrame
    """`id` and float32 score columns [works], each work's by heads that saw neither it nor its
    venue."""
    weighted: bool
    """Whether the labels came with design weights."""
    recipe: Recipe
    """What it was fitted by: as asked for, or as a search chose it."""
    lacking: tuple[str, ...] = ()
    """Frame columns that its encoder reads and the labels had nothing in."""
    trials: pl.DataFrame | None = None
    """Every trial of the search, where there was one."""
    maturity: Maturity = ONE_ROUND
    calibration: Calibration | None = None
