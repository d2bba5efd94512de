"""Five students on the same venue-grouped folds, the stack of two at several shares, and speed.

The deployed recipe, plain n-grams, n-grams distilled from an ensemble, heads on a transformer, and
both mixed. All but the first are trained by `scorer train` itself, once, into benchmarks/.work; the
figures are those of the out-of-fold scores that it keeps.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import typer
from _deployed import DeployedLearner
from _frames import made_frame
from _measure import SCORER, console, measure, report, scorer_run, shared, work_folder
from quality import measured_pairs

from scorer.labels.sample import Labels, read_label_table
from scorer.student.manifest import MANIFEST_FILE
from scorer.targets import INSUFFICIENT_PAYLOAD, score_column
from scorer.train.crossfit import out_of_fold
from scorer.train.fit import Recipe
from scorer.train.learner import Predicted
from scorer.train.metrics import ENOUGH_POSITIVES, mean_over_pairs

LABELS: Final = "labels/teacher_sample.parquet"
UNLABELLED: Final = ("frames/openalex_titles.parquet",)
FIGURES: Final = {
    "average_precision": "AP",
    "average_precision_weighted": "AP w",
    "auroc": "AUROC",
    "auroc_weighted": "AUROC w",
}
GOALS: Final = {
    "distilled n-gram": {
        "average_precision": 0.645,
        "average_precision_weighted": 0.36,
        "auroc_weighted": 0.925,
    },
    "mixed": {
        "average_precision": 0.675,
        "average_precision_weighted": 0.40,
        "auroc_weighted": 0.94,
    },
}
MOST_LOST: Final = 0.02
SHARES: Final = (0.0, 0.01, 0.05, 0.2, 1.0)
STACK_SHARE, STACK_GAIN, STACK_TIME = 0.05, 2 / 3, 0.15
FAST_WORKS, SLOW_WORKS, RUNS = 500_000, 5_000, 3
_NO_PAYLOAD: Final = frozenset({INSUFFICIENT_PAYLOAD})


@dataclass(frozen=True, slots=True)
class Student:
    """A student's scores of works that it did not learn from, and their metrics by pair."""

    unseen: Predicted
    pairs: dict[str, Any]

    def mean(self, name: str) -> float:
        """Return the mean of a metric over the pairs with enough positives."""
        found = mean_over_pairs(self.pairs, name, without=_NO_PAYLOAD)
        assert found is not None
        return found


def trained(name: str, options: list[str | Path], *, again: bool) -> tuple[Path, Path]:
    """Return a bundle and its out-of-fold scores, trained where they are not there yet."""
    folder = work_folder() / "students"
    folder.mkdir(exist_ok=True)
    bundle, scores = folder / name.replace(" ", "-"), folder / f"{name.replace(' ', '-')}.parquet"
    if again or not (bundle / MANIFEST_FILE).is_file() or not scores.is_file():
        console.print(f"training: {name}", style="dim")
        words = [SCORER, "train", shared(LABELS), "-o", bundle, "--out-of-fold", scores]
        taken = measure([*words, "--overwrite", *options])
        console.print(f"{name}: {taken.processor_seconds:,.0f} s of processor", style="dim")
    return bundle, scores


def read_unseen(path: Path, labels: Labels) -> Predicted:
    """Return out-of-fold scores float32 [works, heads x binary targets] in the labels' order."""
    table = pl.read_parquet(path)
    assert table["id"].equals(labels.works["id"])
    names = [
        score_column(head, target)
        for head in labels.targets.head_names
        for target in labels.targets.binary_names
    ]
    scores = table.select(names).to_numpy().astype(np.float32)
    return Predicted(scores, scores.astype(np.float64))


def binary_alone(found: Predicted, labels: Labels) -> Predicted:
    """Leave the axes out: their outputs stand behind the binary ones of each head."""
    width = found.scores.shape[1] // len(labels.targets.heads)
    columns = [
        head * width + place
        for head in range(len(labels.targets.heads))
        for place in range(len(labels.targets.binary))
    ]
    return Predicted(found.scores[:, columns], found.logits[:, columns])


def best_ranks(scores: npt.NDArray[np.float32], weight: npt.NDArray[np.float64]) -> Any:
    """Return each work's best rank over the columns, as a share of the frame: float64 [works].

    A work stands for as many as it weighs. That is what `scorer run --refine` chooses by.
    """
    ranks = np.empty(scores.shape)
    for column in range(scores.shape[1]):
        order = np.argsort(-scores[:, column], kind="stable")
        ranks[order, column] = np.cumsum(weight[order]) / weight.sum()
    return ranks.min(axis=1)


