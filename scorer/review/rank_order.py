"""How works are ordered for one target: the columns that order them, and the best so far."""

from dataclasses import dataclass
from typing import Final, Self

import polars as pl

from scorer.errors import UsageError
from scorer.policy.calls import CONSENSUS
from scorer.policy.policy import Quota, Threshold
from scorer.review.cells import own_texts
from scorer.review.scores import Scores
from scorer.targets import score_column

MEAN: Final = "mean"
MAX: Final = "max"
DISAGREEMENT: Final = "disagreement"
UNCERTAINTY: Final = "uncertainty"
ORDERS: Final = (CONSENSUS, MEAN, MAX, DISAGREEMENT, UNCERTAINTY)
"""Besides these, the name of a head orders by its score."""
CALL: Final = "call"
DERIVED: Final = (CALL, MEAN, MAX, DISAGREEMENT, UNCERTAINTY)
"""Columns that follow from a row for the target; a filter may name them."""

# Works held before those that cannot be among the best any more are let go.
_HELD: Final = 1 << 19


@dataclass(frozen=True, slots=True)
class Order:
    """An order of the works of a scored file, for one target."""

    scores: Scores
    target: str
    name: str
    """One of `ORDERS`, or a head."""
    heads: tuple[str, ...]
    """Those that have learned the target: the others' scores say nothing."""

    @classmethod
    def of(cls, scores: Scores, target: str, name: str | None) -> Self:
        """Choose an order: by default consensus first, the mean where there are no calls.

        Raises `UsageError` for a target or an order that the file does not have.
        """
        scores.check_target(target, "--by")
        heads = scores.learned(target)
        if not heads:
            raise UsageError(f"--by {target}: no head has learned it, so its scores rank nothing.")
        name = name or (MEAN if scores.score_only else CONSENSUS)
        made = cls(scores, target, name, heads)
        there = [one for one in (*ORDERS, *heads) if one in heads or made._can(one)]
        if name not in there:
            raise UsageError(f"--order {name}: {made._why_not()}.\nThere are {', '.join(there)}.")
        return made

    def described(self) -> str:
        """Return the order in words: what stands first."""
        return {
            CONSENSUS: "consensus first, then candidates, each by mean score",
            MEAN: "mean score",
            MAX: "highest score of a head",
            DISAGREEMENT: "disagreement of the heads",
            UNCERTAINTY: "nearness to a threshold",
        }.get(self.name, f"score of {self.name}")

    def columns(self) -> list[str]:
        """Return the columns of the scored file that the order follows from."""
        lists = self.scores.call_lists(self.target)
        return ["id", "segment", *self.score_columns(), *lists, *self.scores.of_student]

    def score_columns(self) -> list[str]:
        """Return the columns of the heads' scores for the target."""
        return [score_column(head, self.target) for head in self.heads]

    def derived(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the columns `DERIVED` added; null where the file has no such thing.

        `call` is an Enum, `mean` Float64 (rounding in float32 would order equal works), the others
        Float32. `disagreement` and `uncertainty` are those of the target alone.
        """
        scores = [pl.col(name) for name in self.score_columns()]
        highest, lowest = pl.max_horizontal(scores), pl.min_horizontal(scores)
        nothing = pl.lit(None, pl.Float32)
        near = self.scores.uncertainty(rows, self.target)
        return rows.with_columns(
            self.scores.call(self.target).alias(CALL),
            pl.mean_horizontal([score.cast(pl.Float64) for score in scores]).alias(MEAN),
            highest.alias(MAX),
            (highest - lowest if len(scores) > 1 else nothing).alias(DISAGREEMENT),
            (pl.lit(near) if self._can(UNCERTAINTY) else nothing).alias(UNCERTAINTY),
        )

    def sorted(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with `DERIVED` in order, best first; ties go by id."""
        match self.name:
            case "consensus":
                keys = [CALL, MEAN]
            case "disagreement" | "uncertainty":
                keys = [self.name, MEAN]
            case "mean" | "max":
                keys = [self.name]
            case head:
                keys = [score_column(head, self.target)]
        return rows.sort([*keys, "id"], descending=[*(True for _ in keys), False])

    def _can(self, name: str) -> bool:
        """Tell whether one of `ORDERS` says anything about the target in this file."""
        match name:
            case "consensus":
                return not self.scores.score_only
            case "uncertainty":
                policies = [stage.policy for stage in self.scores.manifest.stages]
                of_target = [e for p in policies for e in p.entries[self.target].values()]
                decided = any(isinstance(entry, Threshold | Quota) for entry in of_target)
                return decided and not self.scores.score_only
            case "disagreement":
                return len(self.heads) > 1
        return name in ORDERS

    def _why_not(self) -> str:
        if self.name in self.scores.heads:
            return f"head {self.name} has not learned {self.target}"
        if self.name not in ORDERS:
            return "no such order"
        if self.scores.score_only:
            return f"{self.scores.path.name} holds scores alone, no calls"
        if self.name == DISAGREEMENT:
            return f"one head alone has learned {self.target}"
        return f"no head has a threshold for {self.target}"


class Best:
    """The first works of an order among those seen so far."""

    def __init__(self, order: Order, top: int, empty: pl.DataFrame) -> None:
        """`empty`: rows with `DERIVED`, none of them."""
        self._order = order
        self._top = top
        self._held = [empty]
        self._rows = 0
        self.seen = 0

    def add(self, rows: pl.DataFrame) -> None:
        """See more works."""
        self._held.append(rows)
        self._rows += rows.height
        self.seen += rows.height
        if self._rows > max(_HELD, 2 * self._top):
            self._held = [own_texts(self.works())]
            self._rows = self._held[0].height

    def works(self) -> pl.DataFrame:
        """Return the first works, in order."""
        return self._order.sorted(pl.concat(self._held)).head(self._top)
