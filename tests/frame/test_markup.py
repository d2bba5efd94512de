import polars as pl
import pytest

from scorer.frame.text import clean, plain_text


def cleaned(text: str) -> str:
    return clean(pl.Series([text]))[0]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("H<sub>2</sub>O", "h2o"),
        ("Serotonin 5-HT<inf>1A</inf> receptor", "serotonin 5-ht1a receptor"),
        ("<scp>RNA</scp>s of South <scp>A</scp>frica", "rnas of south africa"),
        ("C<sub>6</sub>H<sub>5</sub>COOH", "c6h5cooh"),
        ("<scp><i>I</i><sup>2</sup></scp> statistic", "i2 statistic"),
        ("Human‐ and <scp>AI</scp>‐based", "human‐ and ai‐based"),
        ('a<span class="x">b</span>', "ab"),
    ],
)
def test_indices_and_small_capitals_join_the_word_that_they_are_part_of(
    text: str, form: str
) -> None:
    assert cleaned(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Incidence of<i>C. difficile</i>Infection", "incidence of c. difficile infection"),
        ("Ekström<jats:italic>et al</jats:italic>regarding", "ekström et al regarding"),
        ("Vitamin D<sub>3</sub>Inhibits growth", "vitamin d3 inhibits growth"),
        ("milled MgH<sub>2</sub>powders", "milled mgh2 powders"),
        ("regulatory protein<scp>PhaD</scp>", "regulatory protein phad"),
    ],
)
def test_spaces_that_were_lost_around_tags_come_back(text: str, form: str) -> None:
    assert cleaned(text) == form


def test_emphasis_beside_a_sign_adds_no_space() -> None:
    assert cleaned("<i>E. coli</i>-free (<b>n</b>=3)") == "e. coli-free (n=3)"


MATH = 'xmlns:mml="http://www.w3.org/1998/Math/MathML" display="inline"'


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            f"black holes in<mml:math {MATH}><mml:mi>f</mml:mi><mml:mo stretchy='false'>(</mml:mo>"
            "<mml:mi>T</mml:mi><mml:mo>)</mml:mo></mml:math>gravity",
            "black holes in f(t) gravity",
        ),
        (
            "<math>\n <msub>\n  <mi>La</mi>\n  <mn>2</mn>\n </msub>\n <msub><mi>CuO</mi>"
            "<mn>4</mn></msub>\n</math>",
            "la2cuo4",
        ),
        ("spin <mml:math><mml:mfrac><mml:mn>1</mml:mn><mml:mn>2</mml:mn></mml:mfrac>", "spin 1 2"),
        ("<math><mi>x</mi><mtext> in </mtext><mi>y</mi></math>", "x in y"),
    ],
)
def test_a_formula_in_mathml_collapses_to_its_text(text: str, form: str) -> None:
    assert cleaned(text) == form


def test_a_formula_given_twice_is_read_once() -> None:
    source = "<jats:tex-math>$$\\alpha$$</jats:tex-math>"
    mathml = "<mml:math><mml:mi>α</mml:mi></mml:math>"
    note = '<annotation encoding="application/x-tex">\\alpha</annotation>'
    assert cleaned(f"<jats:alternatives>{source} {mathml}</jats:alternatives>-helix") == "α -helix"
    assert cleaned(f"<math><semantics><mi>α</mi>{note}</semantics></math>") == "α"
    assert cleaned(f"of {source} only") == "of α only"


@pytest.mark.parametrize(
    "text",
    [
        "p < 0.05 and n > 3",
        "age <65 years or >80 years",
        "if a <b and c> d",
        "<http://www.ls.ualberta.ca/8rs/>",
        "<not closed",
    ],
)
def test_what_is_no_tag_by_its_grammar_stays(text: str) -> None:
    assert plain_text(pl.Series([text]))[0] == text
