"""Compiled loops of the `ngram` encoder: bytes in, n-gram ids out, one work after the other.

They hold no lock while they run, and know integers alone. What they compute is defined by
`scorer.student.ngrams`, which does the same on columns; tests compare the two.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from scorer.compiling import compiled, inlined

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]
Stamps = npt.NDArray[np.uint8]

Whole = int | np.integer[Any]

BLOCK: Final = 8
"""Bytes of a token that are compared as one integer, the first byte lowest."""
_BITS_A_BYTE: Final = 8
_BITS_A_BLOCK: Final = _BITS_A_BYTE * BLOCK
_HALF: Final = 32
_LOWER_HALF: Final = 0xFFFF_FFFF
# Odd, with bits all over: the golden ratio (Knuth, *The Art of Computer Programming* 3, 6.4).
_SCATTER: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_HIGH: Final = np.uint8(0x80)
_FIRST_SMALL, _LAST_SMALL = np.uint8(ord("a")), np.uint8(ord("z"))
_HIGH_BITS: Final = np.uint64(0x8080_8080_8080_8080)
# An ASCII letter or digit in lower case; 0 for any other byte.
_LOWER: Final = np.array(
    [byte if bytes([byte]).isalnum() else 0 for byte in bytes(range(256)).lower()], np.uint64
)
# What is left of a block of its first so many bytes.
_FIRST_BYTES: Final = np.array([(1 << 8 * count) - 1 for count in range(BLOCK + 1)], np.uint64)
_LAST_STAMP: Final = 255
_IS_SPACE: Final = np.array([byte in b" \t\n\v\f\r" for byte in range(256)])


class Lexicon(NamedTuple):
    """The strings that a field's tokens and their beginnings are compared with.

    A string has a number from 1. `slots`: int64, a power of two of them, an open hash table of
    numbers, each with the upper half of its string's hash above it. `blocks`: uint64 [strings + 1],
    the first eight bytes; `data`, `offsets` (int64 [strings + 1]): all bytes. `meanings`: int32
    [strings + 1, meanings], a string's id as a word, its id as a beginning, its place as the second
    half of bigrams and as the first, the shift of that place's row; 0 for none. `lengths`: int64,
    rising, how many letters beginnings have; `begins`: int32 [strings + 1, lengths], the ids of a
    string's own beginnings. `pairs`: int64, the entries of a `PairTable`.
    """

    slots: Places
    blocks: Hashes
    data: Bytes
    offsets: Places
    meanings: Ids
    lengths: Places
    begins: Ids
    pairs: Places


MEANINGS: Final = range(5)
"""The columns of `Lexicon.meanings`."""
WORD, BEGIN, SECOND, FIRST, SHIFT = MEANINGS
NO, YES, MAYBE = range(3)


class Texts(NamedTuple):
    """A column of plain texts, and what its foreign pieces come to.

    `source`: UTF-8, one text after the other; text `i` begins at `bounds[i]`. `starts`, `ends`:
    int64 [pieces], foreign pieces in order; piece `i` comes to the tokens from
    `offsets[codes[i]]` to `offsets[codes[i] + 1]`. Of each such token: `meanings`, as in `Lexicon`,
    but for its beginnings: their ids are in `begins`, int32 [tokens, lengths]; `letters`, int32.
    """

    source: Bytes
    bounds: Places
    starts: Places
    ends: Places
    codes: Places
    offsets: Places
    meanings: Ids
    begins: Ids
    letters: Ids


@inlined
def mix(state: np.uint64, block: np.uint64) -> np.uint64:
    """Return the hash after one more block."""
    mixed = (state ^ block) * _SCATTER
    return mixed ^ (mixed >> np.uint64(_HALF))


@compiled
def fill_slots(data: Bytes, offsets: Places, slots: Places, blocks: Hashes) -> None:
    """Put the numbers of distinct strings into slots, all 0, and their first bytes into blocks."""
    mask = np.uint64(len(slots) - 1)
    for number in range(1, len(offsets)):
        state = block = np.uint64(0)
        for at in range(offsets[number - 1], offsets[number]):
            place = (at - offsets[number - 1]) % BLOCK
            if place == 0 and at > offsets[number - 1]:
                state, block = mix(state, block), np.uint64(0)
            block |= np.uint64(data[at]) << np.uint64(_BITS_A_BYTE * place)
            if at - offsets[number - 1] < BLOCK:
                blocks[number] = block
        state = mix(state, block)
        slot = state & mask
        while slots[slot]:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = np.int64(
            ((state >> np.uint64(_HALF)) << np.uint64(_HALF)) | np.uint64(number)
        )


@compiled
def find_foreign(source: Bytes, words: Hashes, bounds: Places, starts: Places, ends: Places) -> int:
    """Find the pieces between white spaces that hold more than ASCII; return how many there are.

    `words`: the whole words of eight bytes of `source`. As many pieces as there is room for are put
    into `starts` and `ends`.
    """
    found = row = 0
    at, end = bounds[0], bounds[-1]
    while at < end:
        if at % BLOCK == 0:
            word = at // BLOCK
            while word < len(words) and not words[word] & _HIGH_BITS:
                word += 1
            at = word * BLOCK
        if at >= end:
            break
        if source[at] < _HIGH:
            at += 1
            continue
        while bounds[row + 1] <= at:
            row += 1
        start = at
        while start > bounds[row] and not _IS_SPACE[source[start - 1]]:
            start -= 1
        while at < bounds[row + 1] and not _IS_SPACE[source[at]]:
            at += 1
        if found < len(starts):
            starts[found], ends[found] = start, at
        found += 1
    return found


@compiled
def find_small(source: Bytes, bounds: Places, small: Stamps) -> None:
    """Tell which texts hold a small letter, uint8 [texts]: `NO`, `YES`, `MAYBE` beyond ASCII."""
    for row in range(len(bounds) - 1):
        found = NO
        for at in range(bounds[row], bounds[row + 1]):
            if _FIRST_SMALL <= source[at] <= _LAST_SMALL:
                found = YES
                break
            if source[at] >= _HIGH:
                found = MAYBE
        small[row] = found


@inlined
def look_up(
    slots: Places,
    blocks: Hashes,
    data: Bytes,
    offsets: Places,
    source: Bytes,
    start: Whole,
    length: Whole,
    first: np.uint64,
    state: np.uint64,
) -> Whole:
    """Return the number of an ASCII token, or of its beginning; 0 where it has none.

    `first`: its first block; `state`: its hash.
    """
    mask = np.uint64(len(slots) - 1)
    at = state & mask
    found = np.int64(0)
    while slots[at] != 0:
        slot = np.uint64(slots[at])
        at = (at + np.uint64(1)) & mask
        if (slot ^ state) >> np.uint64(_HALF):
            continue
        number = np.int64(slot) & _LOWER_HALF
        offset = offsets[number - 1]
        if blocks[number] != first or offsets[number] - offset != length:
            continue
        same = BLOCK
        while same < length and data[offset + same] == _LOWER[source[start + same]]:
            same += 1
        if same >= length:
            found = number
            break
    return found


@inlined
def beginning(source: Bytes, start: Whole, length: Whole, head: np.uint64) -> np.uint64:
    """Return the hash of the first `length` letters of a token; `head`: its first block."""
    state = block = np.uint64(0)
    if length <= BLOCK:
        return mix(state, head & np.uint64(_FIRST_BYTES[length]))
    for place in range(length):
        if place % BLOCK == 0 and place > 0:
            state, block = mix(state, block), np.uint64(0)
        byte = np.uint64(_LOWER[source[start + place]])
        block |= byte << np.uint64(_BITS_A_BYTE * (place % BLOCK))
    return mix(state, block)


@inlined
def add(found: Whole, ids: Ids, count: Whole, seen: Stamps, stamp: Whole) -> Whole:
    """Add an id, unless the work has it; return how many ids there are. Every work has 0."""
    ids[count] = found
    new = np.int64(seen[found] != stamp)
    seen[found] = stamp
    return count + new


@inlined
def pair(pairs: Places, first: Whole, shift: Whole, second: Whole) -> Whole:
    """Return the id of a bigram, 0 where it has none."""
    found = np.int64(0)
    if first != 0 and second != 0:
        entry = pairs[np.int64(shift) + np.int64(second)]
        if entry >> _HALF == first:
            found = entry & _LOWER_HALF
    return found


@compiled
def find_ngrams(  # noqa: PLR0912, PLR0915 - one loop: what it calls would be handed its arrays at every token
    lexicon: Lexicon,
    texts: Texts,
    seen: Stamps,
    ids: Ids,
    offsets: Places,
    tokens: Places,
    letters: Places,
) -> None:
    """Put the distinct ids of each text into `ids`, and where they end into `offsets`.

    `seen`: uint8 [n-grams + 1], all zero, room to work in. `ids` has room for all that the texts
    could come to, and for one more. `tokens`, `letters`: int64 [texts], how many each text has.
    """
    slots, blocks, data, places = lexicon.slots, lexicon.blocks, lexicon.data, lexicon.offsets
    meanings, lengths, begins, pairs = (
        lexicon.meanings,
        lexicon.lengths,
        lexicon.begins,
        lexicon.pairs,
    )
    source, bounds, starts, ends = texts.source, texts.bounds, texts.starts, texts.ends
    codes, stops, foreign_meanings = texts.codes, texts.offsets, texts.meanings
    foreign_begins, foreign_letters = texts.begins, texts.letters
    count: Whole = np.int64(0)
    piece = 0
    for row in range(len(bounds) - 1):
        stamp = row % _LAST_STAMP + 1
        if stamp == 1:
            seen[:] = 0
        seen[0] = stamp
        at, stop = bounds[row], bounds[row + 1]
        foreign = starts[piece] if piece < len(starts) else stop
        before = shift = np.int32(0)
        row_tokens = row_letters = np.int64(0)
        while at < stop:
            if at == foreign:
                code = codes[piece]
                for token in range(stops[code], stops[code + 1]):
                    count = add(foreign_meanings[token, WORD], ids, count, seen, stamp)
                    for place in range(len(lengths)):
                        count = add(foreign_begins[token, place], ids, count, seen, stamp)
                    second = foreign_meanings[token, SECOND]
                    found = pair(pairs, before, shift, second)
                    count = add(found, ids, count, seen, stamp)
                    before = foreign_meanings[token, FIRST]
                    shift = foreign_meanings[token, SHIFT]
                    row_tokens += 1
                    row_letters += foreign_letters[token]
                at = ends[piece]
                piece += 1
                foreign = starts[piece] if piece < len(starts) else stop
                continue
            byte = _LOWER[source[at]]
            if byte == 0:
                at += 1
                continue
            start = at
            state = first = block = bits = np.uint64(0)
            while byte != 0:
                if bits == _BITS_A_BLOCK:
                    first = block if at - start == BLOCK else first
                    state, block, bits = mix(state, block), np.uint64(0), np.uint64(0)
                block |= byte << bits
                bits += np.uint64(_BITS_A_BYTE)
                at += 1
                byte = _LOWER[source[at]] if at < stop else np.uint64(0)
            head = block if at - start <= BLOCK else first
            number = look_up(
                slots, blocks, data, places, source, start, at - start, head, mix(state, block)
            )
            # What a known word begins with is known: only of others is each beginning looked up.
            for step in range(len(lengths)):
                length = lengths[step]
                if length > at - start:
                    break
                if number != 0:
                    begin = begins[number, step]
                else:
                    known = look_up(
                        slots,
                        blocks,
                        data,
                        places,
                        source,
                        start,
                        length,
                        head & _FIRST_BYTES[min(length, BLOCK)],
                        beginning(source, start, length, head),
                    )
                    begin = meanings[known, BEGIN]
                count = add(begin, ids, count, seen, stamp)
            count = add(meanings[number, WORD], ids, count, seen, stamp)
            found = pair(pairs, before, shift, meanings[number, SECOND])
            count = add(found, ids, count, seen, stamp)
            before, shift = meanings[number, FIRST], meanings[number, SHIFT]
            row_tokens += 1
            row_letters += at - start
        offsets[row + 1] = count
        tokens[row], letters[row] = row_tokens, row_letters


@compiled
def join_ids(
    titles: Ids,
    title_offsets: Places,
    abstracts: Ids,
    abstract_offsets: Places,
    shape: Ids,
    codes: Places,
    value_offsets: Places,
    values: Ids,
    ids: Ids,
    offsets: Places,
) -> None:
    """Put all ids of each work into `ids`, and where they end into `offsets`.

    Those of its title and its abstract; `shape`, int32 [channels, works], 0 for none; and those of
    the values that `codes`, int64 [columns, works], name: `values[value_offsets[i]:value_offsets[i
    + 1]]`. No two of them have an id in common.
    """
    count = 0
    for row in range(len(offsets) - 1):
        for place in range(title_offsets[row], title_offsets[row + 1]):
            ids[count] = titles[place]
            count += 1
        for place in range(abstract_offsets[row], abstract_offsets[row + 1]):
            ids[count] = abstracts[place]
            count += 1
        for channel in range(len(shape)):
            if shape[channel, row] != 0:
                ids[count] = shape[channel, row]
                count += 1
        for column in range(len(codes)):
            value = codes[column, row]
            for place in range(value_offsets[value], value_offsets[value + 1]):
                ids[count] = values[place]
                count += 1
        offsets[row + 1] = count