def stacked(
    labels: Labels, first: Student, second: Student, weight: npt.NDArray[np.float64], share: float
) -> Student:
    """Return the student whose best-ranked works, a share of the frame, a second one scores."""
    columns = [
        place
        for place, name in enumerate(labels.targets.binary_names * len(labels.targets.heads))
        if name != INSUFFICIENT_PAYLOAD
    ]
    order = np.argsort(best_ranks(first.unseen.scores[:, columns], weight), kind="stable")
    chosen = order[np.cumsum(weight[order]) <= share * weight.sum() * (1 + 1e-9)]
    scores = first.unseen.scores.copy()
    scores[chosen] = second.unseen.scores[chosen]
    unseen = Predicted(scores, scores.astype(np.float64))
    return Student(unseen, measured_pairs(labels, unseen, Recipe()))


def seconds_a_work(bundle: Path, frame: Path, works: int) -> float:
    """Return processor seconds a work, without start-up: the best of some runs, less an empty one.

    Start-up is that of a run over a hundred works.
    """
    few = work_folder() / f"{frame.stem}-100.parquet"
    pl.read_parquet(frame, n_rows=100).write_parquet(few)
    out = work_folder() / "students.parquet"
    best = [
        min(
            measure(scorer_run(path, out, "--model", bundle)).processor_seconds for _ in range(RUNS)
        )
        for path in (few, frame)
    ]
    return (best[1] - best[0]) / (works - 100)


def main(
    encoder: Annotated[Path, typer.Option(help="A folder with model.onnx and tokenizer.json.")],
    again: Annotated[bool, typer.Option("--again", help="Train all bundles anew.")] = False,
) -> None:
    """Measure all students; exit with 1 where a goal is missed."""
    labels, recipe = read_label_table(shared(LABELS)), Recipe()
    frames = [word for name in UNLABELLED for word in ("--unlabelled", shared(name))]
    asked: dict[str, list[str | Path]] = {
        "plain n-gram": [],
        "distilled n-gram": ["--ensemble", encoder, *frames],
        "transformer": ["--encoder", encoder],
        "mixed": ["--encoder", encoder, "--mixed"],
    }
    console.print("deployed recipe: five folds", style="dim")
    found = {"deployed recipe": binary_alone(out_of_fold(labels, DeployedLearner(recipe)), labels)}
    bundles: dict[str, Path] = {}
    for name, options in asked.items():
        bundles[name], scores = trained(name, options, again=again)
        found[name] = read_unseen(scores, labels)
    students = {
        name: Student(unseen, measured_pairs(labels, unseen, recipe))
        for name, unseen in found.items()
    }
    plain, mixed = students["plain n-gram"], students["mixed"]
    speeds = _speeds(bundles)
    rows = [_row(name, student, plain, mixed) for name, student in students.items()]
    stack: dict[str, Any] = {}
    for first in ("plain n-gram", "distilled n-gram"):
        for by, weight in (("frame", labels.weight), ("rows", np.ones_like(labels.weight))):
            for share in SHARES:
                name = f"{first}, mixed for {share:.0%} of the {by}"
                one = stacked(labels, students[first], mixed, weight, share)
                time = (speeds[first] + share * speeds["mixed"]) / speeds["mixed"]
                stack[name] = {figure: one.mean(figure) for figure in FIGURES} | {
                    "time": time,
                    "works_a_second": 1 / (time * speeds["mixed"]),
                    "of_the_way": _of_the_way(one, students[first], mixed),
                }
                rows.append(_row(name, one, plain, mixed) | {"time": f"{time:.1%}"})
    for row in rows:
        name = row["student"]
        row.setdefault("time", f"{speeds[name] / speeds['mixed']:.2%}" if name in speeds else "")
    lost = _differences(students["distilled n-gram"], plain)
    goals = _goals(students, stack, lost, speeds)
    over_distilled = stack[f"distilled n-gram, mixed for {STACK_SHARE:.0%} of the frame"][
        "of_the_way"
    ]
    report(
        "students",
        "Students on the same folds, and the stack",
        rows,
        [
            *_notes(lost, speeds, over_distilled),
            *(f"{'met' if met else 'MISSED'}: {goal}" for goal, met in goals),
        ],
        figures={n: {f: s.mean(f) for f in FIGURES} for n, s in students.items()},
        pairs={name: student.pairs for name, student in students.items()},
        distilled_less_plain=lost,
        stack=stack,
        processor_seconds_a_work=speeds,
    )
    raise typer.Exit(0 if all(met for _, met in goals) else 1)


