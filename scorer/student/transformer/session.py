"""The ONNX side of a student that reads tokens: tokens in, and n-gram ids where it is a mixed one.

On a processor the same work gets the same bits whatever the batch, its order or the number of
threads: the graph runs in one thread, on works of one length, and by themselves where trying shows
that a neighbour would move a bit. Other providers may move a score in its last digits.
"""

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from scorer.errors import BundleError
from scorer.student import CPU
from scorer.student.encoded import EncodedWorks
from scorer.student.manifest import MixedSettings, TokenizerSettings
from scorer.student.runtime import check_outputs, open_graph, promised_shapes, run_graph
from scorer.student.session import Scores
from scorer.student.transformer.inputs import (
    ALONE,
    batches,
    check_inputs,
    check_reads,
    tokens_a_batch,
)
from scorer.student.transformer.mixed import EncodedMixed
from scorer.student.transformer.tokens import EncodedTexts
from scorer.targets import Targets

_NGRAMS: Final = "ids"

Floats = npt.NDArray[np.float32]


class TokenSession:
    """The graph of a `tokenizer` or a `mixed` bundle."""

    def __init__(
        self,
        path: Path,
        targets: Targets,
        settings: TokenizerSettings | MixedSettings,
        provider: str = CPU,
    ) -> None:
        """Load the graph; raise `BundleError` where it does not fit `targets` and `settings`."""
        self._targets = targets
        self._session = open_graph(path, provider)
        self._shapes = promised_shapes(targets)
        mixed = isinstance(settings, MixedSettings)
        self._names = check_inputs(self._session, path, {_NGRAMS: "tensor(int32)"} if mixed else {})
        check_outputs(self._session, path, self._shapes)
        read = settings.tokenizer if isinstance(settings, MixedSettings) else settings
        self._last_ngram = settings.ngram.ngrams if isinstance(settings, MixedSettings) else 0
        limits = {"vocabulary": read.vocabulary, "max_tokens": read.max_tokens}
        found = check_reads(self._tried, path, **limits)
        if not all(np.isfinite(scores).all() for scores in found):
            raise BundleError(f"{path}: gives scores that are not finite. Train the bundle again.")
        self._tokens = tokens_a_batch(self._tried, **limits, provider=provider)

    def score(self, works: EncodedTexts | EncodedMixed, *, shares: bool = True) -> Scores:
        """Return the scores of the works, in their order."""
        texts = works.texts if isinstance(works, EncodedMixed) else works
        ngrams = works.ngrams if isinstance(works, EncodedMixed) else None
        return Scores.of_outputs(self._outputs(texts, ngrams, self._tokens), self._targets)

    def _tried(self, texts: EncodedTexts, tokens: int = ALONE) -> Floats:
        """Return all outputs side by side, float32 [works, outputs], with the last n-gram each."""
        works = len(texts.offsets) - 1
        ngrams = EncodedWorks(np.full(works, self._last_ngram, np.int32), np.arange(works + 1))
        return np.hstack([*self._outputs(texts, ngrams, tokens).values()])

    def _outputs(
        self, texts: EncodedTexts, ngrams: EncodedWorks | None, tokens: int
    ) -> dict[str, Floats]:
        works = len(texts.offsets) - 1
        outputs = {n: np.empty((works, width), np.float32) for n, width in self._shapes.items()}
        for places, inputs in batches(texts, self._names, tokens):
            if _NGRAMS in self._names:
                assert ngrams is not None
                inputs[_NGRAMS] = _padded(ngrams, places)
            for name, scores in zip(
                self._shapes, run_graph(self._session, inputs, self._shapes), strict=True
            ):
                outputs[name][places] = scores
        return outputs


def _padded(works: EncodedWorks, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return the n-gram ids of some works, int32 [works, longest], 0 behind each one's end.

    Their sum is one of integers, exact whatever the padding.
    """
    starts, ends = works.offsets[places], works.offsets[places + 1]
    padded = np.zeros((len(places), max(1, int((ends - starts).max()))), np.int32)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        padded[row, : end - start] = works.ids[start:end]
    return padded
