"""Human coders as judges: their sheets, and the key of the sample that tells its design."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from scorer.counted import counted
from scorer.errors import InputError, UsageError
from scorer.frame.lookup import IdLookup
from scorer.frame.parquet import open_parquet
from scorer.review.bootstrap import Design
from scorer.review.evaluate_judges import Answers, Who
from scorer.review.evaluate_sheet import UNSURE, YES, Sheet
from scorer.review.records import RECORD
from scorer.review.sheet import key_of
from scorer.status import STAMP

Codes = npt.NDArray[np.int8]
_NEEDED = ("id", "stratum", "weight")


class Settled(StrEnum):
    """What counts where coders differ."""

    agreed = "agreed"
    any = "any"
    all = "all"


_FIXED = (
    "the sample was drawn with --allocation fixed: few heavy works then stand for most of the "
    "frame, and limits of recall, average precision and prevalence are about twice as wide as by "
    "Neyman's or proportional allocation (benchmarks/results/coverage.md)"
)
_RULES = {
    Settled.agreed: "human coders, where all of them say the same; works on which they differ are "
    "unknown until someone settles them",
    Settled.any: "human coders: yes where any of them says yes",
    Settled.all: "human coders: yes where all of them say yes",
}


@dataclass(frozen=True, slots=True)
class Key:
    """The design of an audit sample: its works, a row each, and what it was drawn from."""

    path: Path
    works: pl.DataFrame
    design: Mapping[str, Any]
    """`asked` (targets), `scores` (name, size, sha256), and how it was drawn."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a key; raise `InputError` where it is none, or was drawn from other rows."""
        if not path.exists():
            raise InputError(
                f"{path}: no such file. It tells the design of the sample and lies beside the "
                "sheets.\nName it where it lies elsewhere: --key FILE"
            )
        file = open_parquet(path)
        said = {k.decode(): v.decode() for k, v in (file.schema_arrow.metadata or {}).items()}
        if "design" not in said or not set(_NEEDED) <= set(file.schema_arrow.names):
            raise InputError(f"{path}: not the key of a sample that scorer sample wrote.")
        if said.get("prediction_status") != STAMP:
            raise InputError(
                f"{path}: says {said.get('prediction_status')}, expected {STAMP}; it was changed.\n"
                "Draw the sample again with the same seed: scorer sample"
            )
        try:
            works = pl.from_arrow(file.read())
        except (pa.ArrowException, OSError) as error:
            reason = (str(error).splitlines() or ["unreadable"])[0]
            raise InputError(f"{path}: damaged ({reason}). Copy it again.") from error
        assert isinstance(works, pl.DataFrame)
        return cls(path, works, json.loads(said["design"]))

    def sample(self) -> Design:
        """Return how the works were drawn."""
        return Design.of(self.works["weight"].to_numpy(), self.works["stratum"], finite=True)


