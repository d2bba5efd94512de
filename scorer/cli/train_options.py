"""Options of `scorer train`, by the panel of the help that they stand in."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

_ROUNDS: Final = "Training in rounds"
_SEARCH: Final = "Searching for a recipe"
_ENCODER: Final = "With an encoder (extra transformer)"


class Criterion(StrEnum):
    """What a search chooses by."""

    plain = "plain"
    weighted = "weighted"
    both = "both"


class CalibrateName(StrEnum):
    """How scores are calibrated."""

    isotonic = "isotonic"
    platt = "platt"


Encoder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Put heads on this encoder: a folder with model.onnx and tokenizer.json.",
        rich_help_panel=_ENCODER,
    ),
]
Mixed = Annotated[
    bool,
    typer.Option(
        "--mixed",
        help="Read n-grams beside the encoder: the best student, and a slow one.",
        rich_help_panel=_ENCODER,
    ),
]
Ensemble = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Let n-grams learn from labels and from an ensemble, n-grams and this encoder: a "
        "better fast student.",
        rich_help_panel=_ENCODER,
    ),
]
Unlabelled = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FRAME",
        help="Works that the ensemble scores, to learn from; any format, may be repeated.",
        rich_help_panel=_ENCODER,
    ),
]
SoftWeight = Annotated[
    float,
    typer.Option(
        min=0.01,
        help="How much the unlabelled works count together, against the labelled ones.",
        rich_help_panel=_ENCODER,
    ),
]

Search = Annotated[
    bool,
    typer.Option(
        "--search",
        help="Choose features, n-grams and regularisation by nested folds. The table of trials "
        "lies beside the bundle: FOLDER.trials.parquet.",
        rich_help_panel=_SEARCH,
    ),
]
Trials = Annotated[
    int,
    typer.Option(min=1, help="Recipes to try, the usual one first.", rich_help_panel=_SEARCH),
]
ChooseBy = Annotated[
    Criterion,
    typer.Option(
        help="Average precision to choose by: plain, design-weighted, or the mean of both.",
        rich_help_panel=_SEARCH,
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="MINUTES",
        help="Most minutes for trials; the best so far is then trained.",
        rich_help_panel=_SEARCH,
    ),
]

RoundsState = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Train one round; this file keeps all of them, the first makes it.",
        rich_help_panel=_ROUNDS,
    ),
]
HoldoutShare = Annotated[
    float,
    typer.Option(
        min=0.01,
        max=0.9,
        help="Share of the venues that are held out to measure every round.",
        rich_help_panel=_ROUNDS,
    ),
]
GateGain = Annotated[
    float,
    typer.Option(
        min=0,
        help="Average precision must have grown by a smaller share than that.",
        rich_help_panel=_ROUNDS,
    ),
]
GateWindow = Annotated[
    int,
    typer.Option(min=1, help="Rounds over which that growth counts.", rich_help_panel=_ROUNDS),
]
GateChurn = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="A smaller share of the positive set must have changed in a round.",
        rich_help_panel=_ROUNDS,
    ),
]
GateRank = Annotated[
    float,
    typer.Option(
        min=-1,
        max=1,
        help="Scores must correlate by rank with those of the round before by more.",
        rich_help_panel=_ROUNDS,
    ),
]
GateRunning = Annotated[
    int,
    typer.Option(
        min=1,
        help="Rounds running in which churn and rank correlation must hold.",
        rich_help_panel=_ROUNDS,
    ),
]
