"""The ONNX graph of an `ngram` bundle: ids in, scores and axis shares out (contract 3).

Sums of integers first, exact in any order; then look-ups by integer logit. After the sums the graph
works on [outputs, B], so that the steps of a softmax run along whole rows of works.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from scorer.targets import Targets
from scorer.train.quantise import HALF, Table, score_table, share_table

_OPSET: Final = 17  # old enough for every onnxruntime that the program allows
_IR_VERSION: Final = 9


def build_graph(table: Table, targets: Targets) -> bytes:
    """Return the bytes of `model.onnx`.

    `table` has its outputs head by head: the binary targets, then each axis's values. Inside the
    graph they stand target kind by target kind, all heads of a kind together.
    """
    order, widths = _kind_by_kind(targets)
    graph = _Graph()
    rows = np.vstack([np.zeros((1, len(order)), np.int32), table.weights[:, order]])
    gathered = graph.node("Gather", graph.constant("table", rows.astype(np.float32)), "ids")
    along_ngrams = graph.constant("along_ngrams", np.array([1]))
    sums = graph.node("ReduceSum", gathered, along_ngrams, keepdims=0)
    sums = graph.node("Add", sums, graph.constant("bias", table.bias[order].astype(np.float32)))
    lowest = graph.constant("lowest", np.float32(-HALF))
    highest = graph.constant("highest", np.float32(HALF - 1))
    logits = graph.node("Clip", sums, lowest, highest)
    logits = graph.node("Transpose", graph.node("Cast", logits, to=TensorProto.INT32), perm=[1, 0])
    lengths = graph.constant("lengths", np.array([width for _, width in widths]))
    parts = graph.split(logits, lengths, [f"logits {name}" for name, _ in widths])
    for (name, width), part in zip(widths, parts, strict=True):
        if name.endswith("/binary"):
            scored = graph.scores(part, table.unit)
        else:
            scored = graph.shares(part, table.unit, width)
        graph.node("Transpose", scored, output=name, perm=[1, 0])
    return graph.to_bytes(widths)


def _kind_by_kind(targets: Targets) -> tuple[npt.NDArray[np.int64], list[tuple[str, int]]]:
    """Return the table's columns in the graph's order, and (output, width) in that order."""
    kinds = [("binary", len(targets.binary))]
    kinds += [(axis.name, len(axis.values)) for axis in targets.axes]
    of_head = sum(width for _, width in kinds)
    columns: list[int] = []
    widths: list[tuple[str, int]] = []
    start = 0
    for kind, width in kinds:
        for number, head in enumerate(targets.head_names):
            first = number * of_head + start
            columns += range(first, first + width)
            widths.append((f"{head}/{kind}", width))
        start += width
    return np.array(columns), widths


class _Graph:
    """Nodes and constants, named in the order they come, so that equal tables give equal bytes."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: npt.ArrayLike) -> str:
        """Add a constant, once a name."""
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def node(self, kind: str, *inputs: str, output: str | None = None, **settings: Any) -> str:  # noqa: ANN401
        """Add a node; return the name of its output."""
        output = output or f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **settings))
        return output

    def split(self, values: str, lengths: str, outputs: list[str]) -> list[str]:
        """Cut the rows into parts."""
        self._nodes.append(helper.make_node("Split", [values, lengths], outputs, axis=0))
        return outputs

    def scores(self, logits: str, unit: float) -> str:
        """Look up the score of each integer logit."""
        half = self.constant("half", np.int32(HALF))
        places = self.node("Add", logits, half)
        return self.node("Gather", self.constant("scores", score_table(unit)), places)

    def shares(self, logits: str, unit: float, values: int) -> str:
        """Softmax over integer logits: exact, since the exponentials are looked up as integers."""
        exponentials = share_table(unit, values)
        table = self.constant(f"shares of {values}", exponentials)
        furthest = self.constant(f"furthest of {values}", np.int32(len(exponentials) - 1))
        highest = self.node("ReduceMax", logits, axes=[0], keepdims=1)
        distance = self.node("Min", self.node("Sub", highest, logits), furthest)
        parts = self.node("Gather", table, distance)
        along_values = self.constant("along values", np.array([0]))
        return self.node("Div", parts, self.node("ReduceSum", parts, along_values, keepdims=1))

    def to_bytes(self, outputs: list[tuple[str, int]]) -> bytes:
        """Check the graph and return its bytes."""
        graph = helper.make_graph(
            self._nodes,
            "student",
            [helper.make_tensor_value_info("ids", TensorProto.INT32, ["B", "L"])],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["B", w]) for n, w in outputs],
            list(self._constants.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="scorer",
        )
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content
