"""Finding a frame's files behind an address; opening each."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from scorer.errors import InputError
from scorer.frame.remote.address import Address
from scorer.frame.remote.store import Found, Store
from scorer.frame.remote.web import Web
from scorer.frame.remote.words import absent


class _Source(Protocol):
    def open_found(self, found: Found) -> BinaryIO: ...


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind an address, as it was when it was found."""

    name: str
    size: int
    stamp: str
    """The store's tag of the content, or the time of change where it gives none."""
    _found: Found = field(repr=False)
    _source: _Source = field(repr=False, compare=False)

    @property
    def local(self) -> Path | None:
        """None: it lies on no disk."""
        return None

    def open(self) -> BinaryIO:
        """Open the bytes; reading raises `InputError` where they cannot be had, or have changed."""
        return self._source.open_found(self._found)


def find(url: str) -> list[RemoteFile]:
    """Return the files behind an address: one, all below a prefix, or all of a pattern.

    A prefix ends in "/", which may be left out where no object has that very name. In a pattern `*`
    and `?` stop at "/", `**` does not. The files are sorted by name; below a prefix, names that
    begin with "." or "_" stand for no data. Raises `InputError` where there are none, or where they
    cannot be reached.
    """
    address = Address.of(url)
    if address.is_web:
        web = Web(address, InputError)
        return [_file(web.look(), web)]
    store = Store.open(address, InputError)
    if address.is_folder:
        return _some(_data(store, address.key), store, address)
    if address.fixed != address.key:
        return _some(_matching(store, address), store, address)
    one = store.look(address.key)
    if one is not None:
        return [_file(one, store)]
    with suppress(InputError):  # where listing is not allowed
        if found := _data(store, f"{address.key}/"):
            return _some(found, store, address)
    raise InputError(absent(address))


def _matching(store: Store, address: Address) -> list[Found]:
    start = address.fixed.rpartition("/")[0]
    last_only = "/" not in address.key[len(address.fixed) :] and "**" not in address.key
    try:
        pattern = re.compile(_regex(address.key))
    except re.error as error:
        raise InputError(f"{address.name}: not a usable pattern ({error}).") from error
    listed = store.below(f"{start}/" if start else "", deep=not last_only)
    found = [each for each in listed if pattern.fullmatch(each.key)]
    if not found and (literal := store.look(address.key)) is not None:
        return [literal]  # a name that only looks like a pattern
    return found


def _regex(pattern: str) -> str:
    """Translate a pattern; `fnmatch` would let a star pass over "/"."""
    words = re.split(r"(\*\*/?|\*|\?|\[[!^]?\]?[^\]]*\])", pattern)
    known = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        known.get(word) or (re.sub(r"^\[!", "[^", word) if number % 2 else re.escape(word))
        for number, word in enumerate(words)
    )


def _data(store: Store, prefix: str) -> list[Found]:
    return [
        each
        for each in store.below(prefix)
        if not any(part[:1] in ("", ".", "_") for part in each.key[len(prefix) :].split("/"))
    ]


def _some(found: list[Found], store: Store, address: Address) -> list[RemoteFile]:
    if not found:
        raise InputError(f"{address.name}: no object lies there. Check the name.")
    return [_file(each, store) for each in sorted(found, key=lambda each: each.key)]


def _file(found: Found, source: _Source) -> RemoteFile:
    return RemoteFile(found.name, found.size, found.stamp, found, source)
