"""All that the site tells, free of language: gathered from a scored file and its frame in one pass.

Then the records of the works that are listed are found.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl

from scorer.engine.files import told
from scorer.engine.manifest import RunManifest
from scorer.engine.progress import Progress, Silence
from scorer.errors import UsageError
from scorer.frame.readers.base import BadRecords
from scorer.frame.source import FrameSource
from scorer.report.bundles import bundles_of
from scorer.report.facts import Row, origin_of, record_of, work_page
from scorer.report.find import contract, frame_notes
from scorer.report.overview import Overview
from scorer.report.overview_groups import BY
from scorer.report.page import Note, Origin, WorkPage
from scorer.report.queue import Rankings, ReviewQueue, review_queue
from scorer.report.show import differing
from scorer.review.alongside import Alongside
from scorer.review.records import RECORD, opened_frame
from scorer.review.scores import Scores
from scorer.student.bundle import load_student
from scorer.student.contributions import Explanation, Weights
from scorer.student.folder import load_manifest

_NGRAMS: Final = 5
"""N-grams upwards and downwards under each score of a page."""


@dataclass(frozen=True, slots=True)
class SiteRequest:
    """What to make a site of, and where."""

    scores: Path
    frame: str
    output: Path
    top: int = 50
    """Works of each category that get a page of their own."""
    listed: int = 10_000
    """Works of the review queue."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[str] = ()
    """Bundles that gave the scores and are not shipped."""
    explain: bool = False
    """Each page tells which n-grams moved the scores."""
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """All that the site tells, free of language."""

    scores: Scores
    origins: Mapping[str, Origin]
    """What the file is, as each student's stage has it, by `model_version`; the first read all."""
    overview: Overview
    queue: ReviewQueue
    frame: str
    """Name of the frame that records were read from."""
    missing: int
    """Works of the scored file that the frame lacks."""
    notes: tuple[Note, ...]
    weights: Mapping[str, Weights] = field(default_factory=dict)
    """Of each student at hand, where pages are to tell what moved the scores."""

    @property
    def origin(self) -> Origin:
        """What the file is, as the student has it that read all works."""
        return next(iter(self.origins.values()))

    @property
    def manifest(self) -> RunManifest:
        """What the scored file is and how it came to be."""
        return self.scores.manifest

    @property
    def score_only(self) -> bool:
        """Whether there are no calls to tell."""
        return self.scores.score_only

    def pages(self) -> Iterator[WorkPage]:
        """Yield the facts of each work that gets a page."""
        rows, records = self.queue.rows, self.queue.records
        missing, read = set(records.missing), contract(records)
        for place in range(self.queue.pages):
            row = rows.row(place, named=True)
            known = explanation = None
            if row["id"] not in missing:
                known = record_of(records.works.row(place, named=True))
                explanation = self._explained(read[place], row)
            manifest = self.manifest.of_model(row["model_version"])
            origin = self.origins[manifest.model_version]
            yield work_page(row, origin, manifest, known, explanation=explanation)

    def _explained(self, work: pl.DataFrame, row: Row) -> Explanation | None:
        """Return the scores taken apart; None where the record gets others than the row has."""
        weights = self.weights.get(row["model_version"])
        if weights is None:
            return None
        explanation = weights.explain(work, top=_NGRAMS)
        return None if differing(explanation, row) else explanation


def gathered(request: SiteRequest, scores: Scores, progress: Progress | None = None) -> SiteFacts:
    """Read a scored file and its frame.

    Memory stays flat but for the works listed, where the frame is in the order of the scored file,
    as `run` leaves it. Raises `InputError` where a score is off, the frame cannot be read or has
    none of the works.
    """
    said = progress or Silence()
    folders = bundles_of(scores.manifest.words("model_version"), request.models)
    origins = {}
    for stage in scores.manifest.stages:
        folder = folders.get(stage.model_version)
        bundle = load_manifest(folder) if folder else None
        origins[stage.model_version] = origin_of(scores.path.name, stage, bundle)
    weights = _weights(scores.manifest, folders) if request.explain else {}
    notes = frame_notes(request.frame, scores)
    overview = Overview(scores.targets, score_only=scores.score_only)
    rankings = Rankings(scores, max(request.top, request.listed))
    with tempfile.TemporaryDirectory(prefix="scorer-report-") as working:
        frame, mapping, more = _readable(request, Path(working), said)
        columns = [*overview.columns(), *rankings.columns()]
        said.start(scores.rows, 0)
        with opened_frame(frame, BY, mapping=mapping) as opened:
            works = Alongside(scores, columns, opened, BY)
            for rows in works:
                overview.add(rows)
                rankings.add(rows)
                said.advance(rows.height)
        queue = review_queue(
            scores,
            rankings.best(),
            frame,
            top=request.top,
            limit=request.listed,
            mapping=mapping,
        )
    for text in dict.fromkeys([*more, *queue.records.notes]):
        notes.append(Note("said", {"text": text}))
    name = Path(request.frame).name
    missing = works.missing
    return SiteFacts(scores, origins, overview, queue, name, missing, tuple(notes), weights)


def _weights(manifest: RunManifest, folders: Mapping[str, Path]) -> dict[str, Weights]:
    """Return the weights of each student that has n-grams alone, by `model_version`.

    Raises `UsageError` where a bundle is not at hand.
    """
    weights = {}
    for version in manifest.words("model_version"):
        if version not in folders:
            raise UsageError(f"--explain: the bundle {version} is not at hand. Name it: --model")
        if load_manifest(folders[version]).encoder.kind == "ngram":
            weights[version] = Weights.of(load_student(folders[version]))
    return weights


def _readable(
    request: SiteRequest, working: Path, said: Progress
) -> tuple[str, Mapping[str, str], Sequence[str]]:
    """Return a frame that can be read more than once, its mapping, and what is to be said of it.

    Parquet is read as it lies; any other format is read through into files in `working`.
    """
    wanted = ["id", *RECORD, "abstract_inverted_index"]
    source = FrameSource.find(request.frame, wanted=wanted, mapping=request.mapping, keep=())
    if source.is_parquet:
        return request.frame, request.mapping, ()
    with told(working):
        frame = source.spool(working, BadRecords("skip"), said.read)
    notes = list(frame.notes)
    if frame.skipped:
        notes.append(f"{request.frame}: records that could not be read: {frame.skipped:,}.")
    return str(working / "*.parquet"), {}, notes
