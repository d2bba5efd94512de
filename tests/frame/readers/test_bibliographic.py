"""RIS, BibTeX and MEDLINE: what becomes of an entry, and of one that is broken."""

import sys
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import InputError, UsageError
from scorer.frame.files import LocalFile
from scorer.frame.readers.base import Asked, BadRecords, Piece
from scorer.frame.readers.registry import READERS

WANTED = ("id", "title", "abstract", "venue", "topic", "lang", "type", "year")

RIS = """Provider: someone
TY  - JOUR
TI  - A title
 that goes on
AU  - A, B
AU  - C, D
DO  - https://doi.org/10.1/X
PY  - 2018/02/13/
T2  - Nature
LA  - English
AB  - Line one
line two
ER  -\x20

TY  - CHAP
T1  - Lacks its end
AN  - 7
TY  - BOOK
TI  - No id
ER  -
"""
BIBTEX = r"""% a library
@string{pr = "Phys. Rev."}
@article{k1,
  title = {The {DNA} of \'Ecole na\"{\i}ve $\alpha$, 50% {\o}},
  journal = pr # " Lett.", Year = 2018, month = jan, abstract = "x {"}q{"} {\"u}",
}
@comment{jabref}
@book(k2, title = "A # B {C}", date = {2019-03}, title = {second})
@book{k3, title = "no end
@misc{k4, title = {Last}}
"""
MEDLINE = """
PMID- 29456894
OWN - NLM
DP  - 2018 Feb 13
TI  - The state of OA: a large-scale analysis
      of things.
LA  - eng
PT  - Journal Article
PT  - Review
JT  - PeerJ
AB  - BACKGROUND: x - y
      RESULTS: z

PMID- 2
TI  - Second
"""


def read(kind: str, content: str | bytes, path: Path, **asked: Any) -> Piece:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    pieces = list(READERS[kind](LocalFile.at(path), None, Asked(WANTED, **asked)))
    assert len(pieces) == 1
    return pieces[0]


def row(piece: Piece, number: int) -> list[Any]:
    return list(piece.works.row(number))


def test_ris(tmp_path: Path) -> None:
    piece = read("ris", RIS, tmp_path / "x.ris", keep=("AU", "DO"), bad=BadRecords("skip"))
    assert piece.works.columns == ["id", "title", "abstract", "venue", "lang", "type", "year"]
    assert row(piece, 0) == [
        *("10.1/X", "A title that goes on", "Line one line two", "Nature", "en", "article", 2018)
    ]
    assert row(piece, 1)[:2] == ["7", "Lacks its end"]
    assert piece.kept.row(0) == ('["A, B", "C, D"]', "https://doi.org/10.1/X")
    assert piece.columns["id"] == "DO, AN"


def test_bibtex(tmp_path: Path) -> None:
    bad = BadRecords("skip", tmp_path / "aside")
    piece = read("bibtex", BIBTEX, tmp_path / "x.bib", bad=bad)
    assert row(piece, 0) == [
        *("k1", "The DNA of École naïve $\\alpha$, 50% ø", 'x "q" ü', "Phys. Rev. Lett."),
        *(None, "article", 2018),
    ]
    assert row(piece, 1) == ["k2", "A # B C", None, None, None, "book", 2019]
    assert piece.works["id"].to_list() == ["k1", "k2", "k4"]
    told = (tmp_path / "aside").read_text()
    assert "x.bib\tline 9\tno BibTeX entry (Unexpectedly reached end of file)\t@book{k3" in told


def test_medline(tmp_path: Path) -> None:
    piece = read("medline", MEDLINE, tmp_path / "x.nbib", keep=("PT",))
    assert row(piece, 0) == [
        *("29456894", "The state of OA: a large-scale analysis of things."),
        *("BACKGROUND: x - y RESULTS: z", "PeerJ", "en", "article", 2018),
    ]
    assert row(piece, 1)[:2] == ["2", "Second"]
    assert piece.kept["PT"].to_list() == ['["Journal Article", "Review"]', None]


def test_a_record_without_id_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "x.ris"
    with pytest.raises(InputError) as caught:
        read("ris", RIS, path)
    assert str(caught.value) == (
        f"{path}: record 3 (line 18): no id: none of ID, AN, DO, PMID.\n"
        "Mend the record, or say --on-bad-line skip."
    )


def test_a_map_says_where_a_column_is(tmp_path: Path) -> None:
    piece = read("medline", MEDLINE, tmp_path / "x", mapping={"type": "OWN"})
    assert piece.works["type"].to_list() == ["NLM", None]
    with pytest.raises(UsageError, match="--map titel=TI: no such frame column; there are id,"):
        read("medline", MEDLINE, tmp_path / "x", mapping={"titel": "TI"})


@pytest.mark.parametrize("kind", ["ris", "bibtex", "medline"])
def test_a_file_without_entries_tells_its_columns(kind: str, tmp_path: Path) -> None:
    piece = read(kind, "", tmp_path / "empty", keep=("AU",))
    assert (piece.works.height, piece.kept.columns) == (0, ["AU"])


def test_other_line_ends_and_windows_letters_are_read(tmp_path: Path) -> None:
    content = "\ufeffTY  - JOUR\r\nID  - 1\r\nTI  - ".encode() + b"caf\xe9\r\nER  - \r\n"
    assert row(read("ris", content, tmp_path / "x"), 0)[:2] == ["1", "café"]


@pytest.mark.parametrize(("kind", "name"), [("ris", "rispy"), ("bibtex", "bibtexparser.splitter")])
def test_without_the_extra_it_is_named(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scorer.frame.readers import tagged  # noqa: PLC0415

    tagged._parser.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError) as caught:
        read(kind, RIS, tmp_path / "x")
    assert str(caught.value) == (
        f"Reading bibliographies needs {name.partition('.')[0]}, which is not installed.\n"
        "Install it: pip install 'scorer[bib]'"
    )


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"50\% \& {\'e}t{\'{e}} \'{\i} \'\i{} na\"{\i}ve", "50% & été í í naïve"),
        (r"\c{c}a \c ca {\v{S}}koda \H{o} \=a", "ça ça Škoda ő ā"),
        (r"{\'E}tude \emph{in vivo} of \ss{} 5% \& {\o}", "Étude in vivo of ß 5% & ø"),
        (r"a 10\% gain, $\beta_1$ \& {Br{\"o}n}", r"a 10% gain, $\beta_1$ & Brön"),
        (r"\textit{E. coli} \textemdash\ 5 & 6", "E. coli — 5 & 6"),
    ],
)
def test_latex_becomes_unicode(latex: str, plain: str, tmp_path: Path) -> None:
    piece = read("bibtex", f"@misc{{k, title = {{{latex}}}}}", tmp_path / "x.bib")
    assert piece.works["title"].to_list() == [plain]
