"""Delimited text: CSV and TSV, in UTF-8, UTF-16 (with its mark) or Windows-1252."""

import codecs
import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Protocol

import polars as pl
import pyarrow as pa

from scorer.errors import InputError
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

Row = list[str]


class _Rows(Protocol):
    """A reader of the `csv` module."""

    line_num: int

    def __iter__(self) -> Iterator[Row]: ...

    def __next__(self) -> Row: ...


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
    encoding, note = encoding_of(file, compression)
    with opened(file, compression) as stream:
        found = dialect(stream.read(_HEAD).decode(encoding, "replace"))
    with opened(file, compression) as stream:
        lines = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
        csv.field_size_limit(_LONGEST_CELL)
        reader = csv.reader(itertools.chain(lines, [_END]), delimiter=found.delimiter)
        table = _table(_header(reader, file.name, said=found.said), file.name, asked)
        notes = (note,) if note else ()
        given = False
        for before, rows in _batches(reader, file.name, asked):
            if sound := _sound(rows, before, table, file.name, asked):
                yield _piece(sound, table, () if given else notes)
                given = True
        if not given:
            yield _piece([], table, notes)


def encoding_of(file: FrameFile, compression: str | None) -> tuple[str, str | None]:
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


def _header(reader: _Rows, name: str, *, said: bool) -> list[str]:
    try:
        rows = itertools.islice(filter(None, reader), int(said), None)
        header = next(rows, [])
    except csv.Error:
        header = [_END, _END]
    if len(header) > 1 and header[-1].endswith(_END):
        raise InputError(f"{name}: the header has a quote that is not closed.\nMend the file.")
    return [] if header == [_END] else header


def _batches(reader: _Rows, name: str, asked: Asked) -> Iterator[tuple[int, list[Row]]]:
    """Yield rows, and the number of the line before the first of them."""
    while True:
        before = reader.line_num
        rows: list[Row] = []
        endless = False
        try:
            rows.extend(itertools.islice(reader, RECORDS_A_PIECE))
        except csv.Error:  # what came before it is in the list
            endless = True
        last = rows.pop() if rows and rows[-1] and rows[-1][-1].endswith(_END) else None
        yield before, rows
        if endless or (last is not None and last != [_END]):
            where = f"line {before + sum(map(_lines, rows)) + 1:,}"
            content = "\t".join(last or ()).removesuffix(_END)
            asked.bad.found(name, where, "cut off: a quote is not closed", content)
        if last is not None or not (rows or endless):
            return


def _lines(row: Row) -> int:
    """Return over how many lines a row goes, as Python counts them."""
    text = "".join(row)
    return 1 + text.count("\n") + text.count("\r") - text.count("\r\n")


def _table(header: Sequence[str], name: str, asked: Asked) -> _Table:
    names = [cell.strip() for cell in header]
    # Programs leave the header of row numbers empty. The types are open: any text may stand there.
    schema = pa.schema([(one, pa.null()) for one in names if one])
    columns = resolve(schema, name, wanted=asked.wanted, mapping=asked.mapping, keep=asked.keep)
    return _Table(len(names), columns, {one: place for place, one in enumerate(names)})


def _sound(rows: list[Row], before: int, table: _Table, name: str, asked: Asked) -> list[Row]:
    """Return the rows that are as wide as the header and have an id."""
    width, place = table.width, table.places[table.columns.paths["id"]]
    if set(map(len, rows)) == {width} and all(map(str.strip, map(itemgetter(place), rows))):
        return rows
    sound = []
    for row in rows:
        line, before = before + 1, before + _lines(row)
        # Some programs end each line with a delimiter: empty cells too many are no fault.
        fits = len(row) == width or (len(row) > width and not any(row[width:]))
        if fits and row[place].strip():
            sound.append(row)
        elif row:
            id_name = table.columns.paths["id"]
            reason = (
                f"column {id_name!r} is empty, every work needs an id"
                if fits
                else f"cells: {len(row)}, the header has {width}"
            )
            asked.bad.found(name, f"line {line:,}", reason, "\t".join(row))
    return sound


def _piece(rows: list[Row], table: _Table, notes: tuple[str, ...]) -> Piece:
    paths = table.columns.paths
    works = _texts(rows, {name: table.places[path] for name, path in paths.items()})
    years = "year" in works.columns
    said = works["year"].count() if years else 0
    if years:
        number = pl.col("year").str.strip_chars().cast(pl.Float64, strict=False)
        works = works.with_columns(number)
    own_names = Columns({name: name for name in paths}, ())
    works = conform(works, own_names, pa.schema([]))
    unreadable = said - works["year"].count() if years else 0
    kept = _texts(rows, {name: table.places[name] for name in table.columns.kept})
    return Piece(works, kept, paths, notes, unreadable)


def _texts(rows: list[Row], places: dict[str, int]) -> pl.DataFrame:
    """Return cells as columns; what is empty, or white space alone, is null."""
    if not places:
        return pl.DataFrame(height=len(rows))
    frame = pl.DataFrame(
        [
            pl.Series(name, list(map(itemgetter(place), rows)), dtype=pl.String)
            for name, place in places.items()
        ]
    )
    return frame.with_columns(pl.when(pl.all().str.contains(r"\S")).then(pl.all()))
