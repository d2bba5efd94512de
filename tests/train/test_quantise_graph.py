"""Integer tables and the ONNX graph: exact, within bounds, and the same on both sides."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix
from two_heads import OUTPUTS, TARGETS

from scorer.student.ngrams import EncodedWorks
from scorer.student.session import Session
from scorer.train.graph import build_graph
from scorer.train.quantise import HALF, NEVER, Table, quantise, score_table, share_table

weights = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 4)),
    elements=st.floats(-50, 50, width=32),
)


@given(weights=weights)
@settings(max_examples=200)
def test_entries_are_integers_within_4095_at_the_finest_unit(weights: np.ndarray) -> None:
    table = quantise(weights, np.zeros(weights.shape[1]))
    assert table.weights.dtype == np.int32
    assert np.abs(table.weights).max() <= 4095
    assert np.log2(table.unit) == int(np.log2(table.unit)) >= -10
    finer = table.unit / 2
    assert table.unit == 1 / 1024 or np.abs(weights).max() / finer > 4095.5
    assert np.abs(table.weights * table.unit - weights).max() <= table.unit / 2


@pytest.mark.parametrize(
    ("largest", "unit"), [(0.0, 2**-10), (3.999, 2**-10), (4.01, 2**-9), (100.0, 2**-5)]
)
def test_the_unit_follows_the_largest_weight(largest: float, unit: float) -> None:
    assert quantise(np.array([[largest]]), np.zeros(1)).unit == unit


def test_an_output_without_a_head_never_scores_over_zero() -> None:
    table = quantise(np.array([[4.0, 4.0]]), np.array([np.nan, 8.0]))
    assert table.weights[:, 0].tolist() == [0]
    assert table.bias[0] == NEVER
    scores = table.scores(csr_matrix(np.ones((1, 1))))
    assert scores[0, 0] == 0.0
    assert scores[0, 1] > 0.99


def test_the_score_table_is_the_sigmoid() -> None:
    table = score_table(1 / 1024)
    assert (table.dtype, table.shape) == (np.float32, (65_536,))
    assert table[HALF] == 0.5
    assert table[HALF + 1024] == np.float32(1 / (1 + np.exp(-1.0)))
    assert table[0] == 0.0
    assert table[-1] == 1.0
    assert (np.diff(table) >= 0).all()


@pytest.mark.parametrize("values", [1, 2, 3, 5, 12, 64])
def test_shares_are_integers_whose_sum_is_exact(values: int) -> None:
    table = share_table(1 / 1024, values)
    assert table.dtype == np.float32
    assert (table == np.rint(table)).all()
    assert float(table[0]) * values < 2**24
    assert table[-1] == 0.0
    assert table[1024] / table[0] == pytest.approx(np.exp(-1), abs=1e-4)


def table_of(seed: int, ngrams: int) -> Table:
    chance = np.random.default_rng(seed)
    weights = chance.normal(scale=0.5, size=(ngrams, OUTPUTS))
    bias = chance.normal(size=OUTPUTS)
    bias[1] = np.nan
    return quantise(weights, bias)


@pytest.fixture(scope="module")
def table() -> Table:
    return table_of(0, 50)


@pytest.fixture(scope="module")
def session(table: Table, tmp_path_factory: pytest.TempPathFactory) -> Session:
    path: Path = tmp_path_factory.mktemp("graph") / "model.onnx"
    path.write_bytes(build_graph(table, TARGETS))
    return Session(path, TARGETS, ids=51)


def encoded(works: list[set[int]]) -> EncodedWorks:
    ids = [sorted(work) for work in works]
    return EncodedWorks(
        np.array([i for work in ids for i in work], np.int32),
        np.cumsum([0, *(len(work) for work in ids)]).astype(np.int64),
    )


def features(works: list[set[int]]) -> csr_matrix:
    matrix = np.zeros((len(works), 50))
    for row, work in enumerate(works):
        matrix[row, [i - 1 for i in work]] = 1
    return csr_matrix(matrix)


@given(works=st.lists(st.sets(st.integers(1, 50)), min_size=1, max_size=20))
@settings(max_examples=50)
def test_the_graph_scores_as_the_table_does_bit_for_bit(
    table: Table, session: Session, works: list[set[int]]
) -> None:
    found, expected = session.score(encoded(works)), table.scores(features(works))
    for head, start in (("a", 0), ("b", 5)):
        ours = np.ascontiguousarray(expected[:, start : start + 2])
        assert np.array_equal(found.binary[head].view(np.uint32), ours.view(np.uint32))


def test_axis_shares_are_the_softmax(table: Table, session: Session) -> None:
    works = [{1, 2, 3}, set(), {50}]
    logits = table.logits(features(works))[:, 2:5] * table.unit
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shares = session.score(encoded(works)).axes["a"]["kind"]
    assert np.abs(shares - expected).max() < 1e-6
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-6


def test_a_work_without_any_ngram_scores_the_bias(table: Table, session: Session) -> None:
    scores = session.score(encoded([set()]))
    assert scores.binary["a"][0, 0] == score_table(table.unit)[table.bias[0] + HALF]
    assert scores.binary["a"][0, 1] == 0.0


def test_equal_tables_give_equal_bytes() -> None:
    assert build_graph(table_of(3, 20), TARGETS) == build_graph(table_of(3, 20), TARGETS)
    assert build_graph(table_of(3, 20), TARGETS) != build_graph(table_of(4, 20), TARGETS)


def test_the_graph_needs_standard_operators_alone(table: Table) -> None:
    content = build_graph(table, TARGETS)
    session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert {output.name: output.shape for output in session.get_outputs()} == {
        "a/binary": ["B", 2],
        "a/kind": ["B", 3],
        "b/binary": ["B", 2],
        "b/kind": ["B", 3],
    }
    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [
        ("ids", "tensor(int32)", ["B", "L"])
    ]
