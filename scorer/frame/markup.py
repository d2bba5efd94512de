"""Tags and entities out of texts: HTML, JATS and MathML as Crossref, PubMed and Embase give them.

A tag is recognised by its grammar, a name and attributes with values: neither "p < 0.05 and n > 3"
nor "a <b and c> d" is one.
"""

import html
from collections.abc import Iterable
from typing import Final

import polars as pl

_ATTRIBUTES: Final = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*\s*/?>"""
_PREFIX: Final = r"(?:[A-Za-z][\w.-]*:)?"
_WORD: Final = r"[\p{L}\p{N}]"

# Indices and small capitals are parts of words: H<sub>2</sub>O, <scp>RNA</scp>s, <scp>A</scp>frica.
_INDEX: Final = "sub|sup|inf"
_JOINING: Final = f"{_INDEX}|scp|sc|span|font|small|big|tt|wbr"
# Emphasis is of whole words. OpenAlex drops the spaces around it: Incidence of<i>C. difficile</i>.
_EMPHASIS: Final = "i|b|em|strong|u|italic|bold"
_MATHML: Final = (
    "mi|mo|mn|ms|mrow|msub|msup|msubsup|mmultiscripts|mprescripts|mover|munder|munderover|mfrac|"
    "msqrt|mroot|mstyle|mfenced|menclose|merror|mpadded|mphantom|semantics"
)


def _tags(names: str, slash: str = "/?") -> str:
    return rf"(?i:<{slash}{_PREFIX}(?:{names}){_ATTRIBUTES})"


# Each table is applied in its order, formulas first.
_FORMULAS: Final = (
    # The same formula again, as source.
    (_tags("annotation(?:-xml)?", "") + "[^<]*" + _tags("annotation(?:-xml)?", "/"), ""),
    (_tags("tex-math", "") + "[^<]*" + _tags("tex-math", "/") + rf"(\s*<{_PREFIX}math\b)", "${1}"),
    # Two numbers in a row are a fraction's, or two indices.
    (_tags("mn", "/") + r"\s*" + _tags("mn", ""), " "),
    (r"\s*" + _tags(_MATHML) + r"\s*", ""),
)
_OTHERS: Final = (
    (r"(?s)<!--.*?-->", " "),
    (f"({_WORD})" + _tags(_EMPHASIS, ""), "${1} "),
    (_tags(_EMPHASIS, "/") + f"({_WORD})", " ${1}"),
    (_tags(_INDEX, "/") + "([A-Z]?[a-z]{3})", " ${1}"),
    ("([a-z]{3})" + _tags("scp", ""), "${1} "),
    (_tags(f"{_JOINING}|{_EMPHASIS}"), ""),
    (rf"</?[A-Za-z][\w:.-]*{_ATTRIBUTES}", " "),
)
_MAY_BE_FORMULA: Final = rf"(?i)<{_PREFIX}(?:m[a-z]+|tex-math|annotation)"
_ENTITY: Final = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
# What may begin one of the above. "p < 0.05" does not.
_MARKUP: Final = r"<[A-Za-z/!]|&[A-Za-z#]"


def without_markup(texts: pl.Series) -> pl.Series:
    """Remove tags and decode entities; touches only the few texts that may hold one."""
    marked = texts.str.contains(_MARKUP).arg_true()
    if marked.is_empty():
        return texts
    stripped = _strip_tags(texts.gather(marked))
    # Twice: sources escape the escapes (&amp;amp;). Then once more for tags that were escaped.
    stripped = _strip_tags(_decode_entities(_decode_entities(stripped)))
    return texts.clone().scatter(marked, stripped)


def _strip_tags(texts: pl.Series) -> pl.Series:
    texts = _replaced(texts, _MAY_BE_FORMULA, _FORMULAS)
    return _replaced(texts, r"<[A-Za-z/!]", _OTHERS)


def _replaced(texts: pl.Series, suspect: str, table: Iterable[tuple[str, str]]) -> pl.Series:
    """Apply a table to the texts that hold a suspect."""
    rows = texts.str.contains(suspect).arg_true()
    if rows.is_empty():
        return texts
    some = texts.gather(rows)
    for pattern, replacement in table:
        some = some.str.replace_all(pattern, replacement)
    return texts.clone().scatter(rows, some)


def _decode_entities(texts: pl.Series) -> pl.Series:
    """Decode the entities of HTML 5, each distinct one once."""
    found = texts.str.extract_all(_ENTITY).explode(empty_as_null=False)
    entities = found.drop_nulls().unique().sort().to_list()
    if not entities:
        return texts
    return texts.str.replace_many(entities, [html.unescape(e) for e in entities], leftmost=True)
