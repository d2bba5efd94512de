"""The files that a frame is kept in: what each is called, whether it has changed, how it opens."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO, Protocol


class FrameFile(Protocol):
    """One file, on a disk or behind an address."""

    @property
    def name(self) -> str:
        """As messages name it: the path or the address as the user would write it."""

    @property
    def size(self) -> int:
        """In bytes."""

    @property
    def stamp(self) -> str:
        """Changes when the content does: the time of change, or the store's tag."""

    @property
    def local(self) -> Path | None:
        """Its path, for a file on a disk."""

    def open(self) -> BinaryIO:
        """Open the raw bytes, seekable; raise `InputError` where it cannot be read."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on a disk, as it was when it was found."""

    path: Path
    size: int
    stamp: str

    @classmethod
    def at(cls, path: Path) -> "LocalFile":
        """Take note of a file that is there."""
        status = path.stat()
        return cls(path, status.st_size, str(status.st_mtime_ns))

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def local(self) -> Path | None:
        """The path."""
        return self.path

    def open(self) -> BinaryIO:
        """Open the raw bytes."""
        return self.path.open("rb")


def short_names(names: Sequence[str]) -> list[str]:
    """Return the names of files without the folder that all lie in; no two become the same."""
    paths = [PurePath(name) for name in names]
    common = os.path.commonpath([path.parent for path in paths])
    return [path.relative_to(common).as_posix() for path in paths]
