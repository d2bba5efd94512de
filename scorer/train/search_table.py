"""Every trial of a search as a row of a table, which lies beside the bundle."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow.parquet as pq

from scorer.engine.files import told, write_atomically
from scorer.train.search_criterion import Figures, Gain

_COLUMNS: Final = {
    "trial": pl.Int32,
    "stage": pl.String,
    "regularisation_of": pl.String,
    "average_precision": pl.Float64,
    "average_precision_weighted": pl.Float64,
    "criterion": pl.Float64,
    "gain": pl.Float64,
    "gain_error": pl.Float64,
    "seconds": pl.Float64,
    "counted": pl.Boolean,
    "chosen": pl.Boolean,
}
"""Those of every table; the settings that were varied stand among them."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial in one stage: its settings and how its inner folds did."""

    number: int
    stage: str
    settings: Mapping[str, Any]
    figures: Figures
    criterion: float
    gain: Gain
    """Over the usual recipe; of the last trial, over the one that it gives each pair its C."""
    seconds: float
    """Of all its fits together; those of other trials ran at the same time."""
    counted: bool = True
    """Whether the trial was finished in every stage, and so could be chosen."""
    regularisation_of: Mapping[str, float] = field(default_factory=dict)


def trial_table(trials: Sequence[Trial], chosen: Mapping[str, Trial | None]) -> pl.DataFrame:
    """Return a row a trial and stage, by number and then as given; `chosen`: stage -> its trial."""
    rows = [
        {
            "trial": trial.number,
            "stage": trial.stage,
            **{name: _cell(value) for name, value in trial.settings.items()},
            "regularisation_of": json.dumps(dict(trial.regularisation_of)),
            "average_precision": trial.figures.average_precision,
            "average_precision_weighted": trial.figures.average_precision_weighted,
            "criterion": trial.criterion,
            "gain": trial.gain.mean,
            "gain_error": trial.gain.error,
            "seconds": round(trial.seconds, 3),
            "counted": trial.counted,
            "chosen": chosen[trial.stage] is trial,
        }
        for trial in sorted(trials, key=lambda trial: trial.number)
    ]
    if not rows:  # time ran out before any: a table without rows has its columns all the same
        return pl.DataFrame(schema=_COLUMNS)
    return pl.DataFrame(rows, schema_overrides=_COLUMNS, infer_schema_length=None)


def table_path(bundle: Path) -> Path:
    """Return where the table of a bundle's trials lies: beside its folder."""
    folder = bundle.resolve()
    return folder.with_name(folder.name + ".trials.parquet")


def write_trials(place: Path, trials: pl.DataFrame, model_version: str) -> None:
    """Write the table whole or not at all; its metadata says which bundle it led to."""
    table = trials.to_arrow().replace_schema_metadata({"model_version": model_version})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    with told(place):
        write_atomically(place, sink.getvalue())


def _cell(value: Any) -> Any:  # noqa: ANN401 - a setting's own type
    return " ".join(str(part) for part in value) if isinstance(value, tuple) else value
