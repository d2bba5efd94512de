"""An encoder and heads in one graph: what it gives is what plain sums give."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from encoders import WIDTH, tiny_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from two_heads import OUTPUTS, TARGETS

from scorer.errors import BundleError
from scorer.student.transformer.encoder_folder import EncoderFolder
from scorer.train.merge import merged_graph
from scorer.train.quantise import Table, quantise

# Where the outputs of each head stand.
PLACES = {
    "a/binary": slice(0, 2),
    "a/kind": slice(2, 5),
    "b/binary": slice(5, 7),
    "b/kind": slice(7, 10),
}
WORDS = ["peer", "review", "of", "bees", "nature"]
VOCABULARY = 4 + len(WORDS)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> EncoderFolder:
    return EncoderFolder.open(tiny_folder(tmp_path_factory.mktemp("e") / "five", WORDS))


def drawn(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.5, (WIDTH, OUTPUTS)), rng.normal(-0.5, 1, OUTPUTS)


def run(
    graph: bytes, tokens: list[int], mask: list[int] | None = None, ids: list[int] | None = None
) -> dict[str, np.ndarray]:
    """The outputs for one text, by name: float64 [width]; `ids`: its n-grams."""
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    inputs = {
        "input_ids": np.array([tokens], np.int64),
        "attention_mask": np.array([mask or [1] * len(tokens)], np.int64),
        "token_type_ids": np.zeros((1, len(tokens)), np.int64),
        "ids": np.array([ids or [0]], np.int32),
    }
    inputs = {node.name: inputs[node.name] for node in session.get_inputs()}
    names = [node.name for node in session.get_outputs()]
    return {
        name: found[0].astype(np.float64)
        for name, found in zip(names, session.run(names, inputs), strict=True)
    }


def embedded(encoder: EncoderFolder, ids: list[int], kept: int | None = None) -> np.ndarray:
    """The embedding, computed by the encoder's own graph and plain sums: float64 [width]."""
    graph = (encoder.path / "model.onnx").read_bytes()
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    tokens = np.array([ids], np.int64)
    inputs = {"input_ids": tokens, "attention_mask": tokens * 0 + 1, "token_type_ids": tokens * 0}
    inputs = {node.name: inputs[node.name] for node in session.get_inputs()}
    hidden = session.run(["last_hidden_state"], inputs)[0][0, :kept].astype(np.float64)
    mean = hidden.mean(axis=0)
    return 4 * mean / np.linalg.norm(mean)


def expected(logits: np.ndarray) -> dict[str, np.ndarray]:
    found = {}
    for name, places in PLACES.items():
        part = logits[places]
        powers = np.exp(part - part.max())
        found[name] = 1 / (1 + np.exp(-part)) if name.endswith("binary") else powers / powers.sum()
    return found


def check(found: dict[str, np.ndarray], logits: np.ndarray) -> None:
    for name, scores in expected(logits).items():
        assert np.abs(found[name] - scores).max() < 1e-5, name


@given(
    ids=st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=12), seed=st.integers(0, 9)
)
@settings(max_examples=30)
def test_scores_are_those_of_heads_on_the_embedding(
    encoder: EncoderFolder, ids: list[int], seed: int
) -> None:
    weights, bias = drawn(seed)
    found = run(merged_graph(encoder, weights, bias, TARGETS), ids)
    assert [*found] == [*PLACES]
    check(found, embedded(encoder, ids) @ weights + bias)


def test_masked_tokens_have_no_part_in_the_mean(encoder: EncoderFolder) -> None:
    weights, bias = drawn()
    found = run(merged_graph(encoder, weights, bias, TARGETS), [2, 5, 6, 0], [1, 1, 1, 0])
    check(found, embedded(encoder, [2, 5, 6, 0], kept=3) @ weights + bias)


def made_table() -> Table:
    rng = np.random.default_rng(3)
    return quantise(rng.normal(0, 0.4, (40, OUTPUTS)), rng.normal(0, 0.5, OUTPUTS))


