"""Out-of-fold scores as a file: what thresholds can be fitted on, when the student is trained."""

import io
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.files import told, write_atomically
from scorer.engine.place import check_place
from scorer.errors import OutputError, UsageError
from scorer.status import STAMP
from scorer.targets import Targets, score_column
from scorer.train.learner import Predicted
from scorer.train.trained import Trained, TrainRequest


def unseen_table(ids: pl.Series, unseen: Predicted, targets: Targets) -> pl.DataFrame:
    """Return `id` and float32 score columns [works]; a target that no head could learn scores 0."""
    width = unseen.scores.shape[1] // len(targets.heads)
    columns = {"id": ids}
    for number, head in enumerate(targets.heads):
        for place, target in enumerate(targets.binary_names):
            name = score_column(head.name, target)
            score = unseen.scores[:, number * width + place]
            learned = target not in head.unavailable
            columns[name] = pl.Series(name, score if learned else np.zeros_like(score))
    return pl.DataFrame(columns)


def check_unseen_place(place: Path, request: TrainRequest) -> None:
    """Raise before the work where the file cannot lie there."""
    if place.resolve().is_relative_to(request.output.resolve()):
        raise UsageError(
            f"{place}: lies in the bundle's folder, which holds nothing else.\n"
            "Keep the out-of-fold scores elsewhere: --out-of-fold."
        )
    for source in request.inputs():
        check_place(place, source)
    if place.exists() and not request.overwrite:
        raise OutputError(
            f"{place}: exists already. Choose another --out-of-fold, or say --overwrite."
        )


def write_unseen(place: Path, trained: Trained, model_version: str) -> None:
    """Write the table whole or not at all; its metadata says which student it stands for."""
    table = trained.unseen.to_arrow()
    schema = pa.schema(
        [
            pa.field(name, pa.string() if name == "id" else pa.float32())
            for name in table.column_names
        ],
        metadata={
            "prediction_status": STAMP,
            "model_version": model_version,
            "targets": trained.targets.model_dump_json(),
        },
    )
    sink = io.BytesIO()
    pq.write_table(table.cast(schema), sink, compression="zstd")
    with told(place):
        write_atomically(place, sink.getvalue())
