"""`scorer report`: a site of pages about a scored file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import Bundles, Json, Mapping, Quiet, pairs
from scorer.counted import counted
from scorer.errors import INTERRUPTED

if TYPE_CHECKING:
    from scorer.report.site import Site


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer report frame.scored.parquet --frame frame.parquet -o site")(
        report
    )


def report(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A scored file; its manifest lies beside it.")
    ],
    frame: Annotated[
        str,
        typer.Option(
            metavar="FRAME", help="The frame that was scored, for titles and the like; any format."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="A new or empty folder.")
    ],
    top: Annotated[
        int,
        typer.Option(metavar="N", help="So many works of each category get a page of their own."),
    ] = 50,
    listed: Annotated[
        int, typer.Option("--list", metavar="N", help="Works of the review queue.")
    ] = 10_000,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Each work's page tells which n-grams moved its scores."),
    ] = False,
    mapping: Mapping = None,
    model: Bundles = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a site that lies there already.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make a site of a scored file: overview, review queue, pages of works, method, manifest.

    A folder of pages in English and French that needs no server and asks for nothing elsewhere.
    """
    columns = pairs(mapping or [], "--map")

    from scorer.cli.tables import shown_progress
    from scorer.report.site import build
    from scorer.report.site_facts import SiteRequest

    request = SiteRequest(
        scores=scores,
        frame=frame,
        output=output,
        top=top,
        listed=listed,
        mapping=columns,
        models=model or [],
        explain=explain,
        overwrite=overwrite,
    )
    try:
        with shown_progress("reporting", quiet=quiet) as progress:
            site = build(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json:
        typer.echo(_as_json(site))
    elif not quiet:
        _show(site)


def _as_json(site: "Site") -> str:
    import json
    from dataclasses import asdict

    return json.dumps(asdict(site), indent=2, ensure_ascii=False, default=str)


def _show(site: "Site") -> None:
    from scorer.cli.tables import status_line

    typer.echo(
        f"{site.folder}/index.html: {site.listed:,} of {counted(site.works, 'work')} listed, "
        f"{site.pages:,} with a page, {site.bytes / 1e6:,.1f} MB."
    )
    if site.missing:
        lacks = counted(site.missing, "work")
        typer.echo(f"The frame lacks {lacks}: is it the one that was scored?")
    typer.echo(status_line())
