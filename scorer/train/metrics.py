"""How well out-of-fold scores rank and call, plain and design-weighted (scikit-learn's metrics)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    precision_recall_fscore_support,
    roc_auc_score,
)

from scorer.policy.fit import ENOUGH_POSITIVES, support
from scorer.policy.policy import Support

Booleans = npt.NDArray[np.bool_]


def pair_metrics(
    score: npt.NDArray[np.float32],
    positive: Booleans,
    weight: npt.NDArray[np.float64],
    threshold: float,
    beta: float,
) -> dict[str, Any]:
    """Return the metrics of one head and target over the works it judged, of both classes."""
    backing = support(positive, weight)
    metrics: dict[str, Any] = _support_fields(backing) | {"n_judged": len(positive)}
    called = score >= np.float32(threshold)
    for suffix, sample_weight in (("", None), ("_weighted", weight)):
        precision, recall, fbeta, _ = precision_recall_fscore_support(
            positive,
            called,
            beta=beta,
            average="binary",
            zero_division=0.0,
            sample_weight=sample_weight,
        )
        metrics |= {
            f"average_precision{suffix}": average_precision_score(
                positive, score, sample_weight=sample_weight
            ),
            f"auroc{suffix}": roc_auc_score(positive, score, sample_weight=sample_weight),
            f"precision{suffix}": precision,
            f"recall{suffix}": recall,
            f"fbeta{suffix}": fbeta,
        }
    return {name: _rounded(value) for name, value in metrics.items()}


def axis_metrics(
    chosen: npt.NDArray[np.int64], said: npt.NDArray[np.int64], weight: npt.NDArray[np.float64]
) -> dict[str, Any]:
    """Return how often a head's best value of an axis is the one that its teacher gave."""
    return {
        "n": len(said),
        "accuracy": _rounded(accuracy_score(said, chosen)),
        "accuracy_weighted": _rounded(accuracy_score(said, chosen, sample_weight=weight)),
        "macro_f1": _rounded(f1_score(said, chosen, average="macro", zero_division=0.0)),
    }


def mean_over_pairs(
    pairs: Mapping[str, Mapping[str, Any]], name: str, *, without: frozenset[str] = frozenset()
) -> float | None:
    """Return the mean of a metric over the pairs `head/target` with enough positives, if any."""
    values = [
        metrics[name]
        for pair, metrics in pairs.items()
        if metrics["n_pos"] >= ENOUGH_POSITIVES and pair.split("/")[1] not in without
    ]
    return round(float(np.mean(values)), 6) if values else None


def counted_pairs(pairs: Mapping[str, Mapping[str, Any]]) -> int:
    """Return how many pairs have enough positives."""
    return sum(metrics["n_pos"] >= ENOUGH_POSITIVES for metrics in pairs.values())


def _support_fields(backing: Support) -> dict[str, Any]:
    return backing.model_dump()


def _rounded(value: Any) -> Any:  # noqa: ANN401 - an int or a float of numpy's
    return int(value) if isinstance(value, int | np.integer) else round(float(value), 6)
