"""Measures the shipped recipe's average precision anew: five folds that keep venues whole.

The same labels, folds and seed as `scorer train` used for models/metacan-ngram, so the figures must
be those of its manifest.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from _measure import SHIPPED, console, report, shared

from scorer.labels.sample import Labels, read_label_table
from scorer.policy.fit import best_fbeta
from scorer.train.crossfit import OutOfFold, out_of_fold
from scorer.train.fit import Recipe
from scorer.train.metrics import ENOUGH_POSITIVES, mean_over_pairs, pair_metrics

GOAL: Final = 0.635
_SAME: Final = 5e-4


def measured_pairs(labels: Labels, unseen: OutOfFold, recipe: Recipe) -> dict[str, Any]:
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


def outputs(labels: Labels) -> int:
    """Return how many numbers a work gets: every head's binary targets and axis values."""
    targets = labels.targets
    axes = sum(len(axis.values) for axis in targets.axes)
    return len(targets.heads) * (len(targets.binary) + axes)


def main(
    bundle: Annotated[Path, typer.Option(help="The bundle to compare with.")] = SHIPPED,
) -> None:
    """Run the five folds and compare with the bundle's manifest."""
    recipe = Recipe()
    labels = read_label_table(shared("labels/teacher_sample.parquet"))
    console.print(f"{labels.works.height:,} labelled works, {recipe.folds} folds", style="dim")
    pairs = measured_pairs(labels, out_of_fold(labels, outputs(labels), recipe), recipe)
    said = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))["metrics"]
    rows = [_row(pair, pairs[pair], said["out_of_fold"].get(pair)) for pair in pairs]
    mean = mean_over_pairs(pairs, "average_precision")
    weighted = mean_over_pairs(pairs, "average_precision_weighted")
    rows.append(
        {
            "pair": f"mean over the pairs with {ENOUGH_POSITIVES} positives or more",
            "positives": "",
            "AP": f"{mean:.4f}",
            "AP weighted": f"{weighted:.4f}",
            "AP in the manifest": f"{said['mean_average_precision']:.4f}",
        }
    )
    same = abs(mean - said["mean_average_precision"]) < _SAME
    notes = [
        "Out of fold; the works that a teacher declined are left out for the other targets.",
        f"As the manifest of {bundle.name} has it: {'yes' if same else 'NO'}. "
        f"At least {GOAL}: {'yes' if mean >= GOAL else 'NO'}.",
    ]
    report("quality", "Average precision of the shipped recipe", rows, notes, mean=mean)
    raise typer.Exit(0 if same and mean >= GOAL else 1)


def _row(pair: str, metrics: dict[str, Any], said: dict[str, Any] | None) -> dict[str, str]:
    return {
        "pair": pair,
        "positives": f"{metrics['n_pos']:,}",
        "AP": f"{metrics['average_precision']:.4f}",
        "AP weighted": f"{metrics['average_precision_weighted']:.4f}",
        "AP in the manifest": f"{said['average_precision']:.4f}" if said else "none",
    }


if __name__ == "__main__":
    typer.run(main)
