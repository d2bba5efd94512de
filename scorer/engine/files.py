"""Writing files whole or not at all, and saying in plain words why one cannot be written."""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scorer.errors import OutputError


def sha256(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a small file whole or not at all."""
    waiting = path.with_name(path.name + ".tmp")
    try:
        with waiting.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        waiting.replace(path)
    except OSError:
        waiting.unlink(missing_ok=True)
        raise


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn an operating system's refusal to write `path` into an `OutputError`."""
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                text = (
                    f"{path}: no space left on the disk.\nFree some and give the same command "
                    "again: a run goes on from its finished parts."
                )
            case errno.EACCES | errno.EPERM | errno.EROFS:
                text = f"{path}: may not be written. Check permissions, or choose -o elsewhere."
            case errno.ENOENT | errno.ENOTDIR:
                text = f"{path.parent}: no such folder. Make it first, or choose -o elsewhere."
            case _:
                text = f"{path}: cannot be written ({error.strerror or error})."
        raise OutputError(text) from error
