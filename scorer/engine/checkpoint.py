"""Finished parts on disk, so that an interrupted run goes on where it stopped.

A part is a Parquet file of one row group in `<output>.parts/`, complete or absent: it is written
under another name, forced to disk, then renamed. The folder belongs to one job, told by a
fingerprint of all that decides its bytes, and to one process at a time, told by a lock that dies
with the process.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Literal, Self

import pyarrow as pa

from scorer.engine.files import told, write_atomically
from scorer.errors import OutputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_JOB: Final = "job"
_LOCK: Final = "lock"
# What may lie in the folder; where anything else does, the folder is somebody's own.
_OURS: Final = re.compile(
    r"job|lock|output\.tmp|frame(-\d+)?\.(parquet|json|tmp|tsv)|skipped\.tsv"
    r"|(part|refined)-\d{6}\.(parquet|sha256|tmp)|\.job\..*"
)

Series = Literal["part", "refined"]
"""Parts of the first stage, one a shard; rows that a second stage scored again, one part a shard.
"""


class Checkpoint:
    """The parts of one job; use it as a context manager, which holds the lock."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Name the folder and the job; nothing is touched yet."""
        self.folder = folder
        self._fingerprint = fingerprint
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Take the lock; nothing else is touched."""
        with told(self.folder):
            self._lock = _locked(self.folder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the lock; the parts stay, a folder without any goes."""
        if self._lock is not None and self.folder.exists() and not self._any():
            self._empty(but=())
            self.folder.rmdir()
        if self._lock is not None:
            self._lock.close()

    def job(self) -> str | None:
        """Return the fingerprint of the job whose parts are there."""
        path = self.folder / _JOB
        return path.read_text() if path.exists() and self._any() else None

    def claim(self) -> bool:
        """Make the folder this job's; tell whether parts of another job were dropped for it."""
        if self.job() == self._fingerprint:
            return False
        dropped = self._any()
        with told(self.folder):
            self._empty(but=(_LOCK,))
            write_atomically(self.folder / _JOB, self._fingerprint.encode())
        return dropped

    def done(self, series: Series = "part") -> int:
        """Return how many parts are there, from the first without a gap."""
        count = 0
        while self._is_whole(count, series):
            count += 1
        return count

    def save(self, index: int, content: pa.Buffer, series: Series = "part") -> None:
        """Write one part; raise `OutputError` where the disk refuses."""
        path = self.path(index, series)
        waiting = path.with_suffix(".tmp")
        with told(path):
            self.check_held()
            path.with_suffix(".sha256").write_text(self._digest(index, series, content))
            with waiting.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            waiting.replace(path)

    def load(self, count: int, series: Series = "part") -> Iterator[pa.Buffer]:
        """Yield the first `count` parts."""
        for index in range(count):
            yield pa.py_buffer(self.path(index, series).read_bytes())

    def path(self, index: int, series: Series = "part") -> Path:
        """Return where a part lies, or would."""
        return self.folder / f"{series}-{index:06d}.parquet"

    def check_held(self) -> None:
        """Raise `OutputError` where the folder was removed, or put there anew, in the meantime."""
        if self._lock is None or not _is_at(self._lock, self.folder / _LOCK):
            raise OutputError(
                f"{self.folder}: was removed while this run was writing to it.\n"
                "Give the same command again: it begins anew."
            )

    def remove(self) -> None:
        """Delete the parts; the output has taken their place."""
        with told(self.folder):
            self._empty(but=())
            self.folder.rmdir()

    def _empty(self, *, but: tuple[str, ...]) -> None:
        """Remove the checkpoint's own files, nothing else."""
        for path in self.folder.iterdir():
            if path.name not in but and _OURS.fullmatch(path.name):
                path.unlink()

    def _is_whole(self, index: int, series: Series) -> bool:
        """Tell whether a part is there, unchanged and in its place."""
        path = self.path(index, series)
        try:
            said = path.with_suffix(".sha256").read_text()
            with pa.memory_map(str(path)) as file:
                return said == self._digest(index, series, file.read_buffer())
        except FileNotFoundError:
            return False

    def _digest(self, index: int, series: Series, content: pa.Buffer) -> str:
        """Return the hash of a part in its place: another job's, or another place's, is another."""
        digest = hashlib.sha256(f"{series} {index} of {self._fingerprint} ".encode())
        digest.update(content)
        return digest.hexdigest()

    def _any(self) -> bool:
        return any(any(self.folder.glob(name)) for name in ("part-*.parquet", "frame*.json"))


def _locked(folder: Path) -> IO[bytes]:
    """Create the folder if need be and lock it; raise `OutputError` where another run holds it."""
    while True:
        folder.mkdir(exist_ok=True)
        strangers = [path.name for path in folder.iterdir() if not _OURS.fullmatch(path.name)]
        if folder.is_symlink() or strangers:
            raise OutputError(
                f"{folder}: no folder of finished parts ({', '.join(strangers[:3]) or 'a link'}); "
                "left alone.\nMove it away, or choose another output with -o."
            )
        path = folder / _LOCK
        file = path.open("ab")
        if not _take(file):
            file.close()
            raise OutputError(
                f"{folder}: another run is writing this output now.\n"
                "Wait for it to end, or choose another output with -o."
            )
        # The other run may have ended, and removed the folder, between the two lines above.
        if _is_at(file, path):
            return file
        file.close()


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Tell whether an open file is the one that lies at a path now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        return False


def _take(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except PermissionError:  # what Windows says
        return False
    return True
