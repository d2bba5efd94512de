import polars as pl
import pytest

from scorer.frame.text import clean, plain_text


def cleaned(text: str) -> str:
    return clean(pl.Series([text]))[0]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (r"$\alpha$-helix", "α-helix"),
        (r"Extended H$\alpha$ at $z\sim2$", "extended hα at z~2"),
        (r"H$_2$O and 10$^{-3}$", "h2o and 10-3"),
        (r"$L^p$ spaces, $p$-adic, $3$-manifolds", "lp spaces, p-adic, 3-manifolds"),
        (r"$$\sqrt{s}=8$$ TeV", "s=8 tev"),
        (r"a $$\textrm{SU}(3)$$ library", "a su(3) library"),
        (r"in $\mathcal{O}(n\log n)$ time", "in o(n log n) time"),
        (r"spin $\frac{1}{2}$", "spin 1 2"),
        (r"5 $\mu$m", "5 μm"),
    ],
)
def test_a_formula_keeps_its_letters_digits_and_greek(text: str, form: str) -> None:
    assert cleaned(text) == form


@pytest.mark.parametrize(
    "text",
    [
        "$5 and $10",
        "us$5-$10 a day",
        "it cost $1,487 for one, $1,631 for another",
        "27,95 $. / québec, 26,95 $.",
        "28 $ ; isbn 2-903581-27-4",
        "n-{2-[4-phenyl]ethyl} at $65",
        "$aud | units: $cad, 2006-2009",
    ],
)
def test_amounts_of_dollars_and_braces_of_chemistry_stay(text: str) -> None:
    assert cleaned(text) == text


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (r"\textit{E. coli} and \emph{in vivo}", "e. coli and in vivo"),
        (r"{\it Drosophila} at 5\%", "drosophila at 5%"),
        (r"\mine{Words} stay", "words stay"),
        (r"Ground IP\Resistivity results", "ground ip resistivity results"),
        (r"R\&D \\ next", "r&d next"),
    ],
)
def test_commands_go_and_their_words_stay(text: str, form: str) -> None:
    assert cleaned(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (r"Schr{\"o}dinger, G\"odel, M\"uller", "schrödinger, gödel, müller"),
        (r"Erd\H{o}s, Gar\c{c}\~{a}o, \v{C}ech", "erdős, garção, čech"),
        (r"\L{}\'od\'z, S\o{}rensen, caf\'{e}, na\"{\i}ve", "łódź, sørensen, café, naïve"),
    ],
)
def test_accents_of_latex_become_letters(text: str, form: str) -> None:
    assert cleaned(text) == form


def test_quotes_that_were_escaped_are_no_accents() -> None:
    assert cleaned(r"l\'eau, a child\'s \"open access\"") == "l'eau, a child's \"open access\""


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (r"Footprinting\nand Implications\nfor", "footprinting and implications for"),
        (r"Montreal, Canada&#13;\nTRB&#13;\n15-4619", "montreal, canada trb 15-4619"),
        (r"one\ttwo\r\nthree", "one two three"),
        (r"one \\n two", "one two"),
        (r"the \nu and \tau neutrinos, \rho = \nabla", "the ν and τ neutrinos, ρ = ∇"),
    ],
)
def test_a_literal_line_end_is_a_space_but_not_inside_a_command(text: str, form: str) -> None:
    assert cleaned(text) == form


def test_the_document_around_a_formula_of_springer_goes() -> None:
    start = (
        r"\documentclass[12pt]{minimal} \usepackage{amsmath} \usepackage{wasysym} "
        r"\setlength{\oddsidemargin}{-69pt} \begin{document}"
    )
    assert cleaned(rf"flow on R{start}$$p$$\end{{document}}-variation") == "flow on r p -variation"
    assert cleaned(r"Annuli in Rd\documentclass[12pt]{minimal} \setlength{\oddsidemargin}{-6") == (
        "annuli in rd"
    )


def test_null_and_text_without_a_backslash_or_dollar_are_not_touched() -> None:
    texts = pl.Series([None, "a_b^c {d}", "x"])
    assert plain_text(texts).to_list() == [None, "a_b^c {d}", "x"]
