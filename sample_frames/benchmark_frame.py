"""Benchmark frames of any size: texts as long, as varied and as untidy as those of real frames.

Texts are patterns whose slots draw words from lexicon.py, whole blocks at a time, in numpy and
Arrow. A block depends on the seed and its own number alone: memory stays flat, no chunking shows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import lexicon
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from grammar import capitalise

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]

ROW_GROUP = 65_536
BLOCK = 8_192  # works generated at a time: a block of abstracts, 12 MB, stays near the cache
HEAD_BITS = 4  # the first 16 words of a class are equally likely; else the first would be 6 %
FIRST_ID = 9_000_000_000  # far beyond OpenAlex, so no real work is meant
ID_STEP = 2_654_435_761  # odd, so a bijection on ID_SPACE: ids are unique, but not in order
ID_SPACE = 2**32
NULL_TITLES = 100  # one title in so many is missing
ABSTRACTS_IN_100 = 85
SENTENCES = (4, 17)  # of an abstract: 1.4 kB in the mean, as measured on screening abstracts
LAST_YEAR, YEARS = 2025, 64
METADATA = ["venue", "topic", "field", "lang", "type", "year"]
TYPES = ("article",) * 11 + ("book-chapter", "preprint", "review", "dataset", "letter")
SMALL_WORDS = frozenset(
    lexicon.listed("a an and at between by for from in of on the to under with p")
)

# Of 20 titles in English and in French, how many are written in each way.
STYLES = {"sentence": 11, "title": 8, "upper": 1}
FRENCH_STYLES = {"sentence": 19, "upper": 1}

WeightedPatterns = tuple[tuple[int, str], ...]
Group = tuple[WeightedPatterns, dict[str, int], bool]

# How often a pattern is used, and the pattern: {N} draws from class N, other words stand as is.
ENGLISH_TITLES = (
    (27, "{A} {N} of {N} and {N} {G}: {D}"),
    (27, "effects of {A} {N} on {T} and {A} {N} {G} {P}"),
    (24, "{N} and {N} in {A} {N}: the {A} approach to {T} from {Y}"),
    (24, "the role of {N} and {N} in the {A} {N} of {A} {N}"),
    (18, "{T} {G}: {D} of {I} {U} {P}"),
    (18, "{A} and {A} {N} of the {Y} {N}, {Y}"),
    (15, "{X}-based {N} for {T} in {A} {N}: the {Y} study of {N}"),
    (15, "comparison of {A} {N} with {N}, {N} and {N} in {I} {U}"),
    (15, "association between {A} {N} and {T} {G} {P}: results of the {X} study"),
    (12, "towards {A} {N}: {N}, {N}, and the {N} of {Y}"),
    (12, "{A} {N} ({X}) for {N} of {A} {N} under {A} {N}"),
    (12, "what do {I} {U} tell us about {A} {N}? {D} {P}"),
    (9, 'beyond "{T}": {A} {N} and the {N} of {N} {G}'),
    (9, "{Y} and {Y} on the {N} of {N}: {N} and {N} reconsidered"),
    (8, "{MT} and {MT} {MG}: {MD} of {I} {U} {P}"),
    (4, "{N} of {S} in relation to {A} {N} and {N} {P}"),
    (3, "editorial"),
    (2, "CO<sub>2</sub> {N} and the {A} {N} of {N} {P}"),
    (2, "{N} &amp; {N}: {A} {N} {G}"),
    (1, "{A} {N} with p &lt; {Q}: {N} in {I} {U}"),
    (2, "{A} {N} \u2013 {N}\u2019s {N} and the \ufb01nal {N} of {Y}"),
)
FRENCH_TITLES = (
    (9, "effets {FDT} et {FDN} {FA} sur {FT} {FG}"),
    (8, "{FN} {FA} et {FN} {FG} : {FD}"),
    (6, "l'étude {FDN} {FA} {FP} : apports et limites {FDT}"),
    (2, "{FT}\u00a0: {FD} {FG} {FP}"),
    (1, "l'&eacute;valuation {FDT} {FG} : {FN} {FA}"),
)
ENGLISH_SENTENCES = (
    (60, "the {N} of {A} {N} is {B} known, and {T} has been {B} studied {G}."),
    (60, "we examined whether {A} {N}, {N} and {N} are related to {T} {P}."),
    (60, "in {I} {U}, {A} {N} {V} {N} by {C}% (p = {Q}) and {N} by {C}%."),
    (60, "{A} {N} {V} {T} {B}, whereas {N} and {N} did not differ (OR {R}, 95% CI {R} to {R})."),
    (40, "a total of {I} {U} were followed with {X} for {I} months; {N} was measured by {A} {N}."),
    (40, "using {A} {N} from {Y}, the {N} of {N} was compared with that of the {A} {N}."),
    (40, "these results suggest that {A} {N} can {B} support {N} {G}, but not {N} or {A} {N}."),
    (40, "{N}, {N}, {N} and {A} {N} were {B} associated with {T} ({X}: {R}; {X}: {R})."),
    (30, "to our knowledge, this is the first {N} of {N} in which {A} {N} and {N} are set apart."),
    (30, "limits of this {N} include {A} {N}, the {N} of {U} and the {A} {N} of {N}."),
    (12, "after {I} months {N} was lower in the {A} {N} (p < {Q}), but not in {N} from {Y}."),
    (2, "future work should consider {N} and {A} {N} of {S} as well as {N} {P}."),
    (1, "{A} {N} &amp; {N} remained {B} linked with {T} in {N}."),
)
FRENCH_SENTENCES = (
    (30, "on sait peu de choses sur {FT} et {FN} {FA} {FG}."),
    (30, "parmi {I} {FU}, {FN} {FA} atteignait {C} % (p = {Q}), contre {C} % pour {FN}."),
    (30, "nous avons étudié le rôle {FDN} {FA} et {FDT} dans {FN} {FP}."),
    (30, "ces résultats montrent l'intérêt {FDT}, mais aussi les limites {FDN} {FA} {FG}."),
    (1, "l'&eacute;valuation de {I} {FU} a modifié {FN} et {FN}."),
)
# uint64 [largest class + 1]: how many octaves, from 2^HEAD_BITS on, a class of each size spans
OCTAVES = np.array(
    [(size + 2**HEAD_BITS - 1).bit_length() - HEAD_BITS for size in range(lexicon.NOUNS + 1)],
    np.uint64,
)


def draws(seed: int, block: int, stream: str, count: int) -> Bits:
    """Draw `count` words of 64 bits that belong to this seed, block and stream."""
    key = np.random.SeedSequence([seed, block, *stream.encode()])
    bits: Bits = np.random.PCG64(key).random_raw(count)
    return bits


def ranks(bits: Bits, sizes: Integers) -> Integers:
    """Turn random bits into ranks below `sizes`, by a stepwise Zipf law.

    The upper bits choose an octave [2^k, 2^(k+1)), the lower ones a place in it, so that a word's
    chance falls as 1 / rank, in steps. Whole numbers only: every machine draws the same.
    """
    octave = np.uint64(HEAD_BITS) + ((bits >> np.uint64(40)) * OCTAVES[sizes] >> np.uint64(24))
    place = bits & ((np.uint64(1) << octave) - np.uint64(1))
    drawn = (np.uint64(1) << octave) - np.uint64(2**HEAD_BITS) + place
    within: Integers = drawn.astype(np.int64) % sizes
    return within


@dataclass(frozen=True)
class Patterns:
    """Compiled patterns; a token is a fixed word or a decorated class, a stretch of `vocabulary`.

    tokens: int64 [sum of lengths], the patterns end to end; starts, lengths: int64 [patterns];
    first, size: int64 [tokens], the token's stretch; deck: int64, pattern numbers as often as they
    are used; french: bool [patterns].
    """

    vocabulary: pa.Array
    tokens: Integers
    starts: Integers
    lengths: Integers
    first: Integers
    size: Integers
    deck: Integers
    french: Flags


def cased(word: str, style: str) -> str:
    """Put a word or phrase in the case of a style and place; markup keeps its case."""
    if "<" in word or "&" in word or style == "sentence":
        return word
    if style == "upper":
        return word.upper()
    if style == "title" and word not in SMALL_WORDS:
        return " ".join(
            part if part in SMALL_WORDS else capitalise(part) for part in word.split(" ")
        )
    return capitalise(word) if style == "first" else word


def spelled(token: str, style: str, classes: dict[str, list[str]]) -> list[str]:
    """Spell out all words that a token of a pattern can become."""
    slot = re.fullmatch(r"([^{]*)\{(\w+)\}(.*)", token)
    if slot is None:
        return [cased(token, style)]
    before, name, after = slot.groups()
    return [before + cased(word, style) + after for word in classes[name]]


def compile_patterns(groups: tuple[Group, ...]) -> Patterns:
    """Compile groups of (weighted patterns, weighted styles, French or not) over one vocabulary."""
    classes = lexicon.classes()
    known: dict[tuple[str, str], int] = {}
    tokens: list[int] = []
    lengths: list[int] = []
    uses: list[int] = []
    french: list[bool] = []
    for patterns, styles, is_french in groups:
        for (weight, pattern), (style, share) in itertools.product(patterns, styles.items()):
            words = pattern.split(" ")
            for place, word in enumerate(words):
                opens = place == 0 and (style == "sentence" or word in SMALL_WORDS)
                inner = "first" if opens and style != "upper" else style
                tokens.append(known.setdefault((word, inner), len(known)))
            lengths.append(len(words))
            uses.append(weight * share)
            french.append(is_french)
    stretches = [spelled(word, style, classes) for word, style in known]
    size = np.array([len(words) for words in stretches], np.int64)
    length = np.array(lengths, np.int64)
    return Patterns(
        vocabulary=pa.chunked_array(
            [pa.array(words, pa.string()) for words in stretches]
        ).combine_chunks(),
        tokens=np.array(tokens, np.int64),
        starts=np.cumsum(length) - length,
        lengths=length,
        first=np.cumsum(size) - size,
        size=size,
        deck=np.repeat(np.arange(len(uses)), uses),
        french=np.array(french),
    )


@cache
def title_patterns() -> Patterns:
    """Compile the patterns of titles, in both languages."""
    return compile_patterns(((ENGLISH_TITLES, STYLES, False), (FRENCH_TITLES, FRENCH_STYLES, True)))


@cache
def sentence_patterns() -> Patterns:
    """Compile the patterns of an abstract's sentences, in both languages."""
    once = {"sentence": 1}
    return compile_patterns(((ENGLISH_SENTENCES, once, False), (FRENCH_SENTENCES, once, True)))


