"""The compiled encoder gives the ids of the one on columns, which is compared with plain Python."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_ngrams import ENCODER, POOL, SETTINGS, TITLES_ALONE, frame_of, vocabulary_of

from scorer.frame.text import longer_than_ten
from scorer.policy.axes import choose_axes
from scorer.student.bundle import Student, load_student
from scorer.student.constants import graph_constants
from scorer.student.encoded import EncodedWorks
from scorer.student.folder import find_bundle
from scorer.student.listing import list_ngrams
from scorer.student.manifest import TextField
from scorer.student.ngrams import NgramEncoder
from scorer.student.session import Session

pytest.importorskip("numba", reason="the extra fast is not installed")

from scorer.student.compiled.encode_loops import (
    find_foreign,
    find_ngrams,
    find_small,
    join_ids,
)
from scorer.student.compiled.encoder import CompiledEncoder
from scorer.student.compiled.session import CompiledSession

COMPILED = CompiledEncoder(ENCODER)
PIECES = [
    *("open", "SCIENCE", "science", "of", "the", "review", "reviews", "R&D", "h-index", "2020"),
    *(
        "méta",
        "Me\u0301ta",
        "ﬁnding",
        "Ὀδυσσεύς",
        "ΟΔΟΣ",
        "ﷺ",
        "深度学习",
        "naïve-Bayes",
        "µ²",
        "…",
        "—",
    ),
    *("a" * 8, "a" * 9, "a" * 16, "a" * 17, "a" * 300, "é" * 40, "x\u00adx", "\u200b", "0.05"),
    *("<i>open</i>", "&amp;", "\\alpha", "$x$", "QuÃ©bec", "!", "\t", "\n", "\u2028", "\x00"),
]
texts = st.none() | st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).flatmap(
    lambda parts: st.sampled_from(["", " ", "  ", "-"]).map(lambda gap: gap.join(parts))
)
works = st.fixed_dictionaries(
    {},
    optional={
        "title": texts,
        "abstract": texts,
        "venue": st.none() | st.sampled_from(["Journal of Reviews", "naïve", ""]),
        "lang": st.sampled_from(["en", "fr"]),
        "year": st.integers(1800, 2030),
    },
)


def each(encoded: EncodedWorks) -> list[list[int]]:
    """The ids of each work; sorted, since their order means nothing."""
    return [sorted(encoded.ids[a:b].tolist()) for a, b in pairwise(encoded.offsets.tolist())]


def same(encoder: NgramEncoder, frame: pl.DataFrame) -> list[list[int]]:
    found = CompiledEncoder(encoder).encode(frame)
    assert (found.ids.dtype, found.offsets.dtype) == (np.int32, np.int64)
    assert each(found) == each(encoder.encode(frame))
    return each(found)


def test_the_pool_gives_the_ids_of_the_columns() -> None:
    assert any(same(ENCODER, frame_of(POOL)))


@settings(max_examples=100)
@given(st.lists(works, max_size=6))
def test_any_works_give_the_ids_of_the_columns(drawn: list[dict[str, object]]) -> None:
    frame = frame_of(drawn)
    assert each(COMPILED.encode(frame)) == each(ENCODER.encode(frame))


@settings(max_examples=30)
@given(st.lists(works, min_size=1, max_size=5), st.data())
def test_any_vocabulary_gives_the_ids_of_the_columns(
    drawn: list[dict[str, object]], data: st.DataObject
) -> None:
    frame = frame_of(drawn)
    every = list_ngrams(frame, SETTINGS).select("channel", "ngram").unique(maintain_order=True)
    kept = data.draw(st.lists(st.booleans(), min_size=every.height, max_size=every.height))
    encoder = NgramEncoder(SETTINGS, every.filter(pl.Series(kept, dtype=pl.Boolean)))
    same(encoder, frame)


def test_every_piece_is_cut_alike_wherever_it_stands() -> None:
    titles = [
        before + piece + after
        for piece in PIECES
        for before in ("", "open ", "x")
        for after in ("", " b", "y")
    ]
    frame = frame_of([{"title": title} for title in titles])
    every = list_ngrams(frame, SETTINGS).select("channel", "ngram").unique(maintain_order=True)
    found = same(NgramEncoder(SETTINGS, every), frame)
    assert all(found)


def test_texts_next_to_one_another_do_not_run_together() -> None:
    settings_ = TITLES_ALONE.model_copy(update={"text": (TextField(field="title", bigrams=True),)})
    vocabulary = [("title.word", "ab"), ("title.bigram", "a b"), ("title.word", "éé")]
    frame = frame_of([{"title": t} for t in ("a", "b", "é", "é", "", "ab", "éé")])
    encoder = NgramEncoder(settings_, vocabulary_of(vocabulary))
    assert same(encoder, frame) == [[], [], [], [], [], [1], [3]]


def test_words_that_share_their_first_bytes_are_told_apart() -> None:
    words = ["statisti", "statistic", "statistical", "statistics", "a" * 24, "a" * 25, "a" * 32]
    encoder = NgramEncoder(TITLES_ALONE, vocabulary_of([("title.word", word) for word in words]))
    titles = [*words, "statist", "statistica", "a" * 23, "a" * 33]
    found = same(encoder, frame_of([{"title": title} for title in titles]))
    assert found == [[number] for number in range(1, 8)] + [[]] * 4


def test_beginnings_count_letters_not_bytes() -> None:
    settings_ = TITLES_ALONE.model_copy(
        update={"text": (TextField(field="title", words=False, beginnings=(6, 4)),)}
    )
    vocabulary = [("title.begin4", "méth"), ("title.begin6", "method"), ("title.begin4", "meth")]
    encoder = NgramEncoder(settings_, vocabulary_of(vocabulary))
    titles = ["méthodes", "METHODS", "mét", "met", "meth", "méthé"]
    found = same(encoder, frame_of([{"title": title} for title in titles]))
    assert found == [[1], [2, 3], [], [], [3], [1]]


def test_beginnings_of_any_length_are_found_in_known_and_unknown_words() -> None:
    lengths = (4, 8, 9, 12)
    settings_ = TITLES_ALONE.model_copy(
        update={"text": (TextField(field="title", words=True, beginnings=lengths),)}
    )
    long = "electroencephalographically"
    begun = [(f"title.begin{length}", long[:length]) for length in lengths]
    encoder = NgramEncoder(settings_, vocabulary_of([*begun, ("title.word", long[:12])]))
    titles = [long, long[:-1].upper(), long[:12], long[:9], long[:8], long[:7], "x" + long]
    found = same(encoder, frame_of([{"title": title} for title in titles]))
    assert found == [
        [1, 2, 3, 4],
        [1, 2, 3, 4],
        [1, 2, 3, 4, 5],
        [1, 2, 3],
        [1, 2],
        [1],
        [],
    ]


def test_each_of_many_works_has_an_id_once() -> None:
    encoder = NgramEncoder(TITLES_ALONE, vocabulary_of([("title.word", "a"), ("title.word", "b")]))
    titles = [title for _ in range(300) for title in ("a b a", "b b", "c", "a")]
    found = same(encoder, frame_of([{"title": title} for title in titles]))
    assert found == [[1, 2], [2], [], [1]] * 300


def test_small_letters_of_any_script_are_seen() -> None:
    settings_ = SETTINGS.model_copy(update={"text": (TextField(field="title"),)})
    known = [("title.capitals", "0"), ("title.capitals", "1")]
    encoder = NgramEncoder(settings_, vocabulary_of(known))
    small = ["OPEN a", "z", "ÉTÉ à", "Σ σ", "ß", "Éa"]
    none = ["OPEN", "", None, "ÉTÉ", "Σ @[`{", "深度学习", "ª", "12"]
    titles = [title for pair in zip(none, [*small, *small], strict=False) for title in pair]
    found = same(encoder, frame_of([{"title": title} for title in titles]))
    assert found == [[2], [1]] * len(none)


def test_a_work_keeps_its_4096_lowest_ids() -> None:
    words = [f"w{number}" for number in range(5_000)]
    shuffled = " ".join(np.random.default_rng(0).permutation(words))
    encoder = NgramEncoder(TITLES_ALONE, vocabulary_of([("title.word", word) for word in words]))
    found = same(encoder, frame_of([{"title": "w4999"}, {"title": shuffled}, {"title": "w1"}]))
    assert found == [[5_000], list(range(1, 4_097)), [2]]


def test_an_empty_frame_and_an_empty_vocabulary_give_no_ids() -> None:
    assert same(ENCODER, frame_of([])) == []
    unknown = NgramEncoder(TITLES_ALONE, vocabulary_of([("title.word", "zz")]))
    assert same(unknown, frame_of([{"title": "a b"}, {}])) == [[], []]


def test_columns_that_are_not_there_have_no_say() -> None:
    same(ENCODER, pl.DataFrame({"id": ["W1", "W2"], "title": ["Open science", None]}))


short = st.lists(st.sampled_from([*"ab1é½ǆﬁß²α\u0301\u00ad\u200b -.", "Ã©", "&amp;", "<b>"]))


@settings(max_examples=200)
@given(st.lists(texts | short.map("".join), min_size=1, max_size=6))
@example(["abcdefghij", "abcdefghij!", "abcdefghijk", "abcde-fghij", "ﬁﬁﬁﬁﬁ", "ﬁﬁﬁﬁﬁﬁ", None])
def test_counted_letters_settle_which_titles_are_usable(drawn: list[str | None]) -> None:
    frame = frame_of([{"title": title} for title in drawn])
    counted = COMPILED.encode(frame).title_letters
    assert counted is not None
    assert counted.dtype == np.int64
    assert longer_than_ten(frame["title"], counted).equals(longer_than_ten(frame["title"]))


def test_letters_are_told_with_the_scores_where_titles_are_read(made_student: Student) -> None:
    works = frame_of([{"title": "Open été"}, {"title": None}])
    assert made_student.score(works).title_letters is None
    found = made_student.compiled().score(works).title_letters
    assert found is not None
    assert found.tolist() == [7, 0]
    no_title = NgramEncoder(SETTINGS.model_copy(update={"text": ()}), vocabulary_of([]))
    assert CompiledEncoder(no_title).encode(works).title_letters is None


def test_a_compiled_student_gives_the_same_scores(works: pl.DataFrame) -> None:
    student = load_student(find_bundle("metacan-ngram"))
    compiled = student.compiled()
    assert isinstance(compiled.encoder, CompiledEncoder)
    assert compiled.compiled() is compiled
    one, other = student.score(works), compiled.score(works)
    for head in student.manifest.targets.head_names:
        assert np.array_equal(one.binary[head].view(np.uint32), other.binary[head].view(np.uint32))
        for axis, shares in one.axes[head].items():
            assert np.array_equal(shares, other.axes[head][axis])


def test_the_loop_finds_the_best_values_that_the_policy_finds_in_the_shares(
    works: pl.DataFrame,
) -> None:
    student = load_student(find_bundle("metacan-ngram")).compiled()
    targets = student.manifest.targets
    whole, short = student.score(works), student.score(works, shares=False)
    chosen = choose_axes(whole.axes, targets)
    assert not any(short.axes.values())
    for scores in (whole, short):
        quick = choose_axes(scores.axes, targets, scores.best, scores.best_mean)
        for axis in targets.axes:
            assert quick.by_mean[axis.name].equals(chosen.by_mean[axis.name])
            for head in targets.head_names:
                assert quick.by_head[head][axis.name].equals(chosen.by_head[head][axis.name])


def test_a_graph_of_another_form_stays_with_onnxruntime(made_student: Student) -> None:
    session, targets = made_student.session, made_student.manifest.targets
    constants = graph_constants(made_student.folder / "model.onnx")
    assert isinstance(session, Session)
    assert CompiledSession.of(session, targets, constants) is not None
    for name, changed in {
        "table": constants["table"] + np.float32(0.5),
        "bias": constants["bias"] + np.float32(1),
        "scores": constants["scores"][::-1],
        "shares of 3": constants["shares of 3"] * np.float32(2) + np.float32(1),
    }.items():
        assert CompiledSession.of(session, targets, {**constants, name: changed}) is None, name
        fewer = {other: value for other, value in constants.items() if other != name}
        assert CompiledSession.of(session, targets, fewer) is None, name
    no_ngram = constants["table"].copy()
    no_ngram[0] = 1  # the loop adds that row where a work's n-grams do not fill its last step
    assert CompiledSession.of(session, targets, {**constants, "table": no_ngram}) is None


def test_works_without_ngrams_and_with_most_get_the_bits_of_the_graph(
    made_student: Student,
) -> None:
    every = np.arange(1, made_student.manifest.encoder.ngrams + 1, dtype=np.int32)
    drawn = EncodedWorks(np.concatenate([every, every[:1]]), np.array([0, 0, 600, 600, 601]))
    ours = made_student.compiled().session
    assert isinstance(ours, CompiledSession)
    one, other = ours.score(drawn), made_student.session.score(drawn)
    for head, scores in one.binary.items():
        assert scores.tobytes() == other.binary[head].tobytes()
        for axis, shares in one.axes[head].items():
            assert shares.tobytes() == other.axes[head][axis].tobytes()


def test_a_made_student_gives_the_same_ids(works: pl.DataFrame, made_student: Student) -> None:
    assert isinstance(made_student.encoder, NgramEncoder)
    same(made_student.encoder, works)


@pytest.mark.parametrize(
    "encoder", [ENCODER, NgramEncoder(TITLES_ALONE, vocabulary_of([("title.word", "a")]))]
)
def test_the_loops_are_compiled_for_one_kind_of_arrays(encoder: NgramEncoder) -> None:
    CompiledEncoder(encoder).encode(frame_of(POOL))
    loops = (find_foreign, find_small, find_ngrams, join_ids)
    assert [len(loop.signatures) for loop in loops] == [1] * len(loops)
