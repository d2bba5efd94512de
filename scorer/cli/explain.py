"""`scorer explain`: the n-grams that moved the scores of one work."""

from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import (
    Json,
    LanguageName,
    Mapping,
    Quiet,
    ShownLanguage,
    WorkId,
    pairs,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: scorer explain W2741809807 --frame frame.parquet --target metaresearch"
    )(explain)


def explain(
    work: WorkId,
    frame: Annotated[
        str, typer.Option(metavar="FRAME", help="The frame that holds the work, in any format.")
    ],
    mapping: Mapping = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORED", help="A scored file: its scores must be the same to the bit."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A shipped bundle's name, or a bundle's folder; by default the one that gave "
            "--scores.",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET", help="A category or flag, by default all; repeatable."),
    ] = None,
    head: Annotated[
        list[str] | None, typer.Option(metavar="HEAD", help="A head, by default all; repeatable.")
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="N-grams upwards and downwards for each score.")
    ] = 5,
    lang: ShownLanguage = LanguageName.en,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show which n-grams moved the scores of one work: integers that add up to each logit."""
    from scorer.cli.tables import console, shown_progress
    from scorer.report.explain import ExplainRequest
    from scorer.report.explain import explain as explain_work
    from scorer.report.language import Language, Texts
    from scorer.report.terminal import explanation_view

    request = ExplainRequest(
        work=work,
        frame=frame,
        mapping=pairs(mapping or [], "--map"),
        model=model,
        scores=scores,
        heads=head or [],
        targets=target or [],
        top=top,
    )
    with shown_progress("reading", quiet=quiet) as progress:
        found = explain_work(request, progress)
    if json:
        typer.echo(found.to_json(), nl=False)
        return
    console().print(explanation_view(found, Texts(Language(lang.value))))
