"""The model card: what a bundle is, what it was made of, how good it is, what it must not be."""

import shlex
from collections.abc import Sequence
from typing import Any

from scorer.policy.fit import ENOUGH_POSITIVES
from scorer.policy.policy import Policy
from scorer.policy.words import decision
from scorer.status import STAMP
from scorer.student.manifest import Encoding, Maturity, Search
from scorer.targets import Targets
from scorer.train.calibrate_card import calibration_section
from scorer.train.card_made import encoder_words, how_made
from scorer.train.fit import Recipe
from scorer.train.maturity import NAMES, Criteria, option_name, shown, standings
from scorer.train.search import described
from scorer.train.search_criterion import ERRORS, SAID
from scorer.train.trained import SOFT_WEIGHT, EncoderRequest, SearchRequest, Trained, TrainRequest


def write_card(request: TrainRequest, trained: Trained) -> str:
    """Return the card in Markdown."""
    name, targets, settings = request.bundle_name(), trained.targets, trained.settings
    policy, metrics, training = trained.policy, trained.metrics, trained.training
    heads = " and ".join(f"`{head}`" for head in targets.head_names)
    weights = "with design weights" if trained.weighted else "without design weights"
    gates, recipe = policy.gates, trained.recipe
    calibration = calibration_section(metrics, weights)
    without_payload = metrics["mean_average_precision_without_insufficient_payload"]
    return f"""# {name}

A small student that imitates its teachers, {heads}. It reads these fields of a work:
{_listed(settings)}. It gives each target a score that **ranks works
for human review**. Every row that it scores is stamped `{STAMP}`.

## What it learned from

- {training.rows:,} works, {weights}: {training.source}.
- Licence of the labels: {training.licence}. Attribution: {training.attribution}.
- sha256 of the label file: `{training.sha256}`.
- The labels are those of large language models: noisy, sometimes wrong, never corrected here.
- A work that a teacher marked `insufficient_payload` is unknown, not negative, for that head's
  other targets.

## How it was made

```sh
{_command(request, trained)}
```

{how_made(trained)}

{_search(training.search, recipe)}## How well it imitates

Out of fold: {recipe.folds} folds keep venues whole, so that each work is scored by heads that saw
neither it nor its venue. These figures compare with the teachers' labels, not with the truth.

| mean over head and target pairs with 20 positives or more | plain | design-weighted |
|---|--:|--:|
| average precision ({metrics["pairs_with_enough_positives"]} pairs) | \
**{_figure(metrics["mean_average_precision"])}** | \
{_figure(metrics["mean_average_precision_weighted"])} |
| the same without `insufficient_payload` | \
{_figure(without_payload)} | |
| AUROC | {_figure(metrics["mean_auroc"])} | {_figure(metrics["mean_auroc_weighted"])} |

In the table: AP is average precision; P, R, F are precision, recall and F-{recipe.beta:g} at the
threshold; w means design-weighted. Thresholds were chosen on these same out-of-fold scores, so P, R
and F are a little too kind. For a silent head they are those of the threshold it would have.

{_table(targets, policy, metrics)}

{_axes(metrics)}{calibration}{_rounds(trained.maturity, recipe.seed)}## Who makes calls

A head calls a target only with {gates.min_pos} positives and an effective sample size (ESS) of
{gates.min_ess:g} or more. Below that its entry says `none: support`, and its scores only rank.
A target with one class in the labels has no fitted head: `none: unavailable`, score 0.

## Limits

- Where a title says little, so do its scores{_fields_beside_texts(settings, trained.lacking)}
- Scores are no probabilities. Counts of calls are no prevalence.
- It knows the words, venues and topics of its sample; frames of another time, language or field
  are further from it than these figures tell.
- Human validation is pending.
"""


def _listed(settings: Encoding) -> str:
    return ", ".join(settings.fields())


