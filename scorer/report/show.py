"""`scorer show` as a function: from an id and the files that speak of it to the facts of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scorer.engine.manifest import RunManifest
from scorer.engine.progress import Progress
from scorer.errors import UsageError
from scorer.report.bundles import bundles_of
from scorer.report.facts import origin_of, record_of, target_scores, work_page
from scorer.report.find import FoundRecord, find_record, find_row, frame_notes, no_such_work
from scorer.report.page import Baseline, Note, Origin, WorkPage
from scorer.review.scores import Scores
from scorer.student.bundle import load_student
from scorer.student.contributions import Explanation, Weights
from scorer.student.folder import load_manifest
from scorer.targets import score_column

_ON_PAGE: Final = 5
"""N-grams upwards and downwards under each score of a page."""


@dataclass(frozen=True, slots=True)
class ShowRequest:
    """A work, and the files that speak of it."""

    work: str
    """Its id, with or without OpenAlex's address."""
    scores: Path
    frame: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[str] = ()
    """Bundles that gave the scores and are not shipped."""
    baseline_scores: Path | None = None
    """A file of scores alone."""


def show(request: ShowRequest, progress: Progress | None = None) -> WorkPage:
    """Return the facts of a work's page.

    Raises `InputError` where a file is not the one that its manifest speaks of, does not hold the
    work, or a frame does not either; `UsageError` where the options do not fit together.
    """
    scores = Scores.open(request.scores)
    baseline = _opened_baseline(request.baseline_scores)
    files = [scores] if baseline is None else [scores, baseline]
    versions = [version for file in files for version in file.manifest.words("model_version")]
    bundles = bundles_of(versions, request.models)
    row = find_row(scores, request.work)
    if row is None:
        raise no_such_work(scores, request.work)
    work = row["id"]
    found, notes = None, []
    if request.frame is not None:
        found = find_record(work, request.frame, mapping=request.mapping, progress=progress)
        notes = [*found.notes, *frame_notes(request.frame, scores)]
    manifest = scores.manifest.of_model(row["model_version"])
    folder = bundles.get(manifest.model_version)
    explanation = None
    if folder is None:
        notes.append(Note("no_bundle", {"model": manifest.model_version}))
    elif found is not None and load_manifest(folder).encoder.kind == "ngram":
        explanation = _explained(folder, found, row)
        if explanation is None:
            names = {"frame": Path(request.frame or "").name, "scores": scores.path.name}
            notes.append(Note("other_scores", names))
    return work_page(
        row,
        _origin(scores, manifest, bundles),
        manifest,
        record_of(found.work) if found else None,
        baseline=_baseline(baseline, bundles, work) if baseline else None,
        explanation=explanation,
        notes=notes,
    )


def differing(explanation: Explanation, row: Mapping[str, Any]) -> list[str]:
    """Return the score columns of a row that an explanation does not give to the bit."""
    scores = {score_column(part.head, part.target): part.score for part in explanation.scores}
    return [column for column, score in scores.items() if score != row[column]]


def _explained(folder: Path, found: FoundRecord, row: Mapping[str, Any]) -> Explanation | None:
    """Return the scores taken apart; None where the record gets others than the row has."""
    explanation = Weights.of(load_student(folder)).explain(found.contract, top=_ON_PAGE)
    return None if differing(explanation, row) else explanation


def _opened_baseline(path: Path | None) -> Scores | None:
    if path is None:
        return None
    baseline = Scores.open(path)
    if not baseline.score_only:
        raise UsageError(
            f"--baseline-scores {path}: its student makes calls; a file of scores alone is meant.\n"
            "Show that file by itself: --scores"
        )
    return baseline


def _baseline(scores: Scores, bundles: Mapping[str, Path], work: str) -> Baseline:
    row = find_row(scores, work)
    targets = None if row is None else target_scores(row, scores.manifest)
    return Baseline(_origin(scores, scores.manifest, bundles), targets)


def _origin(scores: Scores, manifest: RunManifest, bundles: Mapping[str, Path]) -> Origin:
    """Return what a file is, as the stage that gave a work its scores has it."""
    folder = bundles.get(manifest.model_version)
    bundle = load_manifest(folder) if folder is not None else None
    return origin_of(scores.path.name, manifest, bundle)
