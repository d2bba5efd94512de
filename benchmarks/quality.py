"""Measures the plain recipe's average precision: five folds that keep venues whole.

The same labels, folds and seed as `scorer train` uses, so the figures must be those of the manifest
of a plain bundle (`--bundle`). What the shipped student gains by distillation: `students.py`.
"""

from pathlib import Path
from typing import Annotated, Any, Final

import typer
from _measure import console, report, shared

from scorer.labels.sample import Labels, read_label_table
from scorer.policy.fit import ENOUGH_POSITIVES, best_fbeta
from scorer.student.folder import load_manifest
from scorer.train.crossfit import out_of_fold
from scorer.train.fit import Recipe
from scorer.train.learner import NgramLearner, Predicted
from scorer.train.metrics import mean_over_pairs, pair_metrics

GOAL: Final = 0.635
_SAME: Final = 5e-4


def measured_pairs(labels: Labels, unseen: Predicted, recipe: Recipe) -> dict[str, Any]:
    """Return the metrics of each `head/target` that has both classes."""
    pairs = {}
    width = unseen.scores.shape[1] // len(labels.targets.heads)
    for number, head in enumerate(labels.targets.head_names):
        for place, target in enumerate(labels.targets.binary_names):
            rows = labels.judged(head, target)
            positive, weight = labels.positive(head, target)[rows], labels.weight[rows]
            score = unseen.scores[rows, number * width + place]
            if positive.all() or not positive.any():
                continue
            threshold, _ = best_fbeta(score, positive, weight, recipe.beta)
            pairs[f"{head}/{target}"] = pair_metrics(
                score, positive, weight, threshold, recipe.beta
            )
    return pairs


def main(
    bundle: Annotated[
        Path | None, typer.Option(help="A bundle of the plain recipe, to compare with.")
    ] = None,
) -> None:
    """Run the five folds; compare with a bundle's manifest where one is given."""
    recipe = Recipe()
    labels = read_label_table(shared("labels/teacher_sample.parquet"))
    console.print(f"{labels.works.height:,} labelled works, {recipe.folds} folds", style="dim")
    pairs = measured_pairs(labels, out_of_fold(labels, NgramLearner(recipe)), recipe)
    rows = [_row(pair, metrics) for pair, metrics in pairs.items()]
    mean = mean_over_pairs(pairs, "average_precision")
    weighted = mean_over_pairs(pairs, "average_precision_weighted")
    rows.append(
        {
            "pair": f"mean over the pairs with {ENOUGH_POSITIVES} positives or more",
            "positives": "",
            "AP": f"{mean:.4f}",
            "AP weighted": f"{weighted:.4f}",
        }
    )
    notes = [
        "Out of fold; the works that a teacher declined are left out for the other targets.",
        f"At least {GOAL}: {'yes' if mean >= GOAL else 'NO'}.",
    ]
    same = True
    if bundle is not None:
        said = load_manifest(bundle).metrics["mean_average_precision"]
        same = abs(mean - said) < _SAME
        notes.append(f"As the manifest of {bundle.name} has it: {'yes' if same else 'NO'}.")
    report("quality", "Average precision of the plain recipe", rows, notes, mean=mean)
    raise typer.Exit(0 if same and mean >= GOAL else 1)


def _row(pair: str, metrics: dict[str, Any]) -> dict[str, str]:
    return {
        "pair": pair,
        "positives": f"{metrics['n_pos']:,}",
        "AP": f"{metrics['average_precision']:.4f}",
        "AP weighted": f"{metrics['average_precision_weighted']:.4f}",
    }


if __name__ == "__main__":
    typer.run(main)
