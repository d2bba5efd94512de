"""`scorer verify`: whether a scored file is what its manifest says and its calls follow."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.counts import Tally
from scorer.engine.files import sha256
from scorer.engine.manifest import RunManifest
from scorer.engine.rows import other_columns, row_schema
from scorer.engine.scored import open_scored
from scorer.engine.verify_refined import CHOSEN, wrong_stage
from scorer.errors import InputError
from scorer.frame.ids import check_ids
from scorer.policy.axes import axis_columns, stored_choices
from scorer.policy.calls import (
    CANDIDATE,
    CONSENSUS,
    COVERED,
    EXCLUDED,
    SEGMENT,
    WHATS,
    Given,
    call_sets,
    classification,
    kinds,
    list_columns,
    sets_of_lists,
)
from scorer.policy.review import disagreement, uncertainty
from scorer.status import LIMITATIONS, STAMP
from scorer.targets import Targets

_ROWS: Final = 1 << 16
_SHOWN: Final = 5


@dataclass(slots=True)
class Check:
    """One thing that was looked at; `offending` says what is off, first rows first."""

    name: str
    offending: list[str] = field(default_factory=list)

    def add(self, lines: list[str]) -> None:
        """Take note of what is off, up to the number that is shown."""
        self.offending += lines[: _SHOWN - len(self.offending)]


def verify(path: Path) -> list[Check]:
    """Check a scored file; return what was checked. Raises `InputError` where it cannot be read."""
    file, manifest = open_scored(path)
    checks = [*_whole_file(path, file, manifest), *_schema(file, manifest)]
    damaged = any(check.offending for check in checks)
    try:
        return [*checks, *_rows(file, manifest), _ids(path, file)]
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        unread = Check("every row can be read")
        unread.add([(str(error).splitlines() or [type(error).__name__])[0][:200]])
        if not damaged:
            raise
        return [*checks, unread]


def _whole_file(path: Path, file: pq.ParquetFile, manifest: RunManifest) -> Iterator[Check]:
    check = Check("sha256 and size are those of the manifest")
    found, size = sha256(path), path.stat().st_size
    if (found, size) != (manifest.output.sha256, manifest.output.size):
        check.add(
            [
                f"sha256 {found[:12]}…, {size:,} bytes; the manifest says "
                f"{manifest.output.sha256[:12]}…, {manifest.output.size:,} bytes"
            ]
        )
    yield check
    check = Check("the manifest's policy is the one of its policy_version")
    for stage in manifest.stages:
        if stage.policy.version != stage.policy_version:
            check.add([f"its content makes {stage.policy.version}, not {stage.policy_version}"])
    yield check
    check = Check("the manifest names this file and states the limits")
    if manifest.output.name != path.name:
        check.add([f"it is the manifest of {manifest.output.name}"])
    if manifest.limitations != LIMITATIONS:
        check.add([f"limitations are {manifest.limitations}"])
    yield check
    check = Check(f"{manifest.counts.rows:,} rows, as in the manifest")
    if file.metadata.num_rows != manifest.counts.rows:
        check.add([f"{file.metadata.num_rows:,} rows"])
    yield check
    yield _every_work(manifest)


def _every_work(manifest: RunManifest) -> Check:
    """Count the works of the frame, where its files tell how many they hold."""
    skipped = manifest.skipped_works
    left_out = f", but {skipped:,} that were left out as unreadable" if skipped else ""
    check = Check(f"every work of the frame has a row{left_out}")
    known = [source.rows for source in manifest.frame if source.rows is not None]
    if len(known) == len(manifest.frame):
        works = sum(known) if manifest.limit is None else min(sum(known), manifest.limit)
        if (found := manifest.counts.rows + skipped) != works:
            check.add([f"{found:,} of {works:,} are accounted for"])
    return check


def _schema(file: pq.ParquetFile, manifest: RunManifest) -> Iterator[Check]:
    schema: pa.Schema = file.schema_arrow
    check = Check("the stamp stands in the file's metadata")
    found = (schema.metadata or {}).get(b"prediction_status", b"nothing").decode()
    if found != STAMP:
        check.add([f"metadata says {found}"])
    yield check
    check = Check("columns and types are those of the contract")
    expected = row_schema(manifest.targets, manifest.policy, manifest.mode)
    check.add([*other_columns(schema, expected)])
    if (kept := tuple(schema.names[len(expected) :])) != manifest.kept:
        check.add([f"further columns {kept}, the manifest says {manifest.kept}"])
    yield check
    if check.offending:
        raise InputError(
            f"not a scored file of this contract: {check.offending[0]}.\n"
            "Score the frame again with scorer run."
        )


Tests = dict[str, Callable[[pl.DataFrame], pl.Series]]
"""What is looked at in rows -> what tells which of them are off (Boolean; null: off too)."""


def _tests(manifest: RunManifest, *, again: bool) -> Tests:
    """Return what is looked at in the rows of one student; `again`: of the second one."""
    targets = manifest.targets
    tests: Tests = {
        f"every row says {STAMP}": lambda rows: rows["prediction_status"] != STAMP,
        "every row says which model, policy and status": lambda rows: (
            (rows["model_version"] != manifest.model_version)
            | (rows["policy_version"] != manifest.policy_version)
            | (rows["score_status"] != manifest.score_status)
        ),
        "scores are finite and in [0, 1]": lambda rows: _bad_scores(rows, targets),
        "segments follow from titles, and from exclusion": _bad_segments(manifest),
    }
    if manifest.score_status.startswith("score_only:"):
        return {
            **tests,
            "no call is made before maturity": lambda rows: _any_call(rows, manifest),
        }
    if manifest.refined is not None:
        tests[CHOSEN] = lambda rows: wrong_stage(rows, manifest, again=again)
    return {
        **tests,
        "candidate is the union of the heads": lambda rows: _bad_set(rows, targets, CANDIDATE),
        "consensus is the intersection of the heads": lambda rows: _bad_set(
            rows, targets, CONSENSUS
        ),
        "calls follow from scores and policy": lambda rows: _bad_calls(rows, manifest),
        "axes follow from the calls": lambda rows: _bad_axes(rows, manifest),
        "disagreement and uncertainty follow from scores and policy": lambda rows: _bad_review(
            rows, manifest
        ),
    }


def _rows(file: pq.ParquetFile, manifest: RunManifest) -> list[Check]:
    """Look at every row, as the student that scored it has it."""
    targets, stages = manifest.targets, manifest.stages
    tests = [_tests(stage, again=stage is not manifest) for stage in stages]
    checks = {name: Check(name) for name in tests[0]}
    tally, again = Tally(targets, manifest.mode), 0
    contract = row_schema(targets, manifest.policy, manifest.mode)
    start = 0
    for batch in file.iter_batches(_ROWS, columns=contract.names):
        part = pa.Table.from_batches([batch])
        part.validate(full=True)  # text that is not UTF-8 must not reach Polars
        tally.add(part, part.num_rows)
        rows = pl.from_arrow(part)
        assert isinstance(rows, pl.DataFrame)
        rows = rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
        rows = rows.with_columns(pl.col("segment").cast(SEGMENT, strict=False))
        off: dict[str, list[int]] = {name: [] for name in checks}
        for number, places in enumerate(_places(rows, manifest)):
            mine = rows[places] if len(stages) > 1 else rows
            again += len(places) if number else 0
            for name, test in tests[number].items():
                bad = test(mine).fill_null(True).arg_true().head(_SHOWN)
                off[name] += places[bad.to_numpy()].tolist()
        for name, check in checks.items():
            check.add([f"row {start + at:,} (id {rows['id'][at]})" for at in sorted(off[name])])
        start += rows.height
    counted = Check("counts are those of the manifest")
    if tally.counts() != manifest.counts:
        counted.add([f"counted {tally.counts().calls}"])
    if manifest.refined is not None and again != manifest.refined.works:
        counted.add([f"{again:,} works scored again, not {manifest.refined.works:,}"])
    return [*checks.values(), counted]


def _places(rows: pl.DataFrame, manifest: RunManifest) -> list[npt.NDArray[np.int64]]:
    """Return the places of each stage's rows; those of no stage's student are the first one's."""
    versions = rows["model_version"]
    others = [
        (versions == stage.model_version).fill_null(False).to_numpy()
        for stage in manifest.stages[1:]
    ]
    first = ~np.logical_or.reduce([np.zeros(rows.height, bool), *others])
    return [np.flatnonzero(mine) for mine in (first, *others)]


