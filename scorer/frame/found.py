"""Finding the files of a frame: one file, a folder, a pattern; and what their folders say."""

import errno
import glob
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from scorer.errors import InputError
from scorer.frame.files import FrameFile, LocalFile
from scorer.frame.remote import find, is_remote

# What lies beside data in folders that programs write: marks of success, hidden files, manifests.
_NO_DATA: Final = ("_", ".")
_MANIFESTS: Final = ("manifest", "manifest.json", "license.txt", "readme.txt", "release_notes.txt")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a frame, and the columns that its folders give (`year=2010/part.parquet`)."""

    file: FrameFile
    partition: dict[str, str] = field(default_factory=dict)

    def absolute(self) -> "FoundFile":
        """Return the file with a path that holds in any working folder."""
        if self.file.local is None:
            return self
        path = self.file.local.absolute()
        return FoundFile(LocalFile(path, self.file.size, self.file.stamp), self.partition)


def find_files(location: str | Path) -> list[FoundFile]:
    """Return the files of a frame in a fixed order; raise `InputError` where there is none."""
    if is_remote(str(location)):
        files = [file for file in find(str(location)) if not _is_manifest(file.name)]
        return [FoundFile(file, _partition(file.name)) for file in files]
    path = Path(location)
    status = _status(path)
    if status is None and glob.has_magic(str(location)):
        paths = sorted(Path(name) for name in glob.glob(str(location), recursive=True))  # noqa: PTH207
        # What is no data goes here too, unless the pattern speaks of such names: _*.csv.
        plain = not path.name.startswith(_NO_DATA)
        found = [_found(p) for p in paths if not p.is_dir() and not (plain and _is_no_data(p.name))]
        if not found:
            raise InputError(f"{location}: no file has such a name. Check the pattern.")
        return found
    if status is None:
        raise InputError(f"{path}: no such file. Check the path.")
    if stat.S_ISDIR(status.st_mode):
        found = [_found(file) for file in _walk(path)]
        if not found:
            raise InputError(f"{path}: a folder with no data in it. Check the path.")
        return found
    return [FoundFile(_file(path))]


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the data files below a folder by name; links to folders are followed once."""
    seen: set[tuple[int, int]] = set()
    for root, folders, files in os.walk(folder, onerror=_refuse, followlinks=True):
        status = Path(root).stat()
        if (status.st_dev, status.st_ino) in seen:
            raise InputError(
                f"{root}: a link that leads back to a folder above it.\nRemove the link."
            )
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith(_NO_DATA))
        for name in sorted(files):
            if not _is_no_data(name):
                yield Path(root, name)


def _found(file: Path) -> FoundFile:
    return FoundFile(_file(file), _partition(file.as_posix()))


def _file(path: Path) -> LocalFile:
    """Take note of a file; raise `InputError` for what is none."""
    status = _status(path)
    if status is None:  # it was there a moment ago
        raise InputError(f"{path}: removed while the frame was looked for. Start again.")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: a stream; a frame must lie in a file. Save it first.")
    return LocalFile.at(path)


def _status(path: Path) -> os.stat_result | None:
    """Return what the system says of a path, None where nothing has that name."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise InputError(
                f"{path}: a link to {path.readlink()}, which is not there. Mend or remove the link."
            ) from None
        return None
    except OSError as error:
        _refuse(error)


def _refuse(error: OSError) -> NoReturn:
    """Raise `InputError` for a path that the system cannot follow, or may not."""
    why = {
        errno.ELOOP: "a link that leads back to itself. Remove the link.",
        errno.EACCES: "may not be read. Check its permissions.",
        errno.ENAMETOOLONG: "longer than a path may be. Check the path.",
    }
    raise InputError(
        f"{error.filename}: {why.get(error.errno or 0, f'cannot be read ({error.strerror}).')}"
    ) from error


def _partition(name: str) -> dict[str, str]:
    """Return the columns that a file's folders give."""
    pairs = (part.partition("=") for part in name.split("/")[:-1])
    return {column: value for column, sign, value in pairs if sign}


def _is_no_data(name: str) -> bool:
    return name.startswith(_NO_DATA) or _is_manifest(name)


def _is_manifest(name: str) -> bool:
    return name.rpartition("/")[2].lower() in _MANIFESTS
