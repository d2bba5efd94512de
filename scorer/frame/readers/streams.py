"""Files as streams of plain bytes: gzip, zstd and bzip2 opened, damage in them told in plain words.

All three formats may hold several members or frames, one after the other. gzip goes through isal,
which takes a third of the time that Python's own module does. zstd goes through pyarrow, which is
there anyway and, unlike `zstandard`, says when a frame was cut off.
"""

import bz2
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final, Protocol, cast

import pyarrow as pa
from isal import igzip, isal_zlib

from scorer.errors import InputError
from scorer.frame.files import FrameFile

COMPRESSIONS: Final = {"gz": "gzip", "zst": "zstd", "bz2": "bzip2"}
"""Compression, by the extension that it goes by -> what people call it."""
_CHUNK: Final = 1 << 20
_IsalError: Final = cast(type[Exception], isal_zlib.error)  # its stubs call it an instance
_ZSTD_CUT: Final = "Truncated compressed stream"


class _Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...

    def close(self) -> None: ...


@contextmanager
def opened(file: FrameFile, compression: str | None) -> Iterator[io.BufferedReader]:
    """Open a file for reading, decompressed; damage raises `InputError`, in mid-reading too."""
    with file.open() as raw, io.BufferedReader(_Plain(file.name, raw, compression), _CHUNK) as it:
        yield cast(io.BufferedReader, it)


class _Plain(io.RawIOBase):
    """The decompressed bytes of an open file."""

    def __init__(self, name: str, raw: BinaryIO, compression: str | None) -> None:
        self._name = name
        self._compression = compression
        self._inner = _decompressed(raw, compression)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int | None:  # type: ignore[override]
        """Fill the buffer; raise `InputError` where the compressed data are damaged."""
        try:
            return self._inner.readinto(buffer)
        except (EOFError, _IsalError, OSError) as error:
            raise InputError(self._what(error)) from error

    def _what(self, error: Exception) -> str:
        if self._compression is None or getattr(error, "errno", None) is not None:
            return f"{self._name}: cannot be read ({error}). Check the disk or the connection."
        kind = COMPRESSIONS[self._compression]
        if isinstance(error, EOFError) or str(error) == _ZSTD_CUT:
            return (
                f"{self._name}: cut off: the {kind} data ends early.\nCopy or make the file again."
            )
        return f"{self._name}: damaged {kind} data ({error}).\nCopy or make the file again."


def _decompressed(raw: BinaryIO, compression: str | None) -> _Readable:
    match compression:
        case None:
            return cast(_Readable, raw)
        case "gz":
            return cast(_Readable, igzip.IGzipFile(fileobj=raw, mode="rb"))
        case "bz2":
            return cast(_Readable, bz2.BZ2File(raw))
        case "zst":
            return cast(_Readable, pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
        case _:
            raise ValueError(f"no such compression: {compression!r}")