def test_a_mixed_logit_is_the_integer_sum_times_its_unit_and_the_encoders(
    encoder: EncoderFolder,
) -> None:
    (weights, bias), table = drawn(), made_table()
    graph = merged_graph(encoder, weights, bias, TARGETS, table)
    ngrams = [3, 40, 17]
    units = table.weights[[n - 1 for n in ngrams]].sum(axis=0) + table.bias
    logits = units * table.unit + embedded(encoder, [2, 4, 3]) @ weights + bias
    check(run(graph, [2, 4, 3], ids=ngrams), logits)
    padded = run(graph, [2, 4, 3], ids=[*ngrams, 0, 0])
    assert all(
        (padded[n] == scores).all() for n, scores in run(graph, [2, 4, 3], ids=ngrams).items()
    )
    nothing = table.bias * table.unit + embedded(encoder, [2, 4, 3]) @ weights + bias
    check(run(graph, [2, 4, 3], ids=[0]), nothing)


@pytest.mark.parametrize("mixed", [False, True])
def test_without_a_head_the_score_is_nothing(encoder: EncoderFolder, mixed: bool) -> None:
    weights, bias = drawn()
    bias[[1, 3]] = np.nan
    bias[PLACES["b/kind"]] = np.nan
    table = made_table() if mixed else None
    found = run(merged_graph(encoder, weights, bias, TARGETS, table), [2, 4, 3], ids=[1, 2])
    assert found["a/binary"][1] == found["a/kind"][1] == 0
    assert found["b/kind"].tolist() == [0, 0, 0]
    assert (np.delete(found["a/kind"], 1) > 0).all()
    assert abs(found["a/kind"].sum() - 1) < 1e-6
    assert (found["b/binary"] > 0).all()


@pytest.mark.parametrize("opset", [11, 12, 13, 17])
@pytest.mark.parametrize("pooled", [False, True])
def test_a_graph_of_any_recent_opset_takes_heads(tmp_path: Path, opset: int, pooled: bool) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS, opset=opset)
    weights, bias = drawn()
    plain = EncoderFolder.open(folder)
    logits = embedded(plain, [2, 4, 3]) @ weights + bias
    encoder = plain
    if pooled:
        folder = tiny_folder(tmp_path / "p", WORDS, opset=opset, pooled=True)
        encoder = EncoderFolder.open(folder)
    check(run(merged_graph(encoder, weights, bias, TARGETS), [2, 4, 3]), logits)


def test_the_same_parts_make_the_same_bytes(encoder: EncoderFolder, tmp_path: Path) -> None:
    weights, bias = drawn()
    again = EncoderFolder.open(tiny_folder(tmp_path / "e", WORDS))
    first = merged_graph(encoder, weights, bias, TARGETS, made_table())
    assert merged_graph(again, weights, bias, TARGETS, made_table()) == first
    assert {node.domain for node in onnx.load_model_from_string(first).graph.node} == {""}
    assert merged_graph(encoder, weights, bias + 1e-3, TARGETS, made_table()) != first


def test_a_graph_of_an_old_opset_is_told(encoder: EncoderFolder, tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS, opset=10)
    with pytest.raises(BundleError) as caught:
        merged_graph(EncoderFolder.open(folder), *drawn(), TARGETS)
    assert str(caught.value) == (
        f"{folder / 'model.onnx'}: written for opset 10 of ONNX; heads need 11 or later.\n"
        "Export the encoder anew."
    )


def test_a_graph_that_uses_a_name_of_ours_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    model = onnx.load(folder / "model.onnx")
    model.graph.node.insert(0, helper.make_node("Identity", ["input_ids"], ["ids"]))
    onnx.save(model, folder / "model.onnx")
    encoder = EncoderFolder.open(folder)
    merged_graph(encoder, *drawn(), TARGETS)
    with pytest.raises(BundleError) as caught:
        merged_graph(encoder, *drawn(), TARGETS, made_table())
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{folder / 'model.onnx'}: with heads it is no sound graph (")


def test_weights_of_another_width_are_refused(encoder: EncoderFolder) -> None:
    weights, bias = drawn()
    with pytest.raises(
        ValueError, match=r"weights \(23, 10\) and bias \(10,\): expected \(24, 10\)"
    ):
        merged_graph(encoder, weights[1:], bias, TARGETS)