def texts(
    patterns: Patterns, chosen: Integers, per_text: Integers, key: tuple[int, int, str]
) -> pa.Array:
    """Fill the chosen patterns and join them: `per_text` int64 [texts] patterns make one text."""
    lengths = patterns.lengths[chosen]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    flat = np.repeat(patterns.starts[chosen] - (ends - lengths), lengths) + np.arange(total)
    tokens = patterns.tokens[flat]
    codes = patterns.first[tokens] + ranks(draws(*key, total), patterns.size[tokens])
    edges = np.concatenate(([0], ends))[np.concatenate(([0], np.cumsum(per_text)))]
    words = patterns.vocabulary.take(pa.array(codes.astype(np.int32)))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(edges.astype(np.int32)), words), " ")


def abstracts(french: Flags, seed: int, block: int) -> pa.Array:
    """Write abstracts in the works' languages, null for those that have none; string [works]."""
    patterns = sentence_patterns()
    bits = draws(seed, block, "abstracts", len(french))
    low, high = SENTENCES
    count = low + (bits >> np.uint64(32)).astype(np.int64) % (high - low + 1)
    missing = bits % np.uint64(100) >= ABSTRACTS_IN_100
    count[missing] = 0
    pick = draws(seed, block, "sentences", int(count.sum()))
    english_deck = patterns.deck[~patterns.french[patterns.deck]]
    french_deck = patterns.deck[patterns.french[patterns.deck]]
    chosen = np.where(
        np.repeat(french, count),
        french_deck[pick % np.uint64(len(french_deck))],
        english_deck[pick % np.uint64(len(english_deck))],
    )
    joined = texts(patterns, chosen, count, (seed, block, "abstract words"))
    return pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), joined)


