"""`scorer compare`: two students side by side on the same labels."""

from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import HeadFiles, Json, LabelsOption, Overwrite, Quiet, Sample, paths
from scorer.errors import INTERRUPTED


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer compare metacan-ngram my-student --labels labels.parquet")(
        compare
    )


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A bundle (its folder, or a shipped one's name), a scored file, or what scorer "
            "train --out-of-fold wrote.",
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, to compare with A.")],
    labels: LabelsOption = None,
    sample: Sample = None,
    head: HeadFiles = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET", help="Compare by this category or flag only; repeatable."),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="List the N works that moved most.")
    ] = 10,
    replicates: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the figures, a row a head and target."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare two students, or their scored files, on the same labels, and show what moved.

    Average precision and AUROC, plain and design-weighted, each difference
    with 95 % limits. A student that learned from these labels is flattered:
    scorer train --out-of-fold FILE keeps scores that are not.
    """
    from scorer.cli.comparison import show
    from scorer.cli.tables import shown_progress
    from scorer.decide.place import free_place
    from scorer.decide.sample import LabelFiles
    from scorer.review.export import CSV, check_format, write_table
    from scorer.review.extra import library

    library("scipy", "Comparing")
    from scorer.review.compare import CompareRequest
    from scorer.review.compare import compare as compare_both
    from scorer.review.compare_results import content, table

    request = CompareRequest(
        a=a,
        b=b,
        labels=LabelFiles(labels, sample, paths(head, "--head")),
        targets=tuple(dict.fromkeys(target or [])),
        top=top,
        replicates=replicates,
        seed=seed,
    )
    place = None
    if csv is not None:
        check_format(csv, (CSV,))
        sources = [*request.labels.paths, *(Path(name) for name in (a, b) if Path(name).is_file())]
        place = free_place(csv, sources, overwrite=overwrite, option="--csv")
    try:
        with shown_progress("comparing", quiet=quiet, unit="replicates of a figure") as progress:
            found = compare_both(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if place is not None:
        write_table(place, "comparison", table(found), ())
    if json:
        import json as json_text

        typer.echo(json_text.dumps(content(found), indent=2, ensure_ascii=False))
    elif not quiet:
        show(found)
        if csv is not None:
            typer.echo(f"The figures are in {csv}.")
