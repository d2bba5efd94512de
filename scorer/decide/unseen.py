"""Out-of-fold scores: what `scorer train --out-of-fold` keeps of heads that never saw a work."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl
import pyarrow as pa
from pydantic import ValidationError

from scorer.engine.scored import ScoredFile
from scorer.errors import InputError
from scorer.frame.ids import check_ids
from scorer.frame.parquet import open_parquet
from scorer.status import STAMP
from scorer.targets import Targets


@dataclass(frozen=True, slots=True)
class OutOfFold:
    """Scores of labelled works, and the student that they stand for.

    `scores`: `id`, and float32 score columns in the order of `targets`.
    """

    path: Path
    model_version: str
    targets: Targets
    scores: pl.DataFrame

    @classmethod
    def read(cls, path: Path, scored: ScoredFile | None = None) -> Self:
        """Read a file that `scorer train --out-of-fold` wrote; raise `InputError` for any other.

        With `scored`, also where it is of another student than that file.
        """
        file = open_parquet(path)
        schema: pa.Schema = file.schema_arrow
        said = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        try:
            targets = Targets.model_validate_json(said["targets"])
            version, status = said["model_version"], said["prediction_status"]
        except (KeyError, ValidationError) as error:
            raise _no_such_scores(path, "does not say which student it is of") from error
        if status != STAMP:
            raise _no_such_scores(path, f"says {status}, expected {STAMP}")
        expected = [pa.field("id", pa.string())]
        expected += [pa.field(name, pa.float32()) for name in targets.score_columns]
        if [(f.name, f.type) for f in schema] != [(f.name, f.type) for f in expected]:
            raise _no_such_scores(path, "its columns are not id and the student's scores")
        try:
            scores = pl.from_arrow(file.read())
        except (pa.ArrowException, OSError) as error:
            reason = (str(error).splitlines() or ["unreadable"])[0]
            raise InputError(f"{path}: damaged ({reason}). Copy it again.") from error
        assert isinstance(scores, pl.DataFrame)
        check_ids(lambda: [scores["id"]], scores.height, path.name)
        for name in targets.score_columns:
            _check_scores(path, scores[name])
        if scored is not None and version != scored.manifest.model_version:
            raise InputError(
                f"{path}: scores of {version}; {scored.path} was scored by "
                f"{scored.manifest.model_version}.\n"
                "Thresholds of one student say nothing of another's scores."
            )
        return cls(path, version, targets, scores)


def is_out_of_fold(path: Path) -> bool:
    """Tell whether a Parquet file says of itself what `OutOfFold.read` looks for."""
    return b"targets" in (open_parquet(path).schema_arrow.metadata or {})


def _check_scores(path: Path, scores: pl.Series) -> None:
    """Raise `InputError` where a score is null, NaN, or out of [0, 1]."""
    bad = (~(scores.is_between(0, 1) & scores.is_not_nan())).fill_null(True).arg_true()
    if len(bad):
        raise InputError(
            f"{path}: column {scores.name!r}, row {bad[0]:,} (counted from 0): the score is "
            f"{scores[bad[0]]}, expected 0 to 1.\nWrite the file again: scorer train --out-of-fold"
        )


def _no_such_scores(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: no out-of-fold scores: {why}.\n"
        "scorer train LABELS -o FOLDER --out-of-fold FILE writes them."
    )
