"""OpenAlex's works: a part of its snapshot, pages of its API, single works.

A file holds a work or a page (`{"meta": …, "results": […]}`) a line, or is one JSON document: a
page, a list of works or a work, however it is indented.
"""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Raw

from scorer.errors import InputError
from scorer.frame.files import FrameFile
from scorer.frame.readers.base import RECORDS_A_PIECE, Asked, Piece
from scorer.frame.readers.openalex_work import WorkColumns, mended
from scorer.frame.readers.streams import opened

_CHUNK: Final = 1 << 18  # small enough to stay in the processor's cache
_LARGEST_DOCUMENT: Final = 1 << 30  # a page of the API has some megabytes
_GATHERED: Final = 128  # works decoded before their columns are taken, for the same reason
_BOM: Final = b"\xef\xbb\xbf"
# Beginnings of a document that goes on in the next line; a work a line ends in a brace.
_GOES_ON: Final = re.compile(rb"[\[{,:]\s*\Z")


class _Page(msgspec.Struct, gc=False):
    results: list[Raw] | None = None


_PAGE: Final = msgspec.json.Decoder(_Page)
_LIST: Final = msgspec.json.Decoder(list[Raw])


def read(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of a file in OpenAlex's shape; see `Reader`."""
    works = _Works(file.name, asked)
    columns = works.columns
    given = False
    with opened(file, compression) as stream:
        found = works.of(_documents(stream, file.name))
        while some := list(itertools.islice(found, _GATHERED)):
            columns.gather(some)
            if columns.height >= RECORDS_A_PIECE:
                yield columns.piece()
                given = True
    if columns.height or not given:
        yield columns.piece()


class _Works:
    """Decodes documents into works, and tells of those that are none."""

    def __init__(self, file: str, asked: Asked) -> None:
        self._file, self._bad = file, asked.bad
        self.columns = WorkColumns(asked, file)

    def of(self, documents: Iterator[tuple[str, bytes]]) -> Iterator[Any]:
        """Yield the works in documents: pairs of where a document is and its bytes."""
        decode, has_id = self.columns.decode, self.columns.has_id
        for where, content in documents:
            try:
                work = decode(content)
            except (msgspec.DecodeError, RecursionError):
                yield from self._several(where, content)
                continue
            if has_id(work):
                yield work
            else:
                yield from self._several(where, content)

    def _several(self, where: str, content: bytes) -> Iterator[Any]:
        """Yield the works of a page or a list, or what can be made of a work."""
        try:
            records = _records(content)
        except (msgspec.DecodeError, RecursionError):
            records = None
        if records is None:
            yield from self._mended(where, content)
            return
        for number, record in enumerate(records, 1):
            yield from self._one(_within(where, number), record)

    def _one(self, where: str, record: Raw) -> Iterator[Any]:
        try:
            work = self.columns.decode(record)
        except msgspec.DecodeError:
            work = None
        if work is not None and self.columns.has_id(work):
            yield work
        else:
            yield from self._mended(where, bytes(record))

    def _mended(self, where: str, content: bytes) -> Iterator[Any]:
        """Yield works out of JSON that only a forgiving parser reads."""
        try:
            value = json.loads(content, strict=False, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            self._bad.found(self._file, _place(where, error), _reason(error), _shown(content))
            return
        results = value.get("results") if isinstance(value, dict) else value
        if not isinstance(results, list):
            yield from self._of_value(where, value, content)
            return
        for number, record in enumerate(results, 1):
            yield from self._of_value(_within(where, number), record, json.dumps(record).encode())

    def _of_value(self, where: str, value: object, content: bytes) -> Iterator[Any]:
        if not isinstance(value, dict):
            self._bad.found(self._file, where, "no JSON object", _shown(content))
            return
        try:
            work = self.columns.decode(mended(value))
        except (msgspec.DecodeError, RecursionError) as error:
            self._bad.found(self._file, where, f"no work ({error})", _shown(content))
            return
        if self.columns.has_id(work):
            yield work
        else:
            self._bad.found(self._file, where, "a work without id", _shown(content))


def _records(content: bytes) -> list[Raw] | None:
    """Return the records of a page or a list, None where it is neither."""
    if content.lstrip()[:1] == b"[":
        return _LIST.decode(content)
    return _PAGE.decode(content).results


def _documents(stream: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the JSON documents of a file and where they are, "" for one that is the whole file."""
    lines = _lines(stream, name)
    head = list(itertools.islice(lines, 2))
    if not head or not _GOES_ON.search(head[0][1]):
        yield from ((f"line {number}", line) for number, line in itertools.chain(head, lines))
    elif head[0][1] == b"[" and head[1:] and head[1][1].rstrip(b",").endswith(b"}"):
        # A list with a work a line: no need to hold it all.
        for number, line in itertools.chain(head[1:], lines):
            if line != b"]":
                yield f"line {number}", line.rstrip(b",")
    else:
        yield "", _whole(itertools.chain(head, lines), name)


def _whole(lines: Iterator[tuple[int, bytes]], name: str) -> bytes:
    parts, size, before = [], 0, 1
    for number, line in lines:
        # Blank lines were left out: they come back, so that errors name the right line.
        parts.append(b"\n" * (number - before) + line)
        before = number
        size += len(line)
        if size > _LARGEST_DOCUMENT:
            raise _too_large(name)
    return b"".join(parts)


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, stripped, with their numbers from 1."""
    number, rest = 0, b""
    first = True
    while chunk := stream.read(_CHUNK):
        if first:
            chunk, first = chunk.removeprefix(_BOM), False
        *lines, tail = chunk.split(b"\n")
        if lines:
            lines[0] = rest + lines[0]
            rest = tail
        else:
            rest += tail
            if len(rest) > _LARGEST_DOCUMENT:
                raise _too_large(name)
        for line in lines:
            number += 1
            if stripped := line.strip():
                yield number, stripped
    if stripped := rest.strip():
        yield number + 1, stripped


def _too_large(name: str) -> InputError:
    return InputError(
        f"{name}: one JSON document of more than {_LARGEST_DOCUMENT >> 30} GB.\n"
        "Write it with a work a line: jq -c '.results[]' FILE > works.jsonl"
    )


def _within(where: str, number: int) -> str:
    return f"{where}, work {number:,}" if where else f"work {number:,}"


def _place(where: str, error: Exception) -> str:
    """Return where an error is; in a document of many lines, the line."""
    if where:
        return where
    return f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "line 1"


def _reason(error: Exception) -> str:
    match error:
        case json.JSONDecodeError() if error.pos >= len(error.doc.rstrip()) or (
            error.msg.startswith("Unterminated string")
        ):
            return "cut off in mid-record"
        case json.JSONDecodeError():
            return f"no JSON ({error.msg}, column {error.colno})"
        case UnicodeDecodeError():
            return "text that is not UTF-8"
        case _:
            return "JSON nested too deeply"


def _shown(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\n", " ")