def _ids(path: Path, file: pq.ParquetFile) -> Check:
    check = Check("ids are there, each once")
    try:
        check_ids(
            lambda: (
                pl.Series(batch.column(0)) for batch in file.iter_batches(_ROWS, columns=["id"])
            ),
            file.metadata.num_rows,
            path.name,
        )
    except InputError as error:
        check.add([str(error).splitlines()[0]])
    return check


def _bad_scores(rows: pl.DataFrame, targets: Targets) -> pl.Series:
    good = pl.all_horizontal(pl.col(targets.score_columns).is_between(0, 1))
    return ~rows.select(good.fill_null(False)).to_series()


def _bad_segments(manifest: RunManifest) -> Callable[[pl.DataFrame], pl.Series]:
    """Excluded works may have any title; there are none where no list was given."""
    may_exclude = manifest.excluded is not None

    def bad(rows: pl.DataFrame) -> pl.Series:
        covered = pl.col("segment") == COVERED
        excluded = pl.col("segment") == EXCLUDED
        wrong = pl.when(excluded).then(not may_exclude).otherwise(covered != pl.col("usable_title"))
        return rows.select(wrong.fill_null(True).alias("bad")).to_series()

    return bad


def _any_call(rows: pl.DataFrame, manifest: RunManifest) -> pl.Series:
    lists = [f"{kind}_{what}" for kind in kinds(manifest.targets, manifest.mode) for what in WHATS]
    return rows.select(pl.any_horizontal(pl.col(lists).is_not_null())).to_series()


