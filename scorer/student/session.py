"""The ONNX side of the student: padded ids in, exact scores out.

Rows are sorted by length and cut into batches whose size follows from the data alone. Inside the
graph every sum is one of integers under 2^24 and every score comes out of a table, so neither
padding, nor neighbours, nor threads can change a bit.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from scorer.errors import BundleError
from scorer.student.ngrams import EncodedWorks
from scorer.targets import Targets

Floats = npt.NDArray[np.float32]

# Ids in one ONNX batch: enough to make a call worth its overhead, few enough to keep memory small.
_IDS_A_BATCH: Final = 1 << 14
_MOST_ROWS_A_BATCH: Final = 1 << 11
_LENGTH_STEP: Final = 4
# The key under which a protobuf tensor names the file that holds its data; its length byte may be
# written in more than one way.
_EXTERNAL_DATA: Final = re.compile(rb"\x0a(?:\x08|\x88\x80*\x00)location")


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of a batch of works.

    `binary`: head -> float32 [works, categories + flags]; `axes`: head -> axis -> float32
    [works, values]. All lie in [0, 1].
    """

    binary: Mapping[str, Floats]
    axes: Mapping[str, Mapping[str, Floats]]


class Session:
    """An ONNX graph whose inputs and outputs are those that the manifest promises."""

    def __init__(self, path: Path, targets: Targets, *, ids: int) -> None:
        """Load the graph; raise `BundleError` where it does not fit `targets` and `ids` ids."""
        self._targets = targets
        options = ort.SessionOptions()
        # Works are spread over threads a shard at a time; a graph of its own needs just one.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = (
            4  # errors come back as exceptions; the log would say them twice
        )
        graph = path.read_bytes()
        if _EXTERNAL_DATA.search(graph):
            raise BundleError(
                f"{path}: keeps weights in another file, which may lie anywhere; not "
                "loaded.\nA bundle holds its whole graph in model.onnx: save it as one file."
            )
        try:
            self._session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises its own, undocumented types
            reason = str(error).splitlines()[0][:200]
            raise BundleError(f"{path}: onnxruntime cannot load it ({reason}).") from error
        self._shapes = _promised_shapes(targets)
        self._check(path, ids)

    def score(self, works: EncodedWorks) -> Scores:
        """Return the scores of the works, in their order."""
        lengths = np.diff(works.offsets)
        order = np.argsort(lengths, kind="stable")
        outputs = {
            n: np.empty((len(order), width), np.float32) for n, width in self._shapes.items()
        }
        start = 0
        for ids in _batches(works, order, lengths.take(order)):
            stop = start + len(ids)
            for name, scores in zip(self._shapes, self._run(ids), strict=True):
                outputs[name][start:stop] = scores
            start = stop
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        outputs = {name: scores.take(back, axis=0) for name, scores in outputs.items()}
        return Scores(
            {head: outputs[f"{head}/binary"] for head in self._targets.head_names},
            {
                head: {axis.name: outputs[f"{head}/{axis.name}"] for axis in self._targets.axes}
                for head in self._targets.head_names
            },
        )

    def _run(self, ids: npt.NDArray[np.int32]) -> list[Floats]:
        """Run the graph; what it promised by its declared shapes is checked on what it gives."""
        try:
            found: list[Floats] = self._session.run(list(self._shapes), {"ids": ids})
        except Exception as error:  # onnxruntime raises its own, undocumented types
            raise BundleError(f"model.onnx: failed ({str(error).splitlines()[0]}).") from error
        for (name, width), scores in zip(self._shapes.items(), found, strict=True):
            if scores.shape != (len(ids), width):
                raise BundleError(
                    f"model.onnx: output {name!r} has shape {list(scores.shape)}, expected "
                    f"{[len(ids), width]}.\nTrain the bundle again."
                )
        return found

    def _check(self, path: Path, ids: int) -> None:
        inputs = {node.name: node.type for node in self._session.get_inputs()}
        if inputs != {"ids": "tensor(int32)"}:
            raise BundleError(f"{path}: takes {inputs}, expected one input ids of int32 [B, L].")
        outputs = {node.name: node for node in self._session.get_outputs()}
        for name, width in self._shapes.items():
            if name not in outputs:
                raise BundleError(f"{path}: no output {name!r}, which the manifest promises.")
            found = outputs[name].shape
            if found[1:] != [width] or outputs[name].type != "tensor(float)":
                raise BundleError(
                    f"{path}: output {name!r} is {outputs[name].type} {found}, "
                    f"expected float32 [B, {width}]."
                )
        try:
            found = self._run(np.array([[ids - 1, 0]], np.int32))
        except BundleError as error:
            raise BundleError(
                f"{path}: cannot score the last n-gram of the vocabulary; they do not belong "
                f"together.\n{error}"
            ) from error
        if not all(np.isfinite(scores).all() for scores in found):
            raise BundleError(f"{path}: gives scores that are not finite. Train the bundle again.")


def _promised_shapes(targets: Targets) -> dict[str, int]:
    shapes: dict[str, int] = {}
    for head in targets.head_names:
        shapes[f"{head}/binary"] = len(targets.binary)
        shapes |= {f"{head}/{axis.name}": len(axis.values) for axis in targets.axes}
    return shapes


def _batches(
    works: EncodedWorks, order: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> Iterator[npt.NDArray[np.int32]]:
    """Yield padded ids int32 [rows, length], batch by batch in `order`, shortest works first."""
    # The place after the last id holds the padding: places past a work's end all point to it.
    ids = np.append(works.ids, np.int32(0))
    start = 0
    while start < len(order):
        rows = _rows_from(lengths, start)
        longest = int(lengths[start + rows - 1])
        padded = max(_LENGTH_STEP, -(-longest // _LENGTH_STEP) * _LENGTH_STEP)
        step = np.arange(padded)
        places = works.offsets.take(order[start : start + rows])[:, None] + step
        np.putmask(places, step >= lengths[start : start + rows, None], len(works.ids))
        yield ids.take(places)
        start += rows


def _rows_from(lengths: npt.NDArray[np.int64], start: int) -> int:
    """Return how many rows from `start` fit a batch: at least one, as `lengths` only grow."""
    window = lengths[start : start + _MOST_ROWS_A_BATCH]
    fits = (np.maximum(window, 1) * np.arange(1, len(window) + 1)) <= _IDS_A_BATCH
    return max(1, int(np.count_nonzero(fits)))
