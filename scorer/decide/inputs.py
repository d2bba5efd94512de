"""What a policy is fitted from: labels, scores, and for each entry how it is to be found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from scorer.decide.quota import Pair
from scorer.decide.sample import (
    Examples,
    LabelFiles,
    Teachers,
    learned_from,
    scored_examples,
    table_examples,
)
from scorer.decide.sources import BestWorks, Choice, How, Kept, choices
from scorer.decide.unseen import OutOfFold
from scorer.engine.scored import ScoredFile
from scorer.errors import UsageError
from scorer.policy.policy import Entry, Gates, Support
from scorer.targets import Targets


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What to fit, to which labels, on which scores."""

    labels: LabelFiles
    scores: Path | None = None
    """A scored file: what quotas count in, and what labels are joined to."""
    out_of_fold: Path | None = None
    """Scores by heads that saw neither the work nor its venue; instead of joining."""
    default: How | None = None
    """None: entries that no exception names are kept as the scored file's policy has them."""
    exceptions: Mapping[str, Choice] = field(default_factory=dict)
    gates: Gates = field(default_factory=Gates)
    equal_weights: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of a request, read, and found to belong together."""

    targets: Targets
    model_version: str
    scored: ScoredFile | None
    unseen: OutOfFold | None
    teachers: Teachers
    labels: LabelFiles
    chosen: Mapping[Pair, Choice]

    @classmethod
    def open(cls, request: FitRequest) -> Self:
        """Read the files; raise the `ScorerError` that fits where something is off."""
        scored = ScoredFile.open(request.scores) if request.scores else None
        unseen = OutOfFold.read(request.out_of_fold, scored) if request.out_of_fold else None
        targets, version = _student(scored, unseen)
        chosen = choices(targets, request.default, request.exceptions)
        if scored is None:
            _check_without_scores(chosen)
        teachers = Teachers.read(request.labels, equal_weights=request.equal_weights)
        inputs = cls(targets, version, scored, unseen, teachers, request.labels, chosen)
        fitted = [name for name in targets.head_names if name not in inputs.direct_heads()]
        teachers.check_heads(fitted, request.labels.works)
        return inputs

    def direct_heads(self) -> set[str]:
        """Return the heads whose calls stay direct: they come from labels, not from scores."""
        if self.scored is None:
            return set()
        changed = {head for (head, _), choice in self.chosen.items() if choice.how != Kept()}
        return set(self.scored.manifest.policy.direct_heads()) - changed

    def backings(self) -> dict[Pair, Support]:
        """Return the support of all that a head has learned."""
        direct = self.direct_heads()
        return {
            (head.name, target): self.teachers.support(head.name, target)
            for head in self.targets.heads
            for target in self.targets.binary_names
            if target not in head.unavailable and head.name not in direct
        }

    def kept(self, pair: Pair) -> Entry | None:
        """Return the scored file's own entry where it is to be kept."""
        if self.chosen[pair].how != Kept():
            return None
        assert self.scored is not None
        return self.scored.manifest.policy.entry(*pair)

    @property
    def scores_of_sample(self) -> Path:
        """The file that has the scores of labelled works."""
        path = self.unseen.path if self.unseen else self.scored.path if self.scored else None
        assert path is not None
        return path

    def examples(self) -> Examples:
        """Find the scores of the labelled works."""
        if self.unseen is not None:
            return table_examples(self.unseen.scores, self.teachers.ids, self.unseen.path)
        assert self.scored is not None
        return scored_examples(self.scored, self.teachers.ids)

    def learned_from(self) -> bool:
        """Tell whether the scores are of a student that learned from these labels, if known."""
        return self.unseen is None and learned_from(self.model_version, self.labels)


def _student(scored: ScoredFile | None, unseen: OutOfFold | None) -> tuple[Targets, str]:
    """Return targets and version of the student; raise where there is none."""
    if scored is None and unseen is None:
        raise UsageError(
            "Thresholds need scores: give --scores SCORED, --out-of-fold FILE or both."
        )
    if unseen is not None:
        return unseen.targets, unseen.model_version
    assert scored is not None
    return scored.targets, scored.manifest.model_version


def _check_without_scores(chosen: Mapping[Pair, Choice]) -> None:
    """Raise `UsageError` where an entry needs a scored file."""
    for pair, choice in chosen.items():
        name = ".".join(pair)
        if isinstance(choice.how, BestWorks):
            raise UsageError(f"{name}: a quota counts works of a frame: add --scores SCORED.")
        if choice.how == Kept():
            raise UsageError(
                f"{name}: nothing says how to find its threshold.\nGive --fbeta, --quota, "
                "--recall or --precision for all, or --scores SCORED to keep what its policy has."
            )
