"""JSON records: a line each (JSON Lines), or values that may span lines: an array, an object."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import polars as pl
import pyarrow as pa

from scorer.frame.contract import REQUIRED, Columns, conform, resolve
from scorer.frame.files import FrameFile
from scorer.frame.readers.base import RECORDS_A_PIECE, Asked, Piece
from scorer.frame.readers.json_fields import (
    ABSENT,
    Field,
    UnfitError,
    Values,
    fast,
    fields_of,
    found_at,
    slow,
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
    given = more = False
    while more or not given:
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
        self._id_at = asked.wanted.index("id")
        self._take = _taker(self._fields)
        self._paths: dict[int, str] = {}
        self._checked = False

    def some(self, records: Iterator[Record]) -> tuple[list[Values], bool]:
        """Read on, for one piece: the fields of the sound records, and whether more may follow."""
        rows: list[Values] = []
        faults: list[tuple[int | str, str, bytes]] = []
        first: list[bytes] = []
        missing = [at for at in range(len(self._fields)) if at not in self._paths]
        count = 0
        for place, record in itertools.islice(records, RECORDS_A_PIECE):
            count += 1
            try:
                row = self._take(record)
            except UnfitError as error:
                if record.strip():
                    faults.append((place, str(error), record))
                continue
            if len(first) < _SHOWN and not self._checked:
                first.append(record)
            for at in missing:
                if row[at] is not ABSENT:
                    self._paths[at] = found_at(self._fields[at], record)
                    missing = [other for other in missing if other != at]
            if row[self._id_at]:
                rows.append(row)
            else:
                faults.append((place, f"no {self._id_name()!r}, every work needs one", record))
        self._check(first)
        self._tell(faults)
        return rows, count == RECORDS_A_PIECE

    def piece(self, rows: Sequence[Values]) -> Piece:
        """Return records as columns, those that have been found."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self._fields)
        works: dict[str, pl.Series] = {}
        kept: dict[str, pl.Series] = {}
        paths: dict[str, str] = {}
        for at, field in enumerate(self._fields):
            if field.kept:
                kept[field.name] = _series(field, columns[at])
            elif at in self._paths or field.name in REQUIRED:
                works[field.name] = _series(field, columns[at])
                paths[field.name] = self._paths.get(at, ".".join(field.paths[0]))
        own_names = Columns({name: name for name in works}, ())
        return Piece(
            conform(pl.DataFrame(works), own_names, pa.schema([])),
            pl.DataFrame(kept) if kept else pl.DataFrame(height=len(rows)),
            paths,
        )

    def _id_name(self) -> str:
        return self._asked.mapping.get("id", "id")

    def _check(self, first: Sequence[bytes]) -> None:
        """Raise, after the first records, for a column that is needed and that none of them has."""
        if self._checked or not first:
            return
        self._checked = True
        needed = {*REQUIRED, *self._asked.mapping}
        if any(
            at not in self._paths and (field.kept or field.name in needed)
            for at, field in enumerate(self._fields)
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


def _taker(fields: Sequence[Field]) -> Callable[[bytes], Values]:
    quick = fast(fields)
    if quick is None:
        return lambda record: slow(record, fields)

    def take(record: bytes) -> Values:
        try:
            return quick(record)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, UnfitError):
            return slow(record, fields)

    return take


def _series(field: Field, column: Sequence[Any]) -> pl.Series:
    if ABSENT in column:
        column = [None if value is ABSENT else value for value in column]
    kind = pl.Int32 if field.name == "year" and not field.kept else pl.String
    return pl.Series(field.name, column, dtype=kind)


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
