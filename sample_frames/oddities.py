"""The rows that no grammar writes: famous works, and the odd titles that real frames are full of.

Famous works are bibliographic facts (title, year, venue). Identifiers are invented: 10.5555 is the
DOI prefix kept for tests, example.org the domain kept for examples.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A well-known work, as a catalogue would list it."""

    title: str
    year: int
    venue: str
    field: str
    lang: str = "en"


MEDICINE = "Medicine"
SOCIAL = "Social Sciences"
DECISION = "Decision Sciences"
COMPUTER = "Computer Science"
PSYCHOLOGY = "Psychology"

FAMOUS = (
    Known("Why Most Published Research Findings Are False", 2005, "PLoS Medicine", MEDICINE),
    Known("The scandal of poor medical research", 1994, "BMJ", MEDICINE),
    Known("Bias in meta-analysis detected by a simple, graphical test", 1997, "BMJ", MEDICINE),
    Known(
        "The PRISMA 2020 statement: an updated guideline for reporting systematic reviews",
        2021,
        "BMJ",
        MEDICINE,
    ),
    Known("Citation Indexes for Science", 1955, "Science", DECISION),
    Known("Statistical Bibliography or Bibliometrics?", 1969, "Journal of Documentation", DECISION),
    Known(
        "An index to quantify an individual's scientific research output",
        2005,
        "Proceedings of the National Academy of Sciences",
        DECISION,
    ),
    Known("Bibliometrics: The Leiden Manifesto for research metrics", 2015, "Nature", DECISION),
    Known(
        "The FAIR Guiding Principles for scientific data management and stewardship",
        2016,
        "Scientific Data",
        COMPUTER,
    ),
    Known(
        "A Mathematical Theory of Communication", 1948, "Bell System Technical Journal", COMPUTER
    ),
    Known("Computing Machinery and Intelligence", 1950, "Mind", COMPUTER),
    Known("Deep learning", 2015, "Nature", COMPUTER),
    Known("Estimating the reproducibility of psychological science", 2015, "Science", PSYCHOLOGY),
    Known("A manifesto for reproducible science", 2017, "Nature Human Behaviour", PSYCHOLOGY),
    Known(
        "False-Positive Psychology: Undisclosed Flexibility in Data Collection and Analysis Allows"
        " Presenting Anything as Significant",
        2011,
        "Psychological Science",
        PSYCHOLOGY,
    ),
    Known(
        "Controlling the False Discovery Rate: A Practical and Powerful Approach to Multiple"
        " Testing",
        1995,
        "Journal of the Royal Statistical Society Series B",
        "Mathematics",
    ),
    Known("The Tragedy of the Commons", 1968, "Science", "Environmental Science"),
    Known(
        "Molecular Structure of Nucleic Acids: A Structure for Deoxyribose Nucleic Acid",
        1953,
        "Nature",
        "Biochemistry, Genetics and Molecular Biology",
    ),
    Known(
        "Zur Elektrodynamik bewegter Körper",
        1905,
        "Annalen der Physik",
        "Physics and Astronomy",
        "de",
    ),
    Known("The Matthew Effect in Science", 1968, "Science", SOCIAL),
    Known(
        "La spécificité du champ scientifique et les conditions sociales du progrès de la raison",
        1975,
        "Sociologie et sociétés",
        SOCIAL,
        "fr",
    ),
    Known(
        "Le champ scientifique", 1976, "Actes de la recherche en sciences sociales", SOCIAL, "fr"
    ),
)

# Each odd kind: how many rows, and the titles taken in turn; "{n}" becomes the row's own number.
ODD: dict[str, tuple[int, tuple[str | None, ...]]] = {
    "missing": (24, (None,)),
    "empty": (14, ("", " ", "\u00a0", "\t", "<i></i>", "&nbsp;", "<jats:title> </jats:title>")),
    "near-empty": (
        28,
        (
            *("Index", "Preface", "N/A", "?", "\u2014", "A.", "1", "Notes", "Éditorial", "..."),
            *("Avant-propos", "[No title]", "<b>Errata</b>", "&amp;"),
        ),
    ),
    # Cleaned, these have 10, 11, 10, 10 and 11 characters: just short of enough, and just enough.
    "boundary": (
        10,
        (
            "Short news",
            "Short notes",
            "<b>Short</b> news",
            "&Eacute;tude no&nbsp;2",
            "D&eacute;j&agrave; publi&eacute;",
        ),
    ),
    "file name": (
        18,
        (
            *("fig_{n}_final_v2.tiff", "Supplementary_Table_S{n}.xlsx", "IMG_2019{n}.jpg"),
            *("thesis-chapter2 ({n}).docx", "annexe_{n}_données.csv", "Microsoft Word - r{n}.doc"),
        ),
    ),
    "doi": (
        12,
        ("10.5555/sample.{n}", "doi:10.5555/SAMPLE.{n}", "https://doi.org/10.5555/sample.{n}"),
    ),
    "url": (
        12,
        (
            "https://example.org/archive/report-{n}.pdf",
            "www.example.org/~lab/index.php?id={n}&amp;lang=fr",
            "http://example.org/d%C3%A9p%C3%B4t/{n}",
        ),
    ),
    "accession": (
        16,
        (
            *("GSE9{n}", "PRJNA99{n}", "9ZZ{n}", "EMD-9{n}", "SAMN99{n}", "TR-{n}"),
            *("CCDC 99{n}: Experimental Crystal Structure", "MS-{n}/b, fol. 12r"),
        ),
    ),
}

# Titles in other scripts: how many, templates, topics. Some are complete in under 11 characters.
NON_LATIN: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "zh": (
        21,
        ("{topic}研究综述", "基于问卷调查的{topic}分析", "{topic}的影响因素：以加拿大为例"),
        (
            *("高血压", "城市空气质量", "同行评议", "开放获取"),
            *("湖泊生态系统", "中学教育", "机器学习模型"),
        ),
    ),
    "ar": (
        15,
        ("أثر {topic}: دراسة ميدانية", "مراجعة منهجية حول {topic}", "{topic} في كندا"),
        (
            *("ارتفاع ضغط الدم", "جودة الهواء في المدن", "مراجعة الأقران"),
            *("التعلم الآلي", "التعليم الثانوي"),
        ),
    ),
    "ru": (
        15,
        ("{topic}: систематический обзор", "{topic}: опыт Канады", "{topic}: результаты опроса"),
        (
            "Артериальная гипертензия у подростков",
            "Рецензирование научных статей",
            "Открытый доступ к данным",
            "Экосистемы северных озёр",
            "Наукометрия и оценка исследований",
        ),
    ),
}
