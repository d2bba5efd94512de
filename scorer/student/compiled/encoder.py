"""The `ngram` encoder, compiled: the ids that `NgramEncoder` finds, several times as fast.

It needs the extra `fast`, and compiles for some seconds when it is first used on a machine, which
pays for frames of many works.
"""

from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.frame.contract import text
from scorer.frame.text import plain_text, tokenise
from scorer.student import shape
from scorer.student.channels import FieldIndex, beginnings
from scorer.student.compiled.encode_loops import (
    BEGIN,
    BLOCK,
    FIRST,
    MAYBE,
    MEANINGS,
    SECOND,
    SHIFT,
    WORD,
    YES,
    Bytes,
    Lexicon,
    Texts,
    fill_slots,
    find_foreign,
    find_ngrams,
    find_small,
    join_ids,
)
from scorer.student.encoded import EncodedWorks, Ids, Offsets, capped
from scorer.student.metadata import Codes
from scorer.student.ngrams import RUNNING_TEXT, NgramEncoder
from scorer.student.pairs import PairTable

_SLOTS_A_STRING: Final = 8  # at the least: few strings share a place
_NO_IDS: Final = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class _Found:
    """A column's plain texts (none: not read), their ids, and how long they are: int64 [texts].

    `texts`: the plain texts as the loops read them.
    """

    plain: pl.Series | None
    texts: Texts | None
    works: EncodedWorks
    tokens: Offsets
    letters: Offsets

    @classmethod
    def nothing(cls, height: int) -> "_Found":
        none = np.zeros(height, np.int64)
        return cls(None, None, EncodedWorks(_NO_IDS, np.zeros(height + 1, np.int64)), none, none)


class CompiledEncoder:
    """The same vocabulary as a `NgramEncoder`, in tables that compiled loops read."""

    def __init__(self, encoder: NgramEncoder) -> None:
        """Make the tables."""
        self._encoder = encoder
        fields = {index.field: index for index in encoder.fields}
        self._indexes = {name: fields.get(name) for name in RUNNING_TEXT}
        self._lexicons = {
            name: _lexicon(index) for name, index in self._indexes.items() if index is not None
        }
        self._words = self._steps(shape.WORDS, shape.words_step(np.arange(shape.MANY_WORDS + 1)))
        letters = shape.letters_step(np.arange(shape.MANY_LETTERS + 1))
        self._letters = self._steps(shape.LETTERS, letters)
        self._capitals = self._steps(shape.CAPITALS, np.arange(2))

    def encode(self, frame: pl.DataFrame) -> EncodedWorks:
        """Return the ids of each work of a contract frame, in the order in which they are found.

        A work keeps its `MOST_NGRAMS_A_WORK` lowest ids, the commonest n-grams in training.
        """
        titles, abstracts = (self._of_text(name, frame) for name in RUNNING_TEXT)
        codes, values = _together(list(self._encoder.repeating(frame)), frame.height)
        shape_ids = self._of_shape(frame.height, titles)
        most = len(titles.works.ids) + len(abstracts.works.ids) + shape_ids.size
        most += int(np.diff(values.offsets)[codes].sum())
        ids, offsets = np.empty(most, np.int32), np.zeros(frame.height + 1, np.int64)
        join_ids(
            titles.works.ids,
            titles.works.offsets,
            abstracts.works.ids,
            abstracts.works.offsets,
            shape_ids,
            codes,
            values.offsets,
            values.ids,
            ids,
            offsets,
        )
        counted = None if titles.plain is None else titles.letters
        return capped(EncodedWorks(ids[: offsets[-1]], offsets, counted))

    def _of_text(self, name: str, frame: pl.DataFrame) -> "_Found":
        """Return the ids of a column of running text."""
        index = self._indexes[name]
        if index is None:
            return _Found.nothing(frame.height)
        lexicon = self._lexicons[name]
        plain = plain_text(text(frame, name))
        texts = _texts(index, lexicon, plain)
        ids, offsets = np.empty(_most(lexicon, texts), np.int32), np.zeros(len(plain) + 1, np.int64)
        tokens, letters = np.empty(len(plain), np.int64), np.empty(len(plain), np.int64)
        seen = np.zeros(self._encoder.size, np.uint8)
        find_ngrams(lexicon, texts, seen, ids, offsets, tokens, letters)
        return _Found(plain, texts, EncodedWorks(ids[: offsets[-1]], offsets), tokens, letters)

    def _of_shape(self, height: int, titles: "_Found") -> Ids:
        """Return the ids of the titles' shapes: int32 [channels, works], 0 for none."""
        if not self._encoder.has_shape or titles.texts is None or titles.plain is None:
            return np.empty((0, height), np.int32)
        words = self._words[np.minimum(titles.tokens, len(self._words) - 1)]
        letters = self._letters[np.minimum(titles.letters, len(self._letters) - 1)]
        small = _has_small_letters(titles.plain, titles.texts)
        return np.stack([words, letters, np.where(small, *self._capitals)])

    def _steps(self, channel: str, steps: shape.Steps) -> Ids:
        """Return the ids of a shape's steps, 0 where the encoder reads no shape."""
        if not self._encoder.has_shape:
            return np.zeros(len(steps), np.int32)
        return self._encoder.ids(channel, pl.Series(steps).cast(pl.String))


