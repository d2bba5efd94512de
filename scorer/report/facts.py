"""From a row of a scored file, its manifest and the frame's record to the facts of a page."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import polars as pl

from scorer.engine.manifest import RunManifest
from scorer.frame.text import plain_text
from scorer.policy.policy import Direct, Entry, Quota, Threshold
from scorer.report.page import (
    AxisValue,
    AxisValues,
    Baseline,
    Call,
    HeadScore,
    Note,
    Origin,
    Record,
    Student,
    TargetScores,
    WorkPage,
)
from scorer.student.contributions import Explanation
from scorer.student.manifest import Manifest
from scorer.targets import INSUFFICIENT_PAYLOAD, Axis, Binary, Label, Targets, score_column

_BY_RULE = Label(en="Insufficient payload", fr="Charge utile insuffisante")
_TEXTS: Final = ("title", "venue", "type", "field", "topic", "lang", "abstract")
_CONTROLS: Final = r"[\p{Cc}--\n]+"
Row = Mapping[str, Any]
"""A row of a scored file: column -> value."""


def work_page(
    row: Row,
    origin: Origin,
    manifest: RunManifest,
    record: Record | None,
    *,
    baseline: Baseline | None = None,
    explanation: Explanation | None = None,
    notes: Sequence[Note] = (),
) -> WorkPage:
    """Return the facts of one work; `row`: all columns of its row in the scored file."""
    targets = target_scores(row, manifest)
    categories = [target for target in targets if target.kind == "category"]
    called_by = [h for h in origin.heads if any(h in target.called_by for target in categories)]
    calls = {target.call for target in categories}
    classification: Call | None = None
    if None not in calls:
        order: tuple[Call, ...] = ("consensus", "candidate", "none")
        classification = next(call for call in order if call in calls)
    return WorkPage(
        id=row["id"],
        prediction_status=row["prediction_status"],
        score_status=row["score_status"],
        segment=row["segment"],
        record=record,
        origin=origin,
        targets=targets,
        axes=tuple(_axis(row, axis, manifest.targets) for axis in manifest.targets.axes),
        classification=classification,
        called_by=tuple(called_by),
        classification_in_file=row["classification"],
        teacher_disagreement=row["teacher_disagreement"],
        threshold_uncertainty=row["threshold_uncertainty"],
        baseline=baseline,
        explanation=explanation,
        notes=tuple(notes),
    )


def target_scores(row: Row, manifest: RunManifest) -> tuple[TargetScores, ...]:
    """Return what a row says of each category and flag, in manifest order."""
    targets = manifest.targets
    shown = list(targets.binary)
    if INSUFFICIENT_PAYLOAD not in targets.categories and _by_rule(row):
        rule = Binary(name=INSUFFICIENT_PAYLOAD, kind="category", label=_BY_RULE)
        shown.insert(len(targets.categories), rule)
    return tuple(_target(row, target, manifest) for target in shown)


def origin_of(file: str, manifest: RunManifest, bundle: Manifest | None) -> Origin:
    """Return what a scored file is; `bundle`: the manifest of its student, where it is at hand."""
    policy = manifest.policy
    student = None
    if bundle is not None:
        student = Student(
            labels=bundle.training.rows,
            source=bundle.training.source,
            licence=bundle.training.licence,
            attribution=bundle.training.attribution,
            rounds=bundle.maturity.rounds,
            gate_passed=bundle.maturity.passed,
            gate_note=bundle.maturity.note,
        )
    return Origin(
        file=file,
        model_version=manifest.model_version,
        policy_version=manifest.policy_version,
        score_status=manifest.score_status,
        made_by=manifest.made_by,
        started=manifest.started,
        heads=tuple(manifest.targets.head_names),
        direct=tuple(policy.direct_heads()),
        read=tuple(name for name in manifest.columns if name != "id"),
        not_found=manifest.columns_not_found,
        min_pos=policy.gates.min_pos,
        min_ess=policy.gates.min_ess,
        gate_scope=policy.gates.scope,
        student=student,
    )


def record_of(work: Row) -> Record:
    """Return the record in a row of `scorer.review.records.find_records`, all columns asked for."""
    texts = pl.Series("texts", [work[name] for name in _TEXTS], pl.String)
    # A terminal would obey control characters; lines of an abstract stay lines.
    plain = plain_text(texts).str.replace_all(_CONTROLS, " ").str.strip_chars()
    given = {name: text or None for name, text in zip(_TEXTS, plain, strict=True)}
    return Record(
        **given,
        title_as_given=work["title"],
        year=work["year"],
        abstract_from=work["abstract_from"] if given["abstract"] else None,
    )


def _target(row: Row, target: Binary, manifest: RunManifest) -> TargetScores:
    what = "categories" if target.kind == "category" else "flags"
    known = row[f"candidate_{what}"] is not None
    called_by = [
        head for head in manifest.targets.head_names if target.name in (row[f"{head}_{what}"] or ())
    ]
    call: Call | None = None
    if known:
        call = "candidate" if target.name in row[f"candidate_{what}"] else "none"
        call = "consensus" if target.name in row[f"consensus_{what}"] else call
    heads = []
    for head in manifest.targets.heads:
        entry = manifest.policy.entries.get(target.name, {}).get(head.name)
        learned = entry is not None and target.name not in head.unavailable
        support = entry.support if entry else None
        heads.append(
            HeadScore(
                head=head.name,
                score=row[score_column(head.name, target.name)] if learned else None,
                called=head.name in called_by if known else None,
                decided_by=_decided_by(entry),
                value=entry.value if isinstance(entry, Threshold | Quota) else None,
                n_pos=support.n_pos if support else None,
                ess_pos=support.ess_pos if support else None,
            )
        )
    return TargetScores(
        target.name, target.kind, target.label, tuple(heads), call, tuple(called_by)
    )


def _decided_by(entry: Entry | None) -> Any:  # noqa: ANN401 - one of the words of `HeadScore`
    if entry is None:
        return "unavailable"
    return entry.kind if isinstance(entry, Threshold | Quota | Direct) else entry.reason


def _axis(row: Row, axis: Axis, targets: Targets) -> AxisValues:
    labels = dict(zip(axis.values, axis.value_labels, strict=True))

    def value(kind: str) -> AxisValue | None:
        name = cast("str | None", row[f"{kind}_{axis.name}"])
        return None if name is None else AxisValue(name, labels[name])

    only_with = next((t.label for t in targets.binary if t.name == axis.only_with), None)
    return AxisValues(
        name=axis.name,
        label=axis.label,
        only_with=only_with,
        heads={head: value(head) for head in targets.head_names},
        candidate=value("candidate"),
        consensus=value("consensus"),
    )


def _by_rule(row: Row) -> bool:
    return bool(row["segment"] == INSUFFICIENT_PAYLOAD)
