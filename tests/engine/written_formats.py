"""Works written in every format that is read, and packed in every way that is opened."""

import bz2
import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

Write = Callable[[pl.DataFrame], bytes]


def arrow(works: pl.DataFrame, *, stream: bool) -> bytes:
    sink = pa.BufferOutputStream()
    table = works.to_arrow()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    return sink.getvalue().to_pybytes()


def polars_arrow(works: pl.DataFrame) -> bytes:
    """As Polars writes it: the schema stands at the file's end alone."""
    sink = io.BytesIO()
    works.with_columns(unread=pl.lit(1)).write_ipc(sink)
    return sink.getvalue()


def lines(works: pl.DataFrame, make: Callable[[dict[str, Any]], object]) -> bytes:
    rows = (json.dumps(make(row), ensure_ascii=False) for row in works.iter_rows(named=True))
    return ("\n".join(rows) + "\n").encode()


def openalex(row: dict[str, Any]) -> dict[str, Any]:
    index: dict[str, list[int]] = {}
    for place, word in enumerate((row["abstract"] or "").split(" ")):
        index.setdefault(word, []).append(place)
    return {
        "id": f"https://openalex.org/{row['id'].removeprefix('https://openalex.org/')}",
        "title": row["title"],
        "display_name": row["title"],
        # Words in the order of a dictionary, as some programs write them.
        "abstract_inverted_index": dict(sorted(index.items())) if row["abstract"] else None,
        "publication_year": row["year"],
        "language": row["lang"],
        "type": row["type"],
        "primary_location": {"source": {"display_name": row["venue"]}},
        "primary_topic": {
            "display_name": row["topic"],
            "field": {"display_name": row["field"]},
        },
    }


def columns_of(kind: Callable[[pa.DataType], pa.DataType]) -> Write:
    """Return what writes Parquet whose texts are of another Arrow type."""

    def write(works: pl.DataFrame) -> bytes:
        table = works.to_arrow()
        for place, field in enumerate(table.schema):
            if field.name != "year":
                column = table[field.name].cast(pa.string())
                column = (
                    column.dictionary_encode() if kind is pa.dictionary else column.cast(kind())
                )
                table = table.set_column(place, field.name, column)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        return sink.getvalue().to_pybytes()

    return write


def records(works: pl.DataFrame, make: Callable[[dict[str, str]], str]) -> bytes:
    """Write bibliographic records: on one line each value, and none where it is null."""
    rows = (
        {name: " ".join(str(value).split()) for name, value in row.items() if value is not None}
        for row in works.iter_rows(named=True)
    )
    return "".join(map(make, rows)).encode()


def tagged(tags: dict[str, str], head: str, end: str) -> Callable[[dict[str, str]], str]:
    def make(row: dict[str, str]) -> str:
        body = "".join(f"{tag}{row[name]}\n" for name, tag in tags.items() if name in row)
        return f"{head}{body}{end}"

    return make


def bibtex(row: dict[str, str]) -> str:
    names = {"venue": "journal", "lang": "langid"}
    fields = (
        f"  {names.get(name, name)} = {{{value.translate(LATEX)}}},\n"
        for name, value in row.items()
        if name not in ("id", "type")
    )
    return f"@article{{{row['id']},\n{''.join(fields)}}}\n\n"


LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "%&_#${}"},
        "\\": "\\textbackslash{}",
        "~": "\\textasciitilde{}",
        "^": "\\textasciicircum{}",
    }
)
RIS = {
    "id": "ID  - ",
    "title": "TI  - ",
    "abstract": "AB  - ",
    "venue": "T2  - ",
    "lang": "LA  - ",
    "year": "PY  - ",
}
MEDLINE = {
    "id": "PMID- ",
    "title": "TI  - ",
    "abstract": "AB  - ",
    "venue": "JT  - ",
    "lang": "LA  - ",
    "year": "DP  - ",
}
BIBLIOGRAPHIES: dict[str, Write] = {
    "works.ris": lambda works: records(works, tagged(RIS, "TY  - JOUR\n", "ER  - \n\n")),
    "works.nbib": lambda works: records(works, tagged(MEDLINE, "", "PT  - Journal Article\n\n")),
    "works.bib": lambda works: records(works, bibtex),
}
FORMATS: dict[str, Write] = {
    "works.csv": lambda works: works.write_csv().encode(),
    "large.parquet": columns_of(pa.large_string),
    "view.parquet": columns_of(pa.string_view),
    "dictionary.parquet": columns_of(pa.dictionary),
    "utf16.csv": lambda works: works.write_csv().encode("utf-16"),
    "semicolons.csv": lambda works: works.write_csv(separator=";", line_terminator="\r\n").encode(),
    "page.json": lambda works: json.dumps(
        {"meta": {}, "results": [openalex(row) for row in works.iter_rows(named=True)]}
    ).encode(),
    "bom.csv": lambda works: b"\xef\xbb\xbf" + works.write_csv().encode(),
    "works.tsv": lambda works: works.write_csv(separator="\t").encode(),
    "works.jsonl": lambda works: lines(works, dict),
    "works.json": lambda works: json.dumps(works.to_dicts()).encode(),
    "part_000": lambda works: lines(works, openalex),
    "works.arrow": lambda works: arrow(works, stream=False),
    "polars.arrow": polars_arrow,
    "works.arrows": lambda works: arrow(works, stream=True),
}
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}
