import subprocess
import sys

import polars as pl
import pytest

from scorer.frame.mojibake import well_formed
from scorer.frame.text import clean, plain_text


def cleaned(text: str) -> str:
    return clean(pl.Series([text]))[0]


def broken(text: str, encoding: str) -> str:
    """Read UTF-8 as another encoding, as careless programs do."""
    return text.encode().decode(encoding)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("QuÃ©bec", "québec"),
        ("l'obÃ©sitÃ© et leur rÃ©ponse Ã\u00a0 un rÃ´le", "l'obésité et leur réponse à un rôle"),
        ("â€œSepsis Sixâ€\x9d", "“sepsis six”"),
        ("costs of Â£1200 (â‚¬1488)", "costs of £1200 (€1488)"),
        ("Trends in Î±-Blocker Prescribing", "trends in α-blocker prescribing"),
        ("donâ€™t", "don’t"),
        ("donâ\x80\x99t", "don’t"),
        ("we don\x92t know, \x9cuvre", "we don’t know, œuvre"),
        ("ObjectiveÂ\xa0To compare", "objective to compare"),
        ("QuÃƒÂ©bec", "québec"),
    ],
)
def test_utf_8_read_as_another_encoding_is_mended(text: str, form: str) -> None:
    assert cleaned(text) == form


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Étude de la création", "latin-1"),
        ("Оценка качества научных статей", "latin-1"),
        ("Αξιολόγηση της ποιότητας", "latin-1"),
        ("تقييم جودة البحوث", "latin-1"),
        ("科学论文质量评价", "latin-1"),
        ("évaluation de l’équité – août", "cp1252"),
        ("l’évaluation", "mac-roman"),
        ("Оценка „качества“ – статьи", "cp1251"),
    ],
)
def test_words_of_many_scripts_come_back(text: str, encoding: str) -> None:
    assert plain_text(pl.Series([broken(text, encoding)]))[0] == text


CORRECT = [
    "L'évaluation de la recherche : où en est-on ? « liberté », naïveté, Œuvre, ça",
    "ÉTUDE À GENÈVE : L’ÉTÉ… « CAFÉ »",
    "INFORMAÇÃO E EDUCAÇÃO EM SÃO PAULO: A MANHÃ, ÂNGULO, PÃO DE AÇÚCAR",
    "Avaliação da produção científica na América Latina",
    "Đánh giá chất lượng nghiên cứu khoa học ở Việt Nam, ÂM NHẠC, PHÂN TÍCH, XÃ HỘI",
    "Größe, Straße, ÜBERSICHT „ÖSTERREICH“, Maß “x”",
    "Türkiye’de İstanbul ÇALIŞMASI, Şırnak, Ağrı",
    "Оценка качества научных статей. РОССИЯ: «Статья», Ёж, Ѓорѓи, їжак",
    "Αξιολόγηση της ποιότητας, Ωμέγα",
    "Łódź, Kraków, żółć, Příliš žluťoučký kůň, Țară, Știință",
    "3\u00a0×\u00a05 cm², 25 °C ± 2, √2, ¬p, 10 µm, £30,000, €5, ½, §3, ©2020, A®",
    "Þórður, Æsir, smørrebrød, Ångström, ÅÄÖ, ñandú, ¿Qué?, ¡Sí!, 1ª, 2º",
    "科学论文质量评价、研究データ、한국어 논문",
    "تقييم جودة البحوث، עברית",
    "“Smart” ‘quotes’ – and — dashes… • bullets ™",
]


@pytest.mark.parametrize("text", CORRECT)
def test_correct_text_of_many_languages_stays_as_it_is(text: str) -> None:
    assert plain_text(pl.Series([text]))[0] == text


def test_a_catalogues_marks_around_an_article_go() -> None:
    assert cleaned("\x98The \x9cAustralian journal") == "the australian journal"


def test_ftfy_is_not_loaded_for_text_that_does_not_need_it() -> None:
    code = (
        "import sys, polars as pl\n"
        "from scorer.frame.text import clean\n"
        "clean(pl.Series(['Évaluation à Québec', '<i>x</i> &amp;', 'S\u00c3O PAULO']))\n"
        "print('ftfy' in sys.modules)\n"
        "clean(pl.Series(['Qu\u00c3\u00a9bec']))\n"
        "print('ftfy' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


def test_halves_of_surrogate_pairs_become_whole_or_a_replacement() -> None:
    assert well_formed("a\ud800b \ud83d\ude00 \udc00") == "a\ufffdb 😀 \ufffd"
    assert well_formed("plain é 😀") == "plain é 😀"
