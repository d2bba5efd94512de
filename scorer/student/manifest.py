"""Contract 3: `bundle.json`, the manifest of a bundle, as typed data."""

import hashlib
import json
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from scorer.targets import Name, Strict, Targets

SCHEMA_VERSION: Final = 1
MANIFEST_FILE: Final = "bundle.json"
MODEL_FILE: Final = "model.onnx"
VOCABULARY_FILE: Final = "vocabulary.parquet"
TOKENIZER_FILE: Final = "tokenizer.json"
POLICY_FILE: Final = "policy.json"
CARD_FILE: Final = "README.md"

_VERSION_LENGTH: Final = 12  # hexadecimal digits: 48 bits, no chance meeting among anyone's bundles

TokenizedField = Literal["title", "abstract", "venue", "topic", "field"]


WholeField = Literal["venue", "topic", "field", "lang", "type"]


class TextField(Strict):
    """Which n-grams of a text field the encoder reads."""

    field: Literal["title", "abstract", "venue", "topic"]
    words: bool = True
    bigrams: bool = False
    beginnings: tuple[Annotated[int, Field(ge=2, le=12)], ...] = ()
    """Lengths in letters; a word that is shorter has no such beginning."""


class NgramSettings(Strict):
    """Settings of the `ngram` encoder."""

    kind: Literal["ngram"] = "ngram"
    text: tuple[TextField, ...]
    whole: tuple[WholeField, ...]
    """Metadata whose whole value is one n-gram; a missing value is one as well."""
    decade: bool
    shape: bool
    """Length of the title in words and in characters, and whether it is all capitals."""
    ngrams: Annotated[int, Field(ge=1)]
    """How many n-grams `vocabulary.parquet` lists; id 0 is padding, the first n-gram has id 1."""
    logit_unit: Annotated[float, Field(gt=0)]
    """What one integer of the table is worth on the logit scale."""

    def fields(self) -> list[str]:
        """Return the frame columns this encoder reads, in contract order."""
        used: set[str] = {text.field for text in self.text} | set(self.whole)
        used |= {"title"} if self.shape else set()
        used |= {"year"} if self.decade else set()
        return _in_order(used)


class TokenizerSettings(Strict):
    """Settings of the `tokenizer` encoder: how a work becomes one text, and the text tokens."""

    kind: Literal["tokenizer"] = "tokenizer"
    text: tuple[tuple[TokenizedField, ...], ...] = (("title",), ("venue", "topic", "field"))
    """Groups of fields, in their order; what a work lacks is left out."""
    between_groups: str = " [SEP] "
    between_fields: str = "; "
    max_tokens: Annotated[int, Field(ge=3)] = 128
    """A text is cut after so many tokens, the tokenizer's own at its ends among them."""
    pooling: Literal["mean"] = "mean"
    """Of the tokens' embeddings, over the attention mask."""
    normalise: Literal[True] = True
    """To unit length, before `scale`."""
    scale: Annotated[float, Field(gt=0)] = 4.0
    vocabulary: Annotated[int, Field(ge=1)]
    """How many token ids `tokenizer.json` has, from 0."""
    width: Annotated[int, Field(ge=1)]
    """Of an embedding."""
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    """The largest difference of a score over batch orders and threads, on a processor."""

    def fields(self) -> list[str]:
        """Return the frame columns this encoder reads, in contract order."""
        return _in_order({field for group in self.text for field in group})


class MixedSettings(Strict):
    """Settings of the `mixed` encoder: n-grams and tokens, their evidence added."""

    kind: Literal["mixed"] = "mixed"
    ngram: NgramSettings
    tokenizer: TokenizerSettings

    def fields(self) -> list[str]:
        """Return the frame columns this encoder reads, in contract order."""
        return _in_order({*self.ngram.fields(), *self.tokenizer.fields()})


Encoding = Annotated[NgramSettings | TokenizerSettings | MixedSettings, Field(discriminator="kind")]


def _in_order(fields: set[str]) -> list[str]:
    order = ("title", "abstract", "venue", "topic", "field", "lang", "type", "year")
    return [name for name in order if name in fields]


