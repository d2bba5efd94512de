"""A run made ready: everything opened and checked, and the one function that makes a part."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.batch import score_batch
from scorer.engine.decision import Decision, bundle_policy, read_policy
from scorer.engine.manifest import software
from scorer.engine.part import Part
from scorer.engine.place import settled
from scorer.engine.rows import row_schema, to_table
from scorer.errors import InputError, RefusedError, UsageError
from scorer.frame.frame import Frame
from scorer.frame.parquet import Batch
from scorer.frame.remote import is_remote
from scorer.frame.source import FrameSource
from scorer.policy.calls import Mode
from scorer.policy.policy import Policy
from scorer.student import DEFAULT_MODEL
from scorer.student.bundle import Student, load_student
from scorer.student.folder import find_bundle
from scorer.targets import Targets

# Works that are scored together: few enough for the processor's cache, and long texts fewer.
TITLES_A_BATCH: Final = 32_768
ABSTRACTS_A_BATCH: Final = 8_192
# Batches in a shard, which is a part and a row group of the output. Small frames have small shards,
# to keep every processor busy; in large ones larger row groups take a tenth less time and space.
# Both follow from the frame alone, since the output's bytes follow from them.
LARGE_FRAME: Final = 500_000
BATCHES_A_SHARD: Final = 4
# What a frame's name may end in that an output's need not.
_ENDINGS: Final = (
    r"(?i)(\.(parquet|arrow|feather|ipc|csv|tsv|txt|jsonl|ndjson|json|ris|bib|nbib))?"
    r"(\.(gz|zst|bz2))?$"
)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to score, with what, to where. Only `frame` must be given."""

    frame: Path | str
    """A file, a folder or a pattern."""
    output: Path | None = None
    """By default `<frame stem>.scored.parquet` in the working folder."""
    model: str = DEFAULT_MODEL
    policy: Path | None = None
    """By default the bundle's own."""
    mode: Mode = "both"
    direct: Mapping[str, Path] = field(default_factory=dict)
    """Head -> its labels: they are that head's calls."""
    exclude_ids: Path | None = None
    """Works that are scored but never called."""
    baseline: bool = False
    """Score with a student whose maturity gate has not passed: scores only, no calls."""
    keep: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    on_bad_record: Literal["error", "skip"] = "error"
    """What to do with a record that cannot be read."""
    threads: int | None = None
    """By default as many as the process may use."""
    overwrite: bool = False

    def output_path(self) -> Path:
        """Return where the scored file goes."""
        return settled(self.output or Path(f"{self.frame_stem()}.scored.parquet"))

    def frame_stem(self) -> str:
        """Return what the frame is called, without the endings of its format."""
        name = Path(self.frame).name
        return re.sub(_ENDINGS, "", name.replace("*", "").strip(".")) or "frame"


