"""Loading a bundle: every file hashed, every promise of the manifest checked, nothing executed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from scorer.errors import BundleError
from scorer.student.folder import check_hash, load_manifest
from scorer.student.manifest import (
    MANIFEST_FILE,
    MODEL_FILE,
    POLICY_FILE,
    VOCABULARY_FILE,
    Manifest,
)
from scorer.student.ngrams import NgramEncoder
from scorer.student.session import Scores, Session

_NEEDED: Final = (MODEL_FILE, VOCABULARY_FILE, POLICY_FILE)


@dataclass(frozen=True, slots=True)
class Student:
    """A loaded bundle, ready to score."""

    folder: Path
    manifest: Manifest
    encoder: NgramEncoder
    session: Session

    @property
    def version(self) -> str:
        """The bundle's name and content hash."""
        return self.manifest.version

    def score(self, frame: pl.DataFrame) -> Scores:
        """Score a batch of a contract frame; the same work gets the same bits in any batch."""
        return self.session.score(self.encoder.encode(frame))


def load_student(folder: Path) -> Student:
    """Load and check a whole bundle; raise `BundleError` where it breaks contract 3."""
    manifest = load_manifest(folder)
    for name in _NEEDED:
        if name not in manifest.files:
            raise BundleError(
                f"{folder / MANIFEST_FILE}: lists no hash for {name}. Train it again."
            )
    for name in manifest.files:
        check_hash(folder, manifest, name)
    vocabulary = _read_vocabulary(folder / VOCABULARY_FILE, manifest)
    session = Session(folder / MODEL_FILE, manifest.targets, ids=manifest.encoder.ngrams + 1)
    return Student(folder, manifest, NgramEncoder(manifest.encoder, vocabulary), session)


def _read_vocabulary(path: Path, manifest: Manifest) -> pl.DataFrame:
    try:
        vocabulary = pl.read_parquet(path, use_pyarrow=False)
        vocabulary = vocabulary.select(
            pl.col("channel").cast(pl.String), pl.col("ngram").cast(pl.String)
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BundleError(f"{path}: not a vocabulary ({str(error).splitlines()[0]}).") from error
    if vocabulary.height != manifest.encoder.ngrams:
        raise BundleError(
            f"{path}: {vocabulary.height:,} n-grams, the manifest says {manifest.encoder.ngrams:,}."
        )
    return vocabulary
