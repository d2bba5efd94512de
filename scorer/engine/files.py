"""Writing files whole or not at all, and saying in plain words why one cannot be written."""

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scorer.errors import OutputError
from scorer.frame.files import FrameFile

_BLOCK: Final = 1 << 20


def sha256(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_hash(file: FrameFile, given_up: Callable[[], bool] = lambda: False) -> str:
    """Return the sha256 of a frame's file, wherever it lies; what it is worth once given up: none.

    `given_up` is asked now and then.
    """
    with file.open() as content:
        digest = hashlib.sha256()
        while not given_up() and (block := content.read(_BLOCK)):
            digest.update(block)
    return digest.hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a small file whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    waiting = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        waiting.chmod(0o666 & ~_umask())
        waiting.replace(path)
    except OSError:
        waiting.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the process's mask: a temporary file is for its owner alone, a finished one is not."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
