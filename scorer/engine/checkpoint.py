"""Finished parts on disk, so that an interrupted run goes on where it stopped.

A part is an Arrow file in `<output>.parts/`, complete or absent: it is written under another name,
forced to disk, then renamed. The folder belongs to one job, told by a fingerprint of all that
decides its bytes, and to one process at a time, told by a lock that dies with the process.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import pyarrow as pa

from scorer.engine.files import told, write_atomically
from scorer.errors import OutputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_JOB: Final = "job"
_LOCK: Final = "lock"
# Fast, and a third of the size: little disk is part of the deal.
_CODEC: Final = pa.ipc.IpcWriteOptions(compression="lz4")


class Checkpoint:
    """The parts of one job; use it as a context manager, which holds the lock."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Name the folder and the job; nothing is touched yet."""
        self.folder = folder
        self.set_aside = False
        """Whether parts of another job were found and dropped."""
        self._fingerprint = fingerprint
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Take the lock and see what is there; parts of another job are dropped."""
        with told(self.folder):
            self._lock = _locked(self.folder)
            job = self.folder / _JOB
            found = job.read_text() if job.exists() else None
            if found != self._fingerprint:
                self.set_aside = self._clear() > 0
                write_atomically(job, self._fingerprint.encode())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the lock; the parts stay."""
        if self._lock is not None:
            self._lock.close()

    def done(self) -> int:
        """Return how many parts are there, from the first without a gap."""
        count = 0
        while self._path(count).exists():
            count += 1
        return count

    def save(self, index: int, part: pa.Table) -> None:
        """Write one part; raise `OutputError` where the disk refuses."""
        path = self._path(index)
        waiting = path.with_suffix(".tmp")
        with told(path), waiting.open("wb") as file:
            with pa.ipc.new_file(file, part.schema, options=_CODEC) as writer:
                writer.write_table(part)
            file.flush()
            os.fsync(file.fileno())
        waiting.rename(path)

    def load(self, count: int) -> Iterator[pa.Table]:
        """Yield the first `count` parts."""
        for index in range(count):
            with pa.memory_map(str(self._path(index))) as file:
                yield pa.ipc.open_file(file).read_all()

    def remove(self) -> None:
        """Delete the parts; the output has taken their place."""
        with told(self.folder):
            shutil.rmtree(self.folder)

    def _path(self, index: int) -> Path:
        return self.folder / f"part-{index:06d}.arrow"

    def _clear(self) -> int:
        parts = [path for path in self.folder.iterdir() if path.name != _LOCK]
        for path in parts:
            path.unlink()
        return len(parts)


def _locked(folder: Path) -> IO[bytes]:
    """Create the folder if need be and lock it; raise `OutputError` where another run holds it."""
    while True:
        folder.mkdir(exist_ok=True)
        path = folder / _LOCK
        file = path.open("ab")
        if not _take(file):
            file.close()
            raise OutputError(
                f"{folder}: another run is writing this output now.\n"
                "Wait for it to end, or choose another output with -o."
            )
        # The other run may have ended, and removed the folder, between the two lines above.
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            return file
        file.close()


def _take(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
