"""Counting what a policy would call in a file of scores, without writing anything."""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from scorer.engine.manifest import read_manifest
from scorer.errors import InputError
from scorer.frame.parquet import open_parquet
from scorer.policy.calls import CANDIDATE, CONSENSUS, SEGMENT, call_sets
from scorer.policy.policy import Policy
from scorer.status import STAMP
from scorer.targets import Targets, score_column

_ROWS: Final = 1 << 17


def count_calls(
    scores: Path, model_version: str, targets: Targets, policy: Policy
) -> tuple[int, dict[str, dict[str, int]]]:
    """Return (works, target -> kind -> works called); kinds: the heads, candidate, consensus.

    Raises `InputError` where the scores are those of another student.
    """
    file = open_parquet(scores)
    manifest = read_manifest(scores)
    if manifest.model_version != model_version:
        raise InputError(
            f"{scores}: scored by {manifest.model_version}, the thresholds are for "
            f"{model_version}.\nName the bundle that scored it: --model"
        )
    names = targets.binary_names
    kinds = [*targets.head_names, CANDIDATE, CONSENSUS]
    counts = {name: dict.fromkeys(kinds, 0) for name in names}
    columns = ["id", "segment", "prediction_status"]
    columns += [score_column(head, name) for head in targets.head_names for name in names]
    for batch in file.iter_batches(_ROWS, columns=columns):
        rows = pl.from_arrow(pa.Table.from_batches([batch]))
        assert isinstance(rows, pl.DataFrame)
        if (rows["prediction_status"].cast(pl.String) != STAMP).fill_null(True).any():
            raise InputError(
                f"{scores}: some rows do not say {STAMP}; they were changed after scoring.\n"
                "Score the frame again: scorer run --overwrite"
            )
        sets = call_sets(
            rows.with_columns(pl.col("segment").cast(pl.String).cast(SEGMENT)), targets, policy
        )
        for kind in kinds:
            for what, members in (("categories", targets.categories), ("flags", targets.flags)):
                bits = sets[f"{kind}_{what}"].to_numpy()
                for place, name in enumerate(members):
                    counts[name][kind] += int(np.count_nonzero(bits & np.uint64(1 << place)))
    return int(file.metadata.num_rows), counts
