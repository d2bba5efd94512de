"""Scores taken apart: exact integers out of the graph, whose sum is the logit behind each score."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import polars as pl
import pytest
from onnx import numpy_helper

from scorer.errors import BundleError
from scorer.student.bundle import Student, load_student
from scorer.student.contributions import Weights
from scorer.student.manifest import MODEL_FILE, VOCABULARY_FILE

HALF = 1 << 15


def constants(folder: Path) -> dict[str, np.ndarray]:
    """The graph's constants, read by the package onnx."""
    graph = onnx.load(folder / MODEL_FILE).graph
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def change(folder: Path, name: str, changed: Callable[[np.ndarray], np.ndarray]) -> None:
    """Put another constant in place of one of the graph's."""
    model = onnx.load(folder / MODEL_FILE)
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == name)
    tensor.CopyFrom(numpy_helper.from_array(changed(numpy_helper.to_array(tensor)), name))
    onnx.save(model, folder / MODEL_FILE)


@pytest.fixture(scope="module")
def works(
    tiny_frame: Path, student: Student, read_frame: Callable[[Path, Student], pl.DataFrame]
) -> pl.DataFrame:
    return read_frame(tiny_frame, student)


@pytest.fixture(scope="module")
def weights(student: Student) -> Weights:
    return Weights.of(student)


def test_parts_add_up_to_the_logit_and_the_logit_gives_the_score(
    student: Student, weights: Weights, works: pl.DataFrame
) -> None:
    scores = student.score(works).binary
    graph = constants(student.folder)
    names = student.manifest.targets.binary_names
    seen = 0
    rows = range(0, works.height, 5)
    for row in rows:
        explanation = weights.explain(works[row], top=1 + row % 7)
        for part in explanation.scores:
            shown = sum(one.units for one in (*part.up, *part.down))
            assert part.bias + shown + part.other_units == part.total
            assert len(part.up) + len(part.down) + part.other_count == explanation.ngrams
            score = graph["scores"][part.logit + HALF]
            in_batch = scores[part.head][row, names.index(part.target)]
            assert score.tobytes() == in_batch.tobytes() == np.float32(part.score).tobytes()
            seen += 1
    pairs = len(student.manifest.targets.heads) * len(names)
    lacking = sum(len(head.unavailable) for head in student.manifest.targets.heads)
    assert seen == len(rows) * (pairs - lacking) > 200


def test_each_integer_is_the_graph_s_own(
    student: Student, weights: Weights, works: pl.DataFrame
) -> None:
    """Compared with ONNX's reader and the vocabulary, one n-gram at a time."""
    graph = constants(student.folder)
    vocabulary = pl.read_parquet(student.folder / VOCABULARY_FILE)
    ids = {ngram: place + 1 for place, ngram in enumerate(vocabulary.rows())}
    names = student.manifest.targets.binary_names
    work = works[40]
    encoded = student.encoder.encode(work).ids.tolist()
    for part in weights.explain(work, top=10_000).scores:
        column = student.manifest.targets.head_names.index(part.head) * len(names)
        column += names.index(part.target)
        assert part.bias == graph["bias"][column]
        table = graph["table"][:, column]
        for one in (*part.up, *part.down):
            number = ids[one.channel, one.ngram]
            assert number in encoded
            assert one.units == table[number]
        nothing = sum(table[number] == 0 for number in encoded)
        assert (part.other_count, part.other_units) == (nothing, 0)


def test_the_largest_come_first_in_both_directions(weights: Weights, works: pl.DataFrame) -> None:
    whole = weights.explain(works[40], top=10_000)
    short = weights.explain(works[40], top=3)
    assert any(len(part.up) > 3 and len(part.down) > 3 for part in whole.scores)
    for part, all_of_it in zip(short.scores, whole.scores, strict=True):
        up, down = ([one.units for one in ones] for ones in (all_of_it.up, all_of_it.down))
        assert up == sorted(up, reverse=True)
        assert down == sorted(down)
        assert min(up, default=1) > 0 > max(down, default=-1)
        assert part.up == all_of_it.up[:3]
        assert part.down == all_of_it.down[:3]


def test_what_a_head_has_not_learned_has_no_parts(weights: Weights, works: pl.DataFrame) -> None:
    said = [(part.head, part.target) for part in weights.explain(works[40]).scores]
    assert ("codex", "sts") not in said
    assert ("gemma", "sts") in said


def test_heads_and_targets_are_chosen(weights: Weights, works: pl.DataFrame) -> None:
    chosen = weights.explain(works[40], heads=["gemma"], targets=["sts", "metaresearch"])
    assert [(part.head, part.target) for part in chosen.scores] == [
        ("gemma", "metaresearch"),
        ("gemma", "sts"),
    ]


def test_a_work_without_a_known_ngram_has_the_bias_alone(
    student: Student, weights: Weights
) -> None:
    # All columns but the title are unknown; the shape of a title is always known.
    work = pl.DataFrame({"id": ["W1"], "title": pl.Series([None], dtype=pl.String)})
    explanation = weights.explain(work, top=99)
    assert explanation.ngrams == len(student.encoder.encode(work).ids)
    assert all("title." in one.channel for part in explanation.scores for one in part.up)


@pytest.mark.parametrize(("shift", "end"), [(40_000, HALF - 1), (-40_000, -HALF)])
def test_a_sum_past_the_table_s_end_is_held_there(
    bundle_copy: Path, reseal: Callable[..., str], works: pl.DataFrame, shift: int, end: int
) -> None:
    change(bundle_copy, "bias", lambda bias: bias + np.float32(shift))
    reseal(bundle_copy)
    for part in Weights.of(load_student(bundle_copy)).explain(works[40]).scores:
        assert abs(part.total) > HALF
        assert part.logit == end
        assert part.score == (1.0 if shift > 0 else 0.0)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("table", lambda table: np.pad(table, ((0, 1), (0, 0)))),
        ("scores", lambda scores: scores.astype(np.float64)),
        ("bias", lambda bias: bias[None, :]),
    ],
)
def test_a_graph_of_another_form_is_told(
    bundle_copy: Path, student: Student, name: str, changed: Callable[[np.ndarray], np.ndarray]
) -> None:
    change(bundle_copy, name, changed)
    other = dataclasses.replace(student, folder=bundle_copy)
    with pytest.raises(BundleError) as error:
        Weights.of(other)
    assert str(error.value) == (
        f"{bundle_copy / 'model.onnx'}: its scores are not sums of integers of the form that "
        "scorer train makes, so they cannot be taken apart."
    )


def test_a_graph_that_adds_up_otherwise_is_told(
    bundle_copy: Path, student: Student, works: pl.DataFrame
) -> None:
    change(bundle_copy, "bias", lambda bias: bias + np.float32(1))
    other = dataclasses.replace(student, folder=bundle_copy)  # its session is that of the old graph
    with pytest.raises(BundleError, match="cannot be taken apart"):
        Weights.of(other).explain(works[40])


def test_what_is_no_graph_is_told(bundle_copy: Path, student: Student) -> None:
    (bundle_copy / MODEL_FILE).write_bytes(b"\xff\xff not a graph")
    with pytest.raises(BundleError, match=r"model\.onnx: not an ONNX graph \("):
        Weights.of(dataclasses.replace(student, folder=bundle_copy))
