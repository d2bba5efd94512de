"""Whatever a file holds, its reader gives works or an error in plain words: no crash, no hang."""

import bz2
import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import ScorerError
from scorer.frame.files import LocalFile
from scorer.frame.parquet import ParquetFrame
from scorer.frame.readers.base import Asked, BadRecords
from scorer.frame.readers.registry import READERS
from scorer.frame.readers.sniff import sniff

WANTED = ("id", "title", "abstract", "abstract_inverted_index", "venue", "year")
WORKS = pl.DataFrame({"id": ["W1", "W2"], "title": ["A title, “quoted”", "Ünïcode\ttitle"]})
OPENALEX = {
    "id": "https://openalex.org/W1",
    "display_name": "A title",
    "publication_year": 2001,
    "abstract_inverted_index": {"A": [0], "text": [1]},
}
FILES = {
    "csv": WORKS.write_csv().encode(),
    "jsonl": WORKS.write_ndjson().encode(),
    "json": json.dumps(WORKS.to_dicts()).encode(),
    "openalex": (json.dumps(OPENALEX) + "\n").encode() * 2,
    "page": json.dumps({"meta": {}, "results": [OPENALEX]}).encode(),
    "ris": b"TY  - JOUR\nID  - 1\nTI  - A title\nPY  - 2001\nER  - \n",
    "bibtex": b"@article{a,\n  title = {A {\\'e} title},\n  year = 2001\n}\n",
    "medline": b"PMID- 1\nTI  - A title\nDP  - 2001 Jan\n\n",
}
PIECES = st.sampled_from(
    [
        b"",
        b"\x00",
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b"\\",
        b"\\{[",
        b"\xff\xfe",
        b"\r",
        b"\n\n",
        b"ER  - ",
    ]
) | st.binary(max_size=12)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), PIECES), min_size=0, max_size=4)


def edited(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for where, length, piece in edits:
        start = int(where * len(content))
        content = content[:start] + piece + content[start + length :]
    return content


def read(path: Path, policy: str) -> None:
    file = LocalFile.at(path)
    asked = Asked(WANTED, bad=BadRecords(policy))
    try:
        told = sniff(file)
        if told.kind == "parquet":
            list(ParquetFrame(file, wanted=WANTED).batches(1_000))
            return
        for piece in READERS[told.kind](file, told.compression, asked):
            assert piece.works.columns[0] == "id"
            assert piece.works["id"].null_count() == 0
            assert piece.works["id"].dtype == pl.String
    except ScorerError as error:
        assert 1 <= len(str(error).splitlines()) <= 2


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=EDITS,
    packed=st.sampled_from([None, gzip, bz2]),
    policy=st.sampled_from(["error", "skip"]),
)
def test_damaged_files_are_read_or_told(
    tmp_path: Path, kind: str, edits: list[tuple[float, int, bytes]], packed, policy: str
) -> None:
    content = edited(FILES[kind], edits)
    if packed is not None:
        content = edited(packed.compress(content), edits[:1])
    path = tmp_path / "works"
    path.write_bytes(content)
    read(path, policy)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_any_bytes_are_read_or_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "works"
    path.write_bytes(content)
    read(path, "skip")


def test_deeply_nested_latex_takes_no_time(tmp_path: Path) -> None:
    """Each level of nesting would double the time that decoding takes."""
    path = tmp_path / "works.bib"
    nested = "\\textit{\\c[" * 60
    path.write_text(f"@article{{a, title = {{An {nested} end}}}}\n")
    read(path, "skip")
