"""`scorer thresholds`: what decides the calls; how to fit it, compare it, and choose a point."""

import typer

from scorer.cli.thresholds import curve, diff, fit, show


def register(app: typer.Typer) -> None:
    """Add the command and the commands below it."""
    group = typer.Typer(
        name="thresholds",
        invoke_without_command=True,
        subcommand_metavar="[COMMAND [ARGS]...]",
        epilog="Example: scorer thresholds --mode consensus --scores frame.scored.parquet",
        callback=show.thresholds,
    )
    fit.register(group)
    diff.register(group)
    curve.register(group)
    app.add_typer(group)