def _lexicon(index: FieldIndex) -> Lexicon:
    known = index.numbers.part["ngram"]
    begun = [channel.part for _, channel in index.beginnings]
    strings = pl.concat([known, *(part["ngram"] for part in begun)]).unique(maintain_order=True)
    every = strings.to_arrow()
    begins = np.zeros(len(strings) + 1, np.int32)
    for part in begun:
        numbers = pc.index_in(part["ngram"].to_arrow(), value_set=every).to_numpy() + 1
        begins[numbers] = part["id"].to_numpy()
    data, offsets = _flat(strings)
    slots = np.zeros(1 << (_SLOTS_A_STRING * len(offsets)).bit_length(), np.int64)
    blocks = np.zeros(len(offsets), np.uint64)
    fill_slots(data, offsets, slots, blocks)
    pairs = index.pairs or PairTable(_NO_IDS, _NO_IDS, _NO_IDS)
    meanings = np.zeros((len(offsets), len(MEANINGS)), np.int32)
    of_known = meanings[: len(known) + 1]
    of_known[:, WORD], meanings[:, BEGIN] = index.word_ids, begins
    of_known[:, SECOND], of_known[:, FIRST] = index.second, index.first
    meanings[:, SHIFT] = pairs.shifts[meanings[:, FIRST]]
    lengths = sorted(length for length, _ in index.beginnings)
    return Lexicon(
        slots=slots,
        blocks=blocks,
        data=data,
        offsets=offsets,
        meanings=meanings,
        lengths=np.array(lengths, np.int64),
        begins=_begins_of(strings, begins, lengths),
        pairs=pairs.entries,
    )


def _begins_of(strings: pl.Series, ids: Ids, lengths: list[int]) -> Ids:
    """Return the ids of each string's beginnings: int32 [strings + 1, lengths], 0 for none.

    `ids`: int32 [strings + 1], that of a string as a beginning.
    """
    found = np.zeros((len(strings) + 1, len(lengths)), np.int32)
    every = strings.to_arrow()
    for place, length in enumerate(lengths):
        numbers = pc.index_in(beginnings(strings, length).to_arrow(), value_set=every)
        found[1:, place] = ids[numbers.fill_null(-1).to_numpy() + 1]
    return found


def _texts(index: FieldIndex, lexicon: Lexicon, plain: pl.Series) -> Texts:
    source, bounds = _flat(plain)
    starts, ends = _foreign_pieces(source, bounds)
    pieces, codes = _distinct(source, starts, ends)
    tokens = tokenise(pieces)
    numbers = index.numbers.ids(tokens.unique)[tokens.codes]
    begins = [
        channel.ids(beginnings(tokens.unique, length))[tokens.codes]
        for length, channel in sorted(index.beginnings, key=itemgetter(0))
    ]
    return Texts(
        source=source,
        bounds=bounds,
        starts=starts,
        ends=ends,
        codes=codes,
        offsets=tokens.offsets.astype(np.int64),
        meanings=lexicon.meanings[numbers],
        begins=np.array(begins, np.int32).reshape(len(begins), len(numbers)).T.copy(),
        letters=tokens.unique.str.len_chars().to_numpy().astype(np.int32)[tokens.codes],
    )


def _flat(texts: pl.Series) -> tuple[Bytes, Offsets]:
    """Return the UTF-8 of all texts, null as nothing, and where each begins and the last ends."""
    column = texts.fill_null("").rechunk().to_arrow().cast(pa.large_string())
    _, offsets, content = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(content or b"", np.uint8), bounds


def _has_small_letters(plain: pl.Series, texts: Texts) -> npt.NDArray[np.bool_]:
    """Tell as `shape.has_small_letters` does; few texts have none of ASCII, but others."""
    found = np.empty(len(plain), np.uint8)
    find_small(texts.source, texts.bounds, found)
    small: npt.NDArray[np.bool_] = found == YES
    if len(unsettled := np.flatnonzero(found == MAYBE)):
        small[unsettled] = shape.has_small_letters(plain.gather(unsettled))
    return small


def _foreign_pieces(source: Bytes, bounds: Offsets) -> tuple[Offsets, Offsets]:
    """Return where the pieces between white spaces that hold more than ASCII begin and end."""
    words = source[: len(source) // BLOCK * BLOCK].view(np.uint64)
    room = len(bounds)
    while True:
        starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
        found = find_foreign(source, words, bounds, starts, ends)
        if found <= room:
            return starts[:found], ends[:found]
        room = found


def _distinct(source: Bytes, starts: Offsets, ends: Offsets) -> tuple[pl.Series, Offsets]:
    """Return the distinct pieces, String, and the place of each piece among them."""
    if not len(starts):
        return pl.Series(dtype=pl.String), starts
    cuts = np.column_stack([starts, ends]).ravel()
    buffers = [None, pa.py_buffer(cuts), pa.py_buffer(source)]
    between = pa.Array.from_buffers(pa.large_string(), len(cuts) - 1, buffers)
    encoded = between.take(pa.array(np.arange(len(starts)) * 2)).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return pl.Series(encoded.dictionary, dtype=pl.String), codes


def _most(lexicon: Lexicon, texts: Texts) -> int:
    """Return how many ids the texts could come to: a token has one byte, and another behind it."""
    size = int(texts.bounds[-1] - texts.bounds[0])
    tokens = (size + len(texts.bounds)) // 2 + int(np.diff(texts.offsets)[texts.codes].sum())
    return tokens * (2 + len(lexicon.lengths)) + 1


def _together(
    columns: list[tuple[EncodedWorks, Codes]], height: int
) -> tuple[Offsets, EncodedWorks]:
    """Return columns of repeating values as one: codes, int64 [columns, works], and all values."""
    codes = np.empty((len(columns), height), np.int64)
    ids, offsets = [_NO_IDS], [np.zeros(1, np.int64)]
    values = before = 0
    for place, (encoded, of_work) in enumerate(columns):
        codes[place] = of_work + values
        ids.append(encoded.ids)
        offsets.append(encoded.offsets[1:] + before)
        values += len(encoded.offsets) - 1
        before += len(encoded.ids)
    return codes, EncodedWorks(np.concatenate(ids), np.concatenate(offsets))
