"""Inverted indexes written as JSON, split into words and positions by their bytes.

A regular expression tells the texts that are an index to the letter; in those, what stands between
two quotes before a colon is a word, and what other digits there are outside of words are positions.
Texts of any other form are named, for a real parser to read or to refuse.
"""

import json
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from scorer.frame.mojibake import well_formed
from scorer.frame.placed import Ints, Placed

_MOST_DIGITS: Final = 9
_SPACE: Final = r"[ \t\r\n]*"
# No escaped backslash: after it, a quote that looks escaped ends the word.
_WORD: Final = r'"(?:[^"\\]|\\(?:["/bfnrt]|u[0-9A-Fa-f]{4}))*"'
_POSITION: Final = rf'(?:0|[1-9][0-9]{{0,{_MOST_DIGITS - 1}}}|"[0-9]{{1,{_MOST_DIGITS}}}")'
_LIST: Final = rf"\[{_SPACE}(?:{_POSITION}(?:{_SPACE},{_SPACE}{_POSITION})*{_SPACE})?\]"
_ENTRY: Final = f"{_WORD}:{_SPACE}{_LIST}{_SPACE}"
_INDEX: Final = rf"\A{_SPACE}\{{{_SPACE}(?:{_ENTRY}(?:,{_SPACE}{_ENTRY})*)?\}}{_SPACE}\z"
# MAG: {"IndexLength": n, "InvertedIndex": {…}}
_WRAPPER: Final = (
    r'\A\s*\{\s*"IndexLength"\s*:\s*[0-9]+\s*,\s*"InvertedIndex"\s*:\s*',
    r"\}\s*\z",
)

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]


def split_json(texts: pl.Series) -> tuple[Placed, Bools]:
    """Return the words of each index with their places, and which texts could not be split.

    `texts`: String without null. Those that could not be split have no place in the result.
    """
    fits = texts.str.contains(_INDEX).to_numpy()
    rows = np.flatnonzero(fits)
    data, bounds = _bytes_of(texts if len(rows) == len(texts) else texts.gather(rows))
    quotes, firsts, befores = _quotes_and_numbers(data)
    opens, closes = quotes[::2], quotes[1::2]
    # A number belongs to the pair of quotes that was last opened; if that is still open and holds
    # a word, the number is a part of the word.
    pairs, inside = (befores - 1) >> 1, (befores & 1).astype(bool)
    is_word = data.take(closes + 1) == ord(":")
    if is_word.all():
        outside = np.flatnonzero(~inside)
        owners = pairs.take(outside)
    else:  # some pairs are around a position
        outside = np.flatnonzero(~(inside & is_word.take(pairs)))
        owners = (np.cumsum(is_word) - 1).take(pairs.take(outside))
        opens, closes = opens[is_word], closes[is_word]
    words, found = _words(data, opens, closes)
    text_rows = np.repeat(rows, np.diff(np.searchsorted(opens, bounds)))
    values = _values(data, firsts.take(outside))
    return Placed(words, found.take(owners), text_rows.take(owners), values), ~fits


def unwrapped(texts: pl.Series) -> pl.Series:
    """Return the texts without MAG's wrapper; a text without one is as it was, or split no more."""
    return texts.str.replace(_WRAPPER[0], "").str.replace(_WRAPPER[1], "")


def _bytes_of(texts: pl.Series) -> tuple[Bytes, Ints]:
    """Return the texts end to end, and where each begins and the last ends."""
    array = texts.rechunk().to_arrow()
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]], bounds - bounds[0]


def _quotes_and_numbers(data: Bytes) -> tuple[Ints, Ints, Ints]:
    """Return where quotes stand, where numbers begin, and how many quotes are before each."""
    is_quote, is_digit = data == ord('"'), data - np.uint8(ord("0")) < 10  # noqa: PLR2004
    is_quote[1:] &= data[:-1] != ord("\\")
    marks = is_quote.copy()
    marks[1:] |= is_digit[1:] > is_digit[:-1]  # no text begins with a digit
    places = np.flatnonzero(marks)
    quote = is_quote.take(places)
    numbers = np.flatnonzero(~quote)
    befores = numbers - np.arange(len(numbers))
    return places.take(np.flatnonzero(quote)), places.take(numbers), befores


def _values(data: Bytes, firsts: Ints) -> Ints:
    """Return the numbers that begin at the places `firsts`."""
    values = (data.take(firsts) - np.uint8(ord("0"))).astype(np.int32)
    going = np.ones(len(firsts), bool)
    for place in range(1, _MOST_DIGITS):
        # Wraps round for what comes before the digits.
        digits = data.take(firsts + place, mode="clip") - np.uint8(ord("0"))
        going &= digits < 10  # noqa: PLR2004
        if not going.any():
            break
        values += going * (values * 9 + digits)
    return values.astype(np.int64)


def _words(data: Bytes, opens: Ints, closes: Ints) -> tuple[pa.Array, Ints]:
    """Return words, each with a space after it, and where in them each word of the texts is found.

    Words are slices of the texts, the space instead of the closing quote; those with escapes
    follow, unescaped, each distinct one once.
    """
    if not len(opens):
        return pa.array([], pa.large_string()), opens
    spaced = data.copy()
    spaced[closes] = ord(" ")
    cuts = np.column_stack([opens, closes]).ravel() + 1
    buffers = [None, pa.py_buffer(cuts), pa.py_buffer(spaced)]
    pieces = pa.Array.from_buffers(pa.large_string(), len(cuts) - 1, buffers)
    found = np.arange(len(opens)) * 2
    slashes = np.flatnonzero(data == ord("\\"))
    if not len(slashes):
        return pieces, found
    escaped = np.unique(np.searchsorted(opens, slashes) - 1)
    distinct = pieces.take(pa.array(found.take(escaped))).dictionary_encode()
    meanings = [_unescape(word) for word in distinct.dictionary.to_pylist()]
    found[escaped] = len(pieces) + distinct.indices.to_numpy()
    return pa.concat_arrays([pieces, pa.array(meanings, pieces.type)]), found


def _unescape(word: str) -> str:
    """Return what a word, written as between quotes, means."""
    return well_formed(json.loads(f'"{word}"', strict=False))
