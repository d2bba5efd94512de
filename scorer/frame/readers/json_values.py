"""JSON values of any layout, one after the other: the items of an array, or objects in a row.

Memory holds one value and a part of the file: Python's decoder finds where each value ends. That
builds the value, and yet is faster on full records than `ijson`, and gives the value's own text.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Final

from scorer.errors import InputError
from scorer.frame.readers.base import BadRecords

_CHUNK: Final = 1 << 20
_LONGEST: Final = 1 << 28  # characters; a record that has no end must not fill the memory
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_SPACE_OR_COMMA: Final = re.compile(r"[ \t\r\n,]*")
# An error so near to the end of what was read may be one of reading too little.
_NEAR: Final = 16
_UNTIL_EOF: Final = "Unterminated string"


def values(stream: io.BufferedReader, name: str, bad: BadRecords) -> Iterator[tuple[str, bytes]]:
    """Yield the text of each value of a JSON file, and where it stands ("record 7 (line 12)").

    A cut-off end is a bad record. Raises `InputError` where the text is no JSON: what follows
    cannot be told apart then.
    """
    text = _Text(stream)
    in_array = text.first(_SPACE) == "["
    if in_array:
        text.at += 1
    number = 0
    while following := text.first(_SPACE_OR_COMMA if in_array else _SPACE):
        if in_array and following == "]":
            text.at += 1
            if text.first(_SPACE):
                raise InputError(
                    f"{name}: line {text.line:,}: more after the end of the array.\nMend the file."
                )
            return
        number += 1
        where = f"record {number:,} (line {text.line:,})"
        try:
            value = text.value()
        except json.JSONDecodeError as error:
            if text.ended and _may_be_cut_off(error):
                bad.found(name, where, "cut off in mid-record", text.rest())
                return
            raise InputError(
                f"{name}: {where}: not JSON: {error.msg} at character {error.pos + 1:,} of it.\n"
                "Mend the file, or make it again."
            ) from error
        except _EndlessError as error:
            raise InputError(f"{name}: {where}: the record has no end.\nMend the file.") from error
        yield where, value
    if in_array:
        bad.found(name, f"after record {number:,}", "cut off: the array is not closed", "")


class _EndlessError(Exception):
    """A value is longer than any record is."""


class _Text:
    """The text of a stream, as much of it as is needed."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        # Bytes that are not UTF-8 go through as they are: the record that holds them will say so.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._decode = json.JSONDecoder(strict=False).raw_decode
        self._held = ""
        self._lines = 1
        self._counted = 0
        self.at = 0
        self.ended = False

    @property
    def line(self) -> int:
        """Number of the line that reading has come to."""
        self._lines += self._held.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._lines

    def first(self, skipped: re.Pattern[str]) -> str:
        """Return the next character past what is skipped, the empty string at the end."""
        while True:
            found = skipped.match(self._held, self.at)
            assert found is not None
            self.at = found.end()
            if self.at < len(self._held):
                return self._held[self.at]
            if not self._more():
                return ""

    def value(self) -> bytes:
        """Return the text of the next value, and go past it."""
        while True:
            try:
                _, end = self._decode(self._held, self.at)
            except json.JSONDecodeError as error:
                if _may_be_cut_off(error) and self._more():
                    continue
                raise json.JSONDecodeError(
                    error.msg, self.rest(), max(0, error.pos - self.at)
                ) from error
            except RecursionError as error:
                raise json.JSONDecodeError("nested too deeply", "", 0) from error
            # A number may go on in what was not read yet.
            if end < len(self._held) or not self._more():
                found = self._held[self.at : end]
                self.at = end
                return found.encode("utf-8", "surrogateescape")

    def rest(self) -> str:
        """Return what was read and not used."""
        return self._held[self.at :]

    def _more(self) -> bool:
        """Read on, twice as much each time a value is not whole; tell whether there was more."""
        self._drop()
        if len(self._held) > _LONGEST:
            raise _EndlessError
        chunk = self._stream.read(max(_CHUNK, len(self._held)))
        self.ended = not chunk
        self._held += self._decoder.decode(chunk, final=self.ended)
        return not self.ended

    def _drop(self) -> None:
        self._lines += self._held.count("\n", self._counted, self.at)
        self._held = self._held[self.at :]
        self.at = self._counted = 0


def _may_be_cut_off(error: json.JSONDecodeError) -> bool:
    return len(error.doc) - error.pos <= _NEAR or error.msg.startswith(_UNTIL_EOF)
