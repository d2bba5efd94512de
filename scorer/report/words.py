"""What a work page says, sentence by sentence: the same in the terminal and as HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from scorer.policy.calls import EXCLUDED
from scorer.report.language import Texts
from scorer.report.page import (
    AxisValue,
    AxisValues,
    Baseline,
    HeadScore,
    Origin,
    TargetScores,
    WorkPage,
)
from scorer.targets import INSUFFICIENT_PAYLOAD

_SILENT: Final = ("support", "unavailable", "off")
_FACTS: Final = ("id", "title", "venue", "year", "type", "field", "topic", "lang")


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and a word that follows it exactly as files have it."""

    text: str
    verbatim: str | None = None


class PageWords:
    """A page's facts in the words of one language."""

    def __init__(self, page: WorkPage, texts: Texts) -> None:
        """Take the facts, and the language to tell them in."""
        self.page = page
        self._t = texts

    def heading(self) -> str:
        """Return the title of the work, or what stands in its place."""
        record = self.page.record
        if record is None:
            return self.page.id
        return record.title or self._t("record.no_title")

    def notes(self) -> list[str]:
        """Return what the reader should know of the files."""
        return [self._t(f"note.{note.key}", **note.values) for note in self.page.notes]

    def record(self) -> list[tuple[str, str | None]]:
        """Return (name, value) of the record's facts; None: the frame does not give it."""
        record = self.page.record
        if record is None:
            return [(self._t("record.id"), self.page.id)]
        values = {name: getattr(record, name) for name in _FACTS[1:]} | {"id": self.page.id}
        return [
            (self._t(f"record.{name}"), None if values[name] is None else str(values[name]))
            for name in _FACTS
        ]

    def record_end(self) -> list[str]:
        """Return what is said below the record: where it and its abstract come from."""
        record = self.page.record
        if record is None:
            return [self._t("record.no_frame")]
        said = [self._t(f"record.abstract_from.{record.abstract_from or 'none'}")]
        if record.abstract is not None:
            read = self.page.origin.read
            if {"abstract", "abstract_inverted_index"} & set(read):
                said.append(self._t("record.student.reads"))
            elif "abstract" in self.page.origin.not_found:
                said.append(self._t("record.student.had_none"))
            else:
                said.append(self._t("record.student.does_not_read"))
        return [*said, self._t("record.frame_ends")]

    def how(self) -> list[Said]:
        """Return how the classification was reached, and what it is not."""
        t, page, origin = self._t, self.page, self.page.origin
        heads = t.listed(list(origin.heads))
        said = [t("how.imitation", model=origin.model_version, heads=heads)]
        student = origin.student
        if student is None:
            said.append(t("how.learned_unknown"))
        else:
            said.append(t.counted("how.learned", student.labels, source=student.source))
        said += [t(f"how.{key}") for key in ("not_truth", "not_prevalence", "pending", "meaning")]
        if page.segment == INSUFFICIENT_PAYLOAD and page.classification is not None:
            said.append(t("how.by_rule", label=self._labels(self._called("consensus"))))
        if page.segment == EXCLUDED:
            said.append(t("how.excluded"))
        if origin.not_found:
            columns = t.listed(list(origin.not_found))
            said.append(t.counted("how.not_found", len(origin.not_found), columns=columns))
        return [
            *map(Said, said),
            Said(t("how.status"), page.prediction_status),
            Said(t("how.score_status"), page.score_status),
            *(self._gate(origin) if page.classification is None else ()),
        ]

    def source(self) -> list[str]:
        """Return which file and policy the page is made from, and whose labels are behind it."""
        t, origin = self._t, self.page.origin
        said = [t("how.file", file=origin.file, day=t.day(origin.started))]
        if self.page.classification is not None:
            said.append(t("how.policy", policy=origin.policy_version))
        if origin.student is not None:
            attribution, licence = origin.student.attribution, origin.student.licence
            said.append(t("how.attribution", attribution=attribution, licence=licence))
        return said

    def decided(self, one: HeadScore) -> str:
        """Return what decides a head's call of a target, short."""
        t = self._t
        match one.decided_by:
            case "threshold":
                return t("scores.at_least", value=t.score(one.value))
            case "quota":
                return t("scores.quota", value=t.score(one.value))
            case "direct":
                return t("scores.direct_yes" if one.called else "scores.direct_no")
            case silent:
                return t(f"scores.{silent}")

    def scores_caption(self) -> str:
        """Return what stands above the scores."""
        no_calls = self.page.classification is None
        return self._t("baseline.caption" if no_calls else "scores.caption")

    def call(self, target: TargetScores) -> str:
        """Return what the heads' calls of a target come to."""
        if target.call is None:
            return self._t("page.no_value")
        return self._t(f"call.{target.call}", heads=self._t.listed(list(target.called_by)))

    def heads(self) -> list[tuple[str, list[str]]]:
        """Return for each head what it may call and where it is silent; then, what support is."""
        t, page = self._t, self.page
        if page.classification is None:
            return [("", [t("heads.score_only")])]
        said = []
        for place, head in enumerate(page.origin.heads):
            ones = [(target, target.heads[place]) for target in page.targets]
            kind = "direct" if head in page.origin.direct else "learned"
            calling = [target for target, one in ones if one.decided_by not in _SILENT]
            words = [t(f"heads.{kind}", head=head)]
            words.append(
                t("heads.calls", labels=self._labels(calling)) if calling else t("heads.calls_none")
            )
            for reason in _SILENT:
                silent = [target for target, one in ones if one.decided_by == reason]
                if silent:
                    words.append(t(f"heads.{reason}", labels=self._labels(silent)))
            said.append((head, words))
        gates = [t("heads.gates", min_pos=page.origin.min_pos, min_ess=page.origin.min_ess)]
        if page.origin.gate_scope == "all_heads":
            gates.append(t("heads.gates_all_heads"))
        return [*said, ("", gates)]

    def baseline(self, baseline: Baseline) -> list[Said]:
        """Return what the other student's scores are worth."""
        t, origin = self._t, baseline.origin
        said = [Said(t("baseline.status"), origin.score_status), *self._gate(origin)]
        if baseline.targets is None:
            said.append(Said(t("baseline.absent", file=origin.file)))
        return said

    def _gate(self, origin: Origin) -> list[Said]:
        """Return how far the training of a student that makes no calls has come."""
        t, model = self._t, origin.model_version
        if origin.student is None:
            return [Said(t("baseline.unknown", model=model))]
        return [
            Said(t.counted("baseline.rounds", origin.student.rounds, model=model)),
            Said(
                t("baseline.gate_passed" if origin.student.gate_passed else "baseline.gate_failed")
            ),
            Said(t("baseline.gate_note"), origin.student.gate_note),
        ]

    def axis_value(self, value: AxisValue | None) -> str:
        """Return the label of an axis's value."""
        return self._t("page.no_value") if value is None else self._t.label(value.label)

    def axes_end(self) -> list[str]:
        """Return what is said below the axes."""
        t = self._t
        if not self.page.axes:
            return [t("axes.none")]
        if self.page.classification is None:
            return [t("axes.score_only")]
        return [self._only_with(axis) for axis in self.page.axes if axis.only_with is not None]

    def outcome(self) -> list[str]:
        """Return what the work is called: by all heads, by which, or not at all."""
        return [self._t("classification.machine"), *self._outcome()]

    def outcome_end(self) -> list[str]:
        """Return the flags, the word in the file, and what points people to the work."""
        t, page = self._t, self.page
        said = []
        for flag in page.flags:
            heads = t.listed(list(flag.called_by))
            if flag.call == "consensus":
                said.append(t("classification.flags_consensus", labels=t.label(flag.label)))
            elif flag.call == "candidate":
                label = t.label(flag.label)
                said.append(t("classification.flags_candidate", heads=heads, label=label))
        said.append(t("classification.in_file", word=page.classification_in_file))
        distance = t.score(page.teacher_disagreement)
        said.append(t("classification.disagreement", value=distance))
        if page.threshold_uncertainty is not None:
            nearness = t.score(page.threshold_uncertainty)
            said.append(t("classification.uncertainty", value=nearness))
        return said

    def _outcome(self) -> list[str]:
        t, page = self._t, self.page
        both, some = self._called("consensus"), self._called("candidate")
        heads = t.listed(list(page.called_by))
        match page.classification, page.segment:
            case None, _:
                return [t("classification.score_only")]
            case _, "insufficient_payload":
                return [t("classification.by_rule", labels=self._labels(both))]
            case _, "excluded":
                return [t("classification.excluded")]
            case "none", _:
                return [t("classification.none")]
            case "candidate", _:
                key = "candidate_one" if len(page.called_by) == 1 else "candidate_some"
                return [t(f"classification.{key}", heads=heads, labels=self._labels(some))]
        everyone = t.listed(list(page.origin.heads))
        said = [t("classification.consensus", heads=everyone, labels=self._labels(both))]
        for target in some:
            by, label = t.listed(list(target.called_by)), t.label(target.label)
            said.append(t("classification.also", heads=by, label=label))
        return said

    def _only_with(self, axis: AxisValues) -> str:
        assert axis.only_with is not None
        label = self._t.label(axis.only_with)
        return self._t("axes.only_with", axis=self._t.label(axis.label), label=label)

    def _called(self, call: str) -> list[TargetScores]:
        return [target for target in self.page.categories if target.call == call]

    def _labels(self, targets: Sequence[TargetScores]) -> str:
        label: Callable[[TargetScores], str] = lambda target: self._t.label(target.label)  # noqa: E731
        return self._t.listed([label(target) for target in targets])
