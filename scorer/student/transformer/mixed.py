"""The `mixed` encoder: n-gram ids and tokens of the same works."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.student.encoded import EncodedWorks
from scorer.student.ngrams import NgramEncoder
from scorer.student.transformer.tokens import EncodedTexts, TokenizerEncoder


@dataclass(frozen=True, slots=True)
class EncodedMixed:
    """The n-grams and the tokens of a batch."""

    ngrams: EncodedWorks
    texts: EncodedTexts

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the tokens of each work begin: int64 [works + 1]."""
        return self.texts.offsets


@dataclass(frozen=True, slots=True)
class MixedEncoder:
    """Both encoders."""

    ngrams: NgramEncoder
    tokens: TokenizerEncoder

    def encode(self, frame: pl.DataFrame) -> EncodedMixed:
        """Return the n-grams and the tokens of each work of a contract frame."""
        return EncodedMixed(self.ngrams.encode(frame), self.tokens.encode(frame))
