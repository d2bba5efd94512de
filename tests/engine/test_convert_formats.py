"""One set of works gives one frame, whatever format it comes in."""

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.convert import ConvertRequest, convert
from scorer.errors import InputError

WORKS: Final = [
    {
        "id": f"https://openalex.org/W{n}",
        "title": f'Étude <i>n°</i> {n}, "citée" & lue',
        "abstract": f"Nous lisons {n} œuvres; puis d'autres.",
        "venue": None if n % 3 else f"Revue {n}",
        "topic": "Citation Analysis",
        "field": "Social Sciences",
        "lang": "fr" if n % 2 else "en",
        "type": "article",
        "year": None if n % 5 == 0 else 2000 + n,
    }
    for n in range(1, 12)
]
TABLE: Final = pl.DataFrame(WORKS, schema_overrides={"year": pl.Int32})
EXPECTED: Final = TABLE.with_columns(pl.col("id").str.strip_prefix("https://openalex.org/"))


def native(work: dict[str, object]) -> dict[str, object]:
    """Return a work as OpenAlex has it, its abstract inverted."""
    words = str(work["abstract"]).split(" ")
    return {
        "id": work["id"],
        "display_name": work["title"],
        "publication_year": work["year"],
        "language": work["lang"],
        "type": work["type"],
        "primary_location": {"source": {"display_name": work["venue"]}},
        "primary_topic": {"display_name": work["topic"], "field": {"display_name": work["field"]}},
        "abstract_inverted_index": {word: [place] for place, word in enumerate(words)},
    }


def lines(records: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode()


def write_arrow(path: Path) -> None:
    table = TABLE.to_arrow()
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


FORMS: dict[str, Callable[[Path], object]] = {
    "works.parquet": lambda path: pq.write_table(TABLE.to_arrow(), path),
    "works.arrow": write_arrow,
    "works.csv": TABLE.write_csv,
    "works.tsv": lambda path: TABLE.write_csv(path, separator="\t"),
    "works.csv.gz": lambda path: path.write_bytes(gzip.compress(TABLE.write_csv().encode())),
    "works.jsonl": lambda path: path.write_bytes(lines(WORKS)),
    "works.jsonl.bz2": lambda path: path.write_bytes(bz2.compress(lines(WORKS))),
    "works.json": lambda path: path.write_text(json.dumps(WORKS)),
    "openalex.jsonl.gz": lambda path: path.write_bytes(
        gzip.compress(lines([native(work) for work in WORKS]))
    ),
    "page.json": lambda path: path.write_text(
        json.dumps({"meta": {"count": 11}, "results": [native(work) for work in WORKS]})
    ),
    "lying.csv": TABLE.write_parquet,
}


@pytest.mark.parametrize("name", FORMS)
def test_one_set_of_works_gives_the_same_bytes_from_every_format(tmp_path: Path, name: str) -> None:
    FORMS[name](tmp_path / name)
    outputs = [tmp_path / "out.parquet", tmp_path / "expected.parquet"]
    convert(ConvertRequest(frame=tmp_path / name, output=outputs[0], deinvert=True))
    pq.write_table(TABLE.to_arrow(), tmp_path / "plain.parquet")
    convert(ConvertRequest(frame=tmp_path / "plain.parquet", output=outputs[1]))
    assert pl.read_parquet(outputs[0]).equals(EXPECTED)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


RIS = """TY  - JOUR
ID  - W{n}
TI  - Title of work {n}
AB  - We read {n} works.
T2  - Journal
PY  - 2010
LA  - en
ER  -

"""
BIBTEX = """@article{{W{n},
  title = {{Title of work {n}}},
  abstract = {{We read {n} works.}},
  journal = {{Journal}},
  year = 2010
}}
"""
MEDLINE = """PMID- {n}
TI  - Title of work {n}
AB  - We read {n} works.
JT  - Journal
DP  - 2010 Jan

"""


@pytest.mark.parametrize(
    ("name", "record", "first"),
    [("a.ris", RIS, "W1"), ("a.bib", BIBTEX, "W1"), ("a.nbib", MEDLINE, None)],
)
def test_references_become_a_frame_too(
    tmp_path: Path, name: str, record: str, first: str | None
) -> None:
    (tmp_path / name).write_text("".join(record.format(n=n) for n in range(1, 4)))
    output = tmp_path / "out.parquet"
    convert(ConvertRequest(frame=tmp_path / name, output=output))
    frame = pl.read_parquet(output)
    assert frame.select("title", "abstract", "venue", "year").rows() == [
        (f"Title of work {n}", f"We read {n} works.", "Journal", 2010) for n in range(1, 4)
    ]
    assert frame["id"].n_unique() == 3
    assert first is None or frame["id"][0] == first


def test_of_openalex_the_newest_stays_and_its_date_is_not_asked_for(tmp_path: Path) -> None:
    works = [
        native(WORKS[0]) | {"updated_date": "2024-05-01", "display_name": "newest"},
        native(WORKS[0]) | {"updated_date": "2023-01-01", "display_name": "older"},
        native(WORKS[0]) | {"display_name": "without a date"},
    ]
    (tmp_path / "works.jsonl").write_bytes(lines(works))
    output = tmp_path / "out.parquet"
    report = convert(
        ConvertRequest(frame=tmp_path / "works.jsonl", output=output, on_duplicate="last")
    )
    assert pl.read_parquet(output)["title"].to_list() == ["newest"]
    assert report.dropped["duplicate"] == 2
    assert "updated_date" not in pl.read_parquet(output).columns


def test_bad_records_stop_it_or_are_counted_and_written_aside(tmp_path: Path) -> None:
    source, output = tmp_path / "works.jsonl", tmp_path / "out.parquet"
    source.write_text('{"id": "W1", "title": "a"}\n{"id": \n{"id": "W2", "title": "b"}\n')
    with pytest.raises(InputError):
        convert(ConvertRequest(frame=source, output=output))
    assert [path.name for path in tmp_path.iterdir()] == ["works.jsonl"]
    report = convert(ConvertRequest(frame=source, output=output, on_bad_record="skip"))
    assert (report.read, report.written, report.bad_records) == (2, 2, 1)
    assert (tmp_path / "out.parquet.skipped.tsv").read_text().startswith(f"{source}\tline 2\t")
    assert pl.read_parquet(output)["id"].to_list() == ["W1", "W2"]


def test_a_pattern_of_files_is_one_frame(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"part-{number}.jsonl").write_bytes(lines(WORKS[number::3]))
    output = tmp_path / "out.parquet"
    report = convert(ConvertRequest(frame=f"{tmp_path}/part-*.jsonl", output=output))
    assert report.files == 3
    assert pl.read_parquet(output).sort("id").equals(EXPECTED.sort("id"))


def test_arrow_maps_of_words_become_text(tmp_path: Path) -> None:
    kind = pa.map_(pa.string(), pa.list_(pa.int32()))
    index = pa.array([[("hello", [0]), ("world", [1])]], kind)
    table = pa.table({"id": ["W1"], "title": ["t"], "abstract_inverted_index": index})
    with pa.ipc.new_file(tmp_path / "w.arrow", table.schema) as file:
        file.write_table(table)
    output = tmp_path / "out.parquet"
    convert(ConvertRequest(frame=tmp_path / "w.arrow", output=output, deinvert=True))
    assert pl.read_parquet(output)["abstract"].to_list() == ["hello world"]
