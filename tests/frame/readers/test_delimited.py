import bz2
import gzip
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import aside, pieces, refusal, skipping, works

from scorer.errors import UsageError
from scorer.frame.readers import delimited

HEAD = "id,title\n"


@pytest.fixture
def file(tmp_path: Path):
    def write(content: str | bytes, name: str = "x.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_contract_columns_are_found_and_typed(file) -> None:
    path = file(
        "id,display_name,publication_year,primary_location.source.display_name,abstract,more\n"
        "https://openalex.org/W1,First,2010,Lancet,,x\n"
    )
    (piece,) = pieces(path)
    assert piece.works.to_dict(as_series=False) == {
        "id": ["W1"],
        "title": ["First"],
        "abstract": [None],
        "venue": ["Lancet"],
        "year": [2010],
    }
    assert piece.works.schema["year"] == pl.Int32
    assert piece.columns["venue"] == "primary_location.source.display_name"


def test_ids_stay_text(file) -> None:
    assert works(file(HEAD + "00123,a\n1e5,b\n"))["id"] == ["00123", "1e5"]


def test_empty_cells_are_null(file) -> None:
    found = works(file('id,title,venue\n1,,""\n2,  ,v\n'))
    assert found == {"id": ["1", "2"], "title": [None, None], "venue": [None, "v"]}


@pytest.mark.parametrize(
    ("written", "year"),
    [("2010", 2010), ("2010.0", 2010), (" 2010 ", 2010), ("", None), ("n.d.", None),
     ("2010.5", None), ("99999999999", None), ("inf", None)],
)  # fmt: skip
def test_years_become_integers(file, written: str, year: int | None) -> None:
    assert works(file(f"id,title,year\n1,t,{written}\n"))["year"] == [year]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_every_delimiter_is_found(file, delimiter: str) -> None:
    path = file(f'id{delimiter}title\n1{delimiter}"a, b; c|d\te"\n')
    assert works(path) == {"id": ["1"], "title": ["a, b; c|d\te"]}


def test_the_line_in_which_excel_says_its_delimiter_is_passed_over(file) -> None:
    assert works(file("sep=;\nid;title\n1;t\n")) == {"id": ["1"], "title": ["t"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(file, encoding: str, end: str) -> None:
    path = file(end.join(["id,title", "1,Œuvre d’été", "2,b", ""]).encode(encoding))
    (piece,) = pieces(path)
    assert piece.works["title"].to_list() == ["Œuvre d’été", "b"]
    notes = (f"{path}: not UTF-8; read as Windows-1252",) if encoding == "cp1252" else ()
    assert piece.notes == notes


def test_one_encoding_holds_for_the_whole_file(file) -> None:
    rows = [f"{number},Québec\n".encode() for number in range(200_000)]
    path = file(b"".join([HEAD.encode(), *rows, "x,é\n".encode("cp1252")]))
    found = pieces(path)
    assert {title for piece in found[:-1] for title in piece.works["title"].unique()} == {"QuÃ©bec"}
    assert found[-1].works["title"][-1] == "é"
    assert [len(piece.notes) for piece in found] == [1] + [0] * (len(found) - 1)


def test_quoted_line_breaks_and_quotes_are_part_of_a_cell(file) -> None:
    path = file('id,title\r\n1,"a\r\nb ""c"""\r\n2,d')
    assert works(path) == {"id": ["1", "2"], "title": ['a\r\nb "c"', "d"]}


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, pa.compress], ids=["gz", "bz2", "zst"]
)
def test_compressed_files_give_the_same(file, pack) -> None:
    content = (HEAD + "1,é\n").encode()
    packed = pack(content, codec="zstd", asbytes=True) if pack is pa.compress else pack(content)
    assert works(file(packed, "x.csv.packed")) == {"id": ["1"], "title": ["é"]}


def test_half_a_gzip_is_told(file) -> None:
    content = "".join(f"{number},title {number * 7919}\n" for number in range(20_000))
    packed = gzip.compress((HEAD + content).encode())
    assert refusal(file(packed[: len(packed) // 2], "x.csv.gz")) == (
        "x.csv.gz: cut off: the gzip data ends early.\nCopy or make the file again."
    )


def test_ragged_lines_are_told_by_number(file) -> None:
    path = file('id,title\n1,"two\nlines"\n\n2,b,c\n')
    assert refusal(path) == (
        "x.csv: line 5: cells: 3, the header has 2.\nMend the record, or say --on-bad-line skip."
    )


def test_bad_rows_can_be_skipped_counted_and_written_aside(file, tmp_path: Path) -> None:
    path = file(HEAD + "1,a\n2\n,c\n4,d,e\n5,f\n")
    bad = skipping(tmp_path)
    assert works(path, bad=bad)["id"] == ["1", "5"]
    assert bad.count == 3
    assert aside(path) == [
        ["line 3", "cells: 1, the header has 2", "2"],
        ["line 4", "column 'id' is empty, every work needs an id", r"\tc"],
        ["line 5", "cells: 3, the header has 2", r"4\td\te"],
    ]


def test_empty_cells_past_the_header_are_no_fault(file) -> None:
    assert works(file(HEAD + "1,a,\n2,b,,\n"))["title"] == ["a", "b"]


def test_an_empty_id_is_told_with_its_line(file) -> None:
    assert refusal(file("doi,title\n1,a\n ,b\n"), mapping={"id": "doi"}) == (
        "x.csv: line 3: column 'doi' is empty, every work needs an id.\n"
        "Mend the record, or say --on-bad-line skip."
    )


def test_a_quote_that_is_never_closed_is_told_with_its_line(file) -> None:
    path = file(HEAD + '1,a\n2,"b\n3,c\n4,d\n')
    assert refusal(path).startswith("x.csv: line 3: cut off: a quote is not closed.\n")


def test_a_cell_without_end_does_not_fill_the_memory(
    file, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_LONGEST_CELL", 1_000)
    path = file(HEAD + '1,"a\n' + "2,b\n" * 300)
    bad = skipping(tmp_path)
    found = works(path, bad=bad)["id"]
    assert aside(path) == [["line 2", "cut off: a quote is not closed", ""]]
    assert set(found) == {"2"}


def test_a_header_whose_quote_is_never_closed_is_told(file) -> None:
    assert refusal(file('id,"title\n1,a\n')) == (
        "x.csv: the header has a quote that is not closed.\nMend the file."
    )


def test_lines_are_counted_through_pieces_blank_lines_and_line_breaks_in_cells(
    file, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "RECORDS_A_PIECE", 3)
    rows = ['1,"a\r\nb"', "", '2,"c\rd\n\n"', "3,d", "", "4,e", "5,f", "6"]
    path = file(HEAD + "\n".join(rows))
    assert refusal(path).startswith("x.csv: line 13: cells: 1, the header has 2.\n")


def test_very_long_cells_and_nul_bytes_are_read(file) -> None:
    long = "word " * 200_000
    assert works(file(HEAD + f"1,{long}\n2,a\0b\n"))["title"] == [long, "a\0b"]


def test_a_header_alone_gives_one_empty_piece(file) -> None:
    (piece,) = pieces(file("id,title,year,note\n"), keep=("note",))
    assert piece.works.schema == {"id": pl.String, "title": pl.String, "year": pl.Int32}
    assert (piece.works.height, piece.kept.columns) == (0, ["note"])
    assert piece.columns == {"id": "id", "title": "title", "year": "year"}


def test_kept_columns_are_text(file) -> None:
    (piece,) = pieces(file("id,n,title\n1,007,t\n2,,u\n"), keep=("n", "title"))
    assert piece.kept.to_dict(as_series=False) == {"n": ["007", None], "title": ["t", "u"]}


def test_a_missing_column_is_told_with_what_is_there(file) -> None:
    assert refusal(file("id,Titre\n1,t\n")) == (
        "x.csv: no column 'title'. Columns found: id, Titre.\n"
        "If it is 'Titre', say: --map title=Titre"
    )
    assert works(file("id,Titre\n1,t\n"), mapping={"title": "Titre"})["title"] == ["t"]
    assert refusal(file("id,title\n1,t\n"), error=UsageError, keep=("note",)) == (
        "--keep note: x.csv has no such column. Columns found: id, title."
    )


def test_a_header_name_that_occurs_twice_is_told(file) -> None:
    assert refusal(file("id,title,title\n1,a,b\n")) == (
        "x.csv: column 'title' occurs more than once. Rename one of them."
    )


def test_columns_without_a_name_are_left_alone(file) -> None:
    assert works(file(",id, title ,\n0,1,t,x\n")) == {"id": ["1"], "title": ["t"]}


def test_a_large_file_comes_in_pieces(file) -> None:
    path = file(HEAD + "".join(f"{number},t\n" for number in range(40_000)))
    assert [piece.works.height for piece in pieces(path)] == [16_384, 16_384, 7_232]


# Of the four separators, Python and Polars disagree whether they are white space.
cells = st.text(st.characters(codec="utf-8", exclude_characters="\x1c\x1d\x1e\x1f"), max_size=12)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(titles=st.lists(cells, min_size=1, max_size=8), delimiter=st.sampled_from(",\t;|"))
def test_what_was_written_is_read(*, file, titles: list[str], delimiter: str) -> None:
    quoted = ['"' + title.replace('"', '""') + '"' for title in titles]
    rows = [f"{number}{delimiter}{title}" for number, title in enumerate(quoted)]
    path = file("\n".join([f"id{delimiter}title", *rows]))
    found = works(path, kind="csv")["title"]
    assert found == [title if title.strip() else None for title in titles]
