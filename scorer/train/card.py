"""The model card: what a bundle is, what it was made of, how good it is, what it must not be."""

from typing import Any, Final

import scorer
from scorer.policy.policy import Policy, Silent, Threshold
from scorer.status import STAMP
from scorer.targets import Targets
from scorer.train.trained import Trained, TrainRequest

_SILENCE: Final = {
    "support": "none: support",
    "unavailable": "none: unavailable",
    "off": "none: off",
}


def write_card(request: TrainRequest, trained: Trained) -> str:
    """Return the card in Markdown."""
    name, targets, settings = request.bundle_name(), trained.targets, trained.settings
    policy, metrics, training = trained.policy, trained.metrics, trained.training
    heads = ", ".join(f"`{head}`" for head in targets.head_names)
    weights = "design weights" if trained.weighted else "no design weights (each work counts 1)"
    gates = policy.gates
    return f"""# {name}

A small student that imitates the labels of {len(targets.heads)} teacher(s): {heads}. It reads
{", ".join(settings.fields())} of a work and gives each target a score that **ranks works for human
review**. Every row it scores is stamped `{STAMP}`.

## What it learned from

- {training.rows:,} works, {weights}. Source: {training.source}.
- Licence of the labels: {training.licence}. Attribution: {training.attribution}.
- sha256 of the label file(s): `{training.sha256}`.
- The labels are those of large language models: noisy, sometimes wrong, never corrected here.
- A work that a teacher marked `insufficient_payload` is unknown, not negative, for that head's
  other targets.

## How it was made

    {_command(request)}

scorer {scorer.__version__}. Presence of {settings.ngrams:,} n-grams; one logistic regression a
head and target (C = {request.recipe.regularisation:g}, class-balanced, no design weights in the
loss), one multinomial a head and axis. Weights are rounded to integers (one unit is
{settings.logit_unit:g} on the logit scale), which makes every score exact; it cost
{metrics["quantisation_cost"]:+.4f} of mean average precision.

## How well it imitates

Out of fold: five folds ({request.recipe.folds} here) that keep venues whole, so that each work is
scored by heads that saw neither it nor its venue. These figures compare with the teachers' labels,
not with the truth.

- Mean average precision over the {metrics["pairs_with_enough_positives"]} head and target pairs
  with 20 positives or more: **{metrics["mean_average_precision"]:.3f}**
  (design-weighted {metrics["mean_average_precision_weighted"]:.3f}); without
  `insufficient_payload`: {metrics["mean_average_precision_without_insufficient_payload"]:.3f}.
- Mean AUROC: {metrics["mean_auroc"]:.3f} (design-weighted {metrics["mean_auroc_weighted"]:.3f}).

AP: average precision; P, R, F: precision, recall and F-{request.recipe.beta:g} at the threshold;
w: design-weighted. The threshold was chosen on these same out-of-fold scores, so P, R and F are a
little too kind; AP and AUROC are not touched by that.

{_table(targets, policy, metrics)}

## Who makes calls

A head calls a target only with {gates.min_pos} positives and an effective sample size of
{gates.min_ess:g} or more. Below that its entry says `none: support`, and its scores only rank.
A target with one class in the labels has no fitted head: `none: unavailable`, score 0.

## Limits

- It imitates models that read more than a title; where a title says little, so do its scores.
- Scores are no probabilities. Counts of calls are no prevalence.
- It knows the words, venues and topics of its sample; frames of another time, language or field
  are further from it than these figures tell.
- Human validation is pending.
"""


def _command(request: TrainRequest) -> str:
    if request.labels is not None:
        words = ["scorer train", request.labels.name]
    else:
        words = ["scorer train --sample", request.sample.name if request.sample else ""]
        words += [f"--head {head}={path.name}" for head, path in request.heads.items()]
    words += ["-o", request.bundle_name()]
    for option in ("source", "licence", "attribution"):
        words.append(f'--{option} "{getattr(request, option)}"')
    if request.recipe.ngrams != type(request.recipe)().ngrams:
        words.append(f"--ngrams {request.recipe.ngrams}")
    return " ".join(words)


def _table(targets: Targets, policy: Policy, metrics: dict[str, Any]) -> str:
    lines = [
        "| head | target | positives | ESS | AP | AP w | AUROC | AUROC w | threshold | P | R | F "
        "| P w | R w | F w |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for head in targets.head_names:
        for target in targets.binary_names:
            found = metrics["out_of_fold"].get(f"{head}/{target}")
            entry = policy.entry(head, target)
            decides = _said(entry)
            if found is None:
                lines.append(f"| {head} | {target} | | | | | | | {decides} | | | | | | |")
                continue
            figures = [
                f"{found[name + suffix]:.3f}"
                for names in (("average_precision", "auroc"),)
                for name in names
                for suffix in ("", "_weighted")
            ]
            calls = [
                f"{found[name + suffix]:.3f}"
                for suffix in ("", "_weighted")
                for name in ("precision", "recall", "fbeta")
            ]
            cells = [
                head,
                target,
                str(found["n_pos"]),
                f"{found['ess_pos']:.1f}",
                *figures,
                decides,
                *calls,
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _said(entry: object) -> str:
    match entry:
        case Threshold(value=value):
            return f"{value:.3f}"
        case Silent(reason=reason):
            return _SILENCE[reason]
        case _:
            return "quota"
