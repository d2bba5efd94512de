"""Embeddings of works by a frozen encoder, made once and looked up by id in every fold."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.engine.progress import Progress, Silence
from scorer.student.transformer.encoder_folder import EncoderFolder

Vectors = npt.NDArray[np.float32]

_THREADS = 2
"""They change no bit."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """An encoder, and its embeddings float32 [works, width] of the works whose `ids` these are."""

    encoder: EncoderFolder
    ids: pl.Series
    vectors: Vectors

    @classmethod
    def of(
        cls, encoder: EncoderFolder, works: pl.DataFrame, progress: Progress | None = None
    ) -> Self:
        """Embed works of a contract frame: some hundred a second and core."""
        return cls(encoder, works["id"], embed(encoder, works, progress))

    def of_works(self, works: pl.DataFrame) -> Vectors:
        """Return the embeddings of works, some of those that were embedded."""
        numbered = pl.DataFrame({"id": self.ids}).with_row_index("row")
        rows = works.select("id").join(numbered, on="id", how="left", maintain_order="left")["row"]
        if rows.null_count():
            raise KeyError(f"{rows.null_count():,} works were not embedded")
        found: Vectors = self.vectors[rows.to_numpy()]
        return found


def embed(encoder: EncoderFolder, works: pl.DataFrame, progress: Progress | None = None) -> Vectors:
    """Return embeddings float32 [works, width]; `progress` counts works."""
    shown = progress or Silence()
    shown.start(works.height, 0)
    return encoder.embed(works, threads=_THREADS, progress=shown.advance)
