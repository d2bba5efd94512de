"""Which works a policy calls in a file of scores: one target and kind at a time, and counted."""

from pathlib import Path

import polars as pl

from scorer.engine.scored import ScoredFile, columns_that_decide
from scorer.errors import InputError, PolicyError
from scorer.policy.calls import Mode, call_sets, fewest, kinds, members
from scorer.policy.fit import Booleans
from scorer.policy.policy import Direct, Entry, Policy, Silent
from scorer.policy.words import decision
from scorer.targets import Targets


def called(sets: pl.DataFrame, targets: Targets, kind: str, target: str) -> Booleans:
    """Return which works are called, from the columns of `call_sets`: bool [works]."""
    what = "categories" if target in targets.categories else "flags"
    bit = 1 << members(targets, what).index(target)
    found: Booleans = (sets[f"{kind}_{what}"].to_numpy() & bit) != 0
    return found


def silence(policy: Policy, targets: Targets, kind: str, target: str) -> str | None:
    """Return why a kind calls nothing by scores: the reason, or the heads that stay silent."""
    entries = {head: policy.entry(head, target) for head in targets.head_names}
    if kind in entries:
        return decision(entries[kind]) if _is_silent(entries[kind]) else None
    direct = [head for head, entry in entries.items() if isinstance(entry, Direct)]
    if direct:
        return f"{', '.join(direct)}: direct label"
    silent = [head for head, entry in entries.items() if _is_silent(entry)]
    if len(silent) == len(entries):
        return "never: every head is silent"
    enough = len(entries) - len(silent) >= fewest(kind, len(entries))
    return None if enough else f"never: {', '.join(silent)} silent"


def without_direct(policy: Policy) -> Policy:
    """Return the policy, its direct heads silent: their labels are not at hand."""
    entries = {
        target: {h: Silent(reason="off") if isinstance(e, Direct) else e for h, e in heads.items()}
        for target, heads in policy.entries.items()
    }
    return policy.model_copy(update={"entries": entries})


def count_calls(
    scores: Path, model_version: str, targets: Targets, policy: Policy, mode: Mode = "both"
) -> tuple[int, dict[str, dict[str, int]]]:
    """Return (works, target -> kind -> works called); kinds: those of `mode`.

    Raises `InputError` where the scores are those of another student.
    """
    scored = ScoredFile.open(scores)
    if scored.manifest.model_version != model_version:
        raise InputError(
            f"{scores}: scored by {scored.manifest.model_version}, the thresholds are for "
            f"{model_version}.\nName the bundle that scored it: --model"
        )
    check_no_direct(policy, f"policy {policy.version}")
    everyone = kinds(targets, mode)
    counts = {name: dict.fromkeys(everyone, 0) for name in targets.binary_names}
    for rows in scored.batches(columns_that_decide(targets, policy)):
        sets = call_sets(rows, targets, policy, mode)
        for name, of_target in counts.items():
            for kind in everyone:
                of_target[kind] += int(called(sets, targets, kind, name).sum())
    return scored.rows, counts


def check_no_direct(policy: Policy, where: str) -> None:
    """Raise `PolicyError` where calls need labels besides the scores."""
    for head in policy.direct_heads():
        raise PolicyError(
            f"{where}: head {head!r} is direct, and its labels are not at hand here.\n"
            "Count the calls of such a policy with scorer call."
        )


def _is_silent(entry: Entry) -> bool:
    return isinstance(entry, Silent | Direct)
