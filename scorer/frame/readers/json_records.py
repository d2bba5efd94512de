"""JSON records: a line each (JSON Lines), or values that may span lines: an array, an object."""

import codecs
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl
import pyarrow as pa

from scorer.frame.contract import REQUIRED, Columns, conform, resolve
from scorer.frame.files import FrameFile
from scorer.frame.readers.base import RECORDS_A_PIECE, Asked, Piece
from scorer.frame.readers.json_fields import (
    ABSENT,
    NOT_FAST,
    Field,
    Row,
    UnfitError,
    fast,
    fields_of,
    merged,
    places_of,
    slow,
    years,
)
from scorer.frame.readers.json_values import values
from scorer.frame.readers.streams import opened

_SHOWN: Final = 100  # records whose names an error may list

Record = tuple[int | str, bytes]  # the number of its line, or where it stands; its text


def read_lines(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of a JSON Lines file; see `Reader`.

    A column counts as found from the piece on that has it first: `Piece.columns` may grow. Of a
    name that occurs twice in a record, the last value counts. Kept columns are text; what is no
    text in the file is kept as JSON.
    """
    with opened(file, compression) as stream:
        yield from _pieces(enumerate(stream, 1), file.name, asked)


def read_values(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of a JSON array, or of objects one after the other; see `read_lines`."""
    with opened(file, compression) as stream:
        yield from _pieces(values(stream, file.name, asked.bad), file.name, asked)


def _pieces(records: Iterable[Record], name: str, asked: Asked) -> Iterator[Piece]:
    reading = _Reading(name, asked)
    records = iter(records)
    given = False
    more = True
    while more:
        rows, more = reading.some(records)
        # A file without works gives one empty piece.
        if rows or not (more or given):
            given = True
            yield reading.piece(rows)


class _Reading:
    """One file of records: what is asked of each, and where it has been found so far."""

    def __init__(self, name: str, asked: Asked) -> None:
        self._name = name
        self._asked = asked
        self._fields = fields_of(asked.wanted, asked.mapping, asked.keep)
        self._places = places_of(self._fields)
        self._take = fast(self._places) or self._slow
        self._found: dict[Field, str] = {}
        self._checked = False

    def some(self, records: Iterator[Record]) -> tuple[list[Row], bool]:
        """Read on, for one piece: the rows of the sound records, and whether more may follow."""
        rows: list[Row] = []
        without_id: list[Row] = []
        faults: list[tuple[int | str, str, bytes]] = []
        first: list[bytes] = []
        ids = [at for at, place in enumerate(self._places) if place.field is self._id]
        id_at, other_ids = ids[0], ids[1:]
        count = 0
        for place, record in itertools.islice(records, RECORDS_A_PIECE):
            count += 1
            try:
                row = self._row(record)
            except UnfitError as error:
                if record.removeprefix(codecs.BOM_UTF8).strip():
                    faults.append((place, str(error), record))
                continue
            if count <= _SHOWN:
                first.append(record)
            if row[id_at] or row[id_at] == 0 or any(row[at] for at in other_ids):
                rows.append(row)
            else:
                without_id.append(row)
                faults.append((place, self._no_id(), record))
        self._note_found([*rows, *without_id])
        self._check(first)
        self._tell(faults)
        return rows, count == RECORDS_A_PIECE

    def piece(self, rows: Sequence[Row]) -> Piece:
        """Return records as columns, those that have been found."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self._places)
        works: dict[str, pl.Series] = {}
        kept: dict[str, pl.Series] = {}
        paths: dict[str, str] = {}
        unreadable = 0
        for field in self._fields:
            if field in self._found or field.kept or field.name in REQUIRED:
                values = merged(
                    field,
                    [columns[at] for at, one in enumerate(self._places) if one.field is field],
                )
                kind: type[pl.DataType] = pl.String
                if field.name == "year" and not field.kept:
                    kind = pl.Int32
                    values, unreadable = years(values)
                target = kept if field.kept else works
                target[field.name] = pl.Series(field.name, values, dtype=kind)
                if not field.kept:
                    paths[field.name] = self._found.get(field, ".".join(field.paths[0]))
        own_names = Columns({name: name for name in works}, ())
        return Piece(
            conform(pl.DataFrame(works), own_names, pa.schema([])),
            pl.DataFrame(kept) if kept else pl.DataFrame(height=len(rows)),
            paths,
            unreadable_years=unreadable,
        )

    @property
    def _id(self) -> Field:
        return self._fields[self._asked.wanted.index("id")]

    def _no_id(self) -> str:
        return f"no {self._asked.mapping.get('id', 'id')!r}, every work needs one"

    def _row(self, record: bytes) -> Row:
        try:
            return self._take(record)
        except NOT_FAST:
            return self._slow(record)

    def _slow(self, record: bytes) -> Row:
        return slow(record, self._fields)

    def _note_found(self, rows: Sequence[Row]) -> None:
        """Take note of the places at which fields are found for the first time."""
        if len(self._found) == len(self._fields):
            return
        for at, place in enumerate(self._places):
            if place.field not in self._found and any(row[at] is not ABSENT for row in rows):
                self._found[place.field] = ".".join(place.path)

    def _check(self, first: Sequence[bytes]) -> None:
        """Raise, after the first records, for a column that is needed and that none of them has."""
        if self._checked or not first:
            return
        self._checked = True
        needed = {*REQUIRED, *self._asked.mapping}
        if any(
            field not in self._found and (field.kept or field.name in needed)
            for field in self._fields
        ):
            asked = self._asked
            resolve(
                _schema(first),
                self._name,
                wanted=asked.wanted,
                mapping=asked.mapping,
                keep=asked.keep,
            )

    def _tell(self, faults: Sequence[tuple[int | str, str, bytes]]) -> None:
        """Tell the bad records of a piece: after `_check`, which may know why all of them are."""
        for place, reason, record in faults:
            where = place if isinstance(place, str) else f"line {place:,}"
            self._asked.bad.found(self._name, where, reason, record.decode("utf-8", "replace"))


def _schema(records: Sequence[bytes]) -> pa.Schema:
    """Return the names in some records as a schema; the types are open: null fits any column."""
    names: dict[str, Any] = {}
    for record in records:
        _merge(names, json.loads(record.decode("utf-8-sig", "replace"), strict=False))
    return pa.schema([(name, _type(inside)) for name, inside in names.items()])


def _merge(names: dict[str, Any], record: Mapping[str, Any]) -> None:
    for name, value in record.items():
        inside = names.setdefault(name, {})
        if isinstance(value, dict):
            _merge(inside, value)


def _type(names: Mapping[str, Any]) -> pa.DataType:
    if not names:
        return pa.null()
    return pa.struct([(name, _type(inside)) for name, inside in names.items()])
