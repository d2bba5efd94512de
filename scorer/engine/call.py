"""`scorer call`: new calls for a scored file; what the calls do not touch is taken over unread."""

import hashlib
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import polars as pl
import pyarrow as pa

from scorer.engine.checkpoint import Checkpoint
from scorer.engine.counts import Tally
from scorer.engine.decision import Decision, read_policy
from scorer.engine.files import sha256, told, write_atomically
from scorer.engine.local import in_order, usable_threads
from scorer.engine.manifest import Output, RunManifest, Source, manifest_path, software
from scorer.engine.output import OutputFile
from scorer.engine.place import check_place, exists_already, settled
from scorer.engine.progress import Progress, Silence
from scorer.engine.remote import Destination
from scorer.engine.rowgroups import (
    RowGroup,
    RowGroupReader,
    encode,
    row_group,
    with_columns,
)
from scorer.engine.rows import constant, row_schema, to_table
from scorer.engine.scored import STATUSES, ScoredFile, columns_that_decide
from scorer.policy.axes import axis_columns, stored_choices, stored_name
from scorer.policy.calls import (
    CANDIDATE,
    MAJORITY,
    Mode,
    call_sets,
    classification,
    list_columns,
    segments,
)
from scorer.policy.review import disagreement, uncertainty
from scorer.targets import Axis


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Which scores to call anew, by what, to where. Only `scores` must be given."""

    scores: Path
    policy: Path | None = None
    """By default the policy that called the file so far."""
    output: Path | None = None
    """By default `<name>.called.parquet` in the working folder."""
    mode: Mode = "both"
    direct: Mapping[str, Path] = field(default_factory=dict)
    """Head -> its labels: they are that head's calls."""
    exclude_ids: Path | None = None
    """Works that are scored but never called."""
    threads: int | None = None
    overwrite: bool = False

    def output_path(self) -> Path:
        """Return where the file goes."""
        name = self.scores.stem.removesuffix(".scored").removesuffix(".called")
        return settled(self.output or Path(f"{name}.called.parquet"))


def call(request: CallRequest, progress: Progress | None = None) -> RunManifest:
    """Call a scored file anew; return the manifest that now lies beside the output.

    Scores keep their very bytes. Raises `ScorerError` of the kind that fits; the output is whole
    or absent.
    """
    progress = progress or Silence()
    started, began = datetime.now(UTC), time.perf_counter()
    destination = Destination.of(request.output_path())
    output = destination.local
    if destination.url is None:
        named = [request.policy, *request.direct.values(), request.exclude_ids]
        for path in (request.scores, *(one for one in named if one is not None)):
            check_place(output, path)
    work = _Calling.prepare(request)
    with (
        destination.staged(overwrite=request.overwrite),
        Checkpoint(output.with_name(output.name + ".parts"), work.fingerprint()),
    ):
        if destination.url is None and output.exists() and not request.overwrite:
            raise exists_already(output)
        tally, source, written = _write(work, output, progress)
        seconds = time.perf_counter() - began
        manifest = work.scored.manifest.model_copy(
            update={
                "made_by": "call",
                "policy": work.decision.policy,
                "policy_version": work.decision.policy.version,
                "mode": request.mode,
                "counts": tally.counts(),
                "output": written,
                "sources": (source,),
                "direct": work.decision.direct_sources(work.scored.rows),
                "excluded": work.decision.excluded_source(),
                "job": work.fingerprint(),
                "software": software(),
                "started": started.isoformat(timespec="seconds"),
                "wall_seconds": round(seconds, 3),
                "works_a_second": round(work.scored.rows / seconds, 1),
                "resumed_rows": 0,
            }
        )
        with told(output):
            write_atomically(
                manifest_path(output), (manifest.model_dump_json(indent=2) + "\n").encode()
            )
        destination.send()
    return manifest


def _write(work: "_Calling", output: Path, progress: Progress) -> tuple[Tally, Source, Output]:
    """Write the output, whole or not at all; return its counts, what it was made from, and it."""
    tally = Tally(work.scored.targets, work.decision.mode)
    folder = output.with_name(output.name + ".parts")
    threads = work.request.threads or usable_threads()
    with (
        closing(work.source),
        ThreadPoolExecutor(1) as aside,
        OutputFile(output, folder, work.schema) as file,
    ):
        source_hash = aside.submit(sha256, work.request.scores)
        progress.start(work.scored.rows, 0)
        for group, counts in in_order(work.part, range(len(work.source)), threads):
            file.append(group)
            tally.merge(counts)
            progress.advance(group.rows)
        source = Source(
            name=work.request.scores.name,
            size=work.request.scores.stat().st_size,
            rows=work.scored.rows,
            sha256=source_hash.result(),
        )
        work.scored.check_hash(source.sha256)
        file.finish()
        with told(output):
            manifest_path(output).unlink(missing_ok=True)
        written = file.publish()
    return tally, source, written


