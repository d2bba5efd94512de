"""The one text cleaner, for training and for scoring alike.

`clean` gives a text's clean form; `tokenise(plain_text(texts))` gives the tokens of a column as
codes into its unique tokens. They agree: the tokens of a text are the runs of letters and digits of
its clean form. `tokenise` gets there sooner by cleaning each distinct raw token once.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.frame.latex import without_latex
from scorer.frame.markup import without_markup
from scorer.frame.mojibake import without_mojibake

TOKEN: Final = r"[\p{L}\p{N}]+"

# What may begin markup or LaTeX. "p < 0.05" does not, and stays on the fast path.
_SPECIAL: Final = r"<[A-Za-z/!]|&[A-Za-z#]|[\\$]"
# Characters without width that stand inside words: soft hyphens, joiners, marks of direction, byte
# order marks, variants of emoji. The words join over them.
_INVISIBLE: Final = (
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SPACE: Final = r"[\s\p{Cc}]+"

# Eleven ASCII letters or digits before anything special: the clean form has more than ten
# characters, because cleaning keeps each of them. Nearly every title is settled by its first words.
_SURELY_LONG: Final = r"\A(?:[^A-Za-z0-9<&\\$]*[A-Za-z0-9]){11}"
_LARGEST_NARROW: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a column of texts, in order.

    `unique`: the distinct tokens, String; a token may stand in it more than once. `codes`: int32
    [tokens], an index into `unique`. `offsets`: int32 [rows + 1]; row `i` owns
    `codes[offsets[i]:offsets[i + 1]]`.
    """

    unique: pl.Series
    codes: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int32]


def clean(texts: pl.Series) -> pl.Series:
    """Return each text's clean form, plain, NFKC, lower case, single spaces; null stays."""
    return _fold(plain_text(texts)).str.replace_all(_SPACE, " ").str.strip_chars(" ")


def longer_than_ten(titles: pl.Series, letters: npt.NDArray[np.int64] | None = None) -> pl.Series:
    """Tell which titles have a clean form of more than ten characters (Boolean, null counts no).

    `letters`: int64 [titles], the characters of each title's tokens, where they have been counted:
    the clean form has them all.
    """
    if letters is None:
        long = titles.str.contains(_SURELY_LONG).fill_null(False)
    else:
        long = pl.Series(titles.name, letters > 10)  # noqa: PLR2004
    unsettled = (~long).arg_true()
    if unsettled.is_empty():
        return long
    settled = clean(titles.gather(unsettled)).str.len_chars().fill_null(0) > 10  # noqa: PLR2004
    return long.scatter(unsettled, settled)


def plain_text(texts: pl.Series) -> pl.Series:
    """Return texts without markup, LaTeX and mojibake; touches only the few that may hold some."""
    special = texts.str.contains(_SPECIAL).arg_true()
    if not special.is_empty():
        plain = without_latex(without_markup(texts.gather(special)))
        texts = texts.clone().scatter(special, plain)
    foreign = _foreign(texts)
    if foreign.is_empty():
        return texts
    return texts.clone().scatter(foreign, without_mojibake(texts.gather(foreign)))


def tokenise(plain: pl.Series) -> Tokens:
    """Return the tokens of each text; `plain`: from `plain_text`; null has no token.

    Splitting on ASCII white space first is safe: no character of it takes part in a composition,
    in a lower-casing rule or in a token.
    """
    texts = plain.fill_null("").to_arrow()
    if texts.nbytes < _LARGEST_NARROW:
        texts = texts.cast(pa.string())  # 32-bit offsets: half the work for the splitter
    raw = pc.ascii_split_whitespace(texts)
    encoded = pc.dictionary_encode(raw.flatten())
    unique, firsts, counts = _tokens_of(encoded.dictionary)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    offsets = raw.offsets.to_numpy().astype(np.int32)
    if len(counts) == 0 or counts.min() == counts.max() == 1:
        return Tokens(unique, firsts.take(codes), offsets)
    per_raw = counts.take(codes)
    ends = np.zeros(len(codes) + 1, np.int32)
    np.cumsum(per_raw, out=ends[1:])
    expanded = np.repeat(firsts.take(codes) - ends[:-1], per_raw)
    expanded += np.arange(len(expanded), dtype=np.int32)
    return Tokens(unique, expanded, ends.take(offsets))


def _tokens_of(
    raw: pa.Array,
) -> tuple[pl.Series, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the tokens of distinct raw tokens, and where each one's begin and how many they are.

    Most raw tokens are ASCII letters and digits throughout: a token as it stands, but for its case.
    """
    simple = pc.ascii_is_alnum(raw)
    words = pl.Series(pc.ascii_lower(raw.filter(simple)), dtype=pl.String)
    others = pl.Series(raw.filter(pc.invert(simple)), dtype=pl.String)
    parts = _fold(others).str.extract_all(TOKEN)
    is_simple = simple.to_numpy(zero_copy_only=False)
    counts = np.ones(len(raw), np.int32)
    counts[~is_simple] = parts.list.len().to_numpy()
    firsts = np.empty(len(raw), np.int32)
    firsts[is_simple] = np.arange(len(words))
    firsts[~is_simple] = len(words) + np.cumsum(counts[~is_simple]) - counts[~is_simple]
    return words.append(parts.explode(empty_as_null=False)), firsts, counts


def _fold(texts: pl.Series) -> pl.Series:
    # ASCII is in NFKC form, and nothing in it is invisible.
    foreign = _foreign(texts)
    if not foreign.is_empty():
        seen = texts.gather(foreign).str.replace_all(_INVISIBLE, "").str.normalize("NFKC")
        texts = texts.clone().scatter(foreign, seen)
    return texts.str.to_lowercase()


def _foreign(texts: pl.Series) -> pl.Series:
    """Return the rows of texts that are not ASCII throughout."""
    return (texts.str.len_bytes() != texts.str.len_chars()).arg_true()
