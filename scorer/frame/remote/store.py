"""A bucket of S3, Google Cloud Storage or Azure: looking, listing, reading ranges, writing.

obstore was chosen over fsspec with s3fs, gcsfs and adlfs: one wheel without dependencies instead
of 55 packages, and its retries go on in the middle of an answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from scorer.errors import InputError, UsageError
from scorer.frame.remote import retry
from scorer.frame.remote.address import Address, Failure
from scorer.frame.remote.credentials import settings
from scorer.frame.remote.reader import reader
from scorer.frame.remote.words import changed, explained, is_absent, is_connection

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import AzureStore, ClientConfig, GCSStore, RetryConfig, S3Store

# S3 takes parts of 5 MiB at least (but for the last) and 10,000 of them at most.
LEAST_PART: Final = 8 << 20
MOST_PARTS: Final = 10_000
# Parts that are on their way at once; each is held in memory.
_PARTS_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Found:
    """An object that is there; `stamp` changes when its content does."""

    name: str
    key: str
    size: int
    stamp: str


@dataclass(frozen=True, slots=True)
class Store:
    """A bucket, opened; nothing is asked of it before the first call."""

    bucket: Address
    fails: Failure
    _store: "S3Store | GCSStore | AzureStore" = field(repr=False)

    @classmethod
    def open(cls, address: Address, fails: Failure) -> "Store":
        """Open the bucket of an address; raise where no credentials are to be found."""
        try:
            from obstore.exceptions import BaseError  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise UsageError(
                f"{address.scheme}:// needs obstore, which is not installed.\n"
                "Install the extra: pip install 'scorer[remote]'"
            ) from error
        options, plain = settings(address, fails)
        try:
            return cls(address, fails, _opened(address, options, plain=plain))
        except (BaseError, ValueError, OSError) as error:
            raise fails(explained(error, address)) from error

    def look(self, key: str) -> Found | None:
        """Return what is known of an object; None where it is absent. A missing bucket raises."""
        import obstore  # noqa: PLC0415

        try:
            meta = obstore.head(self._store, key)
        except FileNotFoundError:
            self._check_bucket(key)
            return None
        except obstore.exceptions.BaseError as error:
            if not is_connection(error):
                # An answer to HEAD has no body: the reason comes with the one to GET.
                with self._told(key):
                    obstore.get(self._store, key)
            raise self.fails(explained(error, self.bucket.at(key))) from error
        return self._found(meta)

    def below(self, prefix: str, *, deep: bool = True) -> list[Found]:
        """Return the objects below a prefix that ends in "/" (or is empty), in any order."""
        import obstore  # noqa: PLC0415

        with self._told(prefix):
            if deep:
                listed = obstore.list(self._store, prefix or None).collect()
            else:
                listed = obstore.list_with_delimiter(self._store, prefix or None)["objects"]
        return [self._found(meta) for meta in listed if f"{meta['path']}/" != prefix]

    def open_found(self, found: Found) -> BinaryIO:
        """Open an object for reading."""
        return reader(partial(self._range, found), found.size)

    def _range(self, found: Found, start: int, end: int) -> bytes:
        import obstore  # noqa: PLC0415

        with self._told(found.key):
            answer = obstore.get(self._store, found.key, options={"range": (start, end)})
            if self._found(answer.meta).stamp != found.stamp:
                raise InputError(changed(found.name))
            return bytes(answer.bytes())

    def put(self, key: str, path: Path) -> None:
        """Upload a file, in parts where it is large; it appears whole or not at all."""
        import obstore  # noqa: PLC0415

        size = path.stat().st_size
        part = part_size(size)
        # The parts come from Python, one by one, so that an interruption gets through.
        content = path.read_bytes() if size <= part else _parts(path, part)
        with self._told(key):
            obstore.put(
                self._store,
                key,
                content,
                use_multipart=size > part,
                chunk_size=part,
                max_concurrency=_PARTS_AT_ONCE,
            )

    def delete(self, key: str) -> None:
        """Remove an object, if it is there."""
        import obstore  # noqa: PLC0415

        with self._told(key):
            try:
                obstore.delete(self._store, key)
            except FileNotFoundError:
                return

    def _check_bucket(self, key: str) -> None:
        """Raise where the bucket itself is missing; where that cannot be asked, let it be."""
        import obstore  # noqa: PLC0415

        try:
            next(iter(obstore.list(self._store, key or None, chunk_size=1)), None)
        except (obstore.exceptions.BaseError, OSError) as error:
            if is_absent(error):
                raise self.fails(explained(error, self.bucket.at(key))) from error

    def _found(self, meta: "ObjectMeta") -> Found:
        address = self.bucket.at(meta["path"])
        stamp = meta["e_tag"] or meta["last_modified"].isoformat()
        return Found(address.name, meta["path"], meta["size"], stamp)

    @contextmanager
    def _told(self, key: str) -> Iterator[None]:
        from obstore.exceptions import BaseError  # noqa: PLC0415

        try:
            yield
        except (BaseError, FileNotFoundError, ValueError) as error:
            raise self.fails(explained(error, self.bucket.at(key))) from error


def part_size(size: int) -> int:
    """Return how large the parts of an upload are: `size` bytes in `MOST_PARTS` at the most."""
    return max(LEAST_PART, -(-size // MOST_PARTS))


def _parts(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(size):
            yield part


def _opened(
    address: Address, options: dict[str, str], *, plain: bool
) -> "S3Store | GCSStore | AzureStore":
    from obstore.store import AzureStore, GCSStore, S3Store  # noqa: PLC0415

    client: ClientConfig = {
        "allow_http": plain,
        "connect_timeout": timedelta(seconds=5),
        "read_timeout": timedelta(seconds=retry.SILENCE),
        # Of a request with its body: eight megabytes over a slow line take a while.
        "timeout": timedelta(minutes=10),
    }
    again: RetryConfig = {
        "max_retries": retry.TRIES - 1,
        "retry_timeout": timedelta(minutes=4),
        "backoff": {
            "init_backoff": timedelta(seconds=retry.FIRST_WAIT),
            "max_backoff": timedelta(seconds=retry.LONGEST_WAIT),
            "base": 2,
        },
    }
    known: dict[str, Any] = {"client_options": client, "retry_config": again, "config": options}
    match address.scheme:
        case "s3":
            return S3Store(address.bucket, **known)
        case "gs":
            return GCSStore(address.bucket, **known)
        case _:
            return AzureStore(address.bucket, **known)
