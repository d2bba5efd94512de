"""A policy in words and rows: what decides each call, and why a head is silent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scorer.policy.calls import CONSENSUS, MAJORITY, fewest
from scorer.policy.policy import Direct, Entry, Policy, Quota, Silent, Support, Threshold
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets

_MORE_THAN_ONE: Final = {2: "two", 3: "three", 4: "four", 5: "five"}


@dataclass(frozen=True, slots=True)
class TargetRule:
    """The rule of one target: for each head what decides, and how the heads combine."""

    target: str
    label: str
    decisions: dict[str, str]
    positives: dict[str, str]
    effective: dict[str, str]
    words: str


def rules(policy: Policy, targets: Targets, mode: str | None) -> list[TargetRule]:
    """Return one rule a target, in manifest order; `words` are those of `mode`.

    `mode`: `candidate`, `consensus`, `majority`, or None for no words.
    """
    return [
        TargetRule(
            target=target.name,
            label=target.label.en,
            decisions={h: decision(policy.entry(h, target.name)) for h in targets.head_names},
            positives=_of_support(policy, targets, target.name, lambda s: f"{s.n_pos:,}"),
            effective=_of_support(policy, targets, target.name, lambda s: f"{s.ess_pos:.1f}"),
            words=_in_words(policy, targets, target.name, mode) if mode else "",
        )
        for target in targets.binary
    ]


def decision(entry: Entry) -> str:
    """Return what an entry decides, short."""
    match entry:
        case Threshold():
            return f"≥ {entry.value:.3f}"
        case Quota():
            return f"best {entry.k:,} (≥ {entry.value:.3f})"
        case Direct():
            return "direct label"
        case Silent(reason="support"):
            return "none: support"
        case Silent(reason="unavailable"):
            return "none: unavailable"
        case Silent():
            return "none: off"


def _of_support(
    policy: Policy, targets: Targets, target: str, said: Callable[[Support], str]
) -> dict[str, str]:
    entries = {head: policy.entry(head, target) for head in targets.head_names}
    return {h: said(entry.support) if entry.support else "–" for h, entry in entries.items()}


def _in_words(policy: Policy, targets: Targets, target: str, mode: str) -> str:
    entries = {head: policy.entry(head, target) for head in targets.head_names}
    silent = [head for head, entry in entries.items() if isinstance(entry, Silent)]
    calling = [f"{head} {decision(entry)}" for head, entry in entries.items() if head not in silent]
    needed = fewest(mode, len(entries))
    by_rule = target == INSUFFICIENT_PAYLOAD
    if len(calling) < needed:
        if by_rule:
            return "only by rule, without a usable title"
        if not calling and mode != CONSENSUS:
            return "never: every head is silent"
        return f"never: {' and '.join(silent)} {'is' if len(silent) == 1 else 'are'} silent"
    if mode == MAJORITY:
        words = f"{_MORE_THAN_ONE.get(needed, needed)} or more of: {', '.join(calling)}"
    else:
        words = (" and " if mode == CONSENSUS else " or ").join(calling)
    return words + (", or by rule without a usable title" if by_rule else "")
