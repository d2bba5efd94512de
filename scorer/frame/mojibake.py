"""Mojibake: UTF-8 that was once read as another encoding (`QuÃ©bec`), mended by ftfy.

ftfy is slow, so a regular expression finds the few texts to show to it. The expression may find too
many, for ftfy decides: `SÃO PAULO`, `CAFÉ…` or `là »` stay as they are.
"""

from typing import Final

import polars as pl

# The bytes 0x80 to 0xBF as Latin-1 and as Windows-1252 show them, but for the no-break space.
_REST: Final = "[\u0080-\u009f\u00a1-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"
_SUSPECT: Final = "|".join(
    [
        "[\u0080-\u0084\u0086-\u009f]",  # controls that no text has; U+0085 is a line end
        f"[\u00c2-\u00df]{_REST}",  # two bytes: accents, Greek, Cyrillic, Hebrew, Arabic
        f"[\u00e0-\u00ef]{_REST}{_REST}",  # three: East and South Asia
        "â[\u0080-\u008b€‚ƒ„†‡ˆ‰Š‹]",  # three: quotes, dashes, signs
        "ð[\u009fŸ]",  # four: emoji
        "[ÃÂ]\u00a0|(?:^|\\s)Ã\\s",  # what is left of "à"
        "вЂ|(?:[РС][\u00a0-\u00bf‘’“”•–—™‚„…†‡€‰‹›ѓєѕі]){2}",  # through Windows-1251
        "[√¬][©®†°¢£§•¶ß™´¨≠ÆØ±≤≥¥µ∂]|‚Ä",  # through Mac Roman
        "[├┬][\u00a0-\u00bf\u2310-\u25ff]",  # through DOS code pages
    ]
)
# Library catalogues put an article that sorting skips between these two controls.
_NOT_SORTED: Final = "(^|[\u0000-\u007f])\u0098([^\u0080-\u009f]{1,40})\u009c"


def without_mojibake(texts: pl.Series) -> pl.Series:
    """Mend the texts that need it, and leave all others as they are; null stays."""
    suspects = texts.str.contains(_SUSPECT).arg_true()
    if suspects.is_empty():
        return texts
    import ftfy  # noqa: PLC0415 - few frames need it

    shown = texts.gather(suspects).str.replace_all(_NOT_SORTED, "${1}${2}")
    fixed = (well_formed(ftfy.fix_encoding(text)) for text in shown)
    mended = pl.Series(list(fixed), dtype=pl.String)
    return texts.clone().scatter(suspects, mended)


def well_formed(text: str) -> str:
    """Return the text with U+FFFD for each lone half of a surrogate pair: UTF-8 has none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
