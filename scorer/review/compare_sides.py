"""What stands on either side of a comparison: a bundle, a scored file, or out-of-fold scores.

A bundle scores the labels' own works in memory; the others hold scores already.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from scorer.decide.sample import (
    Examples,
    LabelFiles,
    learned_from,
    named,
    scored_examples,
    table_examples,
)
from scorer.decide.unseen import OutOfFold, is_out_of_fold
from scorer.engine.batch import score_columns
from scorer.engine.manifest import manifest_path
from scorer.engine.progress import Progress
from scorer.errors import InputError, UsageError
from scorer.labels.sample import Labels
from scorer.review.compare_common import in_common
from scorer.review.compare_results import OUT_OF_FOLD, Side
from scorer.review.scores import Scores
from scorer.student.bundle import Student, load_student
from scorer.student.folder import find_bundle, shipped_bundles
from scorer.targets import Targets

_WORKS_AT_A_TIME: Final = 512
"""So that progress moves every few seconds with a slow student too."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The scores of labelled works on one side."""

    side: Side
    targets: Targets
    examples: Examples
    unknown: tuple[str, ...] = ()
    """Frame columns that the bundle reads and the labels lack."""

    def notes(self, labels: Path) -> list[str]:
        """Return what a reader of the figures must know of this side."""
        side, missing, notes = self.side, self.examples.missing, []
        if side.learned_from_labels:
            notes.append(
                f"{side.name}: {side.model_version} learned from these very labels, so its figures "
                "flatter it; give the file that scorer train --out-of-fold FILE keeps instead"
            )
        if missing:
            notes.append(
                f"{side.name}: has no score of {len(missing):,} labelled works, first "
                f"{missing[0]}; they are left out on both sides"
            )
        if self.unknown:
            notes.append(
                f"{side.name}: reads {named(self.unknown)}, which {labels.name} lacks: it scores "
                "worse without"
            )
        return notes


def open_both(
    names: Sequence[str],
    files: LabelFiles,
    labels: Labels,
    asked: Sequence[str],
    progress: Progress,
) -> tuple[Opened, Opened, list[tuple[str, str]]]:
    """Open both sides; return them, and the heads and targets to compare by.

    Raises the `ScorerError` that fits where one is not what it should be, or is not comparable:
    before a bundle scores, which may take long.
    """
    paths = [_located(name) for name in names]
    bundles = [path for path in paths if path.is_dir()]
    opened = [
        load_student(path)
        if path.is_dir()
        else _file(name, path, files, labels.works["id"], bundles)
        for name, path in zip(names, paths, strict=True)
    ]
    of_a, of_b = (
        one.targets if isinstance(one, Opened) else one.manifest.targets for one in opened
    )
    common = in_common(of_a, of_b, labels, asked)
    a, b = (
        one if isinstance(one, Opened) else _scored(name, one, files, labels, progress)
        for name, one in zip(names, opened, strict=True)
    )
    return a, b, common


def _located(name: str) -> Path:
    """Return the file or the bundle's folder of a name."""
    path, shipped = Path(name), [folder.name for folder in shipped_bundles()]
    if path.is_file():
        return path
    if not path.exists() and name not in shipped:
        raise UsageError(
            f"{name}: neither a file nor a bundle.\nGive a bundle's folder, a shipped one "
            f"({', '.join(shipped) or 'none'}), a scored file, or the file of scorer train "
            "--out-of-fold."
        )
    return find_bundle(name)


def _scored(
    name: str, student: Student, files: LabelFiles, labels: Labels, progress: Progress
) -> Opened:
    """Let a bundle score the labelled works."""
    works, targets = labels.works, student.manifest.targets
    progress.start(works.height, 0, f"scoring by {name}", unit="works")
    parts = []
    for rows in works.iter_slices(_WORKS_AT_A_TIME):
        parts.append(score_columns(rows, student.score(rows), targets, None))
        progress.advance(rows.height)
    examples = table_examples(pl.concat(parts), works["id"], files.works)
    known_learned = learned_from(student.version, files, [student.folder])
    side = Side(name, "bundle", student.version, len(examples.places), known_learned)
    unknown = [column for column in student.manifest.encoder.fields() if column not in works]
    if "abstract_inverted_index" in works:
        unknown = [column for column in unknown if column != "abstract"]
    return Opened(side, targets, examples, tuple(unknown))


def _file(
    name: str, path: Path, files: LabelFiles, ids: pl.Series, bundles: Sequence[Path]
) -> Opened:
    if is_out_of_fold(path):
        unseen = OutOfFold.read(path)
        examples = table_examples(unseen.scores, ids, path)
        kind, version, targets = OUT_OF_FOLD, unseen.model_version, unseen.targets
        known_learned = False  # no head saw the work that it scored
    elif manifest_path(path).is_file():
        scores = Scores.open(path)
        examples = scored_examples(scores.scored, ids)
        kind, version, targets = "scored file", scores.statuses["model_version"], scores.targets
        known_learned = any(
            learned_from(each, files, bundles) for each in scores.manifest.words("model_version")
        )
    else:
        raise InputError(
            f"{path}: neither a scored file (no {manifest_path(path).name} beside it) nor the "
            "out-of-fold scores of scorer train.\nCopy the manifest along with the file, or score "
            "again: scorer run"
        )
    side = Side(name, kind, version, len(examples.places), known_learned)
    return Opened(side, targets, examples)
