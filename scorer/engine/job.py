"""A run made ready: everything opened and checked, and the functions that make a part."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Final, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.batch import score_batch
from scorer.engine.chosen import Chosen
from scorer.engine.columns import columns_not_found, columns_read
from scorer.engine.decision import Decision, bundle_policy, read_policy
from scorer.engine.manifest import SkippedShard, software
from scorer.engine.maturity import check_maturity
from scorer.engine.memory import room_for_loops
from scorer.engine.part import Part
from scorer.engine.refining import Refining
from scorer.engine.request import RunRequest
from scorer.engine.rows import in_one_piece, in_schema, row_schema, to_table
from scorer.engine.shards import Piece, Shard, gathered, pieces
from scorer.errors import InputError, UsageError
from scorer.frame.frame import Frame, changed, changed_while_read
from scorer.frame.parquet import Batch
from scorer.frame.remote import is_remote
from scorer.frame.source import FrameSource
from scorer.policy.policy import Policy
from scorer.student import CPU
from scorer.student.bundle import Student, load_student
from scorer.student.folder import find_bundle
from scorer.targets import Targets

# Works that are scored together, and long texts fewer. In a small frame such a batch is a shard, a
# part and a row group of the output: small ones keep every processor busy.
TITLES_A_BATCH: Final = 32_768
ABSTRACTS_A_BATCH: Final = 8_192
# A transformer reads a few hundred works a second: a part in some seconds, so that progress is seen
# and little is lost when a run is cut off.
SLOW_WORKS_A_BATCH: Final = 1_024
CHOSEN_A_BATCH: Final = 256  # of works that it scores again: so many are sorted by length
# Large frames have larger shards, some hundred thousand works, whose row groups take a tenth less
# time, and a tenth or two less space; of abstracts fewer, so that half a gigabyte is enough for
# them. Batches of titles are larger as well, since each costs some hundred short steps however few
# works it has; abstracts would fill the memory. Shards follow from the frame alone, since the
# output's bytes follow from them.
LARGE_FRAME: Final = 500_000
SHARD_OF_TITLES: Final = 4
SHARD_OF_ABSTRACTS: Final = 12
TITLES_OF_LARGE: Final = 2
# From so much text on, compiled loops win back the time that it takes to load them: works, of which
# one with an abstract counts as ten.
MUCH_TEXT: Final = 500_000
ABSTRACT_WEIGHS: Final = 10
WORKS_A_SAMPLE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Job:
    """A request with its student, policy and frame; the frame is there once it can be read."""

    request: RunRequest
    student: Student
    decision: Decision
    source: FrameSource
    known_frame: Frame | None = None
    settled_shards: int | None = None
    """Works in a shard, where another process settled that, or another stage."""
    refining: Refining | None = None
    """The second stage; None where there is none, or this is it."""
    chosen: Chosen | None = None
    """The works to score; None: all of them."""

    @classmethod
    def prepare(cls, request: RunRequest) -> Self:
        """Open and check all that the request names; raise the `ScorerError` that fits."""
        if request.limit is not None and request.limit < 0:
            raise UsageError(f"limit {request.limit}: expected 0 or more works.")
        student = load_student(find_bundle(request.model), provider=request.provider)
        check_maturity(student, request)
        targets = student.manifest.targets
        decision = Decision.prepare(
            targets,
            read_policy(request.policy, targets) if request.policy else default_policy(student),
            mode=request.mode,
            direct=request.direct,
            exclude_ids=request.exclude_ids,
        )
        refining = Refining.prepare(request, student, decision)
        wanted = columns_read(student)
        if refining is not None:
            wanted += [name for name in columns_read(refining.student) if name not in wanted]
        source = FrameSource.find(
            request.frame,
            wanted=wanted,
            mapping=request.mapping,
            keep=tuple(dict.fromkeys(request.keep)),
        )
        job = cls(request, student, decision, source, refining=refining)
        return job.reading(source.open()) if source.is_parquet else job

    def reading(self, frame: Frame) -> Self:
        """Return the job with its frame; raise where the output could not hold what is kept.

        A frame for two students is read by each for the columns that it needs.
        """
        job = replace(self, known_frame=frame)
        if self.refining is not None:
            mine, other = columns_read(self.student), columns_read(self.refining.student)
            job = replace(job, refining=replace(self.refining, frame=frame.only(other, keep=())))
            if set(other) - set(mine):
                job = replace(job, known_frame=frame.only(mine, keep=self.source.keep))
        _ = job.schema
        return job

    def again(self, chosen: Chosen) -> Self:
        """Return the second stage: the other student, the other policy, the chosen works alone."""
        assert self.refining is not None
        return replace(
            self,
            student=self.refining.student,
            decision=self.refining.decision,
            known_frame=self.refining.frame,
            settled_shards=self.works_a_shard,
            refining=None,
            chosen=chosen,
        )

    def with_loops(self) -> Self:
        """Return the job with a compiled student where that wins back its time.

        A step of its own: it takes half a second, in which other things can be done.
        """
        works = self.works if self.chosen is None else self.chosen.works
        if works < least_for_loops(self.student):
            return self
        if not room_for_loops(self.request.memory, self.works_a_shard):
            return self
        return replace(self, student=self.student.compiled())

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
    def software(self) -> dict[str, str]:
        """The versions of all that decides the output's bytes."""
        second = self.refining.student.libraries if self.refining else ()
        return software(*dict.fromkeys([*self.student.libraries, *second]))

    @property
    def provider(self) -> str:
        """What of onnxruntime's runs the student that is slow, if one is."""
        slow = self.student.is_slow or (self.refining and self.refining.student.is_slow)
        return self.request.provider if slow else CPU

    @property
    def works(self) -> int:
        """Number of works to score."""
        limit = self.request.limit
        return self.frame.rows if limit is None else min(limit, self.frame.rows)

    @property
    def works_a_batch(self) -> int:
        """Number of works that are scored together: no more than in a shard."""
        if self.chosen is not None and self.student.is_slow:
            works = self.chosen.works_with(CHOSEN_A_BATCH, self.works)
        else:
            larger = self.works >= LARGE_FRAME and not _reads_abstracts(self.student)
            works = self._works_of_small * (TITLES_OF_LARGE if larger else 1)
        return works if self.settled_shards is None else min(works, self.settled_shards)

    @property
    def works_a_shard(self) -> int:
        """Number of works in each shard but the last."""
        if self.settled_shards is not None:
            return self.settled_shards
        return self.works_a_large_shard if self.works >= LARGE_FRAME else self._works_of_small

    @property
    def works_a_large_shard(self) -> int:
        """Number of works in a shard of a large frame."""
        abstracts = _reads_abstracts(self.student) and not self.student.is_slow
        return self._works_of_small * (SHARD_OF_ABSTRACTS if abstracts else SHARD_OF_TITLES)

    @property
    def _works_of_small(self) -> int:
        """Number of works in a batch, and in a shard, of a small frame."""
        if self.student.is_slow:
            return SLOW_WORKS_A_BATCH
        return ABSTRACTS_A_BATCH if _reads_abstracts(self.student) else TITLES_A_BATCH

    def columns_not_found(self) -> list[str]:
        """Return the columns that the student reads and the frame lacks."""
        return columns_not_found(self.student, self.frame.columns)

    def shards(self, done: int) -> Iterator[Batch]:
        """Yield the works, shard by shard, from shard `done` on."""
        rows = self.works_a_shard
        return self.frame.batches(rows, start=done * rows, limit=self.request.limit)

    def pieces(self, first: int, works_a_piece: int | None = None) -> Iterator[Piece]:
        """Yield what is read and scored together, from shard `first` on."""
        found = pieces(
            self.frame,
            works=self.works,
            works_a_shard=self.works_a_shard,
            works_a_piece=works_a_piece or min(self.works_a_batch, self.works_a_shard),
            first=first,
        )
        if self.chosen is None:
            return found
        chosen, nothing = self.chosen, self._made.empty_table()
        return (chosen.narrowed(piece, self.works_a_shard, self.works, nothing) for piece in found)

    def readable_ids(self) -> Iterator[pl.Series]:
        """Yield the ids of all shards whose ids can be read."""
        alone = replace(self, known_frame=self.frame.narrowed(["id"], keep=()))
        for piece in alone.pieces(0):
            if isinstance(piece.content, Batch):
                yield piece.content.frame["id"]

    def sample(self) -> Batch | None:
        """Return the first works, by which the size of the others is guessed; None without any."""
        try:
            return next(self.frame.batches(WORKS_A_SAMPLE, limit=min(WORKS_A_SAMPLE, self.works)))
        except (StopIteration, InputError):  # what is wrong there is told when it is scored
            return None

    def scored(self, piece: Piece) -> Piece:
        """Score and call one piece; in any thread."""
        if not isinstance(piece.content, Batch):
            return piece
        try:
            return replace(piece, content=self._rows(piece.content))
        except InputError as error:
            return replace(piece, content=error)

    def encoded(self, shard: Shard) -> Part:
        """Make a part of a shard's rows, or one that tells why there are none; in any thread.

        Raises `InputError` for a shard that failed, unless such are to be skipped, and where the
        frame is no longer what it was: its rows are those of another job then.
        """
        start = shard.number * self.works_a_shard
        stop = min(start + self.works_a_shard, self.works)
        if (other := changed(self.frame.read_for(start, stop))) is not None:
            raise changed_while_read(other)
        if shard.failed is None:
            return self._part(shard.tables)
        if self.request.on_bad_shard == "error":
            raise shard.failed
        reason = str(shard.failed).splitlines()[0]
        skipped = SkippedShard(first_row=start, last_row=stop - 1, reason=reason)
        return Part.without(skipped, self.schema, self.targets, self.decision.mode)

    def shard(self, number: int) -> Part:
        """Read, score and call one shard, by itself; the same bytes as among the others."""
        mine = takewhile(lambda piece: piece.shard == number, self.pieces(number))
        return self.encoded(next(gathered(map(self.scored, mine))))

    def part(self, shard: Batch) -> Part:
        """Score and call one shard that was read in one go."""
        rows = self.works_a_batch
        starts = range(0, max(1, shard.frame.height), rows)
        return self._part(
            [
                self._rows(Batch(at, shard.frame[at : at + rows], shard.kept[at : at + rows]))
                for at in starts
            ]
        )

    def _rows(self, batch: Batch) -> pa.Table:
        """Score and call a batch; its kept columns stand at the end."""
        table = to_table(self._called(batch.frame), self._made)
        for name in batch.kept.column_names:
            table = table.append_column(self.schema.field(name), batch.kept[name])
        return table

    def _part(self, tables: Sequence[pa.Table]) -> Part:
        """Encode a shard's rows; how they were cut decides no byte."""
        table = in_schema(pa.concat_tables(tables), self.schema)
        table = in_one_piece(table, self.frame.kept_schema().names)
        return Part.of(table, self.targets, self.decision.mode)

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
        self.look_up(content)
        return Part.of_bytes(content, self.targets, self.decision.mode)

    def look_up(self, content: pa.Buffer) -> None:
        """Count the works of a part that was made elsewhere as looked up."""
        if self.decision.direct or self.decision.excluded is not None:
            ids = pq.read_table(pa.BufferReader(content), columns=["id"])["id"]
            self.decision.look_up(pl.Series(ids))

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
            "works_a_batch": self._works_of_small,
            "on_bad_record": self.request.on_bad_record,
            "software": self.software,
            "provider": self.provider,
            "columns": str(row_schema(self.targets, self.decision.policy, self.request.mode)),
        }
        if self.refining is not None:
            content["refine"] = self.refining.fingerprint()
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def least_for_loops(student: Student) -> int:
    """Return from how many works on compiled loops are used."""
    return MUCH_TEXT // (ABSTRACT_WEIGHS if _reads_abstracts(student) else 1)


def _reads_abstracts(student: Student) -> bool:
    return "abstract" in student.manifest.encoder.fields()


def default_policy(student: Student) -> Policy:
    """Return the policy that came with the bundle."""
    return bundle_policy(student.folder, student.manifest)