def _bad_set(rows: pl.DataFrame, targets: Targets, combination: str) -> pl.Series:
    """Combine the heads' lists as sets, apart from the code that made the columns."""
    bad = pl.repeat(False, rows.height, eager=True)
    for what in ("categories", "flags"):
        first, *rest = (pl.col(f"{head}_{what}") for head in targets.head_names)
        for other in rest:
            union = combination == CANDIDATE
            first = first.list.set_union(other) if union else first.list.set_intersection(other)
        combined = pl.col(f"{combination}_{what}")
        bad |= rows.select(first.list.sort() != combined.list.sort()).to_series().fill_null(True)
    return bad


def _bad_calls(rows: pl.DataFrame, manifest: RunManifest) -> pl.Series:
    targets, policy, mode = manifest.targets, manifest.policy, manifest.mode
    sets = call_sets(rows, targets, policy, mode, _given(rows, manifest))
    bad = pl.repeat(False, rows.height, eager=True)
    for name, derived in list_columns(sets, targets).items():
        bad |= (pl.Series(derived) != rows[name]).fill_null(True)
    classified = classification(sets, mode).cast(pl.String)
    return bad | (classified != rows["classification"]).fill_null(True)


def _bad_axes(rows: pl.DataFrame, manifest: RunManifest) -> pl.Series:
    """Derive the axes anew from the best values; those of direct heads are taken as they are."""
    targets, given = manifest.targets, _given(rows, manifest)
    sets = call_sets(rows, targets, manifest.policy, manifest.mode, given)
    choices = stored_choices(rows, targets)
    bad = pl.repeat(False, rows.height, eager=True)
    for derived in axis_columns(
        sets, rows["usable_title"], choices, targets, mode=manifest.mode, given=given
    ):
        # A label may name a value beside a category that it lacks; the rows do not say it then.
        if not (given and derived.name.startswith(f"{CANDIDATE}_")):
            bad |= ~derived.eq_missing(rows[derived.name])
    for axis in targets.axes:
        for kind in kinds(targets, manifest.mode):
            value = rows[f"{kind}_{axis.name}"]
            bad |= value.is_not_null() & ~value.is_in(list(axis.values))
    return bad


def _bad_review(rows: pl.DataFrame, manifest: RunManifest) -> pl.Series:
    derived = [uncertainty(rows, manifest.targets, manifest.policy)]
    if not manifest.direct:  # whether a label was there or said no, the rows do not tell
        derived.append(disagreement(rows, manifest.targets))
    bad = np.zeros(rows.height, bool)
    for column in derived:
        bad |= column.to_numpy() != rows[column.name].to_numpy()
    return pl.Series(bad)


def _given(rows: pl.DataFrame, manifest: RunManifest) -> dict[str, Given]:
    """Return the labels of direct heads, as the rows themselves hold them."""
    targets = manifest.targets
    given = {}
    for head in manifest.direct:
        categories = sets_of_lists(rows[f"{head}_categories"], targets.categories)
        flags = sets_of_lists(rows[f"{head}_flags"], targets.flags)
        said = categories + flags * (1 << len(targets.categories))
        axes = {axis.name: rows[f"{head}_{axis.name}"] for axis in targets.axes}
        given[head] = Given(said, said, axes)
    return given
