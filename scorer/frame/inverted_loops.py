"""De-inversion of JSON by a compiled loop, for indexes that fill their positions without a gap.

Nearly all do. What the loop does not know (escapes, MAG's wrapper, positions as strings, gaps,
repeats, damage) it leaves to the columns, which say what it comes to.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from scorer.compiling import compiled, inlined

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Whole = int | np.int64

_QUOTE, _SLASH, _COLON, _COMMA, _ZERO, _NINE = b'"\\:,09'
_OPEN, _CLOSE, _FIRST, _LAST = b"{}[]"
_SPACE: Final = ord(" ")
_IS_SPACE: Final = np.isin(np.arange(256), list(b" \t\r\n"))
_MOST_DIGITS: Final = 9
_ROOM: Final = 2
"""How many times the length of the indexes their texts may come to; longer ones are left."""


def texts_of(indexes: pl.Series) -> tuple[pl.Series, Bools]:
    """Return the text of each index, and which were left: those are null.

    `indexes`: String without null.
    """
    array = indexes.rechunk().to_arrow().cast(pa.large_string())
    _, offsets, content = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    source = np.frombuffer(content or b"", np.uint8)
    size = int(bounds[-1] - bounds[0])
    longest = int(np.diff(bounds).max(initial=0))
    scratch = np.full((3, longest + 1), -1)
    written, ends = np.empty(_ROOM * size, np.uint8), np.zeros(len(array) + 1, np.int64)
    left = np.zeros(len(array), bool)
    place_words(source, bounds, scratch[0], scratch[1], scratch[2], written, ends, left)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(written[: ends[-1]])]
    texts = pa.Array.from_buffers(pa.large_string(), len(array), buffers)
    found = pl.Series("abstract", texts, dtype=pl.String)
    return found.set(pl.Series(left), None), left


@inlined
def past_spaces(source: Bytes, at: int, stop: int) -> int:
    """Return the place of the next byte that is no white space, or `stop`."""
    while at < stop and _IS_SPACE[source[at]]:
        at += 1
    return at


@inlined
def byte_at(source: Bytes, at: int, stop: int) -> np.uint8:
    """Return the byte at a place, 0 behind the end."""
    byte: np.uint8 = source[at] if at < stop else np.uint8(0)
    return byte


@compiled
def place_words(  # noqa: PLR0915 - one loop: what it calls would be handed its arrays at every byte
    source: Bytes,
    bounds: Ints,
    starts: Ints,
    lengths: Ints,
    owners: Ints,
    written: Bytes,
    ends: Ints,
    left: Bools,
) -> None:
    """Write the text of each index into `written`, up to `ends[row + 1]`; tell which were left.

    `starts`, `lengths`, `owners`: int64, room for the words by position; `owners` holds -1.
    """
    end: Whole = 0
    for row in range(len(bounds) - 1):
        at, stop = past_spaces(source, bounds[row], bounds[row + 1]), bounds[row + 1]
        known = byte_at(source, at, stop) == _OPEN
        at += 1
        words = letters = 0
        highest: Whole = -1
        while known:  # an entry
            at = past_spaces(source, at, stop)
            known = byte_at(source, at, stop) == _QUOTE
            at += 1
            start = at
            while at < stop and source[at] != _QUOTE and source[at] != _SLASH:
                at += 1
            length = at - start
            known &= byte_at(source, at, stop) == _QUOTE
            known &= byte_at(source, at + 1, stop) == _COLON
            at = past_spaces(source, at + 2, stop)
            known &= byte_at(source, at, stop) == _FIRST
            at += 1
            while known:  # a position
                at = past_spaces(source, at, stop)
                digits = at
                position: Whole = 0
                while at < stop and _ZERO <= source[at] <= _NINE and at - digits < _MOST_DIGITS:
                    position = position * 10 + np.int64(source[at]) - _ZERO
                    at += 1
                padded = at - digits > 1 and source[digits] == _ZERO  # JSON has no 007
                known = at > digits and not padded and position < len(starts)
                if not known or owners[position] == row:
                    known = False
                    break
                owners[position], starts[position], lengths[position] = row, start, length
                words += 1
                letters += length
                highest = position if position > highest else highest
                at = past_spaces(source, at, stop)
                sign = byte_at(source, at, stop)
                at += 1
                known = sign in (_COMMA, _LAST)
                if sign == _LAST:
                    break
            at = past_spaces(source, at, stop)
            sign = byte_at(source, at, stop)
            at += 1
            known &= sign in (_COMMA, _CLOSE)
            if sign == _CLOSE:
                break
        known &= past_spaces(source, at, stop) == stop and words > 0 and words == highest + 1
        known &= end + letters + words <= len(written)
        left[row] = not known
        if known:
            for position in range(words):
                for place in range(lengths[position]):
                    written[end] = source[starts[position] + place]
                    end += 1
                written[end] = _SPACE
                end += 1
            end -= 1  # nothing follows the last word
        ends[row + 1] = end
