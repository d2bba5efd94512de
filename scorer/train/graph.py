"""The ONNX graph of an `ngram` bundle: ids in, scores and axis shares out (contract 3)."""

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

    `table` has its outputs head by head: the binary targets, then each axis's values.
    """
    graph = _Graph()
    rows = np.vstack([np.zeros((1, table.weights.shape[1]), np.int32), table.weights])
    gathered = graph.node("Gather", graph.constant("table", rows.astype(np.float32)), "ids")
    sums = graph.node(
        "ReduceSum", gathered, graph.constant("over_ngrams", np.array([1])), keepdims=0
    )
    logits = graph.node("Add", sums, graph.constant("bias", table.bias.astype(np.float32)))
    lowest = graph.constant("lowest", np.float32(-HALF))
    highest = graph.constant("highest", np.float32(HALF - 1))
    logits = graph.node("Clip", logits, lowest, highest)
    outputs: list[tuple[str, int]] = []
    start = 0
    for head in targets.head_names:
        part = graph.columns(logits, start, len(targets.binary))
        graph.scores(part, f"{head}/binary", table.unit)
        outputs.append((f"{head}/binary", len(targets.binary)))
        start += len(targets.binary)
        for axis in targets.axes:
            part = graph.columns(logits, start, len(axis.values))
            graph.shares(part, f"{head}/{axis.name}", table.unit, len(axis.values))
            outputs.append((f"{head}/{axis.name}", len(axis.values)))
            start += len(axis.values)
    return graph.to_bytes(outputs)


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

    def columns(self, values: str, start: int, width: int) -> str:
        """Cut `width` columns out."""
        return self.node(
            "Slice",
            values,
            self.constant(f"at_{start}", np.array([start])),
            self.constant(f"at_{start + width}", np.array([start + width])),
            self.constant("along_columns", np.array([1])),
        )

    def scores(self, logits: str, output: str, unit: float) -> None:
        """Look up the score of each integer logit."""
        half = self.constant("half", np.float32(HALF))
        places = self.node("Cast", self.node("Add", logits, half), to=TensorProto.INT32)
        self.node("Gather", self.constant("scores", score_table(unit)), places, output=output)

    def shares(self, logits: str, output: str, unit: float, values: int) -> None:
        """Softmax over integer logits: exact, since the exponentials are looked up as integers."""
        exponentials = share_table(unit, values)
        table = self.constant(f"shares_of_{values}", exponentials)
        furthest = self.constant(f"furthest_of_{values}", np.float32(len(exponentials) - 1))
        highest = self.node("ReduceMax", logits, axes=[1], keepdims=1)
        distance = self.node("Min", self.node("Sub", highest, logits), furthest)
        parts = self.node("Gather", table, self.node("Cast", distance, to=TensorProto.INT32))
        along = self.constant("along_columns", np.array([1]))
        self.node("Div", parts, self.node("ReduceSum", parts, along, keepdims=1), output=output)

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
