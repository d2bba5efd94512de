"""A run made ready: everything opened and checked, and the one function that makes a part."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self, get_args

import pyarrow as pa

from scorer.engine.batch import score_batch
from scorer.engine.manifest import software
from scorer.engine.rows import row_schema, to_table
from scorer.errors import InputError, PolicyError, RefusedError, UsageError
from scorer.frame.parquet import Batch, ParquetFrame
from scorer.policy.calls import Mode
from scorer.policy.policy import Policy, check_policy, parse_policy
from scorer.student import DEFAULT_MODEL
from scorer.student.bundle import Student, check_hash, find_bundle, load_student
from scorer.student.manifest import POLICY_FILE, Manifest

# Works in a shard, a part and a row group of the output: fixed, since the output's bytes follow
# from it. Long texts come in smaller shards, to the same memory.
TITLES_A_SHARD: Final = 32_768
ABSTRACTS_A_SHARD: Final = 8_192


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to score, with what, to where. Only `frame` must be given."""

    frame: Path
    output: Path | None = None
    """By default `<frame stem>.scored.parquet` in the working folder."""
    model: str = DEFAULT_MODEL
    policy: Path | None = None
    """By default the bundle's own."""
    mode: Mode = "both"
    keep: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    threads: int | None = None
    """By default as many as the process may use."""
    overwrite: bool = False

    def output_path(self) -> Path:
        """Return where the scored file goes."""
        output = self.output or Path(f"{self.frame.stem}.scored.parquet")
        return output.resolve() if output.is_symlink() else output


@dataclass(frozen=True, slots=True)
class Job:
    """A request with its student, policy, frame and output schema."""

    request: RunRequest
    student: Student
    policy: Policy
    frame: ParquetFrame
    schema: pa.Schema

    @classmethod
    def prepare(cls, request: RunRequest) -> Self:
        """Open and check all that the request names; raise the `ScorerError` that fits."""
        if request.mode not in get_args(Mode):
            raise UsageError(f"mode {request.mode}: expected one of {', '.join(get_args(Mode))}.")
        if request.limit is not None and request.limit < 0:
            raise UsageError(f"limit {request.limit}: expected 0 or more works.")
        student = load_student(find_bundle(request.model))
        targets, maturity = student.manifest.targets, student.manifest.maturity
        policy = load_policy(request.policy, student.folder, student.manifest)
        if not maturity.passed:
            raise RefusedError(
                f"{student.version}: its maturity gate has not passed ({maturity.note}).\n"
                "Use a bundle whose gate has passed: scorer models"
            )
        wanted = ["id", "title", *student.manifest.encoder.fields()]
        if "abstract" in wanted:
            wanted.append("abstract_inverted_index")
        frame = ParquetFrame(
            request.frame,
            wanted=list(dict.fromkeys(wanted)),
            mapping=request.mapping,
            keep=tuple(dict.fromkeys(request.keep)),
        )
        return cls(request, student, policy, frame, row_schema(targets, frame.kept_schema()))

    @property
    def works(self) -> int:
        """Number of works to score."""
        limit = self.request.limit
        return self.frame.rows if limit is None else min(limit, self.frame.rows)

    @property
    def works_a_shard(self) -> int:
        """Number of works in each shard but the last."""
        reads_abstracts = "abstract" in self.student.manifest.encoder.fields()
        return ABSTRACTS_A_SHARD if reads_abstracts else TITLES_A_SHARD

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

    def part(self, shard: Batch) -> pa.Table:
        """Score and call one shard; the same shard gives the same table anywhere."""
        try:
            rows = score_batch(shard.frame, self.student, self.policy, self.request.mode)
        except InputError as error:
            raise InputError(f"{self.request.frame.name}: {error}") from error
        return to_table(rows, shard.kept, self.schema)

    def fingerprint(self) -> str:
        """Return a hash of all that decides the output's bytes."""
        content = {
            "frame": [str(self.request.frame.resolve()), *self.frame.stamp],
            "model": self.student.version,
            "policy": self.policy.version,
            "mode": self.request.mode,
            "keep": self.request.keep,
            "mapping": dict(self.request.mapping),
            "limit": self.request.limit,
            "works_a_shard": self.works_a_shard,
            "software": software(),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def default_policy(student: Student) -> Policy:
    """Return the policy that came with the bundle."""
    return load_policy(None, student.folder, student.manifest)


def load_policy(path: Path | None, bundle: Path, manifest: Manifest) -> Policy:
    """Return a policy from a file, or the bundle's own; raise where it is for another bundle."""
    where = path or bundle / POLICY_FILE
    if path is None:
        check_hash(bundle, manifest, POLICY_FILE)
    try:
        content = where.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise PolicyError(f"{where}: no such file. Check the path.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{where}: cannot be read as a policy ({error}).") from error
    policy = parse_policy(content, str(where))
    check_policy(policy, manifest.targets, str(where))
    return policy
