"""`scorer thresholds diff`: which works two policies call differently, counted and listed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.decide.called import called, check_no_direct
from scorer.engine.decision import read_policy
from scorer.engine.files import told
from scorer.engine.scored import ScoredFile, columns_that_decide
from scorer.policy.calls import Mode, call_sets, kinds
from scorer.policy.fit import Booleans
from scorer.policy.policy import Policy
from scorer.status import STAMP
from scorer.targets import Targets

ADDED: Final = "added"
DROPPED: Final = "dropped"

_WORD: Final = pa.dictionary(pa.int32(), pa.string())
SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.string()),
        *(pa.field(name, _WORD) for name in ("target", "kind", "change", "prediction_status")),
    ],
    metadata={"prediction_status": STAMP},
)
"""Of the file that lists the works: a row for each work, target and kind that change."""


@dataclass(slots=True)
class Change:
    """How many works both policies call, the first alone, and the second alone."""

    both: int = 0
    dropped: int = 0
    added: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """What becomes of the calls when `before` gives way to `after`."""

    before: Policy
    after: Policy
    targets: Targets
    model_version: str
    works: int
    kinds: tuple[str, ...]
    changes: dict[str, dict[str, Change]]
    """Target -> kind -> change."""


def diff(before: Path, after: Path, scores: Path, output: Path | None = None) -> Difference:
    """Compare two policy files over a scored file; list the works that change in `output`.

    `PolicyError` where one is for another student, or has entries that need labels.
    """
    scored = ScoredFile.open(scores)
    targets, mode = scored.targets, scored.manifest.mode
    policies = read_policy(before, targets), read_policy(after, targets)
    for policy, path in zip(policies, (before, after), strict=True):
        check_no_direct(policy, str(path))
    everyone = kinds(targets, mode)
    changes = {name: {kind: Change() for kind in everyone} for name in targets.binary_names}
    columns = dict.fromkeys(c for p in policies for c in columns_that_decide(targets, p))
    with _listing(output) if output else nullcontext() as file:
        for rows in scored.batches(["id", *columns]):
            for part in _compare(rows, targets, policies, mode, changes):
                if file is not None:
                    file.write_table(part)
    return Difference(
        *policies, targets, scored.manifest.model_version, scored.rows, tuple(everyone), changes
    )


def _compare(
    rows: pl.DataFrame,
    targets: Targets,
    policies: tuple[Policy, Policy],
    mode: Mode,
    changes: dict[str, dict[str, Change]],
) -> Iterator[pa.Table]:
    """Count a batch, and yield the works that change: one table of `SCHEMA`, if there are any."""
    one, two = (call_sets(rows, targets, policy, mode) for policy in policies)
    changed = []
    for target, of_target in changes.items():
        for kind, change in of_target.items():
            before, after = (called(sets, targets, kind, target) for sets in (one, two))
            change.both += int((before & after).sum())
            change.dropped += int((before & ~after).sum())
            change.added += int((after & ~before).sum())
            places = np.flatnonzero(before ^ after)
            if len(places):
                changed.append(_listed(rows["id"].gather(places), target, kind, after[places]))
    if changed:
        yield pl.concat(changed).to_arrow().cast(SCHEMA)


def _listed(ids: pl.Series, target: str, kind: str, added: Booleans) -> pl.DataFrame:
    return pl.DataFrame({"id": ids}).with_columns(
        pl.lit(target).alias("target"),
        pl.lit(kind).alias("kind"),
        pl.when(pl.Series(added)).then(pl.lit(ADDED)).otherwise(pl.lit(DROPPED)).alias("change"),
        pl.lit(STAMP).alias("prediction_status"),
    )


@contextmanager
def _listing(output: Path) -> Iterator[pq.ParquetWriter]:
    """Yield a writer of a Parquet file that appears at `output` whole, or not at all."""
    with (
        told(output),
        tempfile.TemporaryDirectory(prefix=".scorer.", dir=output.parent) as folder,
        Path(folder, output.name).open("wb") as file,
    ):
        with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            yield writer
        file.flush()
        os.fsync(file.fileno())
        Path(folder, output.name).replace(output)
