"""Loading a bundle: every file hashed, every promise of the manifest checked, nothing executed."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol, Self

import polars as pl

from scorer.errors import BundleError
from scorer.student import CPU
from scorer.student.calibration import CALIBRATION_FILE, Calibration
from scorer.student.constants import graph_constants
from scorer.student.folder import check_hash, load_manifest
from scorer.student.manifest import (
    MANIFEST_FILE,
    MODEL_FILE,
    POLICY_FILE,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    Manifest,
    MixedSettings,
    NgramSettings,
    TokenizerSettings,
)
from scorer.student.ngrams import NgramEncoder
from scorer.student.runtime import check_provider
from scorer.student.session import Scores, Session
from scorer.student.transformer.mixed import MixedEncoder
from scorer.student.transformer.session import TokenSession
from scorer.student.transformer.tokens import TokenizerEncoder, read_tokenizer, vocabulary_size

_NEEDED: Final = {
    "ngram": (MODEL_FILE, VOCABULARY_FILE, POLICY_FILE),
    "tokenizer": (MODEL_FILE, TOKENIZER_FILE, POLICY_FILE),
    "mixed": (MODEL_FILE, VOCABULARY_FILE, TOKENIZER_FILE, POLICY_FILE),
}


class Encoder(Protocol):
    """What turns works into what the graph reads: `EncodedWorks` for an `ngram` student."""

    def encode(self, frame: pl.DataFrame) -> Any:  # noqa: ANN401 - each kind has its own
        """Return what the student's own session reads, of each work of a contract frame."""
        ...


class Scorer(Protocol):
    """What turns that into scores: the graph, or a loop that gives its bits."""

    def score(self, works: Any, *, shares: bool = True) -> Scores:  # noqa: ANN401 - of its encoder
        """Return the scores of the works, in their order.

        Without `shares`, those of the axes may be absent where the places of the best are there.
        """
        ...


@dataclass(frozen=True, slots=True)
class Student:
    """A loaded bundle, ready to score."""

    folder: Path
    manifest: Manifest
    encoder: Encoder
    session: Scorer
    calibration: Calibration | None = None

    @property
    def is_slow(self) -> bool:
        """Whether a transformer reads each work: hundreds a second, not hundreds of thousands."""
        return not isinstance(self.manifest.encoder, NgramSettings)

    @property
    def libraries(self) -> tuple[str, ...]:
        """Packages whose version may decide a score, besides those that every student needs."""
        return ("tokenizers",) if self.is_slow else ()

    @property
    def version(self) -> str:
        """The bundle's name and content hash."""
        return self.manifest.version

    @property
    def is_compiled(self) -> bool:
        """Whether compiled loops read n-grams."""
        return not (self.is_slow or isinstance(self.encoder, NgramEncoder))

    def compiled(self) -> Self:
        """Return the student with compiled loops where the extra `fast` is there: the same scores.

        The first call on a machine takes some seconds; worth it for many works.
        """
        if not isinstance(self.encoder, NgramEncoder):
            return self
        try:
            from scorer.student.compiled.encoder import CompiledEncoder  # noqa: PLC0415 - an extra
            from scorer.student.compiled.session import CompiledSession  # noqa: PLC0415
        except Exception:  # not there, not made for this numpy, or hidden by a module of its name
            return self
        assert isinstance(self.session, Session)
        constants = graph_constants(self.folder / MODEL_FILE)
        session = CompiledSession.of(self.session, self.manifest.targets, constants)
        encoder = CompiledEncoder(self.encoder)
        return replace(self, encoder=encoder, session=session or self.session)

    def score(self, frame: pl.DataFrame, *, shares: bool = True) -> Scores:
        """Score a batch of a contract frame; the same work gets the same bits in any batch.

        Without `shares`, the scores of the axes may be absent where the places of the best values
        are there, which is all that calls need.
        """
        scores = self.uncalibrated(frame, shares=shares)
        if self.calibration is None:
            return scores
        return self.calibration.apply(scores, self.manifest.targets)

    def uncalibrated(self, frame: pl.DataFrame, *, shares: bool = True) -> Scores:
        """Score a batch as the graph does: the same as `score` but in a calibrated bundle."""
        return self.session.score(self.encoder.encode(frame), shares=shares)


def load_student(folder: Path, *, provider: str = CPU) -> Student:
    """Load and check a whole bundle; raise `BundleError` where it breaks contract 3.

    `provider`: what of onnxruntime's runs a transformer (`scorer.student.runtime.providers`);
    n-gram students need none and always run on the processor. Raises `UsageError` where it, or the
    extra `transformer`, is not there.
    """
    check_provider(provider)
    manifest = load_manifest(folder)
    settings = manifest.encoder
    for name in _NEEDED[settings.kind]:
        if name not in manifest.files:
            raise BundleError(
                f"{folder / MANIFEST_FILE}: lists no hash for {name}. Train it again."
            )
    for name in manifest.files:
        check_hash(folder, manifest, name)
    path = folder / MODEL_FILE
    maps = None
    if CALIBRATION_FILE in manifest.files:
        maps = Calibration.read(folder / CALIBRATION_FILE, manifest.targets)
    if isinstance(settings, NgramSettings):
        session = Session(path, manifest.targets, ids=settings.ngrams + 1)
        return Student(folder, manifest, _ngram_encoder(folder, settings), session, maps)
    encoder = _token_encoder(folder, settings)
    return Student(
        folder, manifest, encoder, TokenSession(path, manifest.targets, settings, provider), maps
    )


def _token_encoder(
    folder: Path, settings: TokenizerSettings | MixedSettings
) -> TokenizerEncoder | MixedEncoder:
    if isinstance(settings, MixedSettings):
        return MixedEncoder(
            _ngram_encoder(folder, settings.ngram), _of_tokenizer(folder, settings.tokenizer)
        )
    return _of_tokenizer(folder, settings)


def _of_tokenizer(folder: Path, settings: TokenizerSettings) -> TokenizerEncoder:
    path = folder / TOKENIZER_FILE
    tokenizer = read_tokenizer(path)
    if (found := vocabulary_size(tokenizer)) != settings.vocabulary:
        raise BundleError(f"{path}: {found:,} tokens, the manifest says {settings.vocabulary:,}.")
    return TokenizerEncoder(settings, tokenizer)


def _ngram_encoder(folder: Path, settings: NgramSettings) -> NgramEncoder:
    path = folder / VOCABULARY_FILE
    try:
        vocabulary = pl.read_parquet(path, use_pyarrow=False)
        vocabulary = vocabulary.select(
            pl.col("channel").cast(pl.String), pl.col("ngram").cast(pl.String)
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BundleError(f"{path}: not a vocabulary ({str(error).splitlines()[0]}).") from error
    if vocabulary.height != settings.ngrams:
        raise BundleError(
            f"{path}: {vocabulary.height:,} n-grams, the manifest says {settings.ngrams:,}."
        )
    return NgramEncoder(settings, vocabulary)
