"""Why a work has its scores: the n-grams behind them, as exact integers that add up to the logit.

The integers are those of `model.onnx` itself: its table, its biases and its scores by logit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import BundleError
from scorer.student.bundle import Student
from scorer.student.calibration import Method
from scorer.student.constants import graph_constants
from scorer.student.manifest import MODEL_FILE, VOCABULARY_FILE, NgramSettings

_CONSTANTS: Final = ("table", "bias", "scores")

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Contribution:
    """An n-gram of the work and what it adds to the integer logit."""

    channel: str
    ngram: str
    units: int


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """A head's score for a target, taken apart.

    `bias`, `up`, `down` and `other_units` add up to `total`.
    """

    head: str
    target: str
    score: float
    uncalibrated: float | None
    """The score that the logit alone gives, in a calibrated bundle; its map makes `score` of it."""
    logit: int
    """`total`, held between the ends of the graph's table of scores."""
    total: int
    bias: int
    up: tuple[Contribution, ...]
    """The n-grams that raise it most, largest first."""
    down: tuple[Contribution, ...]
    """The n-grams that lower it most, largest first."""
    other_count: int
    """The work's other n-grams in the vocabulary, those that add 0 among them."""
    other_units: int
    """What they add together."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The scores of one work, taken apart."""

    model_version: str
    logit_unit: float
    """What one unit is worth on the logit scale."""
    calibration: Method | None
    """How the maps of a calibrated bundle were fitted."""
    ngrams: int
    """Distinct n-grams of the work that are in the vocabulary."""
    scores: tuple[ScoreParts, ...]
    """Head by head, targets in manifest order; those that a head has not learned are left out."""


class Weights:
    """The integer table of an `ngram` bundle, and the n-grams that its rows stand for."""

    def __init__(
        self,
        student: Student,
        settings: NgramSettings,
        table: Integers,
        bias: Integers,
        scores: npt.NDArray[np.float32],
    ) -> None:
        """Take a table int64 [n-grams + 1, scores] (row 0 is padding) and biases int64 [scores].

        Both have their columns head by head, binary targets in manifest order. `scores`: float32
        [logits], the score of each integer logit, 0 in the middle.
        """
        self._student = student
        self._unit = settings.logit_unit
        self._table = table
        self._bias = bias
        self._scores = scores
        self._vocabulary = pl.read_parquet(student.folder / VOCABULARY_FILE).select(
            pl.col("channel", "ngram").cast(pl.String)
        )

    @classmethod
    def of(cls, student: Student) -> Self:
        """Read a bundle's table; raise `BundleError` where its graph has none of that form."""
        path = student.folder / MODEL_FILE
        settings = student.manifest.encoder
        if not isinstance(settings, NgramSettings):
            raise BundleError(
                f"{student.folder}: its encoder is {settings.kind}; only the scores of n-gram "
                "bundles can be taken apart."
            )
        constants = graph_constants(path)
        outputs = len(student.manifest.targets.score_columns)
        ids = settings.ngrams + 1
        table, bias, scores = (constants.get(name, np.empty(0, np.float32)) for name in _CONSTANTS)
        if (
            table.ndim != 2  # noqa: PLR2004
            or len(table) != ids
            or bias.shape != table.shape[1:]
            or len(bias) < outputs
            or scores.ndim != 1
            or not len(scores)
        ):
            raise _foreign(path)
        # Binary targets come first in the graph, head by head; the axes follow.
        whole = [part[..., :outputs].astype(np.int64) for part in (table, bias)]
        return cls(student, settings, whole[0], whole[1], scores)

    def explain(
        self,
        work: pl.DataFrame,
        *,
        heads: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
        top: int = 10,
    ) -> Explanation:
        """Take the scores of a work (a contract frame of one row) apart, the same bits as scored.

        `heads`, `targets`: of these alone; `top`: so many n-grams upwards and downwards. Raises
        `BundleError` where the graph adds up in another way than the one known here.
        """
        manifest = self._student.manifest
        ids = self._student.encoder.encode(work).ids.astype(np.int64)
        units = self._table[ids]
        half = len(self._scores) // 2
        totals = units.sum(axis=0) + self._bias
        logits = np.clip(totals, -half, half - 1)
        scores = self._scores[logits + half]
        scored = self._student.uncalibrated(work).binary
        if not np.array_equal(np.concatenate([scored[h][0] for h in scored]), scores):
            raise _foreign(self._student.folder / MODEL_FILE)
        ngrams = self._vocabulary[(ids - 1).tolist()].rows()  # row 0 of the table is padding

        def named(places: Integers, column: int) -> tuple[Contribution, ...]:
            return tuple(
                Contribution(ngrams[place][0], ngrams[place][1], int(units[place, column]))
                for place in places
            )

        parts = []
        for place, (head, target) in enumerate(self._pairs()):
            wanted = head in (heads or (head,)) and target in (targets or (target,))
            if not wanted or target in self._not_learned(head):
                continue
            up, down, others = _largest(units[:, place], top)
            parts.append(
                ScoreParts(
                    head=head,
                    target=target,
                    score=self._calibrated(head, target, scores[place]),
                    uncalibrated=float(scores[place]) if self._student.calibration else None,
                    logit=int(logits[place]),
                    total=int(totals[place]),
                    bias=int(self._bias[place]),
                    up=named(up, place),
                    down=named(down, place),
                    other_count=len(others),
                    other_units=int(units[others, place].sum()),
                )
            )
        maps = self._student.calibration
        method = maps.method if maps else None
        return Explanation(manifest.version, self._unit, method, len(ids), tuple(parts))

    def _calibrated(self, head: str, target: str, score: np.float32) -> float:
        maps = self._student.calibration
        return float(maps.of_pair(head, target, np.array([score]))[0] if maps else score)

    def _pairs(self) -> list[tuple[str, str]]:
        targets = self._student.manifest.targets
        return [(head, target) for head in targets.head_names for target in targets.binary_names]

    def _not_learned(self, name: str) -> tuple[str, ...]:
        return next(h.unavailable for h in self._student.manifest.targets.heads if h.name == name)


def _largest(units: Integers, top: int) -> tuple[Integers, Integers, Integers]:
    """Return the places of the `top` largest over 0, of the `top` least under 0, and the others.

    Equal ones stay in the order of their ids.
    """
    order = np.argsort(-units, kind="stable")
    up = order[units[order] > 0][:top]
    order = np.argsort(units, kind="stable")
    down = order[units[order] < 0][:top]
    others = np.setdiff1d(np.arange(len(units)), np.concatenate([up, down]))
    return up, down, others


def _foreign(path: Path) -> BundleError:
    return BundleError(
        f"{path}: its scores are not sums of integers of the form that scorer train makes, so they "
        "cannot be taken apart."
    )
