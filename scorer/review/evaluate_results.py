"""What an evaluation comes to: figures with their limits, or why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass

from scorer.review.bootstrap_interval import Figure
from scorer.review.evaluate_judges import Who
from scorer.targets import Targets


@dataclass(frozen=True, slots=True)
class Step:
    """Works of about the same score, and the share of them that were said to be a yes."""

    low: float
    high: float
    works: int
    mean_score: float
    yes: Figure


@dataclass(frozen=True, slots=True)
class Compared:
    """How the scores and calls of one kind compare with the judges' word."""

    works: int
    """Scored, with a usable title, and judged."""
    positives: int
    effective_positives: float
    """Kish's effective number of them."""
    called: int | None
    silent: str | None
    """Why the kind makes no calls."""
    average_precision: Figure
    auroc: Figure
    precision: Figure
    recall: Figure
    fbeta: Figure
    reliability: tuple[Step, ...]
    calibration_error: float | None


@dataclass(frozen=True, slots=True)
class Rate:
    """A design-weighted prevalence: the share of works said to be a yes; how many that makes."""

    works: int
    positives: int
    share: Figure
    count: Figure


@dataclass(frozen=True, slots=True)
class Agreed:
    """How far two agree on the works that both speak of."""

    what: str
    """`calls` of two heads, `labels` of two teachers, `answers` of two coders."""
    between: tuple[str, str]
    works: int
    raw: Figure
    kappa: Figure
    jaccard: Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the sample, or all of it; mappings begin with the target."""

    works: int
    compared: Mapping[str, Mapping[str, Compared]]
    """Then by kind."""
    prevalence: Mapping[str, Mapping[str, Rate]]
    """Then by whose yes."""
    agreement: Mapping[str, tuple[Agreed, ...]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores and calls of a file, compared with labels or with an audit."""

    targets: Targets
    asked: tuple[str, ...]
    """Targets that the judges speak of."""
    model_version: str
    policy_version: str
    score_status: str
    who: Who
    rule: str
    works: int
    """Of the sample."""
    strata: int
    frame_works: float
    """Works that the sample stands for, by its weights."""
    beta: float
    min_positives: float
    replicates: int
    seed: int
    whole: Section
    groups: Mapping[str, Mapping[str, Section]]
    """Split by -> level."""
    notes: tuple[str, ...]
