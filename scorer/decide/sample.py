"""The labelled sample as the student's targets see it, and the scores of its works."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.engine.files import sha256
from scorer.engine.scored import ScoredFile
from scorer.errors import InputError, UsageError
from scorer.frame.lookup import IdLookup
from scorer.labels.sample import Labels, read_label_files, read_label_table
from scorer.policy.fit import Booleans, Scores, Weights, support
from scorer.policy.policy import Support
from scorer.student.folder import load_manifest, shipped_bundles
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets, score_column

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class LabelFiles:
    """Where labels lie: a label table; or a sample and one file a head, in JSON."""

    table: Path | None = None
    sample: Path | None = None
    heads: Mapping[str, Path] | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` unless it is the one or the other."""
        if (self.table is None) == (self.sample is None) or (self.table and self.heads):
            raise UsageError("Give either a label table, or --sample with --head NAME=FILE.")

    @property
    def works(self) -> Path:
        """The file that has the works; messages name it."""
        return self.paths[0]

    @property
    def paths(self) -> list[Path]:
        """The files, that of the works first."""
        return [path for path in (self.table, self.sample) if path] + [*(self.heads or {}).values()]

    def read(self) -> Labels:
        """Read them; raise `InputError` where they break their contract."""
        if self.table is not None:
            return read_label_table(self.table)
        assert self.sample is not None
        return read_label_files(self.sample, self.heads or {})


@dataclass(frozen=True)
class Teachers:
    """What the teachers said of the sample's works, and the works' design weights.

    A target that the labels do not know has no judged work.
    """

    labels: Labels
    weight: Weights

    @classmethod
    def read(cls, files: LabelFiles, *, equal_weights: bool) -> Self:
        """Read labels; raise `InputError` where they have no design weights and need them."""
        labels = files.read()
        if equal_weights:
            return cls(labels, np.ones(labels.works.height))
        if not labels.weighted:
            raise InputError(
                f"{files.works}: no column 'weight', so nothing says how many works of the "
                "frame each one stands for.\nAdd weight = population / sample, or say "
                "--equal-weights: every work then weighs 1."
            )
        return cls(labels, labels.weight)

    @cached_property
    def ids(self) -> pl.Series:
        """Ids of the works, String [works]."""
        return self.labels.works["id"]

    def judged(self, head: str, target: str) -> Booleans:
        """Tell which works a head judged for a target: bool [works]."""
        return self.labels.judged(head, target)

    def positive(self, head: str, target: str) -> Booleans:
        """Tell which works a head said yes to: bool [works]."""
        if not self.labels.has(head, target):
            return np.zeros(self.labels.works.height, bool)
        return self.labels.positive(head, target)

    def support(self, head: str, target: str) -> Support:
        """Return the support of a head's target; its rate is a share of the works asked about."""
        judged = self.judged(head, target)
        return support(
            self.positive(head, target)[judged],
            self.weight[judged],
            asked=float(self.weight[self.asked(head, target)].sum()),
        )

    def asked(self, head: str, target: str) -> Booleans:
        """Tell which works a head was asked about: bool [works]; rates are shares of them.

        A declined work is one to which the teacher did not say yes, and the frame has as many of
        them: the published rates are of this kind.
        """
        judged = self.judged(head, target)
        if INSUFFICIENT_PAYLOAD not in self.labels.targets.categories:
            return judged
        return judged | self.positive(head, INSUFFICIENT_PAYLOAD)

    def check_heads(self, heads: list[str], where: Path) -> None:
        """Raise `InputError` where there are no labels of one of these heads."""
        there = self.labels.targets.head_names
        for head in heads:
            if head not in there:
                raise InputError(
                    f"{where}: no labels of the head {head!r}; it has labels of {', '.join(there)}."
                    "\nA head's threshold is fitted to the labels of its own teacher."
                )

    def strangers(self, targets: Targets, where: Path) -> list[str]:
        """Return notes on heads and targets that either the labels or the scores lack."""
        mine = self.labels.targets
        notes = []
        for what, labelled, scored in (
            ("heads", mine.head_names, targets.head_names),
            ("targets", mine.binary_names, targets.binary_names),
        ):
            extra = [name for name in labelled if name not in scored]
            if extra:
                notes.append(f"{where}: {what} that the student does not score: {named(extra)}")
        lacking = [name for name in targets.binary_names if name not in mine.binary_names]
        if lacking:
            notes.append(f"{where}: no label speaks of {named(lacking)}: no support there")
        return notes


