"""`scorer thresholds fit`: from labels and scores to a policy, each entry with how it was found."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from scorer.decide.inputs import FitRequest, Inputs
from scorer.decide.quota import Pair, find_quotas
from scorer.decide.sample import named
from scorer.decide.sources import BestWorks, ByHand, Off
from scorer.decide.thresholds import Figure, Fit, fit_threshold
from scorer.policy.policy import (
    Direct,
    Entry,
    Gates,
    Policy,
    Quota,
    Silent,
    Support,
    Threshold,
    check_policy,
)
from scorer.targets import Targets


@dataclass(frozen=True, slots=True)
class Fitted:
    """A policy, and what is worth saying about how it came to be."""

    policy: Policy
    targets: Targets
    model_version: str
    figures: Mapping[Pair, Figure]
    """What fitted thresholds come to on the labelled works."""
    notes: tuple[str, ...]


def fit(request: FitRequest) -> Fitted:
    """Fit a policy; raise the `ScorerError` that fits where something does not belong together."""
    inputs = Inputs.open(request)
    backings = inputs.backings()
    passing = passed(backings, request.gates)
    notes = inputs.teachers.strangers(inputs.targets, request.labels.works)
    notes += _overruled(inputs, backings.keys() - passing.keys())
    found: dict[Pair, Entry] = {**_quotas(inputs, passing)}
    thresholds, figures = _thresholds(inputs, passing, notes)
    found |= thresholds
    for pair in inputs.chosen:
        if pair not in found:
            found[pair] = _plain(inputs, pair, backings.get(pair), passing, notes)
    entries = {
        target: {head: found[head, target] for head in inputs.targets.head_names}
        for target in inputs.targets.binary_names
    }
    policy = Policy(gates=request.gates, entries=entries)
    check_policy(policy, inputs.targets, "the fitted policy")
    return Fitted(policy, inputs.targets, inputs.model_version, figures, tuple(notes))


def passed(backings: Mapping[Pair, Support], gates: Gates) -> dict[Pair, Support]:
    """Return those that may call: by their own support, or by that of all heads of the target."""
    alone = {pair for pair, support in backings.items() if gates.passed(support)}
    failing = {target for _, target in backings.keys() - alone}
    return {
        pair: support
        for pair, support in backings.items()
        if pair in alone and (gates.scope == "head" or pair[1] not in failing)
    }


def _overruled(inputs: Inputs, failing: Collection[Pair]) -> list[str]:
    """Return notes on what was asked for in so many words, and the gates do not allow."""
    silent: dict[str, list[str]] = {}
    for pair, choice in inputs.chosen.items():
        if choice.asked and pair in failing and choice.how != Off():
            silent.setdefault(choice.asked, []).append(".".join(pair))
    return [f"{asked}: no calls, for want of support: {named(p)}" for asked, p in silent.items()]


def _quotas(inputs: Inputs, passing: Mapping[Pair, Support]) -> dict[Pair, Quota]:
    wanted = {
        pair: (choice, passing[pair])
        for pair, choice in inputs.chosen.items()
        if isinstance(choice.how, BestWorks) and pair in passing
    }
    if not wanted:
        return {}
    assert inputs.scored is not None
    return find_quotas(inputs.scored, wanted)


def _thresholds(
    inputs: Inputs, passing: Mapping[Pair, Support], notes: list[str]
) -> tuple[dict[Pair, Threshold], dict[Pair, Figure]]:
    wanted = {
        pair: choice.how
        for pair, choice in inputs.chosen.items()
        if isinstance(choice.how, Fit) and pair in passing
    }
    found: dict[Pair, Threshold] = {}
    figures: dict[Pair, Figure] = {}
    if not wanted:
        return found, figures
    examples, where = inputs.examples(), inputs.scores_of_sample
    notes += examples.note(where)
    if inputs.learned_from():
        notes.append(
            f"{inputs.model_version} learned from these very labels: its scores of them are too "
            "good, and thresholds come out too high. Use --out-of-fold FILE."
        )
    for pair, how in wanted.items():
        found[pair], figures[pair] = fit_threshold(
            how,
            examples.of(inputs.teachers, *pair),
            passing[pair],
            where=str(where),
            name=".".join(pair),
        )
    return found, figures


def _plain(
    inputs: Inputs,
    pair: Pair,
    backing: Support | None,
    passing: Mapping[Pair, Support],
    notes: list[str],
) -> Entry:
    """Return an entry that needs no fitting: silent, set by hand, or kept as it is."""
    choice, kept, name = inputs.chosen[pair], inputs.kept(pair), ".".join(pair)
    if isinstance(kept, Direct) or backing is None:
        return kept if isinstance(kept, Direct) else Silent(reason="unavailable")
    if choice.how == Off() or (isinstance(kept, Silent) and kept.reason == "off"):
        return Silent(reason="off", support=backing)
    if pair not in passing:
        return Silent(reason="support", support=backing)
    if isinstance(choice.how, ByHand):
        return Threshold(value=choice.how.value, support=backing)
    if isinstance(kept, Threshold | Quota):
        return kept.model_copy(update={"support": backing})
    notes.append(f"{name}: has the support now, but no threshold; give it one: --for {name}=HOW")
    return Silent(reason="off", support=backing)
