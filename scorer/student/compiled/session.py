"""Scores by a compiled loop: what the graph of `scorer train` computes, without its detours.

The constants are those of `model.onnx`. Before it is used, the loop must give the very bits of
onnxruntime on many drawn works; a graph of another form stays with onnxruntime.
"""

from dataclasses import replace
from typing import Final, Self, TypeVar

import numpy as np
import numpy.typing as npt

from scorer.student.compiled.score_loops import AT_ONCE, score_works
from scorer.student.encoded import EncodedWorks
from scorer.student.session import Scores, Session
from scorer.targets import Targets

_TABLE, _BIAS, _SCORES = "table", "bias", "scores"
_SHARES: Final = "shares of {values}"
_LARGEST: Final = np.iinfo(np.int16).max // AT_ONCE
_DRAWN_WORKS: Final = 512
_MOST_DRAWN: Final = 400  # n-grams of a drawn work

_CACHE_LINE: Final = 64  # bytes
_IN_A_REGISTER: Final = 16  # integers of the table
_NEXT_SHARE: Final = 1 - 2**-20
"""Most of the highest share that the next may be: then no division makes equals of them, and the
place of the highest sum is that of the highest score."""

Number = TypeVar("Number", np.float32, np.uint8)
Whole = TypeVar("Whole", np.int16, np.int32)
Constants = dict[str, npt.NDArray[np.float32]]


class CompiledSession:
    """The graph of an `ngram` bundle as arrays that one loop reads."""

    def __init__(self, targets: Targets, constants: Constants) -> None:
        """Take the graph's constants; raise `ValueError` where they are not of the known form."""
        self._targets = targets
        try:
            table, bias, self._scores = (constants[name] for name in (_TABLE, _BIAS, _SCORES))
            shares = [constants[_SHARES.format(values=len(a.values))] for a in targets.axes]
        except KeyError as error:
            raise ValueError(f"no constant {error}") from error
        heads = len(targets.heads)
        self._binary = heads * len(targets.binary)
        widths = [len(axis.values) for axis in targets.axes for _ in targets.heads]
        if table.ndim != 2 or bias.shape != (table.shape[1],):  # noqa: PLR2004
            raise ValueError("constants of other shapes")
        if table.shape[1] != self._binary + sum(widths) or np.abs(table).max() > _LARGEST:
            raise ValueError("a table of another kind")
        self._table, self._bias = _widened(table, np.int16), _widened(bias, np.int32)
        outputs = len(bias)
        if not (
            np.array_equal(self._table[:, :outputs], table)
            and np.array_equal(self._bias[:outputs], bias)
        ):
            raise ValueError("weights that are no integers")
        if table[0].any():
            raise ValueError("a score for no n-gram")
        if any(len(part) > 1 and part[1] > part[0] * _NEXT_SHARE for part in shares):
            raise ValueError("shares in which the highest may have equals")
        self._fitted = np.array(
            [axis.name not in head.unavailable for axis in targets.axes for head in targets.heads],
            bool,
        )
        self._firsts = self._binary + np.cumsum([0, *widths])
        self._shares = np.concatenate([np.empty(0, np.float32), *shares])
        ends = np.cumsum([0, *(len(part) for part in shares)])
        self._share_ends = np.repeat(ends[1:], heads)
        self._share_starts = np.repeat(ends[:-1], heads)

    @classmethod
    def of(cls, session: Session, targets: Targets, constants: Constants) -> Self | None:
        """Return the loop, None where it does not give the very bits of `session`."""
        try:
            found = cls(targets, constants)
        except ValueError:
            return None
        return found if found._agrees(session) else None

    def score(self, works: EncodedWorks, *, shares: bool = True) -> Scores:
        """Return the scores of the works, in their order, and the places of the axes' best."""
        height, outputs = len(works.offsets) - 1, int(self._firsts[-1])
        scores = _rows_apart(outputs if shares else self._binary, height, np.float32)
        best = _rows_apart(len(self._fitted), height, np.uint8)
        best_mean = _rows_apart(len(self._targets.axes), height, np.uint8)
        score_works(
            works.ids,
            works.offsets,
            self._table,
            self._bias,
            self._scores,
            self._firsts,
            self._shares,
            self._share_starts,
            self._share_ends,
            self._fitted,
            np.empty(len(self._bias), np.int32),
            np.empty(outputs, np.float32),
            scores,
            best,
            best_mean,
        )
        named = self._by_name(scores, best, best_mean)
        return replace(named, title_letters=works.title_letters)

    def _by_name(
        self,
        scores: npt.NDArray[np.float32],
        best: npt.NDArray[np.uint8],
        best_mean: npt.NDArray[np.uint8],
    ) -> Scores:
        """Name the scores, float32 [outputs, works]: binary head by head, then axis by axis.

        Those of the axes may be left out.
        """
        heads, each = self._targets.head_names, len(self._targets.binary)
        binary = {head: scores[n * each : (n + 1) * each].T for n, head in enumerate(heads)}
        axes: dict[str, dict[str, npt.NDArray[np.float32]]] = {head: {} for head in heads}
        places: dict[str, dict[str, npt.NDArray[np.uint8]]] = {head: {} for head in heads}
        bounds = iter(zip(self._firsts[:-1], self._firsts[1:], best, strict=True))
        for axis in self._targets.axes:
            for head in heads:
                first, last, places[head][axis.name] = next(bounds)
                if last <= len(scores):
                    axes[head][axis.name] = scores[first:last].T
        names = [axis.name for axis in self._targets.axes]
        return Scores(binary, axes, places, dict(zip(names, best_mean, strict=True)))

    def _agrees(self, session: Session) -> bool:
        """Tell whether the loop and onnxruntime give the same bits on drawn works."""
        rng = np.random.default_rng(0)
        counts = rng.integers(0, _MOST_DRAWN, _DRAWN_WORKS)
        ids = rng.integers(1, len(self._table), counts.sum()).astype(np.int32)
        drawn = EncodedWorks(ids, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))
        ours, theirs = self.score(drawn), session.score(drawn)
        assert ours.best is not None
        binary = [(ours.binary[head], theirs.binary[head]) for head in ours.binary]
        axes = [(head, axis) for head in ours.axes for axis in ours.axes[head]]
        shares = [(ours.axes[head][axis], theirs.axes[head][axis]) for head, axis in axes]
        best = [
            np.array_equal(ours.best[head][axis], theirs.axes[head][axis].argmax(axis=1))
            for head, axis in axes
        ]
        return all(one.tobytes() == other.tobytes() for one, other in binary + shares) and all(best)


def _widened(values: npt.NDArray[np.float32], kind: type[Whole]) -> npt.NDArray[Whole]:
    """Return integers, float32 [..., outputs], with zeros behind them that fill registers."""
    spare = -values.shape[-1] % _IN_A_REGISTER
    whole: npt.NDArray[Whole] = values.astype(kind)
    return np.pad(whole, [(0, 0)] * (values.ndim - 1) + [(0, spare)])


def _rows_apart(rows: int, works: int, kind: type[Number]) -> npt.NDArray[Number]:
    """Return room for [rows, works] whose rows lie a cache line further apart than they need.

    The loop writes all rows of a work: at distances of a power of two they would all fall on the
    same few lines of the processor's cache, which takes three times as long.
    """
    line = _CACHE_LINE // np.dtype(kind).itemsize
    return np.empty((rows, works + line), kind)[:, :works]
