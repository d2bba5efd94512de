"""`scorer evaluate`: scores and calls against teachers' labels or a human audit, with limits.

Everything is weighted by the design of the labelled sample, so that it speaks of the frame that the
sample was drawn from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from scorer.counted import counted
from scorer.decide.sample import (
    Examples,
    LabelFiles,
    Teachers,
    scored_examples,
    table_examples,
    too_good,
)
from scorer.decide.unseen import OutOfFold
from scorer.engine.progress import Progress
from scorer.errors import InputError, UsageError
from scorer.policy.fit import Booleans
from scorer.review.evaluate_coders import CoderJudges, Settled
from scorer.review.evaluate_groups import groups
from scorer.review.evaluate_judges import Judges, TeacherJudges
from scorer.review.evaluate_part import Key, Part, Support
from scorer.review.evaluate_questions import Question, questions
from scorer.review.evaluate_results import Evaluation, Section
from scorer.review.metrics import Measure, replicated
from scorer.review.sample_strata import Stratifier
from scorer.review.scores import Scores

REPLICATES: Final = 1000
MIN_POSITIVES: Final = 10.0


@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """What to compare with what."""

    scores: Path
    targets: tuple[str, ...] = ()
    """By default all that the judges speak of."""
    labels: LabelFiles | None = None
    """Teachers' labels; or else `sheets`."""
    sheets: tuple[Path, ...] = ()
    """Sheets that coders have answered, one each."""
    key: Path | None = None
    """Of the sheets' sample; by default it lies beside them."""
    settled: Settled = Settled.agreed
    out_of_fold: Path | None = None
    """Scores of the labelled works by heads that never saw them, in place of the file's."""
    equal_weights: bool = False
    by: tuple[Stratifier, ...] = ()
    frame: str | Path | None = None
    """Where what to split by stands, if not in the labels or sheets."""
    beta: float = 2.0
    min_positives: float = MIN_POSITIVES
    """Effective number of them that a figure needs."""
    replicates: int = REPLICATES
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise `UsageError` where the request does not fit together."""
        if (self.labels is None) == (not self.sheets):
            raise UsageError("Give either teachers' labels or coders' sheets to compare with.")
        if self.sheets and (self.out_of_fold or self.equal_weights):
            raise UsageError("--out-of-fold and --equal-weights are for teachers' labels.")

    @property
    def files(self) -> Sequence[Path]:
        """The files of the labels or answers; messages name the first."""
        return self.labels.paths if self.labels else self.sheets


def evaluate(request: EvaluateRequest, progress: Progress | None = None) -> Evaluation:
    """Compare scores and calls with what the judges said.

    Raises `InputError` for files that are not as they should be or do not belong together.
    """
    scores = Scores.open(request.scores)
    for name in request.targets:
        scores.check_target(name, "--target")
    judges, examples, notes = _opened(request, scores)
    wanted = request.targets or scores.targets.binary_names
    asked = [name for name in wanted if _speak_of(judges, name)]
    if not asked:
        raise InputError(
            f"{request.files[0]}: no work is judged for {', '.join(wanted)}.\n"
            "Evaluate targets that the labels or sheets speak of."
        )
    found = questions(scores, judges, examples, asked)
    _check_classes(found, request.files[0])
    levels = groups(judges, request.by, request.frame, request.files[0]) if request.by else {}
    everyone = np.ones(judges.works.height, bool)
    masks = [everyone, *(mask for of_by in levels.values() for mask in of_by.values())]
    whole, *parts = sections(found, judges, masks, request, progress)
    rest = iter(parts)
    manifest = scores.manifest
    return Evaluation(
        targets=scores.targets,
        asked=tuple(asked),
        model_version=manifest.in_words("model_version"),
        policy_version=manifest.in_words("policy_version"),
        score_status=manifest.in_words("score_status"),
        who=judges.who,
        rule=judges.rule,
        works=judges.works.height,
        strata=len(judges.design.drawn),
        frame_works=float(judges.design.weight.sum()),
        beta=request.beta,
        min_positives=request.min_positives,
        replicates=request.replicates,
        seed=request.seed,
        whole=whole,
        groups={by: {level: next(rest) for level in of_by} for by, of_by in levels.items()},
        notes=tuple(notes),
    )


def sections(
    asked: Sequence[Question],
    judges: Judges,
    masks: Sequence[Booleans],
    request: EvaluateRequest,
    progress: Progress | None = None,
) -> list[Section]:
    """Return the figures of parts of the sample; `masks`: which works are in each, bool [works]."""
    support = Support(request.min_positives, judges.design.weight)
    parts = [
        Part(number, mask, asked, judges, support, request.beta)
        for number, mask in enumerate(masks)
    ]
    plan: dict[Key, Measure] = {key: measure for part in parts for key, measure in part.plan()}
    values = replicated(plan, judges.design, request.replicates, request.seed, progress)
    return [part.section(values) for part in parts]


def _opened(request: EvaluateRequest, scores: Scores) -> tuple[Judges, Examples, list[str]]:
    """Return the judges, the scores of their works, and what the user should know of both."""
    if request.labels is None:
        return _with_coders(request, scores)
    teachers = Teachers.read(request.labels, equal_weights=request.equal_weights)
    where = request.labels.works
    teachers.check_heads(scores.heads, where)
    judges = TeacherJudges.of(teachers, scores.heads, equal_weights=request.equal_weights)
    notes = teachers.strangers(scores.targets, where)
    if request.out_of_fold is None:
        examples = scored_examples(scores.scored, teachers.ids, scores.of_student)
        for version in scores.manifest.words("model_version"):
            notes += too_good(version, request.labels)
    elif scores.stacked:
        raise UsageError(
            f"--out-of-fold {request.out_of_fold}: scores of one student; {scores.path} was scored "
            f"by {scores.statuses['model_version']}.\nLeave it out, or evaluate each student alone."
        )
    else:
        unseen = OutOfFold.read(request.out_of_fold, scores.scored)
        examples = table_examples(unseen.scores, teachers.ids, request.out_of_fold)
    if examples.missing:
        many, source = len(examples.missing), request.out_of_fold or scores.path
        notes.append(
            f"{source}: has no score of {counted(many, 'labelled work')}, first "
            f"{examples.missing[0]}; without one, works count for prevalence and agreement of "
            "labels alone"
        )
    if judges.design.joined:
        notes.append(
            f"{where}: strata of one work that were joined to others: {judges.design.joined:,}"
        )
    return judges, examples, notes


def _with_coders(request: EvaluateRequest, scores: Scores) -> tuple[Judges, Examples, list[str]]:
    judges = CoderJudges.read(request.sheets, request.key, request.settled)
    for name in judges.asked:
        if name not in scores.targets.binary_names:
            raise InputError(
                f"{request.sheets[0]}: asks for {name}, which {scores.path} has no score of.\n"
                "Give the scored file that the sample was drawn from."
            )
    examples = scored_examples(scores.scored, judges.works["id"], scores.of_student)
    if examples.missing:
        raise InputError(
            f"{scores.path}: lacks {counted(len(examples.missing), 'work')} of the sample, first "
            f"{examples.missing[0]}.\nGive the scored file that the sample was drawn from, or one "
            "of the same frame."
        )
    notes = []
    if judges.drawn_from["sha256"] != scores.manifest.output.sha256:
        notes.append(
            f"the sample was drawn from {judges.drawn_from['name']}, another file than "
            f"{scores.path.name}; the weights are those of that file's works"
        )
    return judges, examples, notes + judges.notes()


def _speak_of(judges: Judges, target: str) -> bool:
    """Tell whether any judge says anything of a target."""
    return any(judges.answers(name, target)[0].any() for name in judges.names)


def _check_classes(found: Sequence[Question], where: Path) -> None:
    """Raise `InputError` where no target has both a yes and a no."""
    if not any(q.yes.any() and (q.known & ~q.yes).any() for q in found):
        raise InputError(
            f"{where}: one class: for each target the scored works are all a yes or all a no, so "
            "nothing can be ranked or found.\nEvaluate on works of both kinds."
        )
