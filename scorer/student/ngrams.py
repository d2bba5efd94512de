"""The `ngram` encoder: from a batch of works to the sorted, distinct n-gram ids of each.

A channel is one kind of n-gram of one field (`title.word`, `title.bigram`, `venue`, `decade`, ...).
`list_ngrams` names the n-grams of works as text, for training to choose a vocabulary from;
`NgramEncoder` turns works into ids of that vocabulary, on columns and unique values alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.frame.contract import text
from scorer.frame.text import Tokens, clean, plain_text, tokenise
from scorer.student.manifest import NgramSettings, TextField
from scorer.student.pairs import PairTable

MOST_NGRAMS_A_WORK: Final = 4096
"""With integers of at most 4095 in the table, every partial sum stays under 2^24: exact float32."""

Ids = npt.NDArray[np.int32]

# Titles and abstracts hardly repeat; the other texts do, and are encoded once a distinct value.
_RUNNING_TEXT: Final = ("title", "abstract")
_FEW_WORDS, _WORDS_STEP, _MANY_WORDS = 8, 4, 12
_LETTERS_STEP, _MANY_LETTERS = 8, 20
_NARROW_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class EncodedWorks:
    """The n-grams of a batch: work `i` has `ids[offsets[i]:offsets[i + 1]]`, sorted and distinct.

    `ids`: int32 [n-grams], from 1; `offsets`: int64 [works + 1].
    """

    ids: Ids
    offsets: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """(row, id) pairs in any order, with repeats; ids over 0."""

    rows: Ids
    ids: Ids


class NgramEncoder:
    """Settings and vocabulary, made ready for look-ups."""

    def __init__(self, settings: NgramSettings, vocabulary: pl.DataFrame) -> None:
        """Index `vocabulary`: String columns `channel`, `ngram`; id `i` stands in row `i - 1`."""
        self._settings = settings
        numbered = vocabulary.select(
            "channel", "ngram", id=pl.int_range(1, pl.len() + 1, dtype=pl.Int32)
        )
        self._size = vocabulary.height + 1
        self._channels = {
            str(key[0]): _Channel(part)
            for key, part in numbered.partition_by("channel", as_dict=True).items()
        }
        self._fields = [_FieldIndex(field, self._channels) for field in settings.text]
        texts = [field.field for field in settings.text if field.field not in _RUNNING_TEXT]
        self._metadata = list(dict.fromkeys([*texts, *settings.whole]))

    def encode(self, frame: pl.DataFrame) -> EncodedWorks:
        """Return the ids of each work of a contract frame.

        A work keeps its `MOST_NGRAMS_A_WORK` lowest ids, the commonest n-grams in training.
        """
        bits = self._size.bit_length()
        kind = np.uint64 if frame.height.bit_length() + bits > _NARROW_BITS else np.uint32
        nothing = _Pairs(np.empty(0, np.int32), np.empty(0, np.int32))
        keys: npt.NDArray[Any] = np.concatenate(
            [_keys(pairs, bits, kind) for pairs in [nothing, *self._find(frame)]]
        )
        keys.sort()
        distinct = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=distinct[1:])
        keys = keys[distinct]
        ids = (keys & kind((1 << bits) - 1)).astype(np.int32)
        keys >>= kind(bits)
        offsets = np.searchsorted(keys, np.arange(frame.height + 1, dtype=kind))
        return _capped(ids, offsets)

    def _find(self, frame: pl.DataFrame) -> Iterator[_Pairs]:
        for index in self._fields:
            if index.field in _RUNNING_TEXT:
                plain = plain_text(text(frame, index.field))
                tokens = tokenise(plain)
                yield from index.find(tokens)
                if index.field == "title" and self._settings.shape:
                    yield from self._shape(tokens, plain)
        for name in self._metadata:
            if name not in frame.columns:
                continue
            values, codes = _distinct_texts(frame, name)
            yield _spread(list(self._of_values(name, values)), len(values), codes)
        if self._settings.decade and "year" in frame.columns:
            values, codes = _decades(frame)
            yield _spread([_one_each(self._ids("decade", values))], len(values), codes)

    def _of_values(self, name: str, values: pl.Series) -> Iterator[_Pairs]:
        """Yield the n-grams of distinct values of a metadata column."""
        for index in self._fields:
            if index.field == name:
                yield from index.find(tokenise(plain_text(values)))
        if name in self._settings.whole:
            yield _one_each(self._ids(name, clean(values)))

    def _shape(self, tokens: Tokens, titles: pl.Series) -> Iterator[_Pairs]:
        for channel, values in _title_shape(tokens, titles):
            steps = pl.int_range(int(values.max(initial=0)) + 1, eager=True).cast(pl.String)
            yield _one_each(self._ids(channel, steps).take(values))

    def _ids(self, channel: str, values: pl.Series) -> Ids:
        known = self._channels.get(channel)
        return np.zeros(len(values), np.int32) if known is None else known.ids(values)


class _Channel:
    """The n-grams of one channel: text -> id."""

    def __init__(self, part: pl.DataFrame) -> None:
        self.part = part
        self._values: pa.Array = part["ngram"].to_arrow()
        # The last place answers for "not there".
        self._ids = np.append(part["id"].to_numpy(), np.int32(0))

    def ids(self, values: pl.Series) -> Ids:
        """Return int32 [values], 0 where the vocabulary lacks the value."""
        found = pc.index_in(values.to_arrow(), value_set=self._values)
        places = found.fill_null(self.part.height).to_numpy(zero_copy_only=False)
        ids: Ids = self._ids.take(places)
        return ids


class _FieldIndex:
    """The text channels of one field."""

    def __init__(self, settings: TextField, channels: dict[str, _Channel]) -> None:
        self.field = settings.field
        empty = pl.DataFrame(schema={"ngram": pl.String, "id": pl.Int32})
        words = channels.get(f"{self.field}.word") if settings.words else None
        bigrams = channels.get(f"{self.field}.bigram") if settings.bigrams else None
        self._beginnings = [
            (length, channels[f"{self.field}.begin{length}"])
            for length in settings.beginnings
            if f"{self.field}.begin{length}" in channels
        ]
        halves = (bigrams.part if bigrams else empty).select(
            pl.col("ngram").str.split_exact(" ", 1).struct.unnest(), "id"
        )
        # One look-up a token serves words and both halves of bigrams: all of them are numbered.
        known = pl.concat(
            [(words.part if words else empty)["ngram"], halves["field_0"], halves["field_1"]]
        ).unique(maintain_order=True)
        numbered = pl.DataFrame({"ngram": known}).with_columns(
            id=pl.int_range(1, pl.len() + 1, dtype=pl.Int32)
        )
        self._words = _Channel(numbered)
        first, second = self._words.ids(halves["field_0"]), self._words.ids(halves["field_1"])
        self._word_ids = np.zeros(len(known) + 1, np.int32)
        if words is not None:
            self._word_ids[self._words.ids(words.part["ngram"])] = words.part["id"].to_numpy()
        self._first, firsts = _renumbered(first, len(known))
        self._second, seconds = _renumbered(second, len(known))
        self._pairs = PairTable(firsts, seconds, halves["id"].to_numpy()) if bigrams else None

    def find(self, tokens: Tokens) -> Iterator[_Pairs]:
        """Yield (row, id) pairs, channel by channel; look-ups are made once a unique token."""
        rows = _rows_of(tokens)
        numbers = self._words.ids(tokens.unique)
        yield _known(rows, self._word_ids.take(numbers).take(tokens.codes))
        for length, channel in self._beginnings:
            yield _known(rows, channel.ids(_beginnings(tokens.unique, length)).take(tokens.codes))
        if self._pairs is not None and len(rows):
            first = self._first.take(numbers).take(tokens.codes)[:-1]
            second = self._second.take(numbers).take(tokens.codes)[1:]
            ids = self._pairs.get(first, second)
            ids *= rows[1:] == rows[:-1]
            yield _known(rows[1:], ids)


def list_ngrams(frame: pl.DataFrame, settings: NgramSettings) -> pl.DataFrame:
    """Return every n-gram of every work: `row` (UInt32), `channel`, `ngram` (String), distinct."""
    found = []
    for field in settings.text:
        plain = plain_text(text(frame, field.field))
        tokens = tokenise(plain)
        found += [
            _listed(rows, channel, ngrams) for channel, rows, ngrams in _text_ngrams(tokens, field)
        ]
        if field.field == "title" and settings.shape:
            rows = np.arange(frame.height)
            found += [
                _listed(rows, channel, pl.Series(values).cast(pl.String))
                for channel, values in _title_shape(tokens, plain)
            ]
    for channel, values, codes in _single_values(frame, settings):
        found.append(_listed(np.arange(frame.height), channel, values.gather(codes)))
    return pl.concat(found).unique(maintain_order=True)


def _text_ngrams(tokens: Tokens, field: TextField) -> Iterator[tuple[str, Ids, pl.Series]]:
    rows = _rows_of(tokens)
    words = tokens.unique.gather(tokens.codes)
    if field.words:
        yield f"{field.field}.word", rows, words
    for length in field.beginnings:
        beginnings = _beginnings(words, length)
        there = beginnings.is_not_null()
        yield f"{field.field}.begin{length}", rows[there.to_numpy()], beginnings.filter(there)
    if field.bigrams and len(rows):
        same = rows[1:] == rows[:-1]
        pairs = pl.select(pl.concat_str(words.head(-1), words.tail(-1), separator=" ")).to_series()
        yield f"{field.field}.bigram", rows[1:][same], pairs.filter(pl.Series(same))


def _rows_of(tokens: Tokens) -> Ids:
    """Return the row of each token: int32 [tokens]."""
    lengths = np.diff(tokens.offsets)
    return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def _listed(rows: npt.NDArray[np.integer[Any]], channel: str, ngrams: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"row": rows.astype(np.uint32), "ngram": ngrams.cast(pl.String)}).select(
        "row", pl.lit(channel).alias("channel"), "ngram"
    )


def _beginnings(words: pl.Series, length: int) -> pl.Series:
    """Return the first letters of each word, null where it is shorter."""
    expression = pl.when(words.str.len_chars() >= length).then(words.str.head(length))
    return pl.select(expression).to_series()


def _title_shape(tokens: Tokens, titles: pl.Series) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Yield (channel, int64 [works]): title length in words and letters, in steps; all capitals."""
    offsets = tokens.offsets.astype(np.int64)
    words = np.diff(offsets)
    steps = np.minimum(_FEW_WORDS + (words - _FEW_WORDS) // _WORDS_STEP, _MANY_WORDS)
    yield "title.words", np.where(words < _FEW_WORDS, words, steps)
    lengths = tokens.unique.str.len_chars().to_numpy().astype(np.int64)
    letters = np.zeros(len(tokens.codes) + 1, np.int64)
    np.cumsum(lengths.take(tokens.codes), out=letters[1:])
    yield (
        "title.letters",
        np.minimum(np.diff(letters.take(offsets)) // _LETTERS_STEP, _MANY_LETTERS),
    )
    small = titles.str.contains(r"\p{Ll}").fill_null(False).to_numpy()
    yield "title.capitals", (~small).astype(np.int64)


def _single_values(
    frame: pl.DataFrame, settings: NgramSettings
) -> Iterator[tuple[str, pl.Series, npt.NDArray[np.int64]]]:
    """Yield (channel, distinct values, codes [works]); a missing value is the empty string.

    A column that is not there tells nothing: its values are unknown, not missing.
    """
    for name in settings.whole:
        if name not in frame.columns:
            continue
        values, codes = _distinct_texts(frame, name)
        yield name, clean(values), codes
    if settings.decade and "year" in frame.columns:
        yield "decade", *_decades(frame)


def _decades(frame: pl.DataFrame) -> tuple[pl.Series, npt.NDArray[np.int64]]:
    return _distinct((frame["year"].cast(pl.Int32) // 10).cast(pl.String))


def _distinct_texts(frame: pl.DataFrame, name: str) -> tuple[pl.Series, npt.NDArray[np.int64]]:
    """Return the distinct values of a column, and each work's number among them."""
    return _distinct(text(frame, name))


def _distinct(values: pl.Series) -> tuple[pl.Series, npt.NDArray[np.int64]]:
    encoded = pc.dictionary_encode(values.fill_null("").to_arrow())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return pl.Series(encoded.dictionary, dtype=pl.String), codes


def _renumbered(numbers: Ids, highest: int) -> tuple[Ids, Ids]:
    """Return new numbers, from 1 without gaps, for distinct `numbers`: a pair table stays small.

    First the new number of each old one (int32 [highest + 1], 0 for those not among `numbers`),
    then `numbers` in new ones.
    """
    distinct = np.unique(numbers)
    new = np.zeros(highest + 1, np.int32)
    new[distinct] = np.arange(1, len(distinct) + 1)
    return new, new.take(numbers)


def _one_each(ids: Ids) -> _Pairs:
    return _known(np.arange(len(ids), dtype=np.int32), ids)


def _known(rows: Ids, ids: Ids) -> _Pairs:
    known = np.flatnonzero(ids != 0)
    return _Pairs(rows.take(known), ids.take(known))


def _keys(
    pairs: _Pairs, bits: int, kind: type[np.uint32 | np.uint64]
) -> npt.NDArray[np.uint32 | np.uint64]:
    """Return row and id in one integer, the id in the lowest `bits`: sorted, they are in order."""
    keys: npt.NDArray[Any] = pairs.rows.astype(kind)
    keys <<= kind(bits)
    keys |= pairs.ids.astype(kind)
    return keys


def _spread(pairs: list[_Pairs], values: int, codes: npt.NDArray[np.int64]) -> _Pairs:
    """Turn pairs of distinct values into pairs of the rows that hold these values."""
    rows = np.concatenate([np.empty(0, np.int32), *(part.rows for part in pairs)])
    ids = np.concatenate([np.empty(0, np.int32), *(part.ids for part in pairs)])
    order = np.argsort(rows, kind="stable")
    ids = ids.take(order)
    starts = np.searchsorted(rows.take(order), np.arange(values + 1))
    counts = np.diff(starts).take(codes)
    ends = np.cumsum(counts)
    places = np.arange(int(ends[-1]) if len(ends) else 0)
    places += np.repeat(starts.take(codes) - (ends - counts), counts)
    return _Pairs(np.repeat(np.arange(len(codes), dtype=np.int32), counts), ids.take(places))


def _capped(ids: Ids, offsets: npt.NDArray[np.int64]) -> EncodedWorks:
    counts = np.diff(offsets)
    if counts.max(initial=0) <= MOST_NGRAMS_A_WORK:
        return EncodedWorks(ids, offsets)
    within = np.arange(len(ids)) - np.repeat(offsets[:-1], counts)
    kept = np.minimum(counts, MOST_NGRAMS_A_WORK)
    return EncodedWorks(
        ids[within < MOST_NGRAMS_A_WORK], np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    )
