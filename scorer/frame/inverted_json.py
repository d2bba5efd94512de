"""Inverted indexes written as JSON, split into words and positions by their bytes.

No JSON parser: what stands between two quotes is a word, what follows are its positions. That is
checked to the letter, for the two layouts that programs write, `{"a": [0, 2], "b": [1]}` and
`{"a":[0,2],"b":[1]}`. Texts of any other form are named, for a real parser to read or to refuse.
"""

import json
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from scorer.frame.mojibake import well_formed
from scorer.frame.placed import Ints, Placed

_MOST_DIGITS: Final = 9
_POSITION: Final = f"[0-9]{{1,{_MOST_DIGITS}}}"
# MAG's wrapper, and positions in quotes. A quote inside a word is escaped: neither hits a word.
_WRAPPER: Final = (
    r'(?s)\A\s*\{\s*"IndexLength"\s*:\s*[0-9]+\s*,\s*"InvertedIndex"\s*:\s*(\{.*\})\s*\}\s*\z'
)
_QUOTED_POSITION: Final = rf'"({_POSITION})"(\s*[,\]])'

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Quoted:
    """Texts and the words in quotes in them; places are indexes into `data`, int64.

    `bounds`: text `i` is `data[bounds[i]:bounds[i + 1]]`. For each word: the quotes `opens` and
    `closes` around it, the place `ends` before which its list must end, the text that it is in
    (`rows`), and whether it is the last one there. For each number after a word: that word
    (`owners`) and its first digit (`firsts`).
    """

    data: npt.NDArray[np.uint8]
    bounds: Ints
    opens: Ints
    closes: Ints
    ends: Ints
    rows: Ints
    last: Bools
    owners: Ints
    firsts: Ints

    def holds(self, places: Ints, character: str) -> Bools:
        """Tell at which places an ASCII character stands."""
        there: Bools = self.data.take(places, mode="clip") == ord(character)
        return there


def split_json(texts: pl.Series) -> tuple[Placed, Bools]:
    """Return the words of each index with their places, and which texts could not be split.

    `texts`: String without null. Those that could not be split have no place in the result.
    """
    rows, quoted = _quoted(texts)
    values, afters = _values(quoted)
    words, found, garbled = _words(quoted)
    astray = ~_opened(quoted)
    astray[quoted.rows[garbled | ~_well_placed(quoted, afters)]] = True
    unfit = np.ones(len(texts), bool)
    unfit[rows[~astray]] = False
    owners, text_rows = quoted.owners, quoted.rows.take(quoted.owners)
    if astray.any():
        kept = np.flatnonzero(~astray.take(text_rows))
        owners, text_rows, values = owners.take(kept), text_rows.take(kept), values.take(kept)
    return Placed(words, found.take(owners), rows.take(text_rows), values), unfit


def mended(texts: pl.Series) -> pl.Series:
    """Return the texts without MAG's wrapper and with bare positions, where they had others."""
    plain = texts.str.replace_all('\\"', "\\u0022", literal=True).str.replace(_WRAPPER, "${1}")
    return plain.str.replace_all(_QUOTED_POSITION, "${1}${2}")


def _quoted(texts: pl.Series) -> tuple[Ints, _Quoted]:
    """Return the texts whose quotes come in pairs: their rows, and the words in them."""
    # After an escaped backslash, a quote that looks escaped may end the word.
    rows = (~texts.str.contains("\\\\", literal=True)).arg_true().to_numpy().astype(np.int64)
    while True:
        data, bounds = _bytes_of(texts if len(rows) == len(texts) else texts.gather(rows))
        quotes, firsts, befores = _quotes_and_numbers(data)
        words, halves = np.divmod(np.diff(np.searchsorted(quotes, bounds)), 2)
        paired = (halves == 0) & (words > 0)
        if paired.all():
            break
        rows = rows[paired]
    text_rows = np.repeat(np.arange(len(rows)), words)
    last = np.append(text_rows[1:] != text_rows[:-1], True)[: len(text_rows)]
    opens, closes = quotes[::2], quotes[1::2]
    ends = np.where(last, bounds[1:].take(text_rows), np.append(opens[1:], 0)[: len(opens)])
    owners = befores // 2 - 1
    after_word = np.flatnonzero(
        (befores % 2 == 0) & (owners >= 0) & (firsts < ends.take(owners, mode="clip"))
    )
    owners, firsts = owners.take(after_word), firsts.take(after_word)
    return rows, _Quoted(data, bounds, opens, closes, ends, text_rows, last, owners, firsts)


