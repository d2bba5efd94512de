"""`scorer train`: make a student from teachers' labels."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scorer.cli.options import HeadFiles, LabelTable, MinEss, MinPos, Overwrite, Sample, paths
from scorer.cli.train_options import (
    Budget,
    CalibrateName,
    ChooseBy,
    Criterion,
    Encoder,
    Ensemble,
    GateChurn,
    GateGain,
    GateRank,
    GateRunning,
    GateWindow,
    HoldoutShare,
    Mixed,
    RoundsState,
    Search,
    SoftWeight,
    Trials,
    Unlabelled,
)

if TYPE_CHECKING:
    from scorer.engine.progress import Progress
    from scorer.student.manifest import Manifest
    from scorer.train.maturity import Criteria
    from scorer.train.trained import EncoderRequest, RoundsRequest, SearchRequest

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
    calibrate: Annotated[
        CalibrateName | None,
        typer.Option(
            help="Map scores to the share of their teacher's yes, on out-of-fold scores; ranks "
            "stay. Still no probability of truth."
        ),
    ] = None,
    overwrite: Overwrite = False,
    encoder: Encoder = None,
    mixed: Mixed = False,
    ensemble: Ensemble = None,
    unlabelled: Unlabelled = None,
    soft_weight: SoftWeight = 1.0,
    search: Search = False,
    trials: Trials = 12,
    criterion: ChooseBy = Criterion.both,
    budget: Budget = None,
    rounds_state: RoundsState = None,
    holdout_share: HoldoutShare = 0.2,
    gate_gain: GateGain = 0.02,
    gate_window: GateWindow = 5,
    gate_churn: GateChurn = 0.05,
    gate_rank: GateRank = 0.98,
    gate_running: GateRunning = 3,
) -> None:
    """Distil a bundle from teachers' labels: n-grams, ONNX graph, policy, model card.

    Every teacher with a column <head>_categories becomes a head.
    Metrics and thresholds come from out-of-fold scores; folds keep venues whole.
    The same inputs give the same bytes. With --rounds-state each call is one round.
    With --search the recipe is chosen by folds within the folds that measure it.
    With --encoder a transformer reads the works; with --ensemble n-grams learn from one.
    """
    from scorer.cli.tables import shown_progress
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
    request = TrainRequest(
        output=output,
        labels=labels,
        sample=sample,
        heads=paths(head, "--head"),
        name=name,
        source=source,
        licence=licence,
        attribution=attribution,
        recipe=Recipe(ngrams=ngrams, beta=beta, min_pos=min_pos, min_ess=min_ess, seed=seed),
        calibrate=None if calibrate is None else calibrate.value,
        overwrite=overwrite,
        out_of_fold=out_of_fold,
        rounds=_rounds(rounds_state, criteria, given),
        search=_search(search, trials, criterion, budget, given),
        encoder=_encoder(encoder, ensemble, mixed, unlabelled or [], soft_weight, given),
    )
    doing, unit = ("searching", "fits") if search else ("embedding", "works")
    quiet = not search and request.encoder is None
    with shown_progress(doing, quiet=quiet, unit=unit) as progress:
        manifest = train(request, _say(progress), progress)
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


def _encoder(
    encoder: Path | None,
    ensemble: Path | None,
    mixed: bool,
    unlabelled: list[Path],
    soft_weight: float,
    given: frozenset[str],
) -> "EncoderRequest | None":
    from scorer.errors import UsageError
    from scorer.train.trained import EncoderRequest

    if encoder is not None and ensemble is not None:
        raise UsageError("Give either --encoder or --ensemble: one bundle is made at a time.")
    if mixed and encoder is None:
        raise UsageError("--mixed needs --encoder DIR.")
    if ensemble is not None:
        return EncoderRequest(ensemble, "ensemble", tuple(unlabelled), soft_weight)
    for option in ("unlabelled", "soft_weight"):
        if option in given:
            raise UsageError(f"--{option.replace('_', '-')} needs --ensemble DIR.")
    if encoder is None:
        return None
    if "ngrams" in given and not mixed:
        raise UsageError(
            "--ngrams: heads on an encoder alone read none.\nLeave it out, or add --mixed."
        )
    return EncoderRequest(encoder, "mixed" if mixed else "heads")


def _search(
    asked: bool,
    trials: int,
    criterion: Criterion,
    budget: float | None,
    given: frozenset[str],
) -> "SearchRequest | None":
    from scorer.errors import UsageError
    from scorer.train.trained import SearchRequest

    if asked:
        fixed = given & {"ngrams", "soft_weight"}
        return SearchRequest(trials, criterion.value, budget, fixed)
    for option in ("trials", "criterion", "budget"):
        if option in given:
            raise UsageError(f"--{option} needs --search.")
    return None


def _say(progress: "Progress | None") -> Callable[[str], None]:
    """Return what prints a line on standard error, above the bar where there is one."""
    if progress is not None:
        return progress.note
    return lambda text: typer.echo(text, err=True)


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