class Round(Strict):
    """One round of training: what it learned from, and how it did on the works held out."""

    number: Annotated[int, Field(ge=1)]
    works: int
    """How many works it learned from."""
    held_out: int
    """How many works it was measured on; it never learned from any of them."""
    targets: int
    """How many targets have enough positives among the works held out to be measured."""
    labels_sha256: str
    bundle: str | None = None
    """Version of the bundle it made; None in that bundle's own manifest, which cannot hold it."""
    average_precision: Annotated[float, Field(gt=0, le=1)]
    """Of the heads' mean score against the heads' majority; mean over the targets."""
    churn: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of the positive set that changed since the round before; None in the first round."""
    spearman: Annotated[float, Field(ge=-1, le=1)] | None = None
    """Rank correlation with the scores of the round before; None in the first round."""


class Maturity(Strict):
    """Whether the student has stopped moving; until it has, nothing but scores ships."""

    rounds: int
    criteria: dict[str, float]
    passed: bool
    note: str
    history: tuple[Round, ...] = ()
    """The figures of every round, for a student that was trained in rounds."""
    holds: dict[str, bool] = Field(default_factory=dict)
    """Which criteria hold after the last round."""

    @model_serializer(mode="wrap")
    def _without_what_is_empty(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave rounds out where there are none: bundles without them keep their version."""
        content: dict[str, Any] = whole(self)
        return {k: v for k, v in content.items() if v or k not in ("history", "holds")}


class Search(Strict):
    """How the recipe was chosen; the figures of all trials lie in the table beside the bundle."""

    criterion: Literal["plain", "weighted", "both"]
    trials: int
    """How many were finished in every fold, and so compared."""
    planned: int
    inner_folds: int
    chosen: dict[str, Any]
    """What the recipe has that the usual one has not."""
    chosen_in_folds: tuple[dict[str, Any], ...]
    """The same of the recipe that each outer fold chose, without the works that it scores."""
    cut_by_budget: bool


class UnlabelledData(Strict):
    """A frame whose works an ensemble scored, for a student to learn from."""

    file: str
    sha256: str
    rows: int
    learned_from: int
    untitled: int
    """Left out: works without a title of more than ten characters."""
    labelled: int
    """Left out: works that are labelled as well, by id or by clean title."""
    repeated: int
    """Left out: works whose id or clean title came before."""


class Distillation(Strict):
    """How a student learned from an ensemble of n-grams and an encoder, fitted on the labels."""

    soft_weight: float
    """How much all unlabelled works count together, against all labelled ones."""
    own_share: float
    """How much of what a labelled work teaches is the ensemble's opinion, not the teacher's."""
    unlabelled: tuple[UnlabelledData, ...]


class TrainingData(Strict):
    """What the student learned from."""

    rows: int
    heads: tuple[str, ...]
    source: str
    licence: str
    attribution: str
    sha256: str
    search: Search | None = None
    encoder_sha256: str | None = None
    """Of the encoder that the student, or the ensemble it learned from, was built on."""
    distillation: Distillation | None = None

    @model_serializer(mode="wrap")
    def _without_what_was_not(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what there was none of: bundles without it keep their version."""
        content: dict[str, Any] = whole(self)
        return {k: v for k, v in content.items() if v is not None}


class Manifest(Strict):
    """The whole of `bundle.json`."""

    schema_version: Literal[1]
    name: Name
    licence: str
    targets: Targets
    encoder: Encoding
    maturity: Maturity
    training: TrainingData
    metrics: dict[str, Any]
    files: dict[str, str]
    """Name -> sha256 of every other file of the bundle."""

    @property
    def version(self) -> str:
        """Name and hash of all that the bundle holds: two different bundles cannot share one."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(content.encode()).hexdigest()
        return f"{self.name}@{digest[:_VERSION_LENGTH]}"

    def to_json(self) -> str:
        """Return the text of `bundle.json`, the version among it for readers."""
        content = {"version": self.version, **self.model_dump(mode="json")}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