def _fields_beside_texts(settings: Encoding, lacking: Sequence[str]) -> str:
    """Tell what else than texts and years it learned from, and what it could not learn from."""
    fields = [name for name in ("venue", "topic", "field", "type") if name in settings.fields()]
    learned = [name for name in fields if name not in lacking]
    told = f"; without {_enumerated(learned)} it scores worse." if learned else "."
    if lacking:
        told += f"\n- Its labels had no {_enumerated(lacking, 'or')}: it learned nothing from that."
    return told


def _enumerated(names: Sequence[str], word: str = "and") -> str:
    *more, last = names
    return f"{', '.join(more)} {word} {last}" if more else last


def _figure(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.4f}"


def _search(done: Search | None, recipe: Recipe) -> str:
    """Return the section on the search, for a recipe that was searched for."""
    if done is None:
        return ""
    compared = "1 recipe" if done.trials == 1 else f"{done.trials} recipes"
    when = (
        f"after {done.trials} of {done.planned} trials"
        if done.trials < done.planned
        else "before C was chosen for each head and target"
    )
    cut = f" Its budget ended it {when}." * done.cut_by_budget
    # On the shared labels this cost about as much as the choices themselves: average precision was
    # 0.636 pooled, 0.645 on average by one of the chosen recipes in all folds, 0.655 as usual.
    apart = any(found != done.chosen_in_folds[0] for found in done.chosen_in_folds)
    scales = (
        "\nThe folds chose different recipes, whose scores are not on one scale: that lowers\n"
        "figures over all folds together, and makes the thresholds found on them less exact."
    ) * apart
    chosen = "\n".join(
        f"| {name} | {described(settings)} |"
        for name, settings in (
            ("this bundle", done.chosen),
            *((f"fold {n}", found) for n, found in enumerate(done.chosen_in_folds, start=1)),
        )
    )
    return f"""## How the recipe was chosen

A search (seed {recipe.seed}) compared {compared} by
{SAID[done.criterion]}: the mean over head and
target pairs with {ENOUGH_POSITIVES} positives or more. Each of the {recipe.folds} folds below
chose its own by {done.inner_folds} inner folds of the works that it learns from, venues whole: the
works that it scores took no part in the choice. This bundle's recipe was chosen by inner folds of
all works. A recipe takes the place of the usual one where its gain is more than {ERRORS:g} times
the gain's standard error over these pairs. The figures below are those of the outer folds
alone.{cut}{scales}

| | what differs from the usual recipe |
|---|---|
{chosen}

"""


def _command(request: TrainRequest, trained: Trained) -> str:
    """Return the command that makes this bundle again, its files without their folders."""
    words = ["scorer", "train"]
    if request.labels is not None:
        words.append(request.labels.name)
    elif request.sample is not None:
        words += ["--sample", request.sample.name]
        for head, path in request.heads.items():
            words += ["--head", f"{head}={path.name}"]
    words += ["-o", request.bundle_name()]
    for option in ("source", "licence", "attribution"):
        words += [f"--{option}", getattr(request, option)]
    usual = Recipe()
    for option in ("ngrams", "beta", "min_pos", "min_ess", "seed"):
        value = getattr(request.recipe, option)
        kept = request.search is not None and option in request.search.fixed
        if kept or value != getattr(usual, option):
            words += ["--" + option.replace("_", "-"), f"{value:.15g}"]
    if request.encoder is not None:
        words += encoder_words(request.encoder)
    if request.search is not None:
        words += _search_words(request.search, request.encoder, trained.training.search)
    if request.calibrate is not None:
        words += ["--calibrate", request.calibrate]
    if request.rounds is not None:
        words += ["--rounds-state", request.rounds.state.name]
        for name, limit in trained.maturity.criteria.items():
            if limit != getattr(Criteria(), name):
                words += ["--" + option_name(name), f"{limit:.15g}"]
    return shlex.join(words)