def _quotes_and_numbers(data: npt.NDArray[np.uint8]) -> tuple[Ints, Ints, Ints]:
    """Return where quotes stand, where numbers begin, and how many quotes are before each."""
    is_quote, is_digit = data == ord('"'), data - np.uint8(ord("0")) < 10  # noqa: PLR2004
    is_quote[1:] &= data[:-1] != ord("\\")
    marks = is_digit.copy()
    marks[1:] &= ~is_digit[:-1]
    marks |= is_quote
    places = np.flatnonzero(marks)
    quote = is_quote.take(places)
    number = np.flatnonzero(~quote)
    return places.take(np.flatnonzero(quote)), places.take(number), np.cumsum(quote).take(number)


def _bytes_of(texts: pl.Series) -> tuple[npt.NDArray[np.uint8], Ints]:
    array = texts.rechunk().to_arrow()
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]], bounds - bounds[0]


def _opened(quoted: _Quoted) -> Bools:
    """Tell which texts begin with a brace and, right after it, a word."""
    starts = quoted.bounds[:-1]
    firsts = np.searchsorted(quoted.opens, starts)
    opened: Bools = quoted.holds(starts, "{") & (quoted.opens.take(firsts) == starts + 1)
    return opened


def _values(quoted: _Quoted) -> tuple[Ints, Ints]:
    """Return the numbers, up to their ninth digit, and the places after that."""
    values, afters = np.zeros(len(quoted.firsts), np.int64), quoted.firsts.copy()
    going = np.ones(len(afters), bool)
    for place in range(_MOST_DIGITS):
        # Wraps round for what comes before the digits.
        digits = quoted.data.take(quoted.firsts + place, mode="clip") - np.uint8(ord("0"))
        going &= digits < 10  # noqa: PLR2004
        if not going.any():
            break
        values = np.where(going, values * 10 + digits, values)
        afters += going
    return values, afters


def _well_placed(quoted: _Quoted, afters: Ints) -> Bools:
    """Tell which words have a list of numbers after them and nothing else, in either layout."""
    owners, holds = quoted.owners, quoted.holds
    begins = quoted.closes + 2 + holds(quoted.closes + 2, " ")
    well = holds(quoted.closes + 1, ":") & holds(begins, "[")
    first = np.append(True, owners[1:] != owners[:-1])[: len(owners)]
    befores = np.append(0, afters[:-1])[: len(owners)]
    commas = first | holds(befores, ",")
    due = np.where(first, begins.take(owners) + 1, befores + 1 + holds(befores + 1, " "))
    padded = holds(quoted.firsts, "0") & (afters - quoted.firsts > 1)  # JSON has no 007
    well[owners[~(commas & (quoted.firsts == due)) | padded]] = False
    stops = quoted.closes.copy()  # where a word has no number: no bracket stands there
    stops[owners] = afters
    signs = np.where(quoted.last, holds(stops + 1, "}"), holds(stops + 1, ","))
    gaps = np.where(quoted.last, False, holds(stops + 2, " "))
    well &= holds(stops, "]") & signs & (stops + 2 + gaps == quoted.ends)
    return well


def _words(quoted: _Quoted) -> tuple[pa.Array, Ints, Bools]:
    """Return words, where in them each word of the texts is found, and which have no meaning.

    Words are slices of the texts; those with escapes follow, unescaped, each distinct one once.
    """
    if not len(quoted.opens):
        return pa.array([], pa.large_string()), quoted.opens, np.zeros(0, bool)
    cuts = np.column_stack([quoted.opens + 1, quoted.closes]).ravel()
    buffers = [None, pa.py_buffer(cuts), pa.py_buffer(quoted.data)]
    pieces = pa.Array.from_buffers(pa.large_string(), len(cuts) - 1, buffers)
    found, garbled = np.arange(len(quoted.opens)) * 2, np.zeros(len(quoted.opens), bool)
    slashes = np.flatnonzero(quoted.data == ord("\\"))
    escaped = np.unique(np.searchsorted(quoted.opens, slashes) - 1)
    escaped = escaped[escaped >= 0]
    if not len(escaped):
        return pieces, found, garbled
    distinct = pieces.take(pa.array(found.take(escaped))).dictionary_encode()
    meanings = [_unescape(word) for word in distinct.dictionary.to_pylist()]
    codes = distinct.indices.to_numpy()
    found[escaped] = len(pieces) + codes
    garbled[escaped] = np.array([meaning is None for meaning in meanings]).take(codes)
    return pa.concat_arrays([pieces, pa.array(meanings, pieces.type)]), found, garbled


def _unescape(word: str) -> str | None:
    """Return what a word between quotes means, None where JSON does not know an escape in it."""
    try:
        return well_formed(json.loads(f'"{word}"', strict=False))
    except ValueError:
        return None
