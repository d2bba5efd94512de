"""A `scorer run` that is disturbed, and what its output holds in the end.

`tests/faults` plays short scenes with it, `benchmarks/faults.py` long ones.
"""

import hashlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

SECONDS = 600  # more than any run here takes on a busy machine


class Unplayable(Exception):
    """What a scene needs is not to be had on this machine; the text says what."""


class Broken(AssertionError):
    """A run did what it never may."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its exit code (negative: the signal that killed it), what it said."""

    code: int
    said: str

    def expect(self, *codes: int, words: str = "") -> "Ended":
        """Return itself; raise `Broken` unless it ended with one of `codes` and said `words`."""
        if self.code not in codes or words not in self.said:
            raise Broken(
                f"exit code {self.code}, expected {codes} and {words!r}; said:\n{self.said}"
            )
        return self


@dataclass(frozen=True, slots=True)
class Setting:
    """What all scenes share: a place on a disk, the program, a frame and a bundle."""

    folder: Path
    program: Sequence[str]
    """The words that start it, before `run`."""
    frame: Path
    model: str


@dataclass(slots=True)
class Scene:
    """One kind of fault: runs of one frame into one output, counted."""

    setting: Setting
    name: str
    frame: Path
    model: str
    options: Sequence[str] = ()
    runs: int = 0
    faults: int = 0
    jobs: int = 0
    lost: int = 0
    doubled: int = 0
    equal: int = 0
    left_over: int = 0
    works: int = 0
    notes: list[str] = field(default_factory=list)
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        """Make an empty folder for the output."""
        self.folder = self.setting.folder / self.name
        self.clear()

    @property
    def output(self) -> Path:
        """Where the runs write."""
        return self.folder / "out.parquet"

    @property
    def parts(self) -> Path:
        """Where their finished parts lie."""
        return self.folder / "out.parquet.parts"

    def clear(self) -> None:
        """Remove all that earlier runs left."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def start(
        self,
        *options: str,
        environment: Mapping[str, str] | None = None,
        limited: Callable[[], None] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a run; `limited` is called in its process before it becomes the program."""
        self.runs += 1
        words = ["run", self.frame, "-o", self.output, "--model", self.model, "--quiet"]
        return subprocess.Popen(
            [*self.setting.program, *map(str, words), *self.options, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=None if environment is None else dict(environment),
            cwd=self.setting.folder,
            preexec_fn=limited,  # noqa: PLW1509 - there are no threads here
        )

    def end(self, process: subprocess.Popen[bytes], after: float | None = None) -> Ended:
        """Wait for a run's end; one that has none after so many seconds is killed (SIGKILL)."""
        try:
            _, said = process.communicate(timeout=SECONDS if after is None else after)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            if after is None:
                raise Broken(f"no end after {SECONDS} s: {said.decode()}") from None
        return Ended(process.returncode, said.decode())

    def run(self, *options: str) -> Ended:
        """Run to the end."""
        return self.end(self.start(*options))

    def finished(self) -> int:
        """Return how many parts are whole on the disk."""
        return len(list(self.parts.glob("part-*.parquet")))

    def wait_for(self, parts: int, process: subprocess.Popen[bytes]) -> bool:
        """Wait until so many parts are there; tell whether the run has not ended before."""
        ends = time.monotonic() + SECONDS
        while self.finished() < parts and process.poll() is None:
            if time.monotonic() > ends:
                raise Broken(f"no part {parts} after {SECONDS} s")
            time.sleep(0.002)
        return process.poll() is None

    def compare(self, expected: str, *, without: range = range(0)) -> None:
        """Compare a finished output with the frame, `without` some rows of it, and with a hash."""
        wanted = self.ids().to_list()
        left = [work for row, work in enumerate(wanted) if row not in without]
        found = pl.read_parquet(self.output, columns=["id"])["id"]
        self.jobs += 1
        self.works += len(left)
        self.lost += len(set(left) - set(found))
        self.doubled += len(found) - found.n_unique()
        self.equal += sha256(self.output) == expected
        self.left_over += self.parts.exists()

    def ids(self) -> pl.Series:
        """Return the ids of the frame, as an output has them."""
        files = self.frame / "*.parquet" if self.frame.is_dir() else self.frame
        return pl.read_parquet(files, columns=["id"])["id"].str.strip_prefix(
            "https://openalex.org/"
        )

    def kept(self) -> bool:
        """Tell whether nothing was lost or doubled, and every output has the expected bytes."""
        same = self.jobs > 0 and self.equal == self.jobs
        return same and not (self.lost or self.doubled or self.left_over)


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Let no process outlive a scene that fails."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()
