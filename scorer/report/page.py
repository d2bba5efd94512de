"""The facts of one work's page, free of language: terminal, HTML and JSON are made from them."""

from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from scorer.status import STAMP
from scorer.student.contributions import Explanation
from scorer.targets import Label

Call = Literal["consensus", "candidate", "none"]
"""What the heads' calls come to: all of them, at least one, none."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the frame says of a work; None where it says nothing."""

    title: str | None
    """As people read it, like all texts here: without markup and control characters."""
    title_as_given: str | None
    venue: str | None
    year: int | None
    type: str | None
    field: str | None
    topic: str | None
    lang: str | None
    abstract: str | None
    abstract_from: Literal["abstract", "abstract_inverted_index"] | None
    """The column that the abstract was read from."""


@dataclass(frozen=True, slots=True)
class HeadScore:
    """A head's score for a target, and what decides its call there."""

    head: str
    score: float | None
    """None where the head has not learned the target."""
    called: bool | None
    """None where the file holds scores alone."""
    decided_by: Literal["threshold", "quota", "direct", "support", "unavailable", "off"]
    """The last three: no call, for want of support, because not learned, by hand."""
    value: float | None
    """The threshold; of a quota, the score of the last work in it."""
    n_pos: int | None
    ess_pos: float | None


@dataclass(frozen=True, slots=True)
class TargetScores:
    """A category or flag: the heads' scores, and what their calls come to."""

    name: str
    kind: Literal["category", "flag"]
    label: Label
    heads: tuple[HeadScore, ...]
    call: Call | None
    """None where the file holds scores alone."""
    called_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AxisValue:
    """A value of an axis."""

    name: str
    label: Label


@dataclass(frozen=True, slots=True)
class AxisValues:
    """An axis: each head's value, the heads' together; None where none is set."""

    name: str
    label: Label
    only_with: Label | None
    """The category beside whose call alone the axis is set."""
    heads: dict[str, AxisValue | None]
    candidate: AxisValue | None
    consensus: AxisValue | None


@dataclass(frozen=True, slots=True)
class Student:
    """What the bundle says of the student that gave the scores."""

    labels: int
    """How many labelled works it learned from."""
    source: str
    licence: str
    attribution: str
    rounds: int
    gate_passed: bool
    gate_note: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The scored file that the page is made from."""

    file: str
    model_version: str
    policy_version: str
    score_status: str
    made_by: Literal["run", "call"]
    started: str
    """ISO 8601, UTC."""
    heads: tuple[str, ...]
    direct: tuple[str, ...]
    """Heads whose labels were given."""
    read: tuple[str, ...]
    """Columns of the frame that the student read."""
    not_found: tuple[str, ...]
    """Columns that it would have read, and the frame lacked."""
    min_pos: int
    min_ess: float
    gate_scope: Literal["head", "all_heads"]
    student: Student | None
    """None where its bundle is not at hand."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Scores of the same work by a student whose maturity gate has not passed."""

    origin: Origin
    targets: tuple[TargetScores, ...] | None
    """None where that file lacks the work."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the reader should know of the files: a sentence `note.<key>` of the texts."""

    key: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class WorkPage:
    """All that is shown of a work."""

    id: str
    prediction_status: str
    score_status: str
    segment: Literal["covered", "insufficient_payload", "excluded"]
    record: Record | None
    """None where no frame was given."""
    origin: Origin
    targets: tuple[TargetScores, ...]
    axes: tuple[AxisValues, ...]
    classification: Call | None
    """From the categories; None where the file holds scores alone."""
    called_by: tuple[str, ...]
    """Heads that call any category."""
    classification_in_file: str
    teacher_disagreement: float
    threshold_uncertainty: float | None
    """None where the file holds scores alone."""
    baseline: Baseline | None = None
    explanation: Explanation | None = None
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        """Nothing takes the stamp off."""
        if self.prediction_status != STAMP:
            raise ValueError(f"{self.id}: the prediction status is {STAMP}, always")

    @property
    def categories(self) -> list[TargetScores]:
        """The categories among the targets."""
        return [target for target in self.targets if target.kind == "category"]

    @property
    def flags(self) -> list[TargetScores]:
        """The flags among the targets."""
        return [target for target in self.targets if target.kind == "flag"]

    def to_json(self) -> str:
        """Return the facts as JSON; both languages' labels are in it, no sentence."""
        return _ADAPTER.dump_json(self, indent=2).decode() + "\n"


_ADAPTER = TypeAdapter(WorkPage)
