"""The shape of a title: how long it is, in steps, and whether it stands in capitals."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.frame.text import Tokens

Steps = npt.NDArray[np.int64]

WORDS: Final = "title.words"
LETTERS: Final = "title.letters"
CAPITALS: Final = "title.capitals"

_FEW_WORDS, _WORDS_STEP, _LAST_WORDS_STEP = 8, 4, 12
_LETTERS_STEP, _LAST_LETTERS_STEP = 8, 20
MANY_WORDS: Final = _FEW_WORDS + (_LAST_WORDS_STEP - _FEW_WORDS) * _WORDS_STEP
MANY_LETTERS: Final = _LAST_LETTERS_STEP * _LETTERS_STEP
"""From so many on, all titles are in the last step."""


def of_titles(tokens: Tokens, plain: pl.Series) -> Iterator[tuple[str, Steps]]:
    """Yield (channel, step of each title, int64 [works])."""
    offsets = tokens.offsets.astype(np.int64)
    yield WORDS, words_step(np.diff(offsets))
    lengths = tokens.unique.str.len_chars().to_numpy().astype(np.int64)
    letters = np.zeros(len(tokens.codes) + 1, np.int64)
    np.cumsum(lengths.take(tokens.codes), out=letters[1:])
    yield LETTERS, letters_step(np.diff(letters.take(offsets)))
    yield CAPITALS, (~has_small_letters(plain)).astype(np.int64)


def words_step(words: Steps) -> Steps:
    """Return the step of each number of words: int64."""
    steps = np.minimum(_FEW_WORDS + (words - _FEW_WORDS) // _WORDS_STEP, _LAST_WORDS_STEP)
    return np.where(words < _FEW_WORDS, words, steps)


def letters_step(letters: Steps) -> Steps:
    """Return the step of each number of letters and digits: int64."""
    return np.minimum(letters // _LETTERS_STEP, _LAST_LETTERS_STEP)


def has_small_letters(plain: pl.Series) -> npt.NDArray[np.bool_]:
    """Tell which plain titles hold a lower-case letter: bool [titles]."""
    small: npt.NDArray[np.bool_] = plain.str.contains(r"\p{Ll}").fill_null(False).to_numpy()
    return small
