"""`scorer thresholds` itself: what decides the calls."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scorer.cli.options import Json, Model, Overwrite, PolicyFile
from scorer.cli.thresholds.decisions import show_decisions
from scorer.counted import counted
from scorer.errors import UsageError
from scorer.student import DEFAULT_MODEL

if TYPE_CHECKING:
    from scorer.policy.words import TargetRule

_FEWEST_FOR_MAJORITY: Final = 3


class Combination(StrEnum):
    """The ways in which heads combine."""

    candidate = "candidate"
    consensus = "consensus"
    majority = "majority"


def thresholds(
    context: typer.Context,
    mode: Annotated[
        Combination | None,
        typer.Option(
            help="Adds the rule of each target in words; majority: of three heads or more."
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORED", help="A scored file: adds how many of its works the policy calls."
        ),
    ] = None,
    model: Model = DEFAULT_MODEL,
    policy: PolicyFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the policy there.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show what decides each call: thresholds, support, and why a head is silent."""
    if context.invoked_subcommand is not None:
        _check_nothing_given(context)
        return
    import json as json_text

    from scorer.decide.called import count_calls
    from scorer.decide.place import free_place
    from scorer.engine.decision import bundle_policy, read_policy
    from scorer.engine.files import told, write_atomically
    from scorer.policy.words import rules
    from scorer.status import STAMP
    from scorer.student.folder import find_bundle, load_manifest

    folder = find_bundle(model)
    manifest = load_manifest(folder)
    decided = read_policy(policy, manifest.targets) if policy else bundle_policy(folder, manifest)
    chosen = mode.value if mode else None
    _check_majority(mode, manifest.targets.head_names)
    if output is not None:
        output = free_place(output, [policy, scores], overwrite=overwrite)
    shown = rules(decided, manifest.targets, chosen)
    works, counts = 0, None
    if scores is not None:
        works, counts = count_calls(
            scores, manifest.version, manifest.targets, decided, mode.value if mode else "both"
        )
    if output is not None:
        with told(output):
            write_atomically(output, decided.to_json().encode())
    if json:
        report = {
            "model_version": manifest.version,
            "policy_version": decided.version,
            "prediction_status": STAMP,
            "mode": chosen,
            "rules": {rule.target: rule.words for rule in shown} if chosen else None,
            "works": works if counts else None,
            "calls": counts,
            "policy": decided.model_dump(mode="json"),
        }
        typer.echo(json_text.dumps(report, indent=2, ensure_ascii=False))
        return
    show_decisions(shown, manifest.targets.head_names, decided.gates)
    if chosen or counts:
        _show_rules(shown, chosen, works, counts)
    typer.echo(f"Policy {decided.version} of {manifest.version}.")
    if output is not None:
        typer.echo(f"Written to {output}.")


def _check_nothing_given(context: typer.Context) -> None:
    """Raise `UsageError` for an option before a command below, where it would mean nothing."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"--{name} stands before {context.invoked_subcommand}.\n"
                f"Put it after: scorer thresholds {context.invoked_subcommand} --{name} ..."
            )


def _check_majority(mode: Combination | None, heads: list[str]) -> None:
    if mode is Combination.majority and len(heads) < _FEWEST_FOR_MAJORITY:
        raise UsageError(
            f"mode majority: needs three heads or more, the student has {len(heads)}.\n"
            "With two, more than half is both: --mode consensus."
        )


def _show_rules(
    rules: "list[TargetRule]",
    mode: str | None,
    works: int,
    counts: dict[str, dict[str, int]] | None,
) -> None:
    from scorer.cli.tables import console, share, status_line, table

    words = [f"{mode} where"] if mode else []
    kinds = ([mode] if mode else ["candidate", "consensus"]) if counts else []
    columns = [name for kind in kinds for name in (f"{kind} works", "share")]
    shown = table("target", *words, *columns, numbers_from=1 + len(words))
    for rule in rules:
        called = [
            text
            for kind in kinds
            if counts
            for number in [counts[rule.target][kind]]
            for text in (f"{number:,}", share(number, works))
        ]
        shown.add_row(rule.label, *([rule.words] if mode else []), *called)
    console().print(shown)
    if counts:
        typer.echo(f"Calls among {counted(works, 'work')}; counts of calls are no prevalence.")
        typer.echo(status_line())