@dataclass(frozen=True, slots=True)
class CoderJudges:
    """Coders of one audit sample: all kinds of calls are compared with the same word of theirs."""

    works: pl.DataFrame
    design: Design
    names: tuple[str, ...]
    asked: tuple[str, ...]
    """Targets that the sheets ask for."""
    drawn_from: Mapping[str, Any]
    """Name, size and sha256 of the scored file that the sample was drawn from."""
    said: Mapping[tuple[str, str], Codes]
    """(coder, target) -> answers, in the order of `works`."""
    settled: Settled = Settled.agreed
    allocation: str = ""
    """How the sample was shared out over its strata."""
    who: Who = "coders"

    @classmethod
    def read(cls, paths: Sequence[Path], key: Path | None, settled: Settled) -> Self:
        """Read sheets and key; raise `InputError` where they are unfinished or do not fit."""
        plan = Key.read(key or key_of(paths[0]))
        sheets = [Sheet.read(path) for path in paths]
        names = tuple(sheet.coder for sheet in sheets)
        if len(set(names)) < len(names):
            raise UsageError(
                f"Two sheets are of {_twice(names)}: {', '.join(map(str, paths))}.\n"
                "Give one sheet for each coder."
            )
        asked = tuple(plan.design["asked"])
        rows = {sheet.coder: _rows(sheet, plan) for sheet in sheets}
        said = {
            (sheet.coder, target): sheet.answers(target)[rows[sheet.coder]]
            for sheet in sheets
            for target in asked
        }
        record = sheets[0].cells[rows[names[0]]].select(pl.col(f"^({'|'.join(RECORD)})$"))
        if "year" in record.columns:
            number = pl.col("year").cast(pl.Float64, strict=False)
            record = record.with_columns(number.cast(pl.Int32, strict=False))
        return cls(
            works=plan.works.with_columns(record),
            design=plan.sample(),
            names=names,
            asked=asked,
            drawn_from=plan.design["scores"],
            said=said,
            settled=settled,
            allocation=plan.design.get("allocation", ""),
        )

    @property
    def rule(self) -> str:
        """What counts as a yes, and what an audit does not change."""
        rule = _RULES[self.settled] if len(self.names) > 1 else "a human coder"
        return f"{rule}; an audit judges scores and calls, it takes no status off"

    def answers(self, name: str, target: str) -> Answers:
        """Return a coder's answers; `unsure` is unknown, as is a target that was not asked for."""
        codes = self._codes(name, target)
        return codes != UNSURE, codes == YES

    def truth(self, heads: Sequence[str], needed: int, target: str) -> Answers:
        """Return the coders' word, whichever heads are compared with it."""
        said = [self.answers(name, target) for name in self.names]
        known = np.logical_and.reduce([judged for judged, _ in said])
        yes = np.array([one for _, one in said])
        every, some = yes.all(axis=0), yes.any(axis=0)
        if self.settled == Settled.agreed:
            known = known & (every == some)
        return known, (some if self.settled == Settled.any else every) & known

    def prevalence(self, target: str) -> Mapping[str, Answers]:
        """Return each coder's yes and their common one, among the works where it is known."""
        found = {name: self.answers(name, target) for name in self.names}
        if len(found) > 1:
            found[f"coders ({self.settled})"] = self.truth((), 0, target)
        return found

    def notes(self) -> list[str]:
        """Return what a reader of the figures should know of the audit."""
        notes = [_FIXED] if self.allocation == "fixed" else []
        differ = sum(self._differ(target) for target in self.asked)
        if differ and self.settled == Settled.agreed:
            notes.append(
                f"coders differ in {counted(differ, 'answer')}: works without a common one are "
                "left out of the figures of that target, which are then too good; settle them in "
                "one sheet, or say --coders any or all"
            )
        return notes

    def _differ(self, target: str) -> int:
        """Return of how many works all coders are sure and not all say the same."""
        said = [self.answers(name, target) for name in self.names]
        known = np.logical_and.reduce([judged for judged, _ in said])
        yes = np.array([one for _, one in said])
        return int((known & (yes.all(axis=0) != yes.any(axis=0))).sum())

    def _codes(self, name: str, target: str) -> Codes:
        nothing = np.full(self.works.height, UNSURE, np.int8)
        return self.said.get((name, target), nothing)


def _rows(sheet: Sheet, key: Key) -> npt.NDArray[np.int64]:
    """Return the row of the sheet that each work of the sample has."""
    ids, listed = key.works["id"], sheet.cells["id"]
    strange = np.flatnonzero(IdLookup(ids).find(listed) < 0)
    if len(strange):
        raise InputError(
            f"{sheet.path}: row {sheet.row[strange[0]]}: work {listed[int(strange[0])]} is not in "
            f"the sample of {key.path} ({len(strange):,} such works).\n"
            "Give the sheets and the key of one sample, with no work added."
        )
    rows = IdLookup(listed).find(ids)
    gone = np.flatnonzero(rows < 0)
    if len(gone):
        raise InputError(
            f"{sheet.path}: works of the sample that have no row: {len(gone):,}, first "
            f"{ids[int(gone[0])]}.\nPut them back and answer them: each stands for others."
        )
    return rows


def _twice(names: Sequence[str]) -> str:
    return next(name for name in names if names.count(name) > 1)
