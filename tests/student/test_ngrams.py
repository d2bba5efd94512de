import html
import re
import unicodedata
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.student.bundle import Student
from scorer.student.encoded import EncodedWorks
from scorer.student.listing import list_ngrams
from scorer.student.manifest import NgramSettings, TextField
from scorer.student.ngrams import NgramEncoder

Ngram = tuple[str, str]

SETTINGS = NgramSettings(
    text=(
        TextField(field="title", bigrams=True, beginnings=(4, 6)),
        TextField(field="abstract", bigrams=True),
        TextField(field="venue", beginnings=(6,)),
        TextField(field="topic", words=False, bigrams=True),
    ),
    whole=("venue", "topic", "field", "lang", "type"),
    decade=True,
    shape=True,
    ngrams=1,
    logit_unit=1.0,
)
TITLES_ALONE = NgramSettings(
    text=(TextField(field="title"),), whole=(), decade=False, shape=False, ngrams=1, logit_unit=1.0
)
COLUMNS = ["title", "abstract", "venue", "topic", "field", "lang", "type", "year"]
POOL = [
    {
        "title": "Open science: a review of open science",
        "abstract": "We review <i>open</i> science. R&amp;D &lt;i&gt;counts&lt;/i&gt;",
        "venue": "Journal of Reviews",
        "topic": "Open science",
        "field": "Social Sciences",
        "lang": "en",
        "type": "article",
        "year": 2020,
    },
    {"title": "SCIENCE OF THE REVIEW", "venue": "journal of  reviews", "lang": "EN", "year": 1999},
    {"title": "Café Cafe\u0301 \ufb01nding", "abstract": "open", "topic": "Science", "year": 2009},
    {"title": "", "abstract": "science review", "venue": "Öpen & <b>closed</b>", "year": 0},
    {"abstract": "of the review of the review", "type": "article", "field": ""},
    {"title": "review", "topic": "<i>Open</i> science", "year": 2020},
    {"title": "a " * 11 + "x", "venue": "Naïve"},
    {},
]


def frame_of(works: list[dict[str, object]]) -> pl.DataFrame:
    types = {**dict.fromkeys(COLUMNS, pl.String), "year": pl.Int32}
    rows = [{name: work.get(name) for name in COLUMNS} for work in works]
    frame = pl.DataFrame(rows, schema=types)
    return frame.insert_column(0, pl.Series("id", [f"W{n}" for n in range(len(works))], pl.String))


def plain(text: str | None) -> str:
    for _ in range(2):
        text = html.unescape(re.sub(r"</?[a-z][^>]*>", "", text or ""))
    folded = unicodedata.normalize("NFKC", re.sub(r"</?[a-z][^>]*>", "", text)).lower()
    return " ".join(folded.split())


def words(text: str | None) -> list[str]:
    return re.findall(r"[^\W_]+", plain(text))