@dataclass(frozen=True)
class _Calling:
    """A request made ready: everything opened and checked."""

    request: CallRequest
    scored: ScoredFile
    decision: Decision
    source: RowGroupReader
    schema: pa.Schema
    _checked: set[tuple[object, ...]] = field(default_factory=set)

    @classmethod
    def prepare(cls, request: CallRequest) -> "_Calling":
        scored = ScoredFile.open(request.scores)
        targets = scored.targets
        decision = Decision.prepare(
            targets,
            read_policy(request.policy, targets) if request.policy else scored.manifest.policy,
            mode=request.mode,
            direct=request.direct,
            exclude_ids=request.exclude_ids,
        )
        schema = row_schema(targets, decision.policy, request.mode, scored.kept_schema())
        schema = _as_encoded(schema, scored.file.schema_arrow)
        return cls(request, scored, decision, RowGroupReader(request.scores, scored.file), schema)

    def part(self, number: int) -> tuple[RowGroup, Tally]:
        """Call one row group anew: columns that stay as bytes, the others encoded."""
        source = self.source.read(number)
        self._check_status(number, source)
        rows = self.scored.group(number, self._read)
        columns = self._called(rows)
        changed = pa.schema([field for field in self.schema if field.name in columns])
        table = to_table(columns, changed)
        tally = Tally(self.scored.targets, self.decision.mode)
        tally.add({"segment": rows["segment"], **columns}, rows.height)
        group = with_columns(
            source,
            row_group(encode(table), changed),
            {name: self._taken_from(name) for name in self.schema.names},
        )
        return group, tally

    def _check_status(self, number: int, group: RowGroup) -> None:
        """Check the rows' statuses; the same bytes for as many rows need no second look."""
        chunks = [chunk for name in STATUSES for chunk in group.columns[name]]
        seen = (group.rows, *(bytes(chunk.content) for chunk in chunks))
        if seen not in self._checked:
            self.scored.check_status(number)
            self._checked.add(seen)

    def fingerprint(self) -> str:
        """Return a hash of all that decides the output's bytes."""
        content = {
            "scores": self.scored.manifest.output.sha256,
            "decision": self.decision.fingerprint(),
            "software": software(),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _called(self, rows: pl.DataFrame) -> dict[str, pl.Series | pa.Array]:
        """Return the columns that the decision changes."""
        targets, decision = self.scored.targets, self.decision
        columns: dict[str, pl.Series | pa.Array] = {}
        if self._segments_change:
            excluded = decision.excluded.among(rows["id"]) if decision.excluded else None
            segment = segments(rows["usable_title"], excluded)
            columns["segment"], rows = segment, rows.with_columns(segment)
        given = decision.given(rows["id"]) if decision.direct else {}
        sets = call_sets(rows, targets, decision.policy, decision.mode, given)
        columns |= list_columns(sets, targets)
        axes = targets.model_copy(update={"axes": self._axes})
        for column in axis_columns(
            sets,
            rows["usable_title"],
            stored_choices(rows, axes),
            axes,
            mode=decision.mode,
            given=given,
        ):
            columns[column.name] = column
        columns["classification"] = classification(sets, decision.mode)
        if self._disagreement_changes:
            columns["teacher_disagreement"] = disagreement(rows, targets, given)
        columns["threshold_uncertainty"] = uncertainty(rows, targets, decision.policy)
        version = constant("policy_version", decision.policy.version)
        columns["policy_version"] = rows.with_columns(version)["policy_version"]
        return columns

    def _taken_from(self, column: str) -> str:
        """Return the source column whose bytes a column takes over, if it does not change."""
        return column if column in self._there else column.removeprefix("best_")

    @cached_property
    def _there(self) -> frozenset[str]:
        return frozenset(self.scored.file.schema_arrow.names)

    @cached_property
    def _axes(self) -> tuple[Axis, ...]:
        """The axes whose columns change."""
        every = self._disagreement_changes or self.decision.mode == MAJORITY
        return tuple(a for a in self.scored.targets.axes if every or a.only_with is not None)

    @property
    def _disagreement_changes(self) -> bool:
        return bool(self.decision.direct or self.scored.manifest.direct)

    @property
    def _segments_change(self) -> bool:
        return bool(self.decision.excluded or self.scored.manifest.excluded)

    @cached_property
    def _read(self) -> list[str]:
        """The columns of the source that have to be read."""
        targets, decision = self.scored.targets, self.decision
        columns = columns_that_decide(targets, decision.policy)
        columns += ["usable_title", *(["id"] if self._segments_change else [])]
        if self._disagreement_changes:
            columns += targets.score_columns
        for axis in self._axes:
            columns += [
                stored_name(kind, axis, self._there) for kind in [*targets.head_names, CANDIDATE]
            ]
        return list(dict.fromkeys(columns))


def _as_encoded(schema: pa.Schema, file: pa.Schema) -> pa.Schema:
    """Return a schema whose columns are nullable where those of the file are: bytes are taken over.

    Files of earlier versions do not say which columns are never null.
    """
    fields = [
        field.with_nullable(file.field(field.name).nullable) if field.name in file.names else field
        for field in schema
    ]
    return pa.schema(fields, metadata=schema.metadata)
