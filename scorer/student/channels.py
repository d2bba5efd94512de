"""The channels of a vocabulary, made ready for look-ups: one kind of n-gram of one field each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.frame.text import Tokens
from scorer.student.manifest import TextField
from scorer.student.pairs import PairTable

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Pairs:
    """(row, id) pairs in any order, with repeats; ids over 0."""

    rows: Ids
    ids: Ids


class Channel:
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


class FieldIndex:
    """The text channels of one field."""

    def __init__(self, settings: TextField, channels: Mapping[str, Channel]) -> None:
        self.field = settings.field
        empty = pl.DataFrame(schema={"ngram": pl.String, "id": pl.Int32})
        words = channels.get(f"{self.field}.word") if settings.words else None
        bigrams = channels.get(f"{self.field}.bigram") if settings.bigrams else None
        self.beginnings = [
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
        self.numbers = Channel(numbered)
        first, second = self.numbers.ids(halves["field_0"]), self.numbers.ids(halves["field_1"])
        self.word_ids = np.zeros(len(known) + 1, np.int32)
        if words is not None:
            self.word_ids[self.numbers.ids(words.part["ngram"])] = words.part["id"].to_numpy()
        self.first, firsts = _renumbered(first, len(known))
        self.second, seconds = _renumbered(second, len(known))
        self.pairs = PairTable(firsts, seconds, halves["id"].to_numpy()) if bigrams else None

    def find(self, tokens: Tokens) -> Iterator[Pairs]:
        """Yield (row, id) pairs, channel by channel; look-ups are made once a unique token."""
        rows = rows_of(tokens)
        numbers = self.numbers.ids(tokens.unique)
        yield known_pairs(rows, self.word_ids.take(numbers).take(tokens.codes))
        for length, channel in self.beginnings:
            ids = channel.ids(beginnings(tokens.unique, length))
            yield known_pairs(rows, ids.take(tokens.codes))
        if self.pairs is not None and len(rows):
            first = self.first.take(numbers).take(tokens.codes)[:-1]
            second = self.second.take(numbers).take(tokens.codes)[1:]
            ids = self.pairs.get(first, second)
            ids *= rows[1:] == rows[:-1]
            yield known_pairs(rows[1:], ids)


def beginnings(words: pl.Series, length: int) -> pl.Series:
    """Return the first letters of each word, null where it is shorter."""
    expression = pl.when(words.str.len_chars() >= length).then(words.str.head(length))
    return pl.select(expression).to_series()


def rows_of(tokens: Tokens) -> Ids:
    """Return the row of each token: int32 [tokens]."""
    lengths = np.diff(tokens.offsets)
    return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def _renumbered(numbers: Ids, highest: int) -> tuple[Ids, Ids]:
    """Return new numbers, from 1 without gaps, for distinct `numbers`: a pair table stays small.

    First the new number of each old one (int32 [highest + 1], 0 for those not among `numbers`),
    then `numbers` in new ones.
    """
    distinct = np.unique(numbers)
    new = np.zeros(highest + 1, np.int32)
    new[distinct] = np.arange(1, len(distinct) + 1)
    return new, new.take(numbers)


def known_pairs(rows: Ids, ids: Ids) -> Pairs:
    """Return rows and ids, int32 each, without those of id 0."""
    known = np.flatnonzero(ids != 0)
    return Pairs(rows.take(known), ids.take(known))
