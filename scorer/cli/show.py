"""`scorer show`: the page of one work, in the terminal, as HTML or as JSON."""

from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import (
    Bundles,
    Json,
    LanguageName,
    Mapping,
    Overwrite,
    Quiet,
    RecordFrame,
    ShownLanguage,
    WorkId,
    pairs,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer show W2741809807 --scores frame.scored.parquet --lang fr")(
        show
    )


def show(
    work: WorkId,
    scores: Annotated[
        Path,
        typer.Option(metavar="SCORED", help="A scored file; its manifest lies beside it."),
    ],
    frame: RecordFrame = None,
    mapping: Mapping = None,
    lang: ShownLanguage = LanguageName.en,
    baseline_scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORED", help="A scored file of a student whose maturity gate has not passed."
        ),
    ] = None,
    model: Bundles = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page there instead.")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show one work: its record, its scores, and how its classification was reached."""
    from scorer.cli.tables import console, shown_progress
    from scorer.decide.place import free_place
    from scorer.engine.files import told, write_atomically
    from scorer.report.html import work_html
    from scorer.report.language import Language, Texts
    from scorer.report.show import ShowRequest
    from scorer.report.show import show as show_work
    from scorer.report.terminal import work_view

    if html is not None:
        local = Path(frame) if frame is not None else None
        sources = [scores, baseline_scores, local]
        html = free_place(html, sources, overwrite=overwrite, option="--html")
    request = ShowRequest(
        work=work,
        scores=scores,
        frame=frame,
        mapping=pairs(mapping or [], "--map"),
        models=model or [],
        baseline_scores=baseline_scores,
    )
    with shown_progress("reading", quiet=quiet) as progress:
        page = show_work(request, progress)
    texts = Texts(Language(lang.value))
    if html is not None:
        with told(html):
            write_atomically(html, work_html(page, texts).encode())
    if json:
        typer.echo(page.to_json(), nl=False)
    elif html is None:
        console().print(work_view(page, texts))
    elif not quiet:
        typer.echo(f"Written to {html}. Status: {page.prediction_status}.")
