"""The `ngram` encoder: from a batch of works to the distinct n-gram ids of each.

A channel is one kind of n-gram of one field (`title.word`, `title.bigram`, `venue`, `decade`, ...).
All is done on columns and unique values. For frames of many works `scorer.student.compiled` finds
the same ids faster.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.frame.contract import text
from scorer.frame.text import Tokens, clean, plain_text, tokenise
from scorer.student import shape
from scorer.student.channels import Channel, FieldIndex, Ids, Pairs, known_pairs
from scorer.student.encoded import EncodedWorks, capped
from scorer.student.manifest import NgramSettings
from scorer.student.metadata import Codes, decades, distinct_texts

RUNNING_TEXT: Final = ("title", "abstract")
"""Fields that hardly repeat; the others do, and are encoded once a distinct value."""
_NARROW_BITS: Final = 32


class NgramEncoder:
    """Settings and vocabulary, made ready for look-ups."""

    def __init__(self, settings: NgramSettings, vocabulary: pl.DataFrame) -> None:
        """Index `vocabulary`: String columns `channel`, `ngram`; id `i` stands in row `i - 1`."""
        self._settings = settings
        numbered = vocabulary.select(
            "channel", "ngram", id=pl.int_range(1, pl.len() + 1, dtype=pl.Int32)
        )
        self.size = vocabulary.height + 1
        """How many ids there are, 0 among them."""
        self._channels = {
            str(key[0]): Channel(part)
            for key, part in numbered.partition_by("channel", as_dict=True).items()
        }
        self.fields = [FieldIndex(field, self._channels) for field in settings.text]
        self.has_shape = settings.shape
        texts = [field.field for field in settings.text if field.field not in RUNNING_TEXT]
        self._metadata = list(dict.fromkeys([*texts, *settings.whole]))

    def encode(self, frame: pl.DataFrame) -> EncodedWorks:
        """Return the ids of each work of a contract frame, sorted.

        A work keeps its `MOST_NGRAMS_A_WORK` lowest ids, the commonest n-grams in training.
        """
        bits = self.size.bit_length()
        kind = np.uint64 if frame.height.bit_length() + bits > _NARROW_BITS else np.uint32
        found = [*self._of_running_text(frame)]
        for values, codes in self.repeating(frame):
            found.append(_spread(values, codes))
        keys: npt.NDArray[Any] = np.concatenate(
            [np.empty(0, kind), *(_keys(pairs, bits, kind) for pairs in found)]
        )
        keys.sort()
        distinct = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=distinct[1:])
        keys = keys[distinct]
        ids = (keys & kind((1 << bits) - 1)).astype(np.int32)
        keys >>= kind(bits)
        offsets = np.searchsorted(keys, np.arange(frame.height + 1, dtype=kind))
        return capped(EncodedWorks(ids, offsets))

    def repeating(self, frame: pl.DataFrame) -> Iterator[tuple[EncodedWorks, Codes]]:
        """Yield, column by column, the ids of its distinct values, and each work's value.

        Columns whose values repeat from work to work; codes: int64 [works]. A column that is not
        there tells nothing: its values are unknown, not missing.
        """
        for name in self._metadata:
            if name in frame.columns:
                values, codes = distinct_texts(frame, name)
                yield _by_row(list(self._of_values(name, values)), len(values)), codes
        if self._settings.decade and "year" in frame.columns:
            values, codes = decades(frame)
            yield _by_row([_one_each(self.ids("decade", values))], len(values)), codes

    def ids(self, channel: str, values: pl.Series) -> Ids:
        """Return the ids of values in a channel, 0 where it lacks them: int32 [values]."""
        known = self._channels.get(channel)
        return np.zeros(len(values), np.int32) if known is None else known.ids(values)

    def _of_running_text(self, frame: pl.DataFrame) -> Iterator[Pairs]:
        for index in self.fields:
            if index.field in RUNNING_TEXT:
                plain = plain_text(text(frame, index.field))
                tokens = tokenise(plain)
                yield from index.find(tokens)
                if index.field == "title" and self.has_shape:
                    yield from self._of_shape(tokens, plain)

    def _of_values(self, name: str, values: pl.Series) -> Iterator[Pairs]:
        """Yield the n-grams of distinct values of a metadata column."""
        for index in self.fields:
            if index.field == name:
                yield from index.find(tokenise(plain_text(values)))
        if name in self._settings.whole:
            yield _one_each(self.ids(name, clean(values)))

    def _of_shape(self, tokens: Tokens, titles: pl.Series) -> Iterator[Pairs]:
        for channel, values in shape.of_titles(tokens, titles):
            steps = pl.int_range(int(values.max(initial=0)) + 1, eager=True).cast(pl.String)
            yield _one_each(self.ids(channel, steps)[values])


def _one_each(ids: Ids) -> Pairs:
    return known_pairs(np.arange(len(ids), dtype=np.int32), ids)


def _keys(
    pairs: Pairs, bits: int, kind: type[np.uint32 | np.uint64]
) -> npt.NDArray[np.uint32 | np.uint64]:
    """Return row and id in one integer, the id in the lowest `bits`: sorted, they are in order."""
    keys: npt.NDArray[Any] = pairs.rows.astype(kind)
    keys <<= kind(bits)
    keys |= pairs.ids.astype(kind)
    return keys


def _by_row(pairs: list[Pairs], rows: int) -> EncodedWorks:
    """Return the ids of each of `rows` rows, with repeats."""
    owners = np.concatenate([np.empty(0, np.int32), *(part.rows for part in pairs)])
    ids = np.concatenate([np.empty(0, np.int32), *(part.ids for part in pairs)])
    order = np.argsort(owners, kind="stable")
    return EncodedWorks(ids[order], np.searchsorted(owners[order], np.arange(rows + 1)))


def _spread(values: EncodedWorks, codes: Codes) -> Pairs:
    """Turn the ids of distinct values into pairs of the works that hold these values."""
    starts = values.offsets[codes]
    counts = np.diff(values.offsets)[codes]
    ends = np.cumsum(counts)
    places = np.arange(int(ends[-1]) if len(ends) else 0)
    places += np.repeat(starts - (ends - counts), counts)
    return Pairs(np.repeat(np.arange(len(codes), dtype=np.int32), counts), values.ids[places])
