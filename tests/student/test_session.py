from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from scorer.student.bundle import Student
from scorer.student.ngrams import EncodedWorks
from scorer.student.session import Scores, Session
from scorer.train.graph import build_graph
from scorer.train.quantise import HALF, Table

Presence = Callable[..., csr_matrix]
# Where each output lies among the table's: head by head the binary targets, then each axis.
WIDTH, BINARY = 10, 5
AXES = {"domain": slice(5, 8), "genre": slice(8, 10)}


def bits(scores: Scores) -> dict[str, np.ndarray]:
    """All scores by output, as integers: equal where every bit is."""
    arrays = {f"{head}/binary": values for head, values in scores.binary.items()}
    for head, axes in scores.axes.items():
        arrays |= {f"{head}/{axis}": values for axis, values in axes.items()}
    return {name: values.view(np.uint32) for name, values in arrays.items()}


def together(parts: list[Scores]) -> dict[str, np.ndarray]:
    found = [bits(part) for part in parts]
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}


def same(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(found[name], expected[name]) for name in expected
    )


@pytest.fixture(scope="module")
def scored(made_student: Student, works: pl.DataFrame) -> Scores:
    return made_student.score(works)


@pytest.fixture(scope="module")
def logits(made, made_student: Student, works: pl.DataFrame, presence: Presence) -> np.ndarray:
    """Integer logits [works, outputs], summed outside the graph."""
    return made.table.logits(presence(made_student.encoder, works))


def test_every_output_of_every_head_has_its_shape(scored: Scores) -> None:
    assert {head: values.shape for head, values in scored.binary.items()} == {
        "codex": (1_050, 5),
        "gemma": (1_050, 5),
    }
    assert {name: values.shape for name, values in scored.axes["gemma"].items()} == {
        "domain": (1_050, 3),
        "genre": (1_050, 2),
    }
    assert all(values.dtype == np.float32 for values in scored.binary.values())


@pytest.mark.parametrize(("size", "rows"), [(1, 60), (7, 350), (500, 1_050), (1_000, 1_050)])
def test_batch_size_changes_no_bit(
    made_student: Student, works: pl.DataFrame, scored: Scores, size: int, rows: int
) -> None:
    parts = [made_student.score(works[start : start + size]) for start in range(0, rows, size)]
    whole = {name: values[:rows] for name, values in bits(scored).items()}
    assert same({name: v[:rows] for name, v in together(parts).items()}, whole)


def test_row_order_changes_no_bit(
    made_student: Student, works: pl.DataFrame, scored: Scores
) -> None:
    order = np.random.default_rng(3).permutation(works.height)
    found = bits(made_student.score(works[order]))
    assert same(found, {name: values[order] for name, values in bits(scored).items()})


def test_two_threads_that_score_at_once_get_the_same_bits(
    made_student: Student, works: pl.DataFrame, scored: Scores
) -> None:
    halves = [works[:600], works[600:]] * 4
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(made_student.score, halves))
    for first in range(0, 8, 2):
        assert same(together(found[first : first + 2]), bits(scored))


def test_scores_are_those_of_the_table_bit_for_bit(
    made, made_student: Student, works: pl.DataFrame, presence: Presence, scored: Scores
) -> None:
    expected = made.table.scores(presence(made_student.encoder, works)).view(np.uint32)
    found = bits(scored)
    assert np.array_equal(found["codex/binary"], expected[:, :BINARY])
    assert np.array_equal(found["gemma/binary"], expected[:, WIDTH : WIDTH + BINARY])


def test_scores_are_the_sigmoid_of_the_logits(made, logits: np.ndarray, scored: Scores) -> None:
    plain = 1 / (1 + np.exp(-logits * made.table.unit))
    assert np.abs(scored.binary["codex"] - plain[:, :BINARY]).max() < 1e-6
    assert plain[:, :BINARY].std() > 0.05  # the scores under comparison differ from one another


def test_scores_of_a_target_that_a_head_has_not_learned_are_zero(scored: Scores) -> None:
    assert (scored.binary["gemma"][:, 1] == 0.0).all()
    assert (scored.binary["codex"][:, 1] > 0.0).all()
    assert (scored.binary["gemma"][:, [0, 2, 3, 4]] > 0.0).all()


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize(("head", "start"), [("codex", 0), ("gemma", WIDTH)])
def test_shares_of_an_axis_are_the_softmax_of_its_logits(
    made, logits: np.ndarray, scored: Scores, *, axis: str, head: str, start: int
) -> None:
    part = logits[:, start : start + WIDTH][:, AXES[axis]] * made.table.unit
    powers = np.exp(part - part.max(axis=1, keepdims=True))
    shares = scored.axes[head][axis]
    assert np.abs(shares - powers / powers.sum(axis=1, keepdims=True)).max() < 1e-5
    assert np.abs(shares.sum(axis=1, dtype=np.float64) - 1).max() < 1e-6


def test_a_work_without_a_known_ngram_scores_its_biases(made, made_student: Student) -> None:
    nothing = EncodedWorks(np.empty(0, np.int32), np.zeros(3, np.int64))
    found = made_student.session.score(nothing).binary["codex"]
    plain = 1 / (1 + np.exp(-made.table.bias[:BINARY] * made.table.unit))
    assert np.abs(found - plain).max() < 1e-6


def test_no_works_have_no_scores(made_student: Student, works: pl.DataFrame) -> None:
    scores = made_student.score(works[:0])
    assert scores.binary["codex"].shape == (0, 5)
    assert scores.axes["gemma"]["domain"].shape == (0, 3)


def session_of(made, table: Table, path: Path) -> Session:
    path.write_bytes(build_graph(table, made.targets))
    return Session(path, made.targets, ids=len(table.weights) + 1)


def test_logits_past_the_table_score_its_ends(made, tmp_path: Path) -> None:
    weights = np.zeros((2, 2 * WIDTH), np.int32)
    weights[0], weights[1] = 4_095, -4_095
    table = Table(weights, np.full(2 * WIDTH, 8 * HALF, np.int32), 1 / 1024)
    high = session_of(made, table, tmp_path / "high.onnx")
    low = session_of(made, replace(table, bias=-table.bias), tmp_path / "low.onnx")
    works = EncodedWorks(np.array([1, 2, 1, 2], np.int32), np.array([0, 1, 2, 4]))
    assert (high.score(works).binary["codex"] == np.float32(1)).all()
    assert (low.score(works).binary["codex"] == np.float32(0)).all()
    shares = high.score(works).axes["codex"]["genre"]
    assert shares.tolist() == [[0.5, 0.5]] * 3


def test_sums_of_4096_of_the_largest_weights_are_exact_in_any_order(made, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(4_000, 4_096, (4_096, 2 * WIDTH), np.int32)
    table = Table(weights, 3 - weights.sum(axis=0, dtype=np.int32), 1 / 1024)
    every = np.arange(1, 4_097, dtype=np.int32)
    orders = [every, every[::-1], rng.permutation(every), rng.permutation(every)]
    works = EncodedWorks(np.concatenate(orders), np.arange(5) * 4_096)
    found = session_of(made, table, tmp_path / "m.onnx").score(works).binary["codex"]
    assert (found == np.float32(1 / (1 + np.exp(-3 / 1024)))).all()
