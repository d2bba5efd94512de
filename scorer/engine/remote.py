"""An output behind an address: made on the disk, uploaded whole, its manifest last.

A run writes into a staging folder in the working folder, named after the address; so an interrupted
run, or an interrupted upload, goes on when the same command is given again from the same place.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from scorer.engine.files import sha256, told
from scorer.engine.manifest import RunManifest, manifest_path, read_manifest
from scorer.engine.place import settled
from scorer.errors import OutputError, ScorerError, UsageError
from scorer.frame.remote.address import Address, is_remote
from scorer.frame.remote.files import find
from scorer.frame.remote.store import Found, Store
from scorer.frame.remote.web import Web


def exists(url: str) -> bool:
    """Tell whether a file lies behind an address; raise `OutputError` where that is not told."""
    return _Place.of(url).look() is not None


def upload(local: Path, url: str) -> None:
    """Upload a file, in parts where it is large, and make sure that all of it is there.

    Behind the address it appears whole or not at all. Raises `OutputError`.
    """
    place = _Place.of(url)
    place.put(local)
    size, there = local.stat().st_size, place.look()
    if there is None or there.size != size:
        held = "nothing" if there is None else f"{there.size:,} bytes"
        raise OutputError(
            f"{place.address.name}: {size:,} bytes were sent and {held} arrived.\n"
            "Give the same command again: what is finished is kept."
        )


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an output goes: `local` is the file to write, `url` where it is to lie in the end.

    For a path on a disk `url` is None and there is nothing more to do.
    """

    local: Path
    url: str | None = None

    @classmethod
    def of(cls, output: str | Path) -> Self:
        """Return the destination that a path or an address names; nothing is touched yet."""
        text = str(output)
        if not is_remote(text):
            return cls(settled(Path(output)))
        address = Address.of(text, OutputError)
        if address.is_folder:
            raise OutputError(f"{text}: a folder; name the file to write, for instance with -o.")
        if address.query:
            raise UsageError(
                f"{address.name}?…: a signed address stands for one file, and an output is two: "
                "itself and its manifest.\nUse s3://, gs:// or az:// with credentials."
            )
        name = address.key.rpartition("/")[2]
        mark = hashlib.sha256(address.url.encode()).hexdigest()[:8]
        return cls(Path(f"{name}.staged-{mark}", name), address.url)

    @contextmanager
    def staged(self, *, overwrite: bool) -> Iterator[None]:
        """Prepare, and clear after a block that ends with `send`.

        After a failure what is staged stays, for the same command to go on from; an empty folder
        goes.
        """
        self.prepare(overwrite=overwrite)
        try:
            yield
        except BaseException:
            if self.url is not None:
                with suppress(OSError):
                    self.local.parent.rmdir()
            raise
        self.clear()

    def prepare(self, *, overwrite: bool) -> None:
        """Make the staging folder; raise `OutputError` where the output may not be written.

        What lies behind the address is refused without `overwrite`, unless it is the end of an
        upload of this very file that was cut off before its manifest.
        """
        if self.url is None:
            return
        if not overwrite:
            self._check_absent(self.url)
        with told(self.local.parent):
            self.local.parent.mkdir(exist_ok=True)

    def finished(self, job: str) -> RunManifest | None:
        """Return the manifest of a staged output that this job finished, and did not upload."""
        if self.url is None or not self.local.is_file():
            return None
        try:
            manifest = read_manifest(self.local)
        except ScorerError:
            return None
        whole = manifest.job == job and sha256(self.local) == manifest.output.sha256
        return manifest if whole else None

    def send(self) -> None:
        """Upload the finished output, then its manifest, whose presence means that it is whole."""
        if self.url is None:
            return
        beside = _beside(self.url)
        if exists(beside):
            _Place.of(beside).delete()
        upload(self.local, self.url)
        upload(manifest_path(self.local), beside)

    def send_alone(self) -> None:
        """Upload an output that has no manifest: a frame."""
        if self.url is not None:
            upload(self.local, self.url)

    def clear(self) -> None:
        """Remove the staging folder, after `send`; what else lies beside the output moves out.

        For instance the records that could not be read: they are for the user, not for the store.
        """
        if self.url is None:
            return
        staging = self.local.parent
        sent = (self.local.name, manifest_path(self.local).name)
        with suppress(OSError):
            for path in staging.iterdir():
                if path.is_file() and path.name not in sent:
                    path.replace(staging.parent / path.name)
            shutil.rmtree(staging)

    def _check_absent(self, url: str) -> None:
        ours = self.local.is_file() and manifest_path(self.local).is_file()
        there, complete = exists(url), exists(_beside(url))
        if complete and ours and self._is_sent(url):
            self.clear()  # the upload ended, and was cut off before it cleared up
        if complete or (there and not ours):
            raise OutputError(
                f"{url}: exists already. Choose another output with -o, or say --overwrite."
            )

    def _is_sent(self, url: str) -> bool:
        with find(_beside(url))[0].open() as there:
            return there.read() == manifest_path(self.local).read_bytes()


def _beside(url: str) -> str:
    """Return where the manifest of an output behind an address lies."""
    return f"{url}.meta.json"


@dataclass(frozen=True, slots=True)
class _Place:
    """One object of a store, or one file of a server, to be written."""

    address: Address
    _store: Store | Web

    @classmethod
    def of(cls, url: str) -> Self:
        address = Address.of(url, OutputError)
        opened = Web(address, OutputError) if address.is_web else Store.open(address, OutputError)
        return cls(address, opened)

    def look(self) -> Found | None:
        if isinstance(self._store, Web):
            return self._store.exists()
        return self._store.look(self.address.key)

    def put(self, local: Path) -> None:
        if isinstance(self._store, Web):
            self._store.put(local)
        else:
            self._store.put(self.address.key, local)

    def delete(self) -> None:
        if isinstance(self._store, Web):
            self._store.delete()
        else:
            self._store.delete(self.address.key)
