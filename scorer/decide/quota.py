"""Quotas: how many works each head's target calls, and which is the last of them."""

from collections.abc import Mapping

from scorer.decide.sources import BestWorks, Choice
from scorer.engine.scored import ScoredFile
from scorer.errors import InputError
from scorer.policy.boundary import boundaries, count_covered
from scorer.policy.fit import quota_size
from scorer.policy.policy import Quota, Support
from scorer.targets import score_column

Pair = tuple[str, str]
"""A head and a target."""


def find_quotas(
    scored: ScoredFile, wanted: Mapping[Pair, tuple[Choice, Support]]
) -> dict[Pair, Quota]:
    """Return quotas among the covered works of a scored file.

    Where none is given, k follows from the prevalence that the design weights make.
    """
    covered = count_covered(scored.batches)
    works = {
        pair: _works(scored, ".".join(pair), choice, support.rate, covered)
        for pair, (choice, support) in wanted.items()
    }
    last = boundaries(scored.batches, {score_column(*pair): k for pair, k in works.items()})
    found = {}
    for pair, (choice, support) in wanted.items():
        boundary = last[score_column(*pair)]
        share = f"prevalence {support.rate:.4g}" if choice.how == BestWorks() else "by hand"
        found[pair] = Quota(
            k=works[pair],
            value=boundary.value,
            boundary_id=boundary.id,
            found_by=f"quota: {share} of {covered:,} covered works",
            support=support,
        )
    return found


def _works(scored: ScoredFile, name: str, choice: Choice, rate: float, covered: int) -> int:
    """Return k; raise `InputError` where the file has too few works for it."""
    assert isinstance(choice.how, BestWorks)
    if choice.how.k is None:
        k = quota_size(rate, covered)
        if k == 0:
            raise InputError(
                f"{scored.path}: {name}: a prevalence of {rate:.4g} among {covered:,} covered "
                "works rounds to no work at all.\n"
                f"Score a larger frame, or make no calls: --for {name}=off"
            )
        return k
    if choice.how.k > covered:
        raise InputError(
            f"{scored.path}: {name}: the best {choice.how.k:,} works are asked for, "
            f"{covered:,} are covered.\nAsk for fewer ({choice.asked}), or score a larger frame."
        )
    return choice.how.k
