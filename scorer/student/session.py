"""The ONNX side of the student: padded ids in, exact scores out.

Rows are sorted by length and cut into batches whose size follows from the data alone. Inside the
graph every sum is one of integers under 2^24 and every score comes out of a table, so neither
padding, nor neighbours, nor threads can change a bit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from scorer.errors import BundleError
from scorer.student.encoded import EncodedWorks, Offsets
from scorer.student.runtime import check_outputs, open_graph, promised_shapes, run_graph
from scorer.targets import Targets

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.uint8]

# Ids in one ONNX batch: enough to make a call worth its overhead, few enough to keep memory small.
_IDS_A_BATCH: Final = 1 << 14
_MOST_ROWS_A_BATCH: Final = 1 << 11
_LENGTH_STEP: Final = 4


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of a batch of works.

    `binary`: head -> float32 [works, categories + flags]; `axes`: head -> axis -> float32
    [works, values]. All lie in [0, 1]. Where the places of the best values were found on the way:
    `best`, head -> axis -> uint8 [works], and `best_mean`, axis -> uint8 [works], that of the mean
    over the heads that have learned the axis; the first of equals. `title_letters`: as the
    encoder counted them.
    """

    binary: Mapping[str, Floats]
    axes: Mapping[str, Mapping[str, Floats]]
    best: Mapping[str, Mapping[str, Places]] | None = None
    best_mean: Mapping[str, Places] | None = None
    title_letters: Offsets | None = None

    @classmethod
    def of_outputs(cls, outputs: Mapping[str, Floats], targets: Targets) -> Self:
        """Sort a graph's outputs, `<head>/binary` and `<head>/<axis>`, by head."""
        return cls(
            {head: outputs[f"{head}/binary"] for head in targets.head_names},
            {
                head: {axis.name: outputs[f"{head}/{axis.name}"] for axis in targets.axes}
                for head in targets.head_names
            },
        )


class Session:
    """An ONNX graph whose inputs and outputs are those that the manifest promises."""

    def __init__(self, path: Path, targets: Targets, *, ids: int) -> None:
        """Load the graph; raise `BundleError` where it does not fit `targets` and `ids` ids."""
        self._targets = targets
        self._session = open_graph(path)
        self._shapes = promised_shapes(targets)
        self._check(path, ids)

    def score(self, works: EncodedWorks, *, shares: bool = True) -> Scores:
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
        found = Scores.of_outputs(outputs, self._targets)
        return replace(found, title_letters=works.title_letters)

    def _run(self, ids: npt.NDArray[np.int32]) -> list[Floats]:
        return run_graph(self._session, {"ids": ids}, self._shapes)

    def _check(self, path: Path, ids: int) -> None:
        inputs = {node.name: node.type for node in self._session.get_inputs()}
        if inputs != {"ids": "tensor(int32)"}:
            raise BundleError(f"{path}: takes {inputs}, expected one input ids of int32 [B, L].")
        check_outputs(self._session, path, self._shapes)
        try:
            found = self._run(np.array([[ids - 1, 0]], np.int32))
        except BundleError as error:
            raise BundleError(
                f"{path}: cannot score the last n-gram of the vocabulary; they do not belong "
                f"together.\n{error}"
            ) from error
        if not all(np.isfinite(scores).all() for scores in found):
            raise BundleError(f"{path}: gives scores that are not finite. Train the bundle again.")


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
