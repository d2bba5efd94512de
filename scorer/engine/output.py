"""The scored file: written under another name, put in place when it is whole."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyarrow as pa

from scorer.engine.files import told
from scorer.engine.manifest import Output
from scorer.engine.rowgroups import RowGroup, RowGroupWriter

WAITING: Final = "output.tmp"
_MOST_TO_SYNC: Final = 1 << 25  # bytes


class _Hashed:
    """A file to write whose hash is known as soon as it is written."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self._size = self._synced = 0

    def write(self, content: bytes | memoryview) -> None:
        self._file.write(content)
        self._digest.update(content)
        self._size += len(content)

    def sync(self) -> None:
        """Force what is written to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._synced = self._size

    def sync_now_and_then(self) -> None:
        """Force much to disk while other threads work, so that little is left to wait for."""
        if self._size - self._synced > _MOST_TO_SYNC:
            self.sync()

    def close(self) -> None:
        self._file.close()

    def described(self, name: str) -> Output:
        return Output(name=name, size=self._size, sha256=self._digest.hexdigest())


class OutputFile:
    """A Parquet file that appears at `path` whole, by `publish`, or not at all."""

    def __init__(self, path: Path, folder: Path, schema: pa.Schema) -> None:
        """Start writing in `folder`, beside `path`; raise `OutputError` where it refuses."""
        self._path = path
        self._waiting = folder / WAITING
        with told(path):
            self._file = _Hashed(self._waiting)
            self._writer = RowGroupWriter(self._file, schema)

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what was not published."""
        if error is not None:
            # The disk may be full: the first error is the one to tell, not that of closing.
            with suppress(OSError):
                self._file.close()
            self._waiting.unlink(missing_ok=True)

    def append(self, part: RowGroup) -> None:
        """Write one part as one row group."""
        with told(self._path):
            self._writer.add(part)
            self._file.sync_now_and_then()

    def finish(self) -> None:
        """Complete the file and force it to disk, still under its other name."""
        with told(self._path):
            self._writer.close()
            self._file.sync()
            self._file.close()

    def publish(self) -> Output:
        """Put the finished file in place; return what the manifest says of it."""
        with told(self._path):
            self._waiting.replace(self._path)
        return self._file.described(self._path.name)
