"""An encoder to put heads on: a folder with `model.onnx` and `tokenizer.json`, frozen as it is."""

import hashlib
from collections.abc import Callable, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import polars as pl

from scorer.errors import BundleError
from scorer.student import CPU
from scorer.student.manifest import (
    MANIFEST_FILE,
    MODEL_FILE,
    TOKENIZER_FILE,
    TokenizerSettings,
)
from scorer.student.runtime import open_graph, reason
from scorer.student.transformer.inputs import (
    ALONE,
    IDS,
    batches,
    check_inputs,
    check_reads,
    tokens_a_batch,
)
from scorer.student.transformer.tokens import (
    EncodedTexts,
    TokenizerEncoder,
    read_tokenizer,
    vocabulary_size,
)

MAX_TOKENS: Final = 128
"""What sentence transformers of this size were trained on; titles with venue and topic have 40."""
LEAST_NORM: Final = 1e-9
"""An embedding of no length stays as it is."""
# Names that exports give their outputs, of those that have the shape.
_TOKEN_OUTPUTS: Final = ("last_hidden_state", "token_embeddings")
_POOLED_OUTPUTS: Final = ("sentence_embedding", "sentence_embeddings")
_TOKENS_RANK, _POOLED_RANK = 3, 2
_WORKS_A_CHUNK: Final = 256  # tokenised at a time, and told as progress

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EncoderFolder:
    """An encoder that was opened and checked."""

    path: Path
    settings: TokenizerSettings
    output: str
    """The name of what is read of the graph's outputs: token embeddings float32 [B, L, width], or
    float32 [B, width] where it is `pooled` already."""
    pooled: bool
    sha256: str
    """Of both files together."""
    _graph: "_Graph"
    _encoder: TokenizerEncoder
    _tokens_a_batch: int

    @classmethod
    def open(cls, path: Path, *, max_tokens: int = MAX_TOKENS, provider: str = CPU) -> Self:
        """Open an encoder folder.

        Raises `BundleError` where a file is missing or they do not fit, `UsageError` where the
        extra or the provider is not there.
        """
        if (path / MANIFEST_FILE).is_file():
            raise BundleError(
                f"{path}: is a bundle, whose graph has heads already.\n"
                "Name the folder of the encoder that it was made from."
            )
        if path.is_file():
            raise BundleError(
                f"{path}: a file, expected the folder with {MODEL_FILE} and {TOKENIZER_FILE}.\n"
                f"Name the folder: {path.parent}"
            )
        model, rules = path / MODEL_FILE, path / TOKENIZER_FILE
        for file in (model, rules):
            if not file.is_file():
                raise BundleError(
                    f"{file}: missing. An encoder's folder holds {MODEL_FILE} and {TOKENIZER_FILE}."
                )
        tokenizer = read_tokenizer(rules)
        vocabulary = vocabulary_size(tokenizer)
        limits = {"vocabulary": vocabulary, "max_tokens": max_tokens}
        graph = _Graph.open(model, provider)
        short, long = check_reads(graph.pooled_tokens, model, **limits)
        width = short.shape[1]
        if long.shape[1] != width:
            raise BundleError(
                f"{model}: output {graph.output!r} is {width} wide for a text of 1 token, "
                f"{long.shape[1]} for one of {max_tokens}. An embedding has one width."
            )
        if not (np.isfinite(short).all() and np.isfinite(long).all()):
            raise BundleError(f"{model}: gives embeddings that are not finite. Export it anew.")
        settings = TokenizerSettings(max_tokens=max_tokens, vocabulary=vocabulary, width=width)
        return cls(
            path=path,
            settings=settings,
            output=graph.output,
            pooled=graph.pooled,
            sha256=_sha256(model, rules),
            _graph=graph,
            _encoder=TokenizerEncoder(settings, tokenizer),
            _tokens_a_batch=tokens_a_batch(graph.pooled_tokens, **limits, provider=provider),
        )

    @property
    def width(self) -> int:
        """The width of an embedding."""
        return self.settings.width

    def embed(
        self,
        frame: pl.DataFrame,
        *,
        threads: int = 1,
        progress: Callable[[int], object] = lambda _: None,
    ) -> Floats:
        """Return the embeddings of a contract frame's works: float32 [works, width].

        The mean over a work's tokens, of unit length, times the settings' `scale`. Threads change
        no bit. `progress` is told how many more works are done.
        """
        embedded = np.empty((frame.height, self.width), np.float32)
        starts = range(0, frame.height, _WORKS_A_CHUNK)
        with ThreadPoolExecutor(threads) as pool:
            chunks = pool.map(lambda at: self._embedded(frame[at : at + _WORKS_A_CHUNK]), starts)
            for start, chunk in zip(starts, chunks, strict=True):
                embedded[start : start + len(chunk)] = chunk
                progress(len(chunk))
        return embedded

    def _embedded(self, frame: pl.DataFrame) -> Floats:
        found = self._graph.pooled_tokens(self._encoder.encode(frame), self._tokens_a_batch)
        norms = np.sqrt((found * found).sum(axis=1, keepdims=True))
        scaled: Floats = found / np.maximum(norms, LEAST_NORM) * np.float32(self.settings.scale)
        return scaled


@dataclass(frozen=True, slots=True)
class _Graph:
    """A graph that gives embeddings."""

    session: ort.InferenceSession
    inputs: Set[str]
    output: str
    pooled: bool

    @classmethod
    def open(cls, path: Path, provider: str) -> Self:
        """Open a graph; raise `BundleError` where it takes or gives something else."""
        session = open_graph(path, provider)
        inputs = check_inputs(session, path, {})
        outputs = session.get_outputs()
        for rank, names in ((_TOKENS_RANK, _TOKEN_OUTPUTS), (_POOLED_RANK, _POOLED_OUTPUTS)):
            fit = [n.name for n in outputs if n.type == "tensor(float)" and len(n.shape) == rank]
            if fit:
                output = next((name for name in names if name in fit), fit[0])
                return cls(session, inputs, output, rank == _POOLED_RANK)
        given = ", ".join(f"{node.name} {node.type} {node.shape}" for node in outputs)
        raise BundleError(
            f"{path}: gives {given}; expected float32 embeddings, of tokens [B, L, width] or of "
            "texts [B, width].\nExport the encoder anew, without a head of its own."
        )

    def pooled_tokens(self, texts: EncodedTexts, tokens: int = ALONE) -> Floats:
        """Return the mean of each text's tokens: float32 [texts, width].

        Raises `BundleError` where the graph fails or gives anything else than embeddings.
        """
        found: list[tuple[npt.NDArray[np.int64], Floats]] = []
        for places, inputs in batches(texts, self.inputs, tokens):
            try:
                given: Floats = self.session.run([self.output], inputs)[0]
            except Exception as error:  # onnxruntime raises its own, undocumented types
                raise BundleError(f"{MODEL_FILE}: failed ({reason(error)}).") from error
            shape = inputs[IDS].shape
            if given.shape[:-1] != (shape[:1] if self.pooled else shape):
                raise BundleError(
                    f"{MODEL_FILE}: output {self.output!r} has shape {list(given.shape)} for "
                    f"{list(shape)} tokens."
                )
            found.append((places, given if self.pooled else given.mean(axis=1)))
        embedded = np.empty((len(texts.offsets) - 1, found[0][1].shape[1]), np.float32)
        for places, part in found:
            embedded[places] = part
        return embedded


def _sha256(*paths: Path) -> str:
    """Return one hash of some files, each of which counts with its own."""
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()
