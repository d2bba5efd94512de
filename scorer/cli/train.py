"""`scorer train`: make a student from teachers' labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scorer.cli.options import HeadFiles, LabelTable, MinEss, MinPos, Overwrite, Sample, paths

if TYPE_CHECKING:
    from scorer.student.manifest import Manifest
    from scorer.train.maturity import Criteria
    from scorer.train.trained import RoundsRequest

_ROUNDS: Final = "Training in rounds"
_GATE: Final = {
    "gate_gain": "gain",
    "gate_window": "window",
    "gate_churn": "churn",
    "gate_rank": "rank",
    "gate_running": "running",
    "holdout_share": "holdout_share",
}
"""Option -> the criterion of the maturity gate that it sets."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer train labels.parquet -o my-student")(train)


def train(
    context: typer.Context,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The bundle's folder.")
    ],
    labels: LabelTable = None,
    sample: Sample = None,
    head: HeadFiles = None,
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
    min_pos: MinPos = 20,
    min_ess: MinEss = 10.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds and of the holdout.")] = 0,
    out_of_fold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also keep the out-of-fold scores (Parquet): scorer thresholds fit reads them.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    rounds_state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Train one round; this file keeps all of them, the first makes it.",
            rich_help_panel=_ROUNDS,
        ),
    ] = None,
    holdout_share: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.9,
            help="Share of the venues that are held out to measure every round.",
            rich_help_panel=_ROUNDS,
        ),
    ] = 0.2,
    gate_gain: Annotated[
        float,
        typer.Option(
            min=0,
            help="Average precision must have grown by a smaller share than that.",
            rich_help_panel=_ROUNDS,
        ),
    ] = 0.02,
    gate_window: Annotated[
        int,
        typer.Option(min=1, help="Rounds over which that growth counts.", rich_help_panel=_ROUNDS),
    ] = 5,
    gate_churn: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="A smaller share of the positive set must have changed in a round.",
            rich_help_panel=_ROUNDS,
        ),
    ] = 0.05,
    gate_rank: Annotated[
        float,
        typer.Option(
            min=-1,
            max=1,
            help="Scores must correlate by rank with those of the round before by more.",
            rich_help_panel=_ROUNDS,
        ),
    ] = 0.98,
    gate_running: Annotated[
        int,
        typer.Option(
            min=1,
            help="Rounds running in which churn and rank correlation must hold.",
            rich_help_panel=_ROUNDS,
        ),
    ] = 3,
) -> None:
    """Distil a bundle from teachers' labels: n-grams, ONNX graph, policy, model card.

    Every teacher with a column <head>_categories becomes a head.
    Metrics and thresholds come from out-of-fold scores; folds keep venues whole.
    The same inputs give the same bytes. With --rounds-state each call is one round.
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
    from scorer.train.maturity import Criteria

    given = _given(context)
    criteria = Criteria(
        gain=gate_gain,
        window=gate_window,
        churn=gate_churn,
        rank=gate_rank,
        running=gate_running,
        holdout_share=holdout_share,
    )
    manifest = train(
        TrainRequest(
            output=output,
            labels=labels,
            sample=sample,
            heads=paths(head, "--head"),
            name=name,
            source=source,
            licence=licence,
            attribution=attribution,
            recipe=Recipe(ngrams=ngrams, beta=beta, min_pos=min_pos, min_ess=min_ess, seed=seed),
            overwrite=overwrite,
            out_of_fold=out_of_fold,
            rounds=_rounds(rounds_state, criteria, given),
        ),
        lambda text: typer.echo(text, err=True),
    )
    _show(manifest)
    if manifest.maturity.passed:
        typer.echo(f"Next: scorer run FRAME --model {output}")
    else:
        typer.echo(f"Next: scorer gate {rounds_state}")


def _given(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that were given, criteria under their own name."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(
        _GATE.get(name, name)
        for name, source in sources.items()
        if source is not None and source.name != "DEFAULT"
    )


def _rounds(
    state: Path | None, criteria: "Criteria", given: frozenset[str]
) -> "RoundsRequest | None":
    from scorer.errors import UsageError
    from scorer.train.trained import RoundsRequest

    if state is not None:
        return RoundsRequest(state=state, criteria=criteria, given=given)
    for option, criterion in _GATE.items():
        if criterion in given:
            raise UsageError(f"--{option.replace('_', '-')} needs --rounds-state FILE.")
    return None


def _show(manifest: "Manifest") -> None:
    from scorer.cli.tables import console, table

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
