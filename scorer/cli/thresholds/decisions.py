"""The table of what each head's entry for a target decides."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from scorer.policy.policy import Gates
    from scorer.policy.words import TargetRule


def show_decisions(
    rules: "list[TargetRule]",
    heads: list[str],
    gates: "Gates",
    reached: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Print a row a target; `reached`: (head, target) -> what a fitted threshold comes to."""
    from scorer.cli.tables import console, table

    more = ["reaches"] if reached else []
    shown = table("target", *(name for head in heads for name in (head, *more, "pos.", "ESS")))
    for rule in rules:
        cells = []
        for head in heads:
            figure = [reached.get((head, rule.target), "")] if reached else []
            cells += [rule.decisions[head], *figure, rule.positives[head], rule.effective[head]]
        shown.add_row(rule.label, *cells)
    console().print(shown)
    who = "A head needs" if gates.scope == "head" else "Every head of a target needs"
    typer.echo(
        "pos.: works of the sample that the teacher said yes to; ESS: their effective number.\n"
        f"{who} {gates.min_pos} positives and an ESS of {gates.min_ess:g} to make calls; "
        "without, its scores only rank."
    )
