"""`scorer train`: make a student from teachers' labels."""

from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import Overwrite, pairs


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer train labels.parquet -o my-student")(train)


def train(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The bundle's folder.")
    ],
    labels: Annotated[
        Path | None,
        typer.Argument(
            metavar="LABELS",
            help="A label table (Parquet): works, and <head>_categories a teacher.",
        ),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of a table: the works of the sample, in JSON."),
    ] = None,
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="NAME=FILE",
            help="With --sample: a teacher's labels in JSON; repeatable.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The bundle's name; by default its folder's.")
    ] = None,
    source: Annotated[
        str, typer.Option(help="Where the labels come from, for the card.")
    ] = "labels of the user",
    licence: Annotated[str, typer.Option(help="Licence of the labels.")] = "not stated",
    attribution: Annotated[
        str, typer.Option(help="Whom to name when the bundle is passed on.")
    ] = "not stated",
    ngrams: Annotated[
        int, typer.Option(min=1, help="Most n-grams to keep: more is larger and slower.")
    ] = 7000,
    beta: Annotated[
        float, typer.Option(min=0.01, help="Beta of the F-beta that the thresholds maximise.")
    ] = 2.0,
    min_pos: Annotated[
        int, typer.Option(min=1, help="Positives that a head needs to make calls.")
    ] = 20,
    min_ess: Annotated[
        float, typer.Option(min=0, help="Effective sample size that a head needs.")
    ] = 10.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Distil a bundle from teachers' labels: n-grams, ONNX graph, policy, model card.

    Every teacher with a column <head>_categories becomes a head.
    Metrics and thresholds come from out-of-fold scores; folds keep venues whole.
    The same inputs give the same bytes.
    """
    from scorer.errors import UsageError

    if (labels is None) == (sample is None) or (labels is not None and head):
        raise UsageError("Give either a label table, or --sample with --head NAME=FILE.")
    try:
        from scorer.train.distil import train
        from scorer.train.fit import Recipe
        from scorer.train.trained import TrainRequest
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Training needs {error.name}, which is not installed.\n"
            "Install the extra: pip install 'scorer[train]'"
        ) from error
    from scorer.cli.tables import console, table

    manifest = train(
        TrainRequest(
            output=output,
            labels=labels,
            sample=sample,
            heads={key: Path(value) for key, value in pairs(head or [], "--head").items()},
            name=name,
            source=source,
            licence=licence,
            attribution=attribution,
            recipe=Recipe(ngrams=ngrams, beta=beta, min_pos=min_pos, min_ess=min_ess, seed=seed),
            overwrite=overwrite,
        ),
        lambda text: typer.echo(text, err=True),
    )
    shown = table("out of fold", "plain", "design-weighted")
    for label, metric in (
        ("mean average precision", "mean_average_precision"),
        ("mean AUROC", "mean_auroc"),
    ):
        shown.add_row(
            label,
            *(
                "–" if found is None else f"{found:.3f}"
                for found in (manifest.metrics[metric], manifest.metrics[metric + "_weighted"])
            ),
        )
    console().print(shown)
    typer.echo(f"Next: scorer run FRAME --model {output}")
