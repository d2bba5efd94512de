"""Calibration: a monotone map a head and target that a bundle may bring, applied after the graph.

It is data: knots, between which scores are interpolated. A calibrated score stands for the share of
its teacher's yes among works of that score; it is still no probability that a category is true.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError, model_validator

from scorer.errors import BundleError
from scorer.student.session import Floats, Scores
from scorer.targets import Name, Strict, Targets

CALIBRATION_FILE: Final = "calibration.json"
Method = Literal["isotonic", "platt"]

_FEWEST_KNOTS: Final = 2
_Knots = npt.NDArray[np.float64]


class _Map(Strict):
    """Knots; they are taken for the nearest float32 numbers."""

    score: tuple[float, ...]
    calibrated: tuple[float, ...]

    @model_validator(mode="after")
    def _never_falls(self) -> Self:
        score, calibrated = (np.array(k, np.float32) for k in (self.score, self.calibrated))
        if len(score) != len(calibrated) or len(score) < _FEWEST_KNOTS:
            raise ValueError("a map needs two knots or more, a calibrated score for each score")
        if not all(((knots >= 0) & (knots <= 1)).all() for knots in (score, calibrated)):
            raise ValueError("knots of a map lie from 0 to 1")
        if (np.diff(score) <= 0).any() or (np.diff(calibrated) < 0).any():
            raise ValueError("scores of a map's knots rise, and their calibrated scores never fall")
        return self


class _File(Strict):
    schema_version: Literal[1] = 1
    method: Method
    maps: dict[Name, dict[Name, _Map]]


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """A piecewise linear map of scores: knots float64, from 0 to 1, that hold float32 numbers.

    Because knots are float32 numbers, rounding cannot make a higher score the lower one, and every
    operation is of one score alone, so that a batch changes no bit.
    """

    score: _Knots
    calibrated: _Knots

    @classmethod
    def at(cls, score: npt.ArrayLike, calibrated: npt.ArrayLike) -> Self:
        """Return the map through knots, the nearest float32 numbers."""
        return cls(*(np.asarray(k, np.float32).astype(np.float64) for k in (score, calibrated)))

    def of(self, scores: Floats) -> Floats:
        """Return calibrated scores, float32 [works]; beyond the ends those of the ends."""
        found = np.interp(scores.astype(np.float64), self.score, self.calibrated)
        return found.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The maps of a bundle, by (head, target); a pair without one keeps its scores."""

    method: Method
    maps: Mapping[tuple[str, str], ScoreMap]

    @classmethod
    def read(cls, path: Path, targets: Targets) -> Self:
        """Read a bundle's maps; raise `BundleError` where they are none, or of other targets."""
        try:
            found = _File.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "content"
            reason = first["msg"].removeprefix("Value error, ")
            raise BundleError(f"{path}: {where}: {reason}. Train the bundle again.") from error
        for head, maps in found.maps.items():
            for target in maps:
                if head not in targets.head_names or target not in targets.binary_names:
                    raise BundleError(
                        f"{path}: maps scores of {head} for {target}, which the bundle does not "
                        "have.\nTrain the bundle again."
                    )
        return cls(
            found.method,
            {
                (head, target): ScoreMap.at(one.score, one.calibrated)
                for head, maps in found.maps.items()
                for target, one in maps.items()
            },
        )

    def of_pair(self, head: str, target: str, scores: Floats) -> Floats:
        """Return a pair's calibrated scores, float32 [works]."""
        found = self.maps.get((head, target))
        return scores if found is None else found.of(scores)

    def apply(self, scores: Scores, targets: Targets) -> Scores:
        """Return the scores of a batch with those of binary targets calibrated."""
        binary = {}
        for head, of_head in scores.binary.items():
            made = np.empty(of_head.shape, np.float32, order="F")  # read column by column
            for place, target in enumerate(targets.binary_names):
                made[:, place] = self.of_pair(head, target, of_head[:, place])
            binary[head] = made
        return replace(scores, binary=binary)

    def to_json(self) -> str:
        """Return the text of `calibration.json`."""
        maps: dict[str, dict[str, _Map]] = {}
        for (head, target), one in self.maps.items():
            made = _Map(score=_shortest(one.score), calibrated=_shortest(one.calibrated))
            maps.setdefault(head, {})[target] = made
        return _File(method=self.method, maps=maps).model_dump_json() + "\n"


def _shortest(knots: _Knots) -> tuple[float, ...]:
    """Return float32 numbers as the numbers with the fewest digits that are read as them."""
    return tuple(float(np.format_float_scientific(knot)) for knot in knots.astype(np.float32))
