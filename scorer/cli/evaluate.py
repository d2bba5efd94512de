"""`scorer evaluate`: how scores and calls compare with labels or with a human audit."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import (
    EqualWeights,
    HeadFiles,
    Json,
    OutOfFoldFile,
    Overwrite,
    Quiet,
    Sample,
    paths,
)
from scorer.errors import INTERRUPTED


class SettledName(StrEnum):
    """What counts where coders differ."""

    agreed = "agreed"
    any = "any"
    all = "all"


class ByName(StrEnum):
    """What works may be split by."""

    lang = "lang"
    abstract = "abstract"
    year = "year"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: scorer evaluate frame.scored.parquet audit.coder1.xlsx audit.coder2.xlsx "
        "--by lang"
    )(evaluate)


def evaluate(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A scored file; its manifest lies beside it.")
    ],
    labels: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="LABELS",
            help="A label table (Parquet), as for scorer train; or the sheets that coders answered "
            "(XLSX or CSV), as scorer sample wrote them.",
        ),
    ] = None,
    sample: Sample = None,
    head: HeadFiles = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The sheets' key; by default NAME.key.parquet beside them."
        ),
    ] = None,
    coders: Annotated[
        SettledName,
        typer.Option(
            help="Where coders differ: agreed leaves the work out for that target; any, all: a yes "
            "where any or all of them say yes."
        ),
    ] = SettledName.agreed,
    out_of_fold: OutOfFoldFile = None,
    equal_weights: EqualWeights = False,
    by: Annotated[
        list[ByName] | None,
        typer.Option(help="Also split by language, abstract or decade; repeatable."),
    ] = None,
    frame: Annotated[
        str | None,
        typer.Option(
            metavar="FRAME",
            help="The frame that was scored, where the labels lack what --by needs.",
        ),
    ] = None,
    beta: Annotated[float, typer.Option(min=0.01, help="Beta of the F-beta.")] = 2.0,
    min_pos: Annotated[
        float,
        typer.Option(
            min=1, help="Positives (effective number) that a figure needs to be given as a number."
        ),
    ] = 10,
    replicates: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET", help="Evaluate this category or flag only; repeatable."),
    ] = None,
    reliability: Annotated[
        bool, typer.Option("--reliability", help="Show the reliability tables too.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it, as .png or .svg. Needs the extra: plot."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare scores and calls with labels or a human audit: figures with 95 % limits.

    Average precision, AUROC, precision, recall, F-beta, calibration, agreement
    and prevalence, all weighted by the design of the sample.
    """
    from scorer.cli.evaluation import show
    from scorer.cli.tables import shown_progress
    from scorer.decide.place import free_place
    from scorer.decide.sample import LabelFiles
    from scorer.engine.files import told, write_atomically
    from scorer.review.extra import library

    library("scipy", "Evaluating")
    from scorer.review.evaluate import EvaluateRequest
    from scorer.review.evaluate import evaluate as compare
    from scorer.review.evaluate_coders import Settled
    from scorer.review.evaluate_json import content
    from scorer.review.evaluate_sheet import split_sheets

    tables, sheets = split_sheets(labels or [])
    heads = paths(head, "--head")
    files = LabelFiles(tables, sample, heads) if tables or sample or heads else None
    request = EvaluateRequest(
        scores=scores,
        targets=tuple(dict.fromkeys(target or [])),
        labels=files,
        sheets=sheets,
        key=key,
        settled=Settled(coders.value),
        out_of_fold=out_of_fold,
        equal_weights=equal_weights,
        by=tuple(dict.fromkeys(name.value for name in by or [])),
        frame=frame,
        beta=beta,
        min_positives=min_pos,
        replicates=replicates,
        seed=seed,
    )
    place = None
    if plot is not None:
        from scorer.decide.picture import check_format
        from scorer.review.plot import draw

        check_format(plot)
        sources = [*request.files, scores, key, out_of_fold]
        place = free_place(plot, sources, overwrite=overwrite, option="--plot")
    try:
        with shown_progress("resampling", quiet=quiet, unit="replicates of a figure") as progress:
            found = compare(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if place is not None:
        picture = draw(found, place.suffix[1:])
        with told(place):
            write_atomically(place, picture)
    for note in found.notes:
        typer.echo(f"Note: {note}", err=True)
    if json:
        import json as json_text

        typer.echo(json_text.dumps(content(found), indent=2, ensure_ascii=False))
    elif not quiet:
        show(found, reliability=reliability)
        if plot is not None:
            typer.echo(f"Drawn in {plot}.")
