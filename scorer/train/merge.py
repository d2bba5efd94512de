"""One ONNX graph of a frozen encoder and linear heads, and of an n-gram table beside it.

The encoder's own nodes stay as they are; behind them come the pooling and the heads. Only operators
that ONNX itself defines are added, in forms that all opsets of the last years share.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from scorer.errors import BundleError
from scorer.student.manifest import MODEL_FILE
from scorer.student.transformer.encoder_folder import LEAST_NORM, EncoderFolder
from scorer.student.transformer.inputs import IDS, MASK, TYPES
from scorer.targets import Targets
from scorer.train.quantise import Table

Floats = npt.NDArray[np.float64]

_OLDEST_OPSET: Final = 11
_AXES_ARE_INPUTS: Final = 13  # of ReduceSum
_INITIALIZERS_ALONE: Final = 4  # the IR from which weights need not be inputs too
_NGRAMS: Final = "ids"
_PREFIX: Final = "student/"
"""Names of what is added begin so."""
_NEVER: Final = -1e4
"""The logit of an axis value that was never learned: its share is nothing."""


def merged_graph(
    encoder: EncoderFolder,
    weights: Floats,
    bias: Floats,
    targets: Targets,
    ngrams: Table | None = None,
) -> bytes:
    """Return the bytes of `model.onnx`: the same inputs, the same bytes.

    `weights`: float64 [width, outputs], `bias`: float64 [outputs], NaN where there is no head: its
    score is 0. Outputs are head by head: the binary targets, then each axis's values. `ngrams`: the
    integer table of a `mixed` student; its logits, times its unit, are added to the encoder's.
    Raises `BundleError` where an encoder's graph cannot take heads, `ValueError` for weights of
    another shape.
    """
    outputs = len(targets.head_names) * (
        len(targets.binary) + sum(len(axis.values) for axis in targets.axes)
    )
    if weights.shape != (encoder.width, outputs) or bias.shape != (outputs,):
        raise ValueError(
            f"weights {weights.shape} and bias {bias.shape}: expected {(encoder.width, outputs)} "
            f"and {(outputs,)}"
        )
    model = onnx.load_model(encoder.path / MODEL_FILE)
    graph = _Heads(model, encoder)
    logits = graph.evidence(encoder, weights, np.nan_to_num(bias))
    if ngrams is not None:
        logits = graph.node("Add", logits, graph.ngram_logits(ngrams))
    graph.heads(logits, ~np.isnan(bias), targets)
    return graph.to_bytes(targets, mixed=ngrams is not None)


class _Heads:
    """What is added to an encoder's graph, named in the order it comes."""

    def __init__(self, model: onnx.ModelProto, encoder: EncoderFolder) -> None:
        self._model = model
        self._path = encoder.path / MODEL_FILE
        model.ir_version = max(model.ir_version, _INITIALIZERS_ALONE)
        self._opset = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
        if self._opset < _OLDEST_OPSET:
            raise BundleError(
                f"{self._path}: written for opset {self._opset} of ONNX; heads need "
                f"{_OLDEST_OPSET} or later.\nExport the encoder anew."
            )

    def constant(self, name: str, value: npt.ArrayLike) -> str:
        """Add a constant."""
        name = _PREFIX + name
        self._model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, output: str | None = None, **settings: Any) -> str:  # noqa: ANN401
        """Add a node; return the name of its output."""
        output = output or f"{_PREFIX}{kind.lower()}_{len(self._model.graph.node)}"
        self._model.graph.node.append(helper.make_node(kind, list(inputs), [output], **settings))
        return output

    def evidence(self, encoder: EncoderFolder, weights: Floats, bias: Floats) -> str:
        """Pool, scale, weigh: float32 [B, outputs].

        All sums are products of matrices a work, [1, n] by [n, m]: however many works stand in the
        batch, each one's are computed alike.
        """
        row = self.constant("row", np.array([0, 1, -1], np.int64))
        column = self.constant("column", np.array([0, -1, 1], np.int64))
        if encoder.pooled:
            pooled = self.node("Reshape", encoder.output, row)
        else:
            mask = self.node("Cast", MASK, to=TensorProto.FLOAT)
            mask_row = self.node("Reshape", mask, row)
            summed = self.node("MatMul", mask_row, encoder.output)
            count = self.node("MatMul", mask_row, self.node("Reshape", mask, column))
            one = self.constant("one", np.float32(1))
            pooled = self.node("Div", summed, self.node("Max", count, one))  # [B, 1, width]
        norm = self.node("Sqrt", self.node("MatMul", pooled, self.node("Reshape", pooled, column)))
        least = self.constant("least norm", np.float32(LEAST_NORM))
        scale = self.constant("scale", np.float32(encoder.settings.scale))
        unit = self.node("Mul", self.node("Div", pooled, self.node("Max", norm, least)), scale)
        whole = self.constant("weights", weights.astype(np.float32)[None])
        # Weights repeated for each work keep all works of a batch from becoming one large product.
        shape = self.node("Concat", self._works(), self.constant("same", np.array([1, 1])), axis=0)
        weighed = self.node("MatMul", unit, self.node("Expand", whole, shape))
        flat = self.node("Reshape", weighed, self.constant("flat", np.array([0, -1], np.int64)))
        return self.node("Add", flat, self.constant("bias", bias.astype(np.float32)))

    def _works(self) -> str:
        """Return the number of works, int64 [1]."""
        first = self.constant("first", np.array([0], np.int64))
        return self.node("Gather", self.node("Shape", MASK), first)

    def ngram_logits(self, table: Table) -> str:
        """Return the n-grams' integer logits times their unit: float32 [B, outputs].

        The sum is one of integers under 2^24 and the unit a power of two, so it is exact.
        """
        padding = np.zeros((1, table.weights.shape[1]), np.int32)
        rows = np.vstack([padding, table.weights]).astype(np.float32)
        gathered = self.node("Gather", self.constant("table", rows), _NGRAMS)
        offsets = self.constant("table bias", table.bias.astype(np.float32))
        sums = self.node("Add", self._sum_over_ngrams(gathered), offsets)
        return self.node("Mul", sums, self.constant("unit", np.float32(table.unit)))

    def _sum_over_ngrams(self, values: str) -> str:
        if self._opset < _AXES_ARE_INPUTS:
            return self.node("ReduceSum", values, axes=[1], keepdims=0)
        return self.node("ReduceSum", values, self.constant("ngrams", np.array([1])), keepdims=0)

    def heads(self, logits: str, fitted: npt.NDArray[np.bool_], targets: Targets) -> None:
        """Turn logits into the promised outputs."""
        start = 0
        for head in targets.head_names:
            kinds = [("binary", len(targets.binary))]
            kinds += [(axis.name, len(axis.values)) for axis in targets.axes]
            for kind, width in kinds:
                name = f"{head}/{kind}"
                columns = np.arange(start, start + width)
                places = self.constant(f"columns of {name}", columns)
                part = self.node("Gather", logits, places, axis=1)
                if kind == "binary":
                    scores = self.node("Sigmoid", part)
                else:
                    never = np.where(fitted[columns], 0, _NEVER).astype(np.float32)
                    part = self.node("Add", part, self.constant(f"never of {name}", never))
                    scores = self.node("Softmax", part, axis=1)
                there = self.constant(f"fitted of {name}", fitted[columns].astype(np.float32))
                self.node("Mul", scores, there, output=name)
                start += width

    def to_bytes(self, targets: Targets, *, mixed: bool) -> bytes:
        """Declare inputs and outputs, check the graph, return its bytes."""
        graph = self._model.graph
        inputs = [node.name for node in graph.input if node.name in (IDS, MASK, TYPES)]
        del graph.input[:], graph.output[:]
        for name in inputs:
            graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "L"]))
        if mixed:
            graph.input.append(
                helper.make_tensor_value_info(_NGRAMS, TensorProto.INT32, ["B", "N"])
            )
        for head in targets.head_names:
            for kind, width in [
                ("binary", len(targets.binary)),
                *((axis.name, len(axis.values)) for axis in targets.axes),
            ]:
                graph.output.append(
                    helper.make_tensor_value_info(f"{head}/{kind}", TensorProto.FLOAT, ["B", width])
                )
        try:
            onnx.checker.check_model(self._model)
        except onnx.checker.ValidationError as error:
            raise BundleError(
                f"{self._path}: with heads it is no sound graph ({str(error).splitlines()[0]})."
            ) from error
        content: bytes = self._model.SerializeToString(deterministic=True)
        return content
