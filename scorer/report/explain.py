"""`scorer explain` as a function: the n-grams behind the scores of one work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from scorer.engine.progress import Progress
from scorer.errors import BundleError, InputError, UsageError
from scorer.report.bundles import bundles_of
from scorer.report.facts import record_of
from scorer.report.find import find_record, find_row, no_such_work
from scorer.report.show import differing
from scorer.review.scores import Scores
from scorer.status import STAMP
from scorer.student import DEFAULT_MODEL
from scorer.student.bundle import load_student
from scorer.student.contributions import Explanation, Weights
from scorer.student.folder import find_bundle, load_manifest
from scorer.targets import Label, Targets


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """A work, its frame, and which scores are wanted."""

    work: str
    """Its id, with or without OpenAlex's address."""
    frame: str
    mapping: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    """By default the bundle that gave `scores`, or the shipped one."""
    scores: Path | None = None
    """A scored file, whose scores must be the same to the bit."""
    heads: Sequence[str] = ()
    targets: Sequence[str] = ()
    top: int = 5


@dataclass(frozen=True, slots=True)
class ExplainedWork:
    """A work's scores, taken apart."""

    id: str
    title: str | None
    prediction_status: str
    same_as: str | None
    """The scored file that holds the same bits; None where none was given."""
    labels: dict[str, Label]
    not_learned: tuple[tuple[str, str], ...]
    """(head, target) that were wanted, and that the head has not learned."""
    explanation: Explanation

    def to_json(self) -> str:
        """Return all of it as JSON."""
        return _ADAPTER.dump_json(self, indent=2).decode() + "\n"


_ADAPTER = TypeAdapter(ExplainedWork)


def explain(request: ExplainRequest, progress: Progress | None = None) -> ExplainedWork:
    """Take the scores of a work apart.

    Raises `InputError` where the frame or the scored file lacks the work, or hold different ones;
    `BundleError` where the bundle is not at hand, or its scores cannot be taken apart.
    """
    scores = Scores.open(request.scores) if request.scores is not None else None
    row = None if scores is None else find_row(scores, request.work)
    if scores is not None and row is None:
        raise no_such_work(scores, request.work)
    folder = _bundle(request, row)
    targets = load_manifest(folder).targets
    _check_names("--target", request.targets, targets.binary_names)
    _check_names("--head", request.heads, targets.head_names)
    weights = Weights.of(load_student(folder))
    asked = request.work if row is None else row["id"]
    found = find_record(asked, request.frame, mapping=request.mapping, progress=progress)
    work = found.work["id"]
    explanation = weights.explain(
        found.contract, heads=request.heads, targets=request.targets, top=request.top
    )
    if row is not None and (other := differing(explanation, row)):
        raise InputError(
            f"{request.frame}: scored anew, {work} gets another {other[0]} than {request.scores} "
            "holds.\nName the frame that was scored: --frame"
        )
    return ExplainedWork(
        id=work,
        title=record_of(found.work).title,
        prediction_status=STAMP,
        same_as=None if scores is None else scores.path.name,
        labels={target.name: target.label for target in targets.binary},
        not_learned=_not_learned(request, targets),
        explanation=explanation,
    )


def _bundle(request: ExplainRequest, row: Mapping[str, Any] | None) -> Path:
    """Return the bundle that is named, or the one that gave a row its scores."""
    if row is None:
        return find_bundle(request.model or DEFAULT_MODEL)
    version = row["model_version"]
    folder = bundles_of([version], [request.model] if request.model else []).get(version)
    if folder is None:
        raise BundleError(
            f"{request.scores}: scored by {version}, which is not at hand. Name its folder: --model"
        )
    return folder


def _check_names(option: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise UsageError(f"{option} {name}: there is none of that name; {', '.join(known)}.")


def _not_learned(request: ExplainRequest, targets: Targets) -> tuple[tuple[str, str], ...]:
    return tuple(
        (head.name, target)
        for head in targets.heads
        for target in head.unavailable
        if head.name in (request.heads or (head.name,))
        and target in (request.targets or targets.binary_names)
        and target in targets.binary_names
    )