@dataclass(frozen=True, slots=True)
class Job:
    """A request with its student, policy and frame; the frame is there once it can be read."""

    request: RunRequest
    student: Student
    decision: Decision
    source: FrameSource
    known_frame: Frame | None = None

    @classmethod
    def prepare(cls, request: RunRequest) -> Self:
        """Open and check all that the request names; raise the `ScorerError` that fits."""
        if request.limit is not None and request.limit < 0:
            raise UsageError(f"limit {request.limit}: expected 0 or more works.")
        student = load_student(find_bundle(request.model))
        _check_maturity(student, request)
        targets = student.manifest.targets
        decision = Decision.prepare(
            targets,
            read_policy(request.policy, targets) if request.policy else default_policy(student),
            mode=request.mode,
            direct=request.direct,
            exclude_ids=request.exclude_ids,
        )
        wanted = ["id", "title", *student.manifest.encoder.fields()]
        if "abstract" in wanted:
            wanted.append("abstract_inverted_index")
        source = FrameSource.find(
            request.frame,
            wanted=list(dict.fromkeys(wanted)),
            mapping=request.mapping,
            keep=tuple(dict.fromkeys(request.keep)),
        )
        job = cls(request, student, decision, source)
        return job.reading(source.open()) if source.is_parquet else job

    def reading(self, frame: Frame) -> Self:
        """Return the job with its frame; raise where the output could not hold what is kept."""
        job = replace(self, known_frame=frame)
        _ = job.schema
        return job

    @property
    def frame(self) -> Frame:
        """The frame, which must have been opened or spooled."""
        assert self.known_frame is not None
        return self.known_frame

    @property
    def schema(self) -> pa.Schema:
        """The schema of the output."""
        kept = self.frame.kept_schema()
        return row_schema(self.targets, self.decision.policy, self.request.mode, kept)

    @property
    def targets(self) -> Targets:
        """What the student scores."""
        return self.student.manifest.targets

    @property
    def works(self) -> int:
        """Number of works to score."""
        limit = self.request.limit
        return self.frame.rows if limit is None else min(limit, self.frame.rows)

    @property
    def works_a_batch(self) -> int:
        """Number of works that are scored together."""
        reads_abstracts = "abstract" in self.student.manifest.encoder.fields()
        return ABSTRACTS_A_BATCH if reads_abstracts else TITLES_A_BATCH

    @property
    def works_a_shard(self) -> int:
        """Number of works in each shard but the last."""
        return self.works_a_batch * (BATCHES_A_SHARD if self.works >= LARGE_FRAME else 1)

    def columns_not_found(self) -> list[str]:
        """Return the columns that the student reads and the frame lacks."""
        found = self.frame.columns
        either = "abstract" in found or "abstract_inverted_index" in found
        return [
            name
            for name in self.student.manifest.encoder.fields()
            if name not in found and not (name == "abstract" and either)
        ]

    def shards(self, done: int) -> Iterator[Batch]:
        """Yield the works, shard by shard, from shard `done` on."""
        rows = self.works_a_shard
        return self.frame.batches(rows, start=done * rows, limit=self.request.limit)

    def part(self, shard: Batch) -> Part:
        """Score and call one shard; the same shard gives the same bytes anywhere."""
        rows = self.works_a_batch
        starts = range(0, max(1, shard.frame.height), rows)
        called = [to_table(self._called(shard.frame[at : at + rows]), self._made) for at in starts]
        table = pa.concat_tables(called)
        for name in shard.kept.column_names:
            table = table.append_column(self.schema.field(name), shard.kept[name])
        return Part.of(table.cast(self.schema), self.targets, self.decision.mode)

    def _called(self, batch: pl.DataFrame) -> dict[str, pl.Series]:
        decision = self.decision
        try:
            return score_batch(
                batch,
                self.student,
                decision.policy,
                decision.mode,
                direct=decision.direct,
                excluded=decision.excluded,
            ).to_dict()
        except InputError as error:
            raise InputError(f"{Path(self.request.frame).name}: {error}") from error

    @property
    def _made(self) -> pa.Schema:
        """The columns that scoring makes, without those that are kept of the frame."""
        kept = self.frame.kept_schema().names
        return pa.schema([field for field in self.schema if field.name not in kept])

    def known_part(self, content: pa.Buffer) -> Part:
        """Take over a part of an earlier run; its works count as looked up."""
        ids = pq.read_table(pa.BufferReader(content), columns=["id"])["id"]
        self.decision.look_up(pl.Series(ids))
        return Part.of_bytes(content, self.targets, self.decision.mode)

    def _location(self) -> str:
        """Return where the frame lies, from wherever the command is given."""
        named = str(self.request.frame)
        return named if is_remote(named) else str(Path(named).resolve())

    def fingerprint(self) -> str:
        """Return a hash of all that decides the output's bytes."""
        content = {
            "frame": [self._location(), self.source.fingerprint()],
            "model": self.student.version,
            "decision": self.decision.fingerprint(),
            "keep": self.request.keep,
            "mapping": dict(self.request.mapping),
            "limit": self.request.limit,
            "works_a_batch": self.works_a_batch,
            "on_bad_record": self.request.on_bad_record,
            "software": software(),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check_maturity(student: Student, request: RunRequest) -> None:
    maturity = student.manifest.maturity
    if not maturity.passed and not request.baseline:
        raise RefusedError(
            f"{student.version}: its maturity gate has not passed ({maturity.note}).\n"
            "Use a bundle whose gate has passed (scorer models), or --baseline: scores, no calls."
        )
    if not maturity.passed and (request.direct or request.exclude_ids or request.policy):
        raise UsageError(
            "--baseline makes no calls, so --policy, --direct and --exclude-ids have nothing to "
            "decide.\nLeave them out."
        )
    if maturity.passed and request.baseline:
        raise UsageError(
            f"--baseline is for students before maturity; the gate of {student.version} has "
            "passed.\nLeave it out."
        )


def default_policy(student: Student) -> Policy:
    """Return the policy that came with the bundle."""
    return bundle_policy(student.folder, student.manifest)
