"""A job as it is sent to the worker processes of a cluster, and what they make of it.

Everything but the frame goes along: the bundle as bytes, the policy, given labels, excluded ids. A
frame is read where it lies, so it must be reached in the same way from every node.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from scorer.engine.chosen import Chosen
from scorer.engine.decision import Decision
from scorer.engine.job import Job
from scorer.engine.manifest import software
from scorer.engine.part import Part
from scorer.engine.request import RunRequest
from scorer.errors import InputError, UsageError
from scorer.frame.frame import Frame, changed
from scorer.frame.source import FrameSource
from scorer.student.bundle import load_student
from scorer.student.manifest import MANIFEST_FILE


@dataclass(frozen=True, slots=True)
class SentJob:
    """A job without its student, which each process loads for itself."""

    request: RunRequest
    decision: Decision
    source: FrameSource
    frame: Frame
    works_a_shard: int
    bundle: Mapping[str, bytes]
    """File name -> content; hashes are checked again where it is loaded."""
    software: Mapping[str, str]
    libraries: tuple[str, ...]
    """Those of the student's own among them."""
    chosen: Chosen | None = None
    """The works to score, of a second stage; None: all of them."""

    @classmethod
    def of(cls, job: Job) -> Self:
        """Pack a job whose frame can be read."""
        folder = job.student.folder
        names = [MANIFEST_FILE, *job.student.manifest.files]
        return cls(
            request=job.request,
            decision=job.decision,
            source=replace(job.source, found=()),
            frame=job.frame.absolute(),
            works_a_shard=job.works_a_shard,
            bundle={name: (folder / name).read_bytes() for name in names},
            software=job.software,
            libraries=job.student.libraries,
            chosen=job.chosen,
        )

    def opened(self) -> Job:
        """Return the job in this process; raise `UsageError` where its software is another."""
        found = software(*self.libraries)
        if found != self.software:
            other = [
                f"{name} {found[name]} here, {version} there"
                for name, version in self.software.items()
                if found[name] != version
            ]
            raise UsageError(
                f"node {platform.node()}: other software than where the command was given: "
                f"{', '.join(other)}.\nInstall the same versions on every node."
            )
        with TemporaryDirectory(prefix="scorer-bundle-") as folder:
            for name, content in self.bundle.items():
                Path(folder, name).write_bytes(content)
            student = load_student(Path(folder), provider=self.request.provider)
            # What was sent may only be read; this process takes notes of its own.
            job = Job(self.request, student, self.decision.anew(), self.source)
            job = replace(job, settled_shards=self.works_a_shard, chosen=self.chosen)
            return job.reading(self.frame).with_loops()

    def part(self, job: Job, number: int) -> Part:
        """Read, score and call one shard of the opened job."""
        first = number * self.works_a_shard
        stop = min(first + self.works_a_shard, job.works)
        if (other := changed(self.frame.read_for(first, stop))) is not None:
            raise InputError(
                f"{other.name}: not the same file on node {platform.node()} as where the command "
                "was given.\nPut the frame under one path on every node, and the output too where "
                "the frame is not Parquet; or behind an address."
            )
        return job.shard(number)
