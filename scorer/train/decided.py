"""From out-of-fold scores to the default policy and to the figures of card and manifest."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from scorer.errors import ScorerError
from scorer.labels.sample import Labels
from scorer.policy.fit import best_fbeta, support
from scorer.policy.policy import Entry, Gates, Policy, Silent, Support, Threshold
from scorer.targets import INSUFFICIENT_PAYLOAD, Head, Targets
from scorer.train.fit import Floats, Recipe
from scorer.train.folds import venue_groups
from scorer.train.learner import Predicted
from scorer.train.metrics import axis_metrics, counted_pairs, mean_over_pairs, pair_metrics

MOST_QUANTISATION_COST: Final = 0.005
"""Rounding weights to integers may cost that much mean average precision, no more."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The default policy, all metrics, and a line on each target that could not be measured."""

    policy: Policy
    metrics: dict[str, Any]
    unmeasured: tuple[str, ...]


def with_unavailable(targets: Targets, biases: Floats) -> Targets:
    """Mark the targets that no head could be fitted for: their bias, of [outputs], is NaN."""
    width = len(targets.binary) + sum(len(axis.values) for axis in targets.axes)
    marked = []
    for number, head in enumerate(targets.heads):
        bias = biases[number * width : (number + 1) * width]
        missing = [
            target.name for place, target in enumerate(targets.binary) if np.isnan(bias[place])
        ]
        start = len(targets.binary)
        for axis in targets.axes:
            if np.isnan(bias[start : start + len(axis.values)]).all():
                missing.append(axis.name)
            start += len(axis.values)
        marked.append(Head(name=head.name, unavailable=tuple(missing)))
    return targets.model_copy(update={"heads": tuple(marked)})


def decide(labels: Labels, targets: Targets, unseen: Predicted, recipe: Recipe) -> Decided:
    """Fit the default policy on out-of-fold scores, and measure them.

    A target whose positives all lie in one venue is not measured: the fold that scores them has
    none to learn from.
    """
    gates = Gates(min_pos=recipe.min_pos, min_ess=recipe.min_ess)
    width = unseen.scores.shape[1] // len(targets.heads)
    entries: dict[str, dict[str, Entry]] = {name: {} for name in targets.binary_names}
    pairs: dict[str, Any] = {}
    unrounded: dict[str, Any] = {}
    venues, unmeasured = venue_groups(labels.works), []
    for number, head in enumerate(targets.heads):
        for place, target in enumerate(targets.binary_names):
            if target in head.unavailable:
                entries[target][head.name] = Silent(reason="unavailable")
                continue
            column = number * width + place
            rows = labels.judged(head.name, target)
            positive, weight = labels.positive(head.name, target)[rows], labels.weight[rows]
            places = np.unique(venues[rows][positive])
            if len(places) == 1:
                backing = support(positive, weight)
                entries[target][head.name] = Silent(reason="support", support=backing)
                unmeasured.append(
                    f"{head.name}/{target}: all positives ({backing.n_pos:,}) lie in one venue, so "
                    "no fold can measure it; it makes no calls"
                )
                continue
            score = unseen.scores[rows, column]
            threshold, _ = best_fbeta(score, positive, weight, recipe.beta)
            metrics = pair_metrics(score, positive, weight, threshold, recipe.beta)
            logits = unseen.logits[rows, column]
            pairs[f"{head.name}/{target}"] = metrics
            unrounded[f"{head.name}/{target}"] = metrics | pair_metrics(
                logits, positive, weight, threshold, recipe.beta
            )
            backing = Support(**{name: metrics[name] for name in Support.model_fields})
            entries[target][head.name] = (
                Threshold(
                    value=threshold, found_by=f"design-weighted F-{recipe.beta:g}", support=backing
                )
                if gates.passed(backing)
                else Silent(reason="support", support=backing)
            )
    metrics = _summary(pairs, unrounded) | {"axes": _axis_metrics(labels, targets, unseen)}
    return Decided(Policy(gates=gates, entries=entries), metrics, tuple(unmeasured))


def _axis_metrics(labels: Labels, targets: Targets, unseen: Predicted) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    start = 0
    for head in targets.heads:
        start += len(targets.binary)
        for axis in targets.axes:
            columns = slice(start, start + len(axis.values))
            start = columns.stop
            if axis.name in head.unavailable:
                continue
            said = labels.value(head.name, axis.name)
            rows = labels.judged(head.name, axis.name) & (said >= 0)
            logits = unseen.logits[rows, columns]
            metrics[f"{head.name}/{axis.name}"] = axis_metrics(
                logits.argmax(axis=1), said[rows], labels.weight[rows]
            )
    return metrics


def _summary(pairs: dict[str, Any], unrounded: dict[str, Any]) -> dict[str, Any]:
    mean = mean_over_pairs(pairs, "average_precision")
    cost = (mean_over_pairs(unrounded, "average_precision") or 0.0) - (mean or 0.0)
    if cost >= MOST_QUANTISATION_COST:
        raise ScorerError(
            f"Rounding the weights to integers costs {cost:.4f} of mean average precision, "
            f"{MOST_QUANTISATION_COST} at most is allowed.\nNo bundle was written."
        )
    no_payload = frozenset({INSUFFICIENT_PAYLOAD})
    return {
        "out_of_fold": pairs,
        "pairs_with_enough_positives": counted_pairs(pairs),
        "mean_average_precision": mean,
        "mean_average_precision_weighted": mean_over_pairs(pairs, "average_precision_weighted"),
        "mean_auroc": mean_over_pairs(pairs, "auroc"),
        "mean_auroc_weighted": mean_over_pairs(pairs, "auroc_weighted"),
        "mean_average_precision_without_insufficient_payload": mean_over_pairs(
            pairs, "average_precision", without=no_payload
        ),
        "quantisation_cost": round(cost, 6),
    }