def reference(work: dict[str, object], settings: NgramSettings) -> set[Ngram]:
    """The n-grams of one work, in plain Python."""
    found: set[Ngram] = set()
    for text in settings.text:
        tokens = words(work.get(text.field))
        if text.words:
            found |= {(f"{text.field}.word", token) for token in tokens}
        if text.bigrams:
            found |= {
                (f"{text.field}.bigram", f"{first} {second}") for first, second in pairwise(tokens)
            }
        for length in text.beginnings:
            found |= {
                (f"{text.field}.begin{length}", token[:length])
                for token in tokens
                if len(token) >= length
            }
    found |= {(name, plain(work.get(name))) for name in settings.whole}
    if settings.decade:
        year = work.get("year")
        found.add(("decade", "" if year is None else str(year // 10)))
    if settings.shape:
        tokens = words(work.get("title"))
        number = len(tokens)
        steps = number if number < 8 else min(12, 8 + (number - 8) // 4)
        letters = min(20, sum(map(len, tokens)) // 8)
        capitals = not any(char.islower() for char in work.get("title") or "")
        found |= {
            ("title.words", str(steps)),
            ("title.letters", str(letters)),
            ("title.capitals", str(int(capitals))),
        }
    return found


def listed(works: list[dict[str, object]], settings: NgramSettings) -> list[set[Ngram]]:
    found: list[set[Ngram]] = [set() for _ in works]
    for row, channel, ngram in list_ngrams(frame_of(works), settings).iter_rows():
        found[row].add((channel, ngram))
    return found


def vocabulary_of(ngrams: list[Ngram]) -> pl.DataFrame:
    return pl.DataFrame(ngrams, schema={"channel": pl.String, "ngram": pl.String}, orient="row")


def each(encoded: EncodedWorks) -> list[list[int]]:
    bounds = encoded.offsets.tolist()
    return [encoded.ids[a:b].tolist() for a, b in pairwise(bounds)]


def every_ngram() -> list[Ngram]:
    """All n-grams of the pool but every fifth, in an order of their own."""
    found = sorted(set().union(*(reference(work, SETTINGS) for work in POOL)))
    rng = np.random.default_rng(0)
    kept = [ngram for place, ngram in enumerate(found) if place % 5]
    return [kept[place] for place in rng.permutation(len(kept))]


VOCABULARY = every_ngram()
ENCODER = NgramEncoder(SETTINGS, vocabulary_of(VOCABULARY))
NUMBER = {ngram: place for place, ngram in enumerate(VOCABULARY, start=1)}


def expected_ids(work: dict[str, object]) -> list[int]:
    return sorted(NUMBER[ngram] for ngram in reference(work, SETTINGS) if ngram in NUMBER)


def encoder_of_words(*vocabulary: str) -> NgramEncoder:
    return NgramEncoder(TITLES_ALONE, vocabulary_of([("title.word", word) for word in vocabulary]))


def test_listed_ngrams_are_those_of_plain_python() -> None:
    assert listed(POOL, SETTINGS) == [reference(work, SETTINGS) for work in POOL]


def test_listed_ngrams_are_distinct() -> None:
    found = list_ngrams(frame_of(POOL), SETTINGS)
    assert found.height == found.n_unique()
    assert found.schema == {"row": pl.UInt32, "channel": pl.String, "ngram": pl.String}


def test_ids_are_those_of_plain_python() -> None:
    encoded = ENCODER.encode(frame_of(POOL))
    assert each(encoded) == [expected_ids(work) for work in POOL]
    assert (encoded.ids.dtype, encoded.offsets.dtype) == (np.int32, np.int64)


def test_ids_are_a_join_of_listed_ngrams_with_the_vocabulary() -> None:
    numbered = vocabulary_of(VOCABULARY).with_row_index("id", offset=1)
    joined = (
        list_ngrams(frame_of(POOL), SETTINGS)
        .join(numbered, on=["channel", "ngram"])
        .sort("row", "id")
    )
    encoded = ENCODER.encode(frame_of(POOL))
    rows = np.repeat(np.arange(len(POOL)), np.diff(encoded.offsets))
    assert joined["row"].to_list() == rows.tolist()
    assert joined["id"].to_list() == encoded.ids.tolist()


def test_bigrams_do_not_reach_across_works() -> None:
    settings = TITLES_ALONE.model_copy(
        update={"text": (TextField(field="title", words=False, bigrams=True),)}
    )
    works = [{"title": "a b"}, {"title": "c"}, {"title": ""}, {"title": "d a"}, {"title": "b"}]
    assert listed(works, settings) == [
        {("title.bigram", "a b")},
        set(),
        set(),
        {("title.bigram", "d a")},
        set(),
    ]
    across = [("title.bigram", pair) for pair in ("b c", "c d", "a b", "d a")]
    encoder = NgramEncoder(settings, vocabulary_of(across))
    assert each(encoder.encode(frame_of(works))) == [[3], [], [], [4], []]


def test_a_word_has_no_beginning_longer_than_itself() -> None:
    settings = TITLES_ALONE.model_copy(
        update={"text": (TextField(field="title", words=False, beginnings=(4, 6)),)}
    )
    (found,) = listed([{"title": "abc abcd méthodes"}], settings)
    assert found == {
        ("title.begin4", "abcd"),
        ("title.begin4", "méth"),
        ("title.begin6", "méthod"),
    }


@pytest.mark.parametrize(
    ("title", "count", "length"),
    [
        (7, "7", "0"),
        (8, "8", "1"),
        (11, "8", "1"),
        (12, "9", "1"),
        (24, "12", "3"),
        (900, "12", "20"),
    ],
)
def test_title_length_goes_in_steps(title: int, count: str, length: str) -> None:
    settings = TITLES_ALONE.model_copy(update={"shape": True})
    (found,) = listed([{"title": "X " * title}], settings)
    assert found >= {("title.words", count), ("title.letters", length)}


@pytest.mark.parametrize(
    ("title", "capitals"),
    [
        ("OPEN SCIENCE", "1"),
        ("Open science", "0"),
        ("ÉTUDE É", "1"),
        ("<i>OPEN</i> SCIENCE", "1"),
        ("RESEARCH &amp; DEVELOPMENT", "1"),
    ],
)
def test_markup_does_not_hide_that_a_title_is_all_capitals(title: str, capitals: str) -> None:
    settings = TITLES_ALONE.model_copy(update={"shape": True})
    (found,) = listed([{"title": title}], settings)
    assert ("title.capitals", capitals) in found


def test_missing_metadata_is_an_ngram_of_its_own() -> None:
    settings = TITLES_ALONE.model_copy(update={"whole": ("venue", "lang"), "decade": True})
    nothing = {("venue", ""), ("lang", ""), ("decade", "")}
    assert listed([{}], settings) == [nothing]
    encoder = NgramEncoder(settings, vocabulary_of(sorted(nothing)))
    null = pl.DataFrame(
        {"id": ["W1"], "venue": [None], "lang": [None], "year": [None]},
        schema_overrides={"venue": pl.String, "lang": pl.String, "year": pl.Int32},
    )
    assert each(encoder.encode(null)) == [[1, 2, 3]]


def test_a_column_that_is_not_there_is_unknown_not_missing() -> None:
    settings = TITLES_ALONE.model_copy(update={"whole": ("venue", "lang"), "decade": True})
    encoder = NgramEncoder(settings, vocabulary_of([("venue", ""), ("lang", ""), ("decade", "")]))
    bare = pl.DataFrame({"id": ["W1"]})
    assert each(encoder.encode(bare)) == [[]]
    assert "venue" not in list_ngrams(bare, settings)["channel"].to_list()


def test_an_inverted_abstract_gives_the_ids_of_its_text() -> None:
    text = frame_of([{"abstract": "we review open science"}])
    index = '{"open": [5], "we": [0], "science": [9], "review": [2]}'
    turned = text.drop("abstract").with_columns(abstract_inverted_index=pl.lit(index))
    ids = each(ENCODER.encode(text))
    assert each(ENCODER.encode(turned)) == ids
    assert NUMBER["abstract.bigram", "open science"] in ids[0]


def test_a_frame_without_works_has_no_ids() -> None:
    encoded = ENCODER.encode(frame_of([]))
    assert (encoded.ids.tolist(), encoded.offsets.tolist()) == ([], [0])


def test_works_without_a_known_ngram_have_no_ids() -> None:
    encoder = encoder_of_words("known")
    frame = frame_of([{"title": "other"}, {}, {"title": "known known"}, {"title": "other"}])
    assert each(encoder.encode(frame)) == [[], [], [1], []]


def test_words_of_another_channel_are_not_known() -> None:
    settings = TITLES_ALONE.model_copy(
        update={"text": (TextField(field="title"), TextField(field="abstract"))}
    )
    encoder = NgramEncoder(settings, vocabulary_of([("title.word", "a"), ("abstract.word", "b")]))
    frame = frame_of([{"title": "b", "abstract": "a"}, {"title": "a", "abstract": "b"}])
    assert each(encoder.encode(frame)) == [[], [1, 2]]


def test_a_work_keeps_its_4096_lowest_ids() -> None:
    rng = np.random.default_rng(0)
    vocabulary = [f"w{number}" for number in range(5_000)]
    title = " ".join(rng.permutation(vocabulary))
    works = [{"title": "w4999"}, {"title": title}, {"title": "w1 w4500"}]
    found = each(encoder_of_words(*vocabulary).encode(frame_of(works)))
    assert found == [[5_000], list(range(1, 4_097)), [2, 4_501]]


def test_rows_times_vocabulary_may_pass_32_bits() -> None:
    vocabulary = [f"w{number}" for number in range(1 << 16)]
    titles = pl.repeat(None, 1 << 16, dtype=pl.String, eager=True).alias("title")
    titles = titles.scatter([0, 65_535], ["w7 w65535", "w3 w65534"])
    encoded = encoder_of_words(*vocabulary).encode(pl.DataFrame({"title": titles}))
    assert encoded.ids.tolist() == [8, 65_536, 4, 65_535]
    assert encoded.offsets[[0, 1, 2, -2, -1]].tolist() == [0, 2, 2, 2, 4]


def test_ids_are_sorted_and_distinct(works: pl.DataFrame, made_student: Student) -> None:
    encoded = made_student.encoder.encode(works)
    for ids in each(encoded):
        assert ids == sorted(set(ids))
    assert encoded.ids.min() >= 1
    assert encoded.ids.max() <= made_student.manifest.encoder.ngrams


@settings(max_examples=20)
@given(st.lists(st.integers(0, len(POOL) - 1), max_size=12), st.data())
def test_row_order_and_batch_split_change_nothing(rows: list[int], data: st.DataObject) -> None:
    frame = frame_of([POOL[row] for row in rows])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    found = [
        ids
        for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)
        for ids in each(ENCODER.encode(frame[start:end]))
    ]
    assert found == [expected_ids(POOL[row]) for row in rows]