@dataclass(frozen=True, slots=True)
class Examples:
    """The labelled works that have scores: their places among the labels, and the scores.

    `places`: int64 [examples], ascending; `scores`: `id`, perhaps `usable_title`, score columns,
    [examples].
    """

    places: npt.NDArray[np.int64]
    scores: pl.DataFrame
    missing: tuple[str, ...]
    """Ids of labelled works without a score."""

    def note(self, where: Path) -> list[str]:
        """Return a note on the labelled works without a score, where there are any."""
        if not self.missing:
            return []
        return [
            f"{where}: labelled works that it lacks: {len(self.missing):,}, "
            f"first: {named(self.missing)}; they count as support alone"
        ]

    def of(self, teachers: Teachers, head: str, target: str) -> tuple[Scores, Booleans, Weights]:
        """Return (score, positive, weight) of the works that the head judged for the target."""
        known = teachers.judged(head, target)[self.places]
        score = self.scores[score_column(head, target)].to_numpy()
        rows = self.places[known]
        return score[known], teachers.positive(head, target)[rows], teachers.weight[rows]


def scored_examples(scored: ScoredFile, ids: pl.Series, columns: Sequence[str] = ()) -> Examples:
    """Find the labelled works (ids, String [works]) in a scored file, and further `columns` there.

    Works without a usable title are left out, excluded ones too: they are called by rule, whatever
    their score.
    """
    lookup = IdLookup(ids)
    parts = []
    for rows in scored.batches(["id", "usable_title", *scored.targets.score_columns, *columns]):
        places = pl.Series("place", lookup.find(rows["id"]))
        parts.append(rows.with_columns(places).filter(pl.col("place") >= 0))
    found = pl.concat(parts) if parts else pl.DataFrame({"id": [], "place": []})
    return _examples(found, ids, scored.path)


def table_examples(table: pl.DataFrame, ids: pl.Series, where: Path) -> Examples:
    """Find the labelled works in a table of `id` and score columns."""
    places = pl.Series("place", IdLookup(ids).find(table["id"]))
    return _examples(table.with_columns(places).filter(pl.col("place") >= 0), ids, where)


def learned_from(model_version: str, files: LabelFiles, bundles: Iterable[Path] = ()) -> bool:
    """Tell whether a student learned from these very labels; False where it is unknown.

    Known are the shipped bundles, and `bundles`, the folders of others.
    """
    for folder in (*bundles, *shipped_bundles()):
        manifest = load_manifest(folder)
        if manifest.version == model_version:
            learned = set(manifest.training.sha256.split())
            return any(sha256(path) in learned for path in files.paths)
    return False


def too_good(model_version: str, files: LabelFiles) -> list[str]:
    """Return a note where a shipped student is compared with the labels that it learned from."""
    if not learned_from(model_version, files):
        return []
    return [
        f"{model_version} learned from these very labels: the figures are too good. Use "
        "--out-of-fold FILE."
    ]


def _examples(found: pl.DataFrame, ids: pl.Series, where: Path) -> Examples:
    if found.is_empty():
        raise InputError(
            f"{where}: has none of the {len(ids):,} labelled works; their ids begin "
            f"{named(ids.to_list())}.\nScore a frame that holds them: scorer run"
        )
    there = np.zeros(len(ids), bool)
    there[found["place"].to_numpy()] = True
    if "usable_title" in found.columns:
        found = found.filter("usable_title")
    found = found.sort("place")
    return Examples(
        places=found["place"].to_numpy(),
        scores=found.drop("place"),
        missing=tuple(ids.filter(pl.Series(~there))),
    )


def named(names: list[str] | tuple[str, ...]) -> str:
    """Return the first five names."""
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
