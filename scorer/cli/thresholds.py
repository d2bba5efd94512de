"""`scorer thresholds`: what decides the calls."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import Json, Model, Overwrite, PolicyFile
from scorer.student import DEFAULT_MODEL

if TYPE_CHECKING:
    from scorer.policy.policy import Gates
    from scorer.policy.words import TargetRule


class Combination(StrEnum):
    """The two ways in which heads combine."""

    candidate = "candidate"
    consensus = "consensus"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer thresholds --mode consensus --scores frame.scored.parquet")(
        thresholds
    )


def thresholds(
    mode: Annotated[
        Combination | None, typer.Option(help="Adds the rule of each target in words.")
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
    import json as json_text

    from scorer.engine.decision import bundle_policy, read_policy
    from scorer.engine.files import told, write_atomically
    from scorer.engine.recount import count_calls
    from scorer.errors import OutputError
    from scorer.policy.words import rules
    from scorer.status import STAMP
    from scorer.student.bundle import find_bundle, load_manifest

    folder = find_bundle(model)
    manifest = load_manifest(folder)
    decided = read_policy(policy, manifest.targets) if policy else bundle_policy(folder, manifest)
    chosen = mode.value if mode else None
    shown = rules(decided, manifest.targets, chosen)
    works, counts = 0, None
    if scores is not None:
        works, counts = count_calls(scores, manifest.version, manifest.targets, decided)
    if output is not None:
        if output.exists() and not overwrite:
            raise OutputError(f"{output}: exists already. Choose another -o, or say --overwrite.")
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
    _show_decisions(shown, manifest.targets.head_names, decided.gates)
    if chosen or counts:
        _show_rules(shown, chosen, works, counts)
    typer.echo(f"Policy {decided.version} of {manifest.version}.")
    if output is not None:
        typer.echo(f"Written to {output}.")


def _show_decisions(rules: "list[TargetRule]", heads: list[str], gates: "Gates") -> None:
    from scorer.cli.tables import console, table

    shown = table("target", *(name for head in heads for name in (head, "pos.", "ESS")))
    for rule in rules:
        cells = [
            text
            for head in heads
            for text in (rule.decisions[head], rule.positives[head], rule.effective[head])
        ]
        shown.add_row(rule.label, *cells)
    console().print(shown)
    typer.echo(
        "pos.: works of the sample that the teacher said yes to; ESS: their effective number.\n"
        f"A head needs {gates.min_pos} positives and an ESS of {gates.min_ess:g} to make calls; "
        "without, its scores only rank."
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
        typer.echo(f"Calls among {works:,} works; counts of calls are no prevalence.")
        typer.echo(status_line())
