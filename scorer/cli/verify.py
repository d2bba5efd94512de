"""`scorer verify`: check a scored file."""

from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer verify frame.scored.parquet")(verify)


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A scored file; its manifest lies beside it.")
    ],
    json: Json = False,
) -> None:
    """Check a scored file against its manifest and its own scores.

    Hash, rows, ids, stamp, scores, sets of calls; every call derived anew.
    Ends with exit code 3 where anything is off.
    """
    import json as json_text

    from scorer.cli.tables import status_line
    from scorer.engine.verify import verify as verify_file
    from scorer.errors import InputError

    checks = verify_file(file)
    failed = [check for check in checks if check.offending]
    if json:
        report = [
            {"check": c.name, "passed": not c.offending, "found": c.offending} for c in checks
        ]
        typer.echo(json_text.dumps({"file": str(file), "checks": report}, indent=2))
    else:
        for check in checks:
            typer.echo(f"{'failed' if check.offending else 'passed'}  {check.name}")
            for line in check.offending:
                typer.echo(f"        {line}")
        if not failed:
            typer.echo(status_line())
    if failed:
        raise typer.Exit(InputError.exit_code)
