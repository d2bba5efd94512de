"""`scorer inspect`: what is there, before it is scored."""

import typer

from scorer.cli.options import (
    Frame,
    Json,
    Limit,
    Mapping,
    Model,
    Quiet,
    pairs,
)
from scorer.errors import INTERRUPTED
from scorer.student import DEFAULT_MODEL


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer inspect works.csv.gz --map title=Titre")(inspect)


def inspect(
    frame: Frame,
    model: Model = DEFAULT_MODEL,
    mapping: Mapping = None,
    limit: Limit = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show what works there are: columns, languages, years, odd titles and ids, time to score.

    Reads any format that scorer run reads, writes nothing, and skips records that it cannot read.
    """
    mapped = pairs(mapping or [], "--map")
    import pyarrow as pa

    from scorer.cli.survey import show
    from scorer.cli.tables import as_json, shown_progress
    from scorer.engine.survey import SurveyRequest, survey

    request = SurveyRequest(frame=frame, model=model, mapping=mapped, limit=limit)
    pa.set_memory_pool(pa.system_memory_pool())  # it peaks lower, see scorer run
    try:
        with shown_progress("looking", quiet=quiet) as progress:
            found = survey(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json:
        typer.echo(as_json(found))
    else:
        show(found)
