r"""LaTeX and escaped line ends out of texts: `$\alpha$-helix`, `\textit{E. coli}`, a literal `\n`.

Code for one text at a time: only those with a backslash or a pair of dollars come here, and they
are few.
"""

import re
from typing import Final

import polars as pl

_SUSPECT: Final = r"\\|\$[^\s$][^$]*\$|\$\$"

# Dollars around a formula: no space inside them, no digit after them. "$5 and $10" are amounts.
_MATH: Final = re.compile(r"(\$\$?)(?![\s$])([^$]{1,1000}?)(?<!\s)\1(?![\d$])")
# A formula has a sign of one, or is a short piece: $p$, $K$-theory, $(1+1)$, $3$.
_FORMULA: Final = re.compile(r"[\\^_{=]|\A(?!\d)[^\s$]{1,20}\Z|\A\d+\Z")

_ARGUMENT: Final = r"\s*\{[^{}]{0,200}(?:\}|\Z)"
# Springer's formulas bring a document's preamble along, often cut off.
_PREAMBLE: Final = re.compile(
    r"\\(?:(?:documentclass|usepackage|begin|end|label|vspace|hspace|textcolor|color)"
    rf"(?:\s*\[[^\]{{}}\\]{{0,200}}\])?{_ARGUMENT}|setlength{_ARGUMENT}(?:{_ARGUMENT})?)"
)
_MARKS: Final = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328",
    "r": "\u030a", "b": "\u0331", "d": "\u0323",
}  # fmt: skip
_ACCENT_BRACED: Final = re.compile(r"\\(['`^\"~=.cvuHkrbd])\s*\{\\?([A-Za-z])\}")
# Without braces it may be an escaped quote: l\'eau, child\'s, \"open\". Those are no accents.
_ACCENT: Final = re.compile(
    r"(?<=[\w{}])(?:\\([`^\"~])|(?<!\b[cdjlmnstCDJLMNST])\\('))"
    r"(?:\\([ij])\b|([aeiouycnzAEIOUYCNZ]))"
)
_COMMAND: Final = re.compile(r"\\([A-Za-z]+)\*?(\s*\{)?")
_SPACING: Final = re.compile(r"\\[,;:!>/ ]?")
_ESCAPED: Final = re.compile(r"\\([%$&#_{}'\"])")

_GREEK: Final = (
    "alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta θ iota ι "
    "kappa κ lambda λ mu μ nu ν xi ξ pi π varpi π rho ρ varrho ρ sigma σ varsigma ς tau τ "
    "upsilon υ phi φ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π "
    "Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω textmu μ upalpha α upbeta β upgamma γ updelta δ upmu μ"
)
_SIGNS: Final = (
    "times × pm ± mp ∓ cdot · div ÷ sim ~ approx ≈ simeq ≃ cong ≅ equiv ≡ propto ∝ le ≤ leq ≤ "
    "leqslant ≤ ge ≥ geq ≥ geqslant ≥ ll ≪ gg ≫ ne ≠ neq ≠ lesssim ≲ gtrsim ≳ to → rightarrow → "
    "longrightarrow → leftarrow ← leftrightarrow ↔ Rightarrow ⇒ infty ∞ partial ∂ nabla ∇ ell ℓ "
    "hbar ħ deg ° degree ° circ ° prime ′ dagger † ast ∗ star ⋆ ldots … dots … cdots … in ∈ "
    "notin ∉ ni ∋ subset ⊂ cup ∪ cap ∩ sum ∑ prod ∏ int ∫ forall ∀ exists ∃ neg ¬ oplus ⊕ "
    "otimes ⊗ rtimes ⋊ perp ⊥ parallel ∥ therefore ∴ AA Å aa å O Ø o ø L Ł l ł AE Æ ae æ OE Œ "
    "oe œ ss ß i i j j"
)
# Commands that say how to set what follows, and nothing else.
_DROPPED: Final = (
    "text textit textbf textrm textsf texttt textsc textup textsl textnormal textsubscript "
    "textsuperscript emph underline uline mathrm mathbf mathit mathsf mathtt mathcal mathbb "
    "mathfrak mathscr mathnormal boldsymbol bm pmb operatorname mbox hbox ensuremath it bf rm sf "
    "tt sc em cal left right big Big bigg Bigg bigl bigr Bigl Bigr limits nolimits nonumber "
    "displaystyle textstyle scriptstyle scriptsize small large Large tiny normalsize footnotesize "
    "frac dfrac tfrac sqrt hat widehat bar overline tilde widetilde vec dot ddot acute grave "
    "check breve mathring not stackrel overset underset overbrace underbrace mathop rlap llap "
    "protect noindent newline title thanks href url si SI ce num"
)
_SPACES: Final = "quad qquad enspace thinspace newpage par linebreak space"


def _pairs(table: str) -> dict[str, str]:
    words = table.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_MEANINGS: Final = {
    **_pairs(_GREEK),
    **_pairs(_SIGNS),
    **dict.fromkeys(_DROPPED.split(), ""),
    **dict.fromkeys(_SPACES.split(), " "),
}


def without_latex(texts: pl.Series) -> pl.Series:
    """Put what they mean for commands; a text without any keeps its dollars and braces."""
    suspects = texts.str.contains(_SUSPECT).arg_true()
    if suspects.is_empty():
        return texts
    plain = pl.Series([_plain(text) for text in texts.gather(suspects)], dtype=pl.String)
    return texts.clone().scatter(suspects, plain)


def _plain(text: str) -> str:
    # Escaped once more on the way, or a line break: either way one backslash says as much.
    text = _MATH.sub(_formula, re.sub(r"\\{2,}", r"\\", text))
    return _commands(text) if "\\" in text else text


def _formula(found: re.Match[str]) -> str:
    """Return a formula as running text, and what is none as it stands."""
    inside = found[2]
    if not _FORMULA.search(inside):
        return found[0]
    inside = _commands(inside) if "\\" in inside else _unbraced(inside)
    return inside.replace("_", "").replace("^", "")


def _commands(text: str) -> str:
    """Undo commands; braces go along with them, and stay where there is no command."""
    plain = _PREAMBLE.sub(" ", text)
    plain = _ACCENT_BRACED.sub(lambda found: found[2] + _MARKS[found[1]], plain)
    plain = _ACCENT.sub(lambda found: (found[3] or found[4]) + _MARKS[found[1] or found[2]], plain)
    found = _COMMAND.findall(plain)
    latex = plain != text or any(brace or name in _MEANINGS for name, brace in found)
    plain = _ESCAPED.sub(r"\1", _COMMAND.sub(_meaning, plain))
    plain = _SPACING.sub(" ", plain)
    return _unbraced(plain) if latex else plain


def _unbraced(text: str) -> str:
    return re.sub(r"\}\s*\{", " ", text).replace("{", "").replace("}", "")


def _meaning(command: re.Match[str]) -> str:
    """Return what stands for a command: its sign, nothing, or its name where that is a word."""
    name, brace = command[1], command[2] or ""
    if name in _MEANINGS or brace:
        return _MEANINGS.get(name, "") + brace
    # A line end or tab that was escaped, and the word after it: Footprinting\nand Implications.
    return " " + (name[1:] if name[0] in "nrt" else name)
