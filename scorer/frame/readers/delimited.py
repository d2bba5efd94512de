"""Delimited text: CSV and TSV, in UTF-8, UTF-16 (with its mark) or Windows-1252."""

import codecs
import csv
import io
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl
import pyarrow as pa

from scorer.frame.contract import Columns, conform, resolve
from scorer.frame.files import FrameFile
from scorer.frame.readers.base import RECORDS_A_PIECE, Asked, Piece
from scorer.frame.readers.dialect import dialect
from scorer.frame.readers.streams import opened

_CHUNK: Final = 1 << 20
_HEAD: Final = 1 << 16
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# No abstract is that long: a quote that is never closed has swallowed the lines after it.
_LONGEST_CELL: Final = 1 << 24
# Fed after the last line: it comes out as a row of its own, unless a quote is still open.
_END: Final = "\0end of the file\0"

Row = tuple[int, Sequence[str]]  # the number of its first line, its cells


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose header has been read: where things are in a row."""

    width: int
    columns: Columns
    places: dict[str, int]
    """Column name -> its place in a row."""


def read(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of a CSV or TSV file; see `Reader`.

    Empty cells are null, ids stay text, kept columns are text. Rows of another width than the
    header's and rows without id are bad records, told by the number of their first line.
    """
    encoding, note = _encoding(file, compression)
    with opened(file, compression) as stream:
        found = dialect(stream.read(_HEAD).decode(encoding, "replace"))
    with opened(file, compression) as stream:
        lines = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
        rows = _rows(lines, found.delimiter, file.name, asked)
        header = next(itertools.islice(rows, int(found.said), None), (0, []))[1]
        table = _table(header, file.name, asked)
        sound = _sound(rows, table, file.name, asked)
        empty = True
        while batch := list(itertools.islice(sound, RECORDS_A_PIECE)):
            yield _piece(batch, table, (note,) if note and empty else ())
            empty = False
        if empty:
            yield _piece([], table, (note,) if note else ())


def _encoding(file: FrameFile, compression: str | None) -> tuple[str, str | None]:
    """Tell the encoding of a whole file, and what to say of it.

    The file is gone through once for that: it must not change its encoding half-way.
    """
    with opened(file, compression) as stream:
        chunk = stream.read(_CHUNK)
        for mark, encoding in _MARKS.items():
            if chunk.startswith(mark):
                return encoding, None
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while chunk:
                decoder.decode(chunk)
                chunk = stream.read(_CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252", f"{file.name}: not UTF-8; read as Windows-1252"
    return "utf-8", None


def _rows(lines: Iterable[str], delimiter: str, name: str, asked: Asked) -> Iterator[Row]:
    """Yield the rows that are not blank, each with the number of its first line."""
    csv.field_size_limit(min(_LONGEST_CELL, sys.maxsize))
    reader = csv.reader(itertools.chain(lines, [_END]), delimiter=delimiter)
    before = 0
    while True:
        try:
            for row in reader:
                if row:
                    if row[-1].endswith(_END):
                        if len(row) > 1 or row[0] != _END:
                            _unclosed(row, before + 1, name, asked, delimiter)
                        return
                    yield before + 1, row
                before = reader.line_num
            return
        except csv.Error:
            asked.bad.found(
                name, f"line {before + 1:,}", "a cell without end: its quote is not closed", ""
            )
            before = reader.line_num


def _unclosed(row: list[str], line: int, name: str, asked: Asked, delimiter: str) -> None:
    content = delimiter.join(row).removesuffix(_END)
    asked.bad.found(name, f"line {line:,}", "cut off: a quote is not closed", content)


def _table(header: Sequence[str], name: str, asked: Asked) -> _Table:
    names = [cell.strip() for cell in header]
    # Programs leave the header of row numbers empty. The types are open: any text may stand there.
    schema = pa.schema([(one, pa.null()) for one in names if one])
    columns = resolve(schema, name, wanted=asked.wanted, mapping=asked.mapping, keep=asked.keep)
    return _Table(len(names), columns, {one: place for place, one in enumerate(names)})


def _sound(rows: Iterable[Row], table: _Table, name: str, asked: Asked) -> Iterator[Sequence[str]]:
    """Yield the rows that are as wide as the header and have an id."""
    width, place = table.width, table.places[table.columns.paths["id"]]
    for line, row in rows:
        if len(row) == width and row[place].strip():
            yield row
        elif len(row) > width and not any(row[width:]) and row[place].strip():
            yield row[:width]  # programs that end each line with a delimiter
        else:
            reason = (
                f"column {table.columns.paths['id']!r} is empty, every work needs an id"
                if len(row) == width
                else f"cells: {len(row)}, the header has {width}"
            )
            asked.bad.found(name, f"line {line:,}", reason, "\t".join(row))


def _piece(rows: list[Sequence[str]], table: _Table, notes: tuple[str, ...]) -> Piece:
    paths = table.columns.paths

    def cells(path: str) -> pl.Series:
        place = table.places[path]
        texts = pl.Series(path, [row[place] for row in rows], dtype=pl.String)
        return texts.set(texts.str.strip_chars() == "", None)

    works = pl.DataFrame({name: cells(path) for name, path in paths.items()})
    if "year" in works.columns:
        number = pl.col("year").str.strip_chars().cast(pl.Float64, strict=False)
        works = works.with_columns(number)
    own_names = Columns({name: name for name in paths}, ())
    works = conform(works, own_names, pa.schema([]))
    kept = [cells(name) for name in table.columns.kept]
    beside = pl.DataFrame(kept) if kept else pl.DataFrame(height=len(rows))
    return Piece(works, beside, paths, notes)
