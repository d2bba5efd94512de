"""What an address says: which kind of store, which bucket, which object."""

import os
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from scorer.errors import InputError, OutputError

Failure = type[InputError] | type[OutputError]
"""The error of an operation: of reading or of writing."""

ALLOW_HTTP: Final = "SCORER_ALLOW_HTTP"
_STORES: Final = ("s3", "gs", "az")
_WEB: Final = ("https", "http")
# Two letters at least: C:/ is a drive. A `Path` folds the two slashes into one; that is understood
# too, for the known kinds, since no object's name can begin with a slash.
_ADDRESS: Final = re.compile(
    rf"([a-zA-Z][a-zA-Z0-9+.-]+)://(.*)|({'|'.join(_STORES + _WEB)}):/(.*)"
)
_GLOB: Final = re.compile(r"[*?\[]")


def is_remote(text: str) -> bool:
    """Tell whether a text is an address, of a kind that is known or not, rather than a path."""
    return _ADDRESS.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Address:
    """An address taken apart; `bucket` is the host's name where it is of the web."""

    scheme: str
    bucket: str
    key: str
    query: str = ""

    @classmethod
    def of(cls, text: str, fails: Failure = InputError) -> "Address":
        """Take an address apart; raise where nothing can lie behind it."""
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise fails(f"{text}: not an address. Expected for instance s3://bucket/name.")
        scheme = (match[1] or match[3]).lower()
        rest = match[2] if match[1] else match[4]
        if scheme in _WEB:
            return _web(text, f"{scheme}://{rest}", fails)
        if scheme not in _STORES:
            raise fails(
                f"{text}: {scheme}:// is not supported.\nUse s3://, gs://, az:// or https://."
            )
        bucket, _, key = rest.partition("/")
        if not bucket or "//" in f"/{key}" or ".." in key.split("/"):
            raise fails(
                f"{text}: not a usable address.\n"
                f"Expected {scheme}://bucket/name, without empty or dotted parts."
            )
        return cls(scheme, bucket, key)

    @property
    def name(self) -> str:
        """The address without its query: a signature in it is not for messages or manifests."""
        return f"{self.scheme}://{self.bucket}/{self.key}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.name}?{self.query}" if self.query else self.name

    @property
    def is_web(self) -> bool:
        """Whether it is one file of a web server, rather than of a bucket."""
        return self.scheme in _WEB

    @property
    def is_folder(self) -> bool:
        """Whether it stands for all that begins with it."""
        return self.key == "" or self.key.endswith("/")

    @property
    def fixed(self) -> str:
        """The part of the key before its first pattern; the whole key where it has none."""
        match = _GLOB.search(self.key)
        return self.key[: match.start()] if match else self.key

    def at(self, key: str) -> "Address":
        """Return the address of another object in the same bucket."""
        return Address(self.scheme, self.bucket, key)


def _web(text: str, url: str, fails: Failure) -> Address:
    parts = urlsplit(url)
    if not parts.hostname or "@" in parts.netloc:
        raise fails(
            f"{text}: not a usable address. Expected https://host/name, without a password."
        )
    if parts.scheme == "http" and not _true(ALLOW_HTTP):
        raise fails(
            f"{text}: http:// is not encrypted, so it is not used.\n"
            f"Use https://, or set {ALLOW_HTTP}=1 for a network that you trust."
        )
    return Address(parts.scheme, parts.netloc, parts.path.removeprefix("/"), parts.query)


def _true(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true", "yes", "on")
