"""`scorer thresholds diff`: which works two policies call differently."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import Json, Overwrite
from scorer.counted import counted

if TYPE_CHECKING:
    from scorer.decide.diff import Difference


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command(
        epilog="Example: scorer thresholds diff old.json new.json --scores frame.scored.parquet "
        "-o changed.parquet"
    )(diff)


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A policy file.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The policy that would replace it.")],
    scores: Annotated[
        Path, typer.Option(metavar="SCORED", help="The scored file whose works are called.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Parquet: a row for each work, target and kind that change.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Compare two policies over a scored file: which works change, by target.

    Kinds are the heads, candidate and consensus; added: B calls it alone, dropped: A does.
    """
    from scorer.decide.diff import diff as compare
    from scorer.decide.place import free_place

    place = None
    if output is not None:
        place = free_place(output, [before, after, scores], overwrite=overwrite)
    found = compare(before, after, scores, place)
    if json:
        _print_json(found)
    else:
        _show(found, output)


def _show(found: "Difference", output: Path | None) -> None:
    from scorer.cli.tables import console, status_line, table

    shown = table("calls of both −dropped +added", *found.kinds)
    for target in found.targets.binary:
        changes = found.changes[target.name]
        shown.add_row(
            target.label.en,
            *(
                f"{c.both:,} −{c.dropped:,} +{c.added:,}" if c.dropped or c.added else f"{c.both:,}"
                for c in (changes[kind] for kind in found.kinds)
            ),
        )
    console().print(shown)
    typer.echo(
        f"From policy {found.before.version} to {found.after.version} "
        f"among {counted(found.works, 'work')}; counts of calls are no prevalence."
    )
    if output is not None:
        typer.echo(f"The works are listed in {output}.")
    typer.echo(status_line())


def _print_json(found: "Difference") -> None:
    import json as json_text
    from dataclasses import asdict

    from scorer.status import STAMP

    report = {
        "model_version": found.model_version,
        "before": found.before.version,
        "after": found.after.version,
        "prediction_status": STAMP,
        "works": found.works,
        "changes": {
            target: {kind: asdict(change) for kind, change in changes.items()}
            for target, changes in found.changes.items()
        },
    }
    typer.echo(json_text.dumps(report, indent=2, ensure_ascii=False))