def _speeds(bundles: dict[str, Path]) -> dict[str, float]:
    fast, slow = made_frame(FAST_WORKS), made_frame(SLOW_WORKS)
    return {
        name: seconds_a_work(bundle, fast, FAST_WORKS)
        if name.endswith("n-gram")
        else seconds_a_work(bundle, slow, SLOW_WORKS)
        for name, bundle in bundles.items()
    }


def _row(name: str, student: Student, plain: Student, mixed: Student) -> dict[str, str]:
    row = {"student": name}
    row |= {shown: f"{student.mean(figure):.4f}" for figure, shown in FIGURES.items()}
    return row | {"of the way": f"{_of_the_way(student, plain, mixed):.0%}"}


def _of_the_way(student: Student, first: Student, last: Student) -> float:
    """Return which part of the difference of two students in AP a third one makes up."""
    name = "average_precision"
    whole = last.mean(name) - first.mean(name)
    return (student.mean(name) - first.mean(name)) / whole


def _differences(student: Student, plain: Student) -> dict[str, float]:
    """Return plain average precision less that of the plain student, a pair with positives."""
    return {
        pair: round(found["average_precision"] - plain.pairs[pair]["average_precision"], 4)
        for pair, found in student.pairs.items()
        if found["n_pos"] >= ENOUGH_POSITIVES and not pair.endswith(INSUFFICIENT_PAYLOAD)
    }


def _goals(
    students: dict[str, Student],
    stack: dict[str, Any],
    lost: dict[str, float],
    speeds: dict[str, float],
) -> list[tuple[str, bool]]:
    goals = [
        (
            f"{name}: {FIGURES[figure]} {students[name].mean(figure):.4f}, goal {least}",
            students[name].mean(figure) >= least,
        )
        for name, wanted in GOALS.items()
        for figure, least in wanted.items()
    ]
    worst = min(lost, key=lambda pair: lost[pair])
    goals.append(
        (
            f"no target loses more than {MOST_LOST} by distillation: {worst} {lost[worst]:+.3f}",
            lost[worst] >= -MOST_LOST,
        )
    )
    at = stack[f"plain n-gram, mixed for {STACK_SHARE:.0%} of the frame"]
    goals.append(
        (
            f"stack on plain n-grams at {STACK_SHARE:.0%} of the frame: {at['of_the_way']:.0%} of "
            f"their way to mixed, goal {STACK_GAIN:.0%}",
            at["of_the_way"] >= STACK_GAIN,
        )
    )
    goals.append(
        (
            f"stack at {STACK_SHARE:.0%}: {at['time']:.1%} of the time of mixed, goal "
            f"{STACK_TIME:.0%}",
            at["time"] <= STACK_TIME,
        )
    )
    slower = speeds["distilled n-gram"] / speeds["plain n-gram"] - 1
    goals.append(
        (
            f"distilled n-grams at the speed of plain ones: {slower:+.1%} processor time, "
            "10 % at most",
            slower <= 0.1,
        )
    )
    return goals


def _notes(lost: dict[str, float], speeds: dict[str, float], over_distilled: float) -> list[str]:
    shown = ", ".join(f"{pair} {change:+.3f}" for pair, change in sorted(lost.items()))
    pace = ", ".join(f"{name} {1 / seconds:,.0f}" for name, seconds in speeds.items())
    return [
        f"Means over the head and target pairs with {ENOUGH_POSITIVES} positives or more, but "
        "insufficient_payload; w: design-weighted. Five folds keep venues whole; works that a "
        "teacher declined are left out.",
        "Of the way: from plain n-grams to mixed, in AP. Stacks: the works that mixed scores again "
        "are those of the best rank over all heads and targets. Of the frame: a work stands for as "
        "many as it weighs. Of the rows: it stands for itself.",
        f"At {STACK_SHARE:.0%} of the frame the stack on distilled n-grams goes "
        f"{over_distilled:.0%} of their own way to mixed, which is shorter.",
        "Time: of a processor, a work, in per cent of the mixed student's; for the stack reckoned "
        "from both.",
        f"Works a second and processor, titles alone: {pace}.",
        f"AP of distilled less plain n-grams: {shown}.",
    ]


if __name__ == "__main__":
    typer.run(main)
