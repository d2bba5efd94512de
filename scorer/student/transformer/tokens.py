"""The `tokenizer` encoder: from a batch of works to the token ids of each.

The rules are those of the bundle's `tokenizer.json`, run by Hugging Face's `tokenizers`.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import BundleError, UsageError
from scorer.student.manifest import TokenizerSettings
from scorer.student.transformer.texts import work_texts

if TYPE_CHECKING:
    from tokenizers import Tokenizer  # an extra

Ids = npt.NDArray[np.int64]

# The engine spreads works over threads already; the library would spread each batch once more,
# over all processors whatever --threads says. It reads this at every call.
_PARALLELISM: Final = "TOKENIZERS_PARALLELISM"


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """The tokens of a batch: work `i` has `ids[offsets[i]:offsets[i + 1]]`, at least one.

    `ids`, `types` (which of two texts a token is of, as BERT has it): int64 [tokens];
    `offsets`: int64 [works + 1].
    """

    ids: Ids
    types: Ids
    offsets: Ids


class TokenizerEncoder:
    """Settings and tokenizer, made ready."""

    def __init__(self, settings: TokenizerSettings, tokenizer: "Tokenizer") -> None:
        """Take a tokenizer of `read_tokenizer`; it is set to cut texts, and to add no padding."""
        self._settings = settings
        tokenizer.no_padding()
        tokenizer.enable_truncation(settings.max_tokens)
        self._tokenizer = tokenizer

    def encode(self, frame: pl.DataFrame) -> EncodedTexts:
        """Return the tokens of each work of a contract frame."""
        texts = work_texts(frame, self._settings).to_list()
        os.environ.setdefault(_PARALLELISM, "false")
        found = self._tokenizer.encode_batch_fast(texts)
        ids, types = [one.ids for one in found], [one.type_ids for one in found]
        for place, tokens in enumerate(ids):
            if not tokens:  # a tokenizer without tokens of its own, and a text without any
                ids[place], types[place] = [0], [0]
        offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return EncodedTexts(_flat(ids), _flat(types), offsets)


def read_tokenizer(path: Path) -> "Tokenizer":
    """Read a `tokenizer.json`.

    Raises `UsageError` where the extra is not installed, `BundleError` for a file that is none.
    """
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{path.parent}: reading texts by a tokenizer needs tokenizers, which is not "
            "installed.\nInstall the extra: pip install 'scorer[transformer]'"
        ) from error
    try:
        return Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises bare `Exception`
        reason = str(error).splitlines()[0][:200]
        raise BundleError(f"{path}: not a tokenizer ({reason}).") from error


def vocabulary_size(tokenizer: "Tokenizer") -> int:
    """Return how many ids a tokenizer may give, from 0."""
    return 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)


def _flat(lists: list[list[int]]) -> Ids:
    return np.fromiter((token for tokens in lists for token in tokens), np.int64)