@cache
def names(kind: str) -> pa.Array:
    """List the values of a metadata column, the most frequent first."""
    values: dict[str, Callable[[], Sequence[str]]] = {
        "venue": lexicon.venues,
        "topic": lexicon.topics,
        "field": lambda: lexicon.FIELDS,
        "type": lambda: TYPES,
    }
    return pa.array(values[kind](), pa.string())


def metadata(seed: int, block: int, french: Flags) -> dict[str, pa.Array]:
    """Draw the metadata: skewed, a topic always in the same field, some values missing."""
    works = len(french)

    def drawn(kind: str, size: int) -> Integers:
        return ranks(draws(seed, block, kind, works), np.full(works, size))

    def missing(kind: str, one_in: int) -> Flags:
        gone: Flags = draws(seed, block, f"no {kind}", works) % np.uint64(one_in) == 0
        return gone

    def column(kind: str, codes: Integers, one_in: int) -> pa.Array:
        return names(kind).take(pa.array(codes, mask=missing(kind, one_in)))

    topic = drawn("topic", len(names("topic")))
    field = topic % len(lexicon.FIELDS)
    kinds = (draws(seed, block, "type", works) % np.uint64(len(TYPES))).astype(np.int64)
    langs = pa.array(["en", "fr"]).take(pa.array(french.astype(np.int64), mask=missing("lang", 40)))
    return {
        "venue": column("venue", drawn("venue", len(names("venue"))), 9),
        "topic": column("topic", topic, 25),
        "field": column("field", field, 25),
        "lang": langs,
        "type": column("type", kinds, 100),
        "year": pa.array(LAST_YEAR - drawn("year", YEARS), mask=missing("year", 200)),
    }


