import gzip
import io
import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from reading import works

from scorer.errors import InputError
from scorer.frame.files import LocalFile
from scorer.frame.readers.sniff import LABELS, Sniffed, sniff

TABLE = pa.table({"id": ["W1"], "title": ["t"]})
NATIVE = {"id": "https://openalex.org/W1", "display_name": "t", "publication_year": 2020}


def told(tmp_path: Path, name: str, content: str | bytes) -> Sniffed:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return sniff(LocalFile.at(path))


def refusal(tmp_path: Path, name: str, content: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        told(tmp_path, name, content)
    return str(caught.value).replace(f"{tmp_path}/", "")


def binary(kind: str) -> bytes:
    sink = io.BytesIO()
    if kind == "parquet":
        pq.write_table(TABLE, sink)
    elif kind == "stream":
        with pa.ipc.new_stream(sink, TABLE.schema) as writer:
            writer.write_table(TABLE)
    else:
        feather.write_feather(TABLE, sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (binary("parquet"), "parquet"),
        (binary("feather"), "arrow"),
        (binary("stream"), "arrow"),
        ('{"id": "1", "title": "t"}\n{"id": "2"}\n', "jsonl"),
        ('{"id": "1", "title": "t"}', "jsonl"),
        ('\n\n  {"id": "1", "ti\n{"id": "2"}\n', "jsonl"),
        ('[{"id": "1", "title": "t"}]', "json"),
        ('\ufeff[\n  {\n  "id": "1"}]', "json"),
        ("[]", "json"),
        ('{\n  "id": "1",\n  "title": "t"\n}', "json"),
        ('{"id": "1",\n "title": "t"}', "json"),
        (json.dumps(NATIVE), "openalex"),
        (json.dumps([NATIVE, NATIVE], indent=2), "openalex"),
        ('{"meta": {"count": 0}, "results": []}', "openalex"),
        ('{"id": "https://openalex.org/W1", "title": "t", "venue": "v"}', "jsonl"),
        ("id,title\n1,t\n", "csv"),
        ("id\ttitle\n1\tt, u\n", "csv"),
        ('"id";"title"\n"1";"a, b, c, d"\n', "csv"),
        ("id|title\n1|t\n", "csv"),
        ("sep=;\nid;title\n", "csv"),
        ("id,title\n1,t\n".encode("utf-16"), "csv"),
        ("\ufeffTY  - JOUR\r\nTI  - t\r\nER  - \r\n", "ris"),
        ("\nPMID- 123\nTI  - t\n", "medline"),
        ("Scopus\nEXPORT DATE: 1 May\n\n@ARTICLE{Roe2020,\n title={t, u}}\n", "bibtex"),
        ("% Encoding: UTF-8\n@string{a = {b}}\n", "bibtex"),
    ],
)
def test_formats_are_told_by_content(tmp_path: Path, content: str | bytes, kind: str) -> None:
    assert told(tmp_path, "works", content) == Sniffed(kind, None)


@pytest.mark.parametrize(
    ("name", "kind"), [("x.ris", "ris"), ("x.bib", "bibtex"), ("x.jsonl", "jsonl"), ("x", "csv")]
)
def test_the_name_decides_where_content_leaves_it_open(
    tmp_path: Path, name: str, kind: str
) -> None:
    assert told(tmp_path, name, "some words\nand, yes, some more\n") == Sniffed(kind, None)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("works.csv", '{"id": "1"}\n{"id": "2"}\n', "holds JSON Lines; read as that"),
        ("works.json", '{"id": "1"}\n{"id": "2"}\n', "holds JSON Lines; read as that"),
        ("works.jsonl", "id,title\n1,t\n", "holds comma-separated text; read as that"),
        ("works.tsv", "id,title\n1,t\n", "holds comma-separated text; read as that"),
        ("works.parquet", "id\ttitle\n1\tt\n", "holds tab-separated text; read as that"),
        ("works.csv", binary("parquet"), "holds Parquet; read as that"),
        ("works.ris", "PMID- 12\n", "holds MEDLINE; read as that"),
        ("works.csv", gzip.compress(b"id,title\n1,t\n", mtime=0), "holds gzip data; read as that"),
        ("works.csv.gz", "id,title\n1,t\n", "holds no compressed data; read as that"),
        (
            "works.csv.zst",
            gzip.compress(b'[{"id": 1}]', mtime=0),
            "holds JSON, gzip data; read as that",
        ),
    ],
)
def test_a_name_that_says_otherwise_is_told(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    note = told(tmp_path, name, content).note
    assert note is not None
    assert note.replace(f"{tmp_path}/", "") == f"{name}: {said}"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.CSV", "id;title\n1;t\n"),
        ("a.tsv.gz", gzip.compress(b"id\ttitle\n1\tt\n", mtime=0)),
        ("a.ndjson", '{"id": "1"}\n{"id": "2"}\n'),
        ("a.jsonl", json.dumps(NATIVE)),
        ("a.json", json.dumps([NATIVE])),
        ("a.txt", "TY  - JOUR\n"),
        ("a.feather", binary("feather")),
    ],
)
def test_a_name_that_fits_is_not_spoken_of(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert told(tmp_path, name, content).note is None


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_told(tmp_path: Path, content: bytes) -> None:
    text = refusal(tmp_path, "x.csv", content)
    assert text == "x.csv: the file is empty. Make it again."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (Random(0).randbytes(5_000), "binary data of no known format."),
        (b"PK\x03\x04rest", "holds a ZIP archive or an Excel workbook. Unpack it, or save it as"),
        (b"FEA1rest", "holds Feather in its first version. Write it as version 2."),
        (b"<!DOCTYPE html><p>404", "holds HTML or XML, perhaps the page of a download that failed"),
        ('{"id": "1"}'.encode("utf-16"), "holds JSON Lines in UTF-16. Save it as UTF-8."),
    ],
)
def test_what_cannot_be_read_is_told_with_what_can(
    tmp_path: Path, content: bytes, said: str
) -> None:
    text = refusal(tmp_path, "x.csv", content)
    assert text.startswith(f"x.csv: {said}")
    assert text.endswith(
        "\nFormats read: Parquet, Arrow, CSV, TSV, JSON, JSON Lines, OpenAlex, RIS, BibTeX and "
        "MEDLINE."
    )


def test_parquet_inside_gzip_must_be_unpacked(tmp_path: Path) -> None:
    text = refusal(tmp_path, "x.parquet.gz", gzip.compress(binary("parquet")))
    assert text == "x.parquet.gz: Parquet, inside gzip. Unpack it first."


def test_a_path_with_spaces_and_accents_is_read_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "données d’été"
    folder.mkdir()
    path = folder / "œuvres  1.csv"
    path.write_text("id,title\n1,t\n")
    assert works(path) == {"id": ["1"], "title": ["t"]}
    assert refusal(folder, "vide é.csv", b"") == "vide é.csv: the file is empty. Make it again."


def test_every_kind_has_a_name_for_people() -> None:
    assert set(LABELS) >= {"parquet", "arrow", "csv", "jsonl", "json", "openalex", "ris"}
