"""Counting what a policy would call in a file of scores, without writing anything."""

from pathlib import Path

import numpy as np

from scorer.engine.scored import ScoredFile, columns_that_decide
from scorer.errors import InputError
from scorer.policy.calls import CANDIDATE, CONSENSUS, WHATS, call_sets
from scorer.policy.policy import Policy
from scorer.targets import Targets


def count_calls(
    scores: Path, model_version: str, targets: Targets, policy: Policy
) -> tuple[int, dict[str, dict[str, int]]]:
    """Return (works, target -> kind -> works called); kinds: the heads, candidate, consensus.

    Raises `InputError` where the scores are those of another student.
    """
    scored = ScoredFile.open(scores)
    if scored.manifest.model_version != model_version:
        raise InputError(
            f"{scores}: scored by {scored.manifest.model_version}, the thresholds are for "
            f"{model_version}.\nName the bundle that scored it: --model"
        )
    names = targets.binary_names
    kinds = [*targets.head_names, CANDIDATE, CONSENSUS]
    counts = {name: dict.fromkeys(kinds, 0) for name in names}
    for rows in scored.batches(columns_that_decide(targets, policy)):
        sets = call_sets(rows, targets, policy)
        for kind in kinds:
            for what, members in zip(WHATS, (targets.categories, targets.flags), strict=True):
                bits = sets[f"{kind}_{what}"].to_numpy()
                for place, name in enumerate(members):
                    counts[name][kind] += int(np.count_nonzero(bits & np.uint64(1 << place)))
    return scored.rows, counts
