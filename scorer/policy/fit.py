"""Fitting a policy: support from design weights, thresholds from scores and labels."""

import numpy as np
import numpy.typing as npt

from scorer.policy.policy import Support

Booleans = npt.NDArray[np.bool_]
Weights = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float32]


def support(positive: Booleans, weight: Weights) -> Support:
    """Return the support of a target over the works that a head judged.

    `positive`: bool [works]; `weight`: float64 [works], over 0. The effective sample size is
    Kish's: (sum w)^2 / sum w^2 over the positives.
    """
    of_positives = weight[positive]
    total = float(of_positives.sum())
    if total == 0:
        return Support(n_pos=0, ess_pos=0.0, top_share=0.0, rate=0.0)
    return Support(
        n_pos=int(positive.sum()),
        ess_pos=total**2 / float((of_positives**2).sum()),
        top_share=float(of_positives.max()) / total,
        rate=min(1.0, total / float(weight.sum())),
    )


def best_fbeta(
    score: Scores, positive: Booleans, weight: Weights, beta: float
) -> tuple[float, float]:
    """Return (threshold, F-beta): the distinct score that maximises the design-weighted F-beta.

    F-beta = (1 + b^2) TP / (b^2 (TP + FN) + (TP + FP)), all sums of weights (van Rijsbergen, 1979).
    Works with equal scores are called together; of equally good thresholds the highest wins.
    `score`: float32 [works]; at least one positive is needed.
    """
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    hits = np.cumsum(np.where(positive[order], weight[order], 0.0))
    called = np.cumsum(weight[order])
    last_of_ties = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)
    squared = beta**2
    fbeta = (1 + squared) * hits[last_of_ties] / (squared * hits[-1] + called[last_of_ties])
    best = int(np.argmax(fbeta))
    return float(ordered[last_of_ties[best]]), float(fbeta[best])
