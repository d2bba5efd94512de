"""`scorer fetch`: works from OpenAlex's API."""

from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import Overwrite, Quiet


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer fetch W2741809807 10.7717/peerj.4375 -o works.parquet")(
        fetch
    )


def fetch(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The frame to write (Parquet).")
    ],
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="OpenAlex ids (W…), DOIs, or addresses of either."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Works that OpenAlex finds for these words, best first."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --search: so many works at most.")
    ] = 200,
    mail: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Your mail address: OpenAlex serves those who say it better."
        ),
    ] = None,
    api_url: Annotated[
        str, typer.Option(metavar="URL", help="Another address of the API, a mirror or a test's.")
    ] = "https://api.openalex.org",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Fetch works from OpenAlex by id, DOI or search, and write them as a frame.

    Each work once, its abstract as running text; the file is whole or not there.
    Ends with exit code 3 where a work was not found; the others are written all the same.
    """
    from scorer.errors import InputError
    from scorer.frame import fetch as library

    library.check_output(output, overwrite=overwrite)
    if mail is None and not quiet:
        typer.echo("Note: with --mail ADDRESS, OpenAlex answers faster and more surely.", err=True)
    request = library.FetchRequest(
        ids=ids or [], search=search, limit=limit, mail=mail, api=api_url
    )
    fetched = library.fetch(request)
    for asked, now in fetched.moved:
        typer.echo(f"Note: {asked} was merged into {now}.", err=True)
    if fetched.works.height or not fetched.missing:
        library.write(fetched.works, output)
        if not quiet:
            typer.echo(f"{output}: works: {fetched.works.height:,}")
    if fetched.missing:
        wrote = "The others were written." if fetched.works.height else "Nothing was written."
        raise InputError(f"OpenAlex knows no {', '.join(fetched.missing)}. {wrote}\nCheck the ids.")