def _search_words(
    asked: SearchRequest, encoder: EncoderRequest | None, done: Search | None
) -> list[str]:
    """Return the options of a search; a budget that did not cut it short changed nothing."""
    usual = SearchRequest()
    words = ["--search"]
    if asked.trials != usual.trials:
        words += ["--trials", str(asked.trials)]
    if asked.criterion != usual.criterion:
        words += ["--criterion", asked.criterion]
    if "soft_weight" in asked.fixed and encoder is not None and encoder.soft_weight == SOFT_WEIGHT:
        words += ["--soft-weight", f"{SOFT_WEIGHT:g}"]  # the usual one, but not to be varied
    if asked.budget is not None and done is not None and done.cut_by_budget:
        words += ["--budget", f"{asked.budget:g}"]
    return words


def _table(targets: Targets, policy: Policy, metrics: dict[str, Any]) -> str:
    rows = [
        _row(head, target, policy, metrics["out_of_fold"].get(f"{head}/{target}"))
        for head in targets.head_names
        for target in targets.binary_names
    ]
    head = "| head | target | positives | ESS | AP | AP w | AUROC | AUROC w | threshold "
    head += "| P | R | F | P w | R w | F w |"
    return "\n".join([head, "|---|---|" + "--:|" * 13, *rows])


def _row(head: str, target: str, policy: Policy, found: dict[str, Any] | None) -> str:
    decides = decision(policy.entry(head, target))
    if found is None:
        return f"| {head} | {target} | | | | | | | {decides} | | | | | | |"
    ranking = [f"{m}{w}" for m in ("average_precision", "auroc") for w in ("", "_weighted")]
    calling = [f"{m}{w}" for w in ("", "_weighted") for m in ("precision", "recall", "fbeta")]
    cells = [head, target, str(found["n_pos"]), f"{found['ess_pos']:.1f}"]
    cells += [f"{found[name]:.3f}" for name in ranking]
    cells.append(decides)
    cells += [f"{found[name]:.3f}" for name in calling]
    return "| " + " | ".join(cells) + " |"


def _axes(metrics: dict[str, Any]) -> str:
    if not metrics["axes"]:
        return ""
    rows = [
        f"| {pair.replace('/', ' | ')} | {found['n']:,} | {found['accuracy']:.3f} "
        f"| {found['accuracy_weighted']:.3f} | {found['macro_f1']:.3f} |"
        for pair, found in metrics["axes"].items()
    ]
    head = "| head | axis | works | accuracy | accuracy w | macro F1 |"
    return "\n".join([head, "|---|---|" + "--:|" * 4, *rows, "", ""])


def _rounds(maturity: Maturity, seed: int) -> str:
    """Return the section on rounds, for a student that was trained in them."""
    if not maturity.history:
        return ""
    criteria, last = Criteria.model_validate(maturity.criteria), maturity.history[-1]
    verdict = "has passed" if maturity.passed else "has not passed"
    rounds = [
        f"| {done.number} | {done.works:,} | {done.average_precision:.4f} | {shown(done.churn)} "
        f"| {shown(done.spearman)} |"
        for done in maturity.history
    ]
    stand = [
        f"| {NAMES[found.name]} | {found.limit} | {found.figure} "
        f"| {'yes' if found.holds else 'no'} |"
        for found in standings(maturity.history, criteria)
    ]
    said = f"""## Rounds

The maturity gate **{verdict}**: {maturity.note}.
Before it has passed, no head makes calls, whatever its threshold.

Held out of every round, to measure it: {last.held_out:,} works of whole venues, chosen by
seed {seed}. Average precision is that of the heads' mean score against their majority, the mean
over {last.targets} targets; churn is the share of the positive set that changed since the round
before; rank correlation is Spearman's, of the scores with those of the round before."""
    table = ["| round | learned from | average precision | churn | rank correlation |"]
    table += ["|" + "--:|" * 5, *rounds, ""]
    table += ["| criterion | limit | last figures | holds |", "|---|---|---|---|", *stand]
    return "\n".join([said, "", *table, "", ""])
