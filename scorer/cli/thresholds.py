"""`scorer thresholds`: what decides the calls."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import DEFAULT_MODEL, Json, Model, PolicyFile

if TYPE_CHECKING:
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
        typer.Option(help="A scored file: adds how many of its works the policy calls."),
    ] = None,
    model: Model = DEFAULT_MODEL,
    policy: PolicyFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the policy to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what decides each call: thresholds, support, and why a head is silent."""
    import json as json_text

    from scorer.engine.files import told, write_atomically
    from scorer.engine.job import load_policy
    from scorer.engine.recount import count_calls
    from scorer.policy.words import rules
    from scorer.student.bundle import find_bundle, load_manifest

    folder = find_bundle(model)
    manifest = load_manifest(folder)
    decided = load_policy(policy, folder, manifest.targets)
    chosen = mode.value if mode else None
    shown = rules(decided, manifest.targets, chosen)
    works, counts = 0, None
    if scores is not None:
        works, counts = count_calls(scores, manifest.version, manifest.targets, decided)
    if output is not None:
        with told(output):
            write_atomically(output, decided.to_json().encode())
    if json:
        report = {
            "model_version": manifest.version,
            "policy_version": decided.version,
            "mode": chosen,
            "rules": {rule.target: rule.words for rule in shown} if mode else None,
            "works": works if counts else None,
            "calls": counts,
            "policy": decided.model_dump(mode="json"),
        }
        typer.echo(json_text.dumps(report, indent=2, ensure_ascii=False))
        return
    _show(shown, manifest.targets.head_names, chosen, works, counts)
    typer.echo(f"Policy {decided.version} of {manifest.version}.")
    if output is not None:
        typer.echo(f"Written to {output}.")


def _show(
    rules: "list[TargetRule]",
    heads: list[str],
    mode: str | None,
    works: int,
    counts: dict[str, dict[str, int]] | None,
) -> None:
    from scorer.cli.tables import console, share, status_line, table

    columns = [name for head in heads for name in (head, "support")]
    extra = [f"{mode}: called when"] if mode else []
    kinds = ([mode] if mode else ["candidate", "consensus"]) if counts else []
    shown = table("target", *columns, *extra, *kinds, numbers_from=1 + len(columns) + len(extra))
    for rule in rules:
        cells = [text for head in heads for text in (rule.decisions[head], rule.support[head])]
        called = [
            f"{counts[rule.target][kind]:,} ({share(counts[rule.target][kind], works)})"
            for kind in kinds
            if counts
        ]
        shown.add_row(rule.label, *cells, *([rule.words] if mode else []), *called)
    screen = console()
    screen.print(shown)
    screen.print("ESS: effective sample size of the positives, from the design weights.")
    if counts:
        screen.print(f"Calls among {works:,} works; counts of calls are no prevalence.")
        screen.print(status_line())
