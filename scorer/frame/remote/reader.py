"""A seekable file over ranges of bytes: little is fetched for a look, much for a long read."""

import io
from collections.abc import Callable
from typing import BinaryIO, Final, cast

Read = Callable[[int, int], bytes]
"""(start, end) -> the bytes from start up to end, all of them."""

# What is fetched at a time doubles while a file is read on, and starts anew after a jump: Parquet
# is read in jumps, a compressed stream from end to end.
FIRST: Final = 1 << 18
MOST: Final = 1 << 23
# Small reads are served from this buffer, in C.
_BUFFER: Final = 1 << 16


def reader(read: Read, size: int) -> BinaryIO:
    """Return a file of `size` bytes that fetches them by `read`."""
    return cast(BinaryIO, io.BufferedReader(_Ranges(read, size), _BUFFER))


class Seekable(io.RawIOBase):
    """A raw file whose size is known, to be filled by `readinto` of those that inherit from it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Say yes."""
        return True

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move without fetching."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"seek to {base + offset}: before the start of the file")
        self._at = base + offset
        return self._at


class _Ranges(Seekable):
    """One window of the file is held in memory, `MOST` bytes at the most."""

    def __init__(self, read: Read, size: int) -> None:
        super().__init__(size)
        self._read = read
        self._ahead = FIRST
        self._start = 0
        self._held = b""

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        """Fill the buffer as far as the window reaches, or with a new one; 0 at the end."""
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), self._size - self._at)
        if wanted <= 0:
            return 0
        if not self._start <= self._at < self._start + len(self._held):
            self._fetch(wanted)
        skip = self._at - self._start
        part = memoryview(self._held)[skip : skip + wanted]
        view[: len(part)] = part
        self._at += len(part)
        return len(part)

    def _fetch(self, wanted: int) -> None:
        goes_on = self._at == self._start + len(self._held)
        self._ahead = min(2 * self._ahead, MOST) if goes_on else FIRST
        end = self._at + max(self._ahead, min(wanted, MOST))
        self._held = self._read(self._at, min(end, self._size))
        self._start = self._at

    def close(self) -> None:
        """Let go of the window."""
        self._held = b""
        super().close()
