"""A scored file opened for people: checked against its manifest, then read by column or in batches.

`run` and `call` write it; ranking, audit samples, evaluation, work page and site begin here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import polars as pl

from scorer.engine.files import sha256
from scorer.engine.manifest import RunManifest
from scorer.engine.scored import STATUSES, ScoredFile
from scorer.errors import UsageError
from scorer.policy.calls import CANDIDATE, CONSENSUS, COVERED, SEGMENT
from scorer.policy.review import uncertainty
from scorer.status import SCORE_ONLY
from scorer.targets import Targets

REVIEWED: Final = (COVERED,)
"""Segments that people review unless they say otherwise: works without a usable title cannot be
judged, and excluded ones carry labels already."""

CALL: Final = pl.Enum(["none", CANDIDATE, CONSENSUS])
"""How a target is called; sorted downwards, consensus is first."""


def check_segments(names: Sequence[str]) -> None:
    """Raise `UsageError` where a segment is none."""
    for name in names:
        if name not in SEGMENT.categories:
            raise UsageError(f"--segment {name}: there are {', '.join(SEGMENT.categories)}.")


@dataclass(frozen=True, slots=True)
class Scores:
    """A scored file that is byte for byte the one its manifest speaks of."""

    scored: ScoredFile

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a file that `run` or `call` wrote, its hash and the statuses of its rows checked.

        A file of scores alone opens too: see `score_only`. Raises `InputError` where there is no
        manifest, or the file is not the one that it speaks of.
        """
        scored = ScoredFile.open(path, score_only=True, stacked=True)
        scored.check_hash(sha256(path))
        for group in range(scored.file.num_row_groups):
            scored.check_status(group)
        return cls(scored)

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self.scored.path

    @property
    def manifest(self) -> RunManifest:
        """What the file is and how it came to be."""
        return self.scored.manifest

    @property
    def targets(self) -> Targets:
        """What the student scored."""
        return self.manifest.targets

    @property
    def heads(self) -> list[str]:
        """Names of the heads."""
        return self.targets.head_names

    @property
    def rows(self) -> int:
        """Number of works."""
        return self.scored.rows

    @property
    def columns(self) -> list[str]:
        """Names of all columns, those carried along from the frame at the end."""
        return list(self.scored.file.schema_arrow.names)

    @property
    def score_only(self) -> bool:
        """Whether the file has scores and no calls: its student's maturity gate has not passed."""
        return self.manifest.score_status.startswith(f"{SCORE_ONLY}:")

    @property
    def statuses(self) -> dict[str, str]:
        """`prediction_status`, `score_status` and `model_version`: what every row says.

        Of a file that two students scored, what each of them says, joined by "and".
        """
        return {name: self.manifest.in_words(name) for name in STATUSES}

    @property
    def stacked(self) -> bool:
        """Whether two students gave the scores: a row's `model_version` tells which."""
        return len(self.manifest.stages) > 1

    @property
    def of_student(self) -> tuple[str, ...]:
        """The columns that tell which student's policy is a row's: none where there is one."""
        return ("model_version",) if self.stacked else ()

    def uncertainty(self, rows: pl.DataFrame, target: str) -> pl.Series:
        """Return the nearness to a threshold of a target, float32, by the policy of each row.

        `rows`: the target's scores, and `model_version` where the file is `stacked`.
        """
        first, *others = self.manifest.stages
        near = uncertainty(rows, self.targets, first.policy, target)
        for stage in others:
            mine = rows["model_version"].cast(pl.String) == stage.model_version
            other = uncertainty(rows, self.targets, stage.policy, target)
            near = other.zip_with(mine, near)
        return near

    def what(self, target: str) -> str:
        """Return which of the two lists of calls a target stands in."""
        return "categories" if target in self.targets.categories else "flags"

    def call_lists(self, target: str) -> dict[str, str]:
        """Return list column -> the word for being called in it, the strongest first."""
        if self.score_only:
            return {}
        return {f"{kind}_{self.what(target)}": kind for kind in (CONSENSUS, CANDIDATE)}

    def call(self, target: str) -> pl.Expr:
        """Return how a target is called: consensus, candidate, none; null in a file of scores."""
        lists = self.call_lists(target)
        call = pl.lit("none" if lists else None)
        for name, word in reversed(lists.items()):
            call = pl.when(pl.col(name).list.contains(target)).then(pl.lit(word)).otherwise(call)
        return call.cast(CALL)

    def learned(self, target: str) -> tuple[str, ...]:
        """Return the heads that have learned a target: the others' scores say nothing."""
        return tuple(h.name for h in self.targets.heads if target not in h.unavailable)

    def check_target(self, target: str, option: str) -> None:
        """Raise `UsageError` where `option` names no category or flag."""
        if target not in self.targets.binary_names:
            raise UsageError(
                f"{option} {target}: no category or flag of {self.path.name}.\n"
                f"There are {', '.join(self.targets.binary_names)}."
            )

    def lazy(self) -> pl.LazyFrame:
        """Return the rows as Polars reads them: words that repeat are Categorical."""
        return pl.scan_parquet(self.path, glob=False, hive_partitioning=False)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows' columns in file order, 131,072 rows at a time, scores checked.

        `segment` and the statuses come as Enums.
        """
        for rows in self.scored.batches(columns):
            yield rows.select(columns)

    def of_works(self, ids: pl.Series, columns: Sequence[str]) -> pl.DataFrame:
        """Return `id` and columns of works, a row for each of `ids` in their order.

        Words come as String; all null where the file lacks the work.
        """
        wanted = list(dict.fromkeys(["id", *columns]))
        found = self.lazy().select(wanted).filter(pl.col("id").is_in(ids.implode())).collect()
        found = found.with_columns(pl.col(pl.Categorical).cast(pl.String))
        return ids.to_frame("id").join(found, on="id", how="left", maintain_order="left")
