"""What a comparison of two students comes to, for people and for scripts."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from scorer.policy.fit import ENOUGH_POSITIVES
from scorer.review.bootstrap_interval import DIFFERENCE_METHOD, Figure
from scorer.review.evaluate_json import fields
from scorer.status import STAMP

METRICS: Final = ("average_precision", "auroc")
WEIGHTINGS: Final = ("plain", "weighted")
OUT_OF_FOLD: Final = "out-of-fold scores"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: whose scores they are, and of how many labelled works."""

    name: str
    """As it was given."""
    kind: str
    """`bundle`, `scored file` or `out-of-fold scores`."""
    model_version: str
    works: int
    """Labelled works with a score that counts: without a usable title they are called by rule, and
    left out, but of out-of-fold scores."""
    learned_from_labels: bool
    """Whether its student learned from these very labels, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure of both, and B's less A's with its limits."""

    a: float
    b: float
    difference: Figure


@dataclass(frozen=True, slots=True)
class Ranked:
    """How well both rank the same works."""

    average_precision: Beside
    auroc: Beside


@dataclass(frozen=True, slots=True)
class Compared:
    """Both students' scores for a head and target, over the works that its teacher judged."""

    head: str
    target: str
    works: int
    positives: int
    effective_positives: float
    """Kish's effective number of them, by design weights."""
    plain: Ranked | None
    weighted: Ranked | None
    """None where the labels have no design weights."""
    why: str | None
    """Why there are no figures."""

    @property
    def counts(self) -> bool:
        """Whether there are positives enough for the mean."""
        return self.why is None and self.positives >= ENOUGH_POSITIVES


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over pairs of head and target with positives enough."""

    without: str | None
    """A target that is left out."""
    pairs: int
    plain: Ranked
    weighted: Ranked | None


@dataclass(frozen=True, slots=True)
class Moved:
    """A work, and the head and target for which its two scores differ most."""

    id: str
    title: str | None
    head: str
    target: str
    a: float
    b: float
    place_a: int
    """Among the works judged for the target, the highest score first; equal scores share one."""
    place_b: int
    judged: int
    yes: bool
    """Whether the teacher said so."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two students' scores of the same labelled works."""

    a: Side
    b: Side
    labelled: int
    compared: int
    """Labelled works that both have a score of."""
    strata: int
    pairs: tuple[Compared, ...]
    """Head by head, targets in A's order."""
    means: tuple[Mean, ...]
    moved: tuple[Moved, ...]
    """The works whose scores differ most, the largest difference first."""
    same: bool
    """Whether both give every compared score alike."""
    replicates: int
    seed: int
    notes: tuple[str, ...]


def content(found: Comparison) -> dict[str, Any]:
    """Return what `--json` prints."""
    whole = asdict(found, dict_factory=fields)
    return {
        "prediction_status": STAMP,
        "a": whole["a"],
        "b": whole["b"],
        "notes": whole["notes"],
        "same": whole["same"],
        "sample": {name: whole[name] for name in ("labelled", "compared", "strata")},
        "limits": {
            "method": DIFFERENCE_METHOD,
            "replicates": found.replicates,
            "seed": found.seed,
        },
        "means": whole["means"],
        "pairs": whole["pairs"],
        "moved": whole["moved"],
    }


def table(found: Comparison) -> pl.DataFrame:
    """Return a row for each pair of head and target, a column for each number: what CSV holds."""
    rows = [
        {
            "head": pair.head,
            "target": pair.target,
            "works": pair.works,
            "positives": pair.positives,
            "effective_positives": pair.effective_positives,
            **dict(_numbers(pair)),
            "why": pair.why,
            "a": found.a.model_version,
            "b": found.b.model_version,
            "prediction_status": STAMP,
        }
        for pair in found.pairs
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _numbers(pair: Compared) -> Iterator[tuple[str, float | None]]:
    for weighting in WEIGHTINGS:
        ranked: Ranked | None = getattr(pair, weighting)
        for metric in METRICS:
            beside: Beside | None = getattr(ranked, metric, None)
            name = f"{metric}_{weighting}"
            yield f"{name}_a", beside.a if beside else None
            yield f"{name}_b", beside.b if beside else None
            for part in ("value", "low", "high"):
                number = getattr(beside.difference, part) if beside else None
                yield f"{name}_difference" + ("" if part == "value" else f"_{part}"), number