def block_table(seed: int, block: int, with_abstracts: bool) -> pa.Table:
    """Write the works of one block; string columns, `year` int64."""
    patterns = title_patterns()
    bits = draws(seed, block, "titles", BLOCK)
    chosen = patterns.deck[(bits >> np.uint64(32)) % np.uint64(len(patterns.deck))]
    french = patterns.french[chosen]
    titles = texts(patterns, chosen, np.ones(BLOCK, np.int64), (seed, block, "title words"))
    missing = pa.array(bits % np.uint64(NULL_TITLES) == 0)
    places = np.arange(BLOCK, dtype=np.uint64) + np.uint64(block * BLOCK)
    ids = np.uint64(FIRST_ID) + places * np.uint64(ID_STEP) % np.uint64(ID_SPACE)
    columns = {
        "id": pc.binary_join_element_wise(
            "https://openalex.org/W", pa.array(ids).cast(pa.string()), ""
        ),
        "title": pc.if_else(missing, pa.scalar(None, pa.string()), titles),
    }
    if with_abstracts:
        columns["abstract"] = abstracts(french, seed, block)
    return pa.table(columns | metadata(seed, block, french))


def row_groups(rows: int, with_abstracts: bool, seed: int) -> Iterator[pa.Table]:
    """Yield the frame's row groups in order, the last one cut to the rows asked for."""
    for first in range(0, rows, ROW_GROUP):
        count = min(ROW_GROUP, rows - first)
        blocks = range(first // BLOCK, (first + count - 1) // BLOCK + 1)
        parts = [block_table(seed, block, with_abstracts) for block in blocks]
        yield pa.concat_tables(parts).slice(0, count)


def schema(with_abstracts: bool) -> pa.Schema:
    """Name and type the columns of a benchmark frame."""
    texts_of = ["title", "abstract"] if with_abstracts else ["title"]
    return pa.schema(
        [
            (name, pa.int64() if name == "year" else pa.string())
            for name in ("id", *texts_of, *METADATA)
        ]
    )


def write(output: Path, rows: int, with_abstracts: bool, seed: int) -> None:
    """Write a benchmark frame of `rows` works to a Parquet file."""
    with pq.ParquetWriter(
        output, schema(with_abstracts), compression="zstd", use_dictionary=METADATA
    ) as writer:
        for group in row_groups(rows, with_abstracts, seed):
            writer.write_table(group, row_group_size=ROW_GROUP)
