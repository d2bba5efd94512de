"""The scored file: written under another name, put in place when it is whole."""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.files import told

# Score columns hold few distinct values (sigmoids of integers): dictionary pages, then zstd at its
# fastest level. Chosen by measurement, see benchmarks/README.md.
_COMPRESSION: Final = "zstd"
_LEVEL: Final = 1


WAITING: Final = "output.tmp"


class OutputFile:
    """A Parquet file that appears at `path` whole, by `publish`, or not at all."""

    def __init__(self, path: Path, folder: Path, schema: pa.Schema) -> None:
        """Start writing in `folder`, beside `path`; raise `OutputError` where it refuses."""
        self._path = path
        self._waiting = folder / WAITING
        with told(path):
            self._waiting.touch()  # pyarrow's own refusals say less
            self._writer = pq.ParquetWriter(
                self._waiting,
                schema,
                compression=_COMPRESSION,
                compression_level=_LEVEL,
                write_statistics=[schema.names[0]],  # of ids: to find a work by
            )

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
            # The disk may be full, or the folder gone: the first error is the one to tell.
            with suppress(OSError):
                self._writer.close()
            self._waiting.unlink(missing_ok=True)

    def append(self, part: pa.Table) -> None:
        """Write one part as one row group."""
        with told(self._path):
            self._writer.write_table(part, row_group_size=max(1, part.num_rows))

    def finish(self) -> None:
        """Complete the file and force it to disk, still under its other name."""
        with told(self._path):
            self._writer.close()
            with self._waiting.open("rb+") as file:
                os.fsync(file.fileno())

    def publish(self) -> None:
        """Put the finished file in place."""
        with told(self._path):
            self._waiting.replace(self._path)
