"""The contract's columns in a JSON record: where they may stand, and what may stand there.

The fast way builds only what is asked for, typed, and passes over the rest. A record that it cannot
take (half a surrogate pair, a bare control character, a wrong type) goes the slow way, through
Python's own decoder, which also tells what is wrong.
"""

import json
import operator
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from scorer.frame.contract import NATIVE_NAMES
from scorer.frame.mojibake import well_formed

ABSENT: Final = msgspec.UNSET
_NO_RAW: Final = msgspec.Raw(b"")
_LARGEST_YEAR: Final = 1 << 31

Row = Sequence[Any]
"""What stands at each place of a record: a text, a number, null or `ABSENT`."""


class UnfitError(ValueError):
    """A record that cannot be used; its text says why."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column to take out of each record."""

    name: str
    paths: tuple[tuple[str, ...], ...]
    """Where it may stand; the first that is there counts."""
    kept: bool = False

    @property
    def raw(self) -> bool:
        """Whether what is no text becomes JSON text."""
        return self.kept or self.name == "abstract_inverted_index"


@dataclass(frozen=True, slots=True)
class Place:
    """One of the places that a field may stand at."""

    field: Field
    path: tuple[str, ...]


def fields_of(
    wanted: Sequence[str], mapping: Mapping[str, str], keep: Sequence[str]
) -> list[Field]:
    """Return the fields to take: the contract's columns in their order, then the kept ones."""
    fields = []
    for name in wanted:
        known_as = (mapping[name],) if name in mapping else NATIVE_NAMES[name]
        fields.append(Field(name, tuple(path for one in known_as for path in _ways(one))))
    return fields + [Field(name, ((name,),), kept=True) for name in keep]


def places_of(fields: Sequence[Field]) -> list[Place]:
    """Return the places of all fields, in the order of a `Row`."""
    return [Place(field, path) for field in fields for path in field.paths]


def slow(record: bytes, fields: Sequence[Field]) -> Row:
    """Read a record with Python's decoder; raise `UnfitError` that says what is wrong with it.

    Of each field only the first place that is there is given.
    """
    whole = _object(record)
    row = []
    for field in fields:
        there = False
        for path in field.paths:
            found = ABSENT if there else _at(whole, path)
            there = there or found is not ABSENT
            row.append(_value(field, found))
    return row


def fast(places: Sequence[Place]) -> Callable[[bytes], Row] | None:
    """Return a decoder; where it raises one of `NOT_FAST`, `slow` must be asked.

    None where two places are one, or one is inside the other: a type can be given only once.
    """
    tree: dict[str, Any] = {}
    try:
        for place in places:
            _plant(tree, place.path, place.field)
    except _SharedPlaceError:
        return None
    decode = msgspec.json.Decoder(_struct(tree)).decode
    leaves = operator.attrgetter(*(_members(place.path, tree) for place in places))
    assert len(places) > 1  # with one, attrgetter would not give a tuple
    raws = [(at, place.field) for at, place in enumerate(places) if place.field.raw]
    if not raws:
        return lambda record: leaves(decode(record))

    def with_raws(record: bytes) -> Row:
        row = list(leaves(decode(record)))
        for at, field in raws:
            row[at] = _of_raw(field, row[at])
        return row

    return with_raws


NOT_FAST: Final = (msgspec.MsgspecError, UnicodeDecodeError, AttributeError, UnfitError)
"""What a fast decoder raises; `AttributeError` for a null that should hold further names."""


def merged(field: Field, columns: Sequence[Sequence[Any]]) -> list[Any]:
    """Return one column from those of a field's places: in each row the first that is there."""
    values = list(columns[0])
    for column in columns[1:]:
        if ABSENT not in values:
            break
        values = [b if a is ABSENT else a for a, b in zip(values, column, strict=True)]
    if ABSENT in values:
        values = [None if value is ABSENT else value for value in values]
    if field.name == "id":
        values = [str(value) if type(value) is int else value for value in values]
    return values


def described(value: object) -> str:
    """Name a JSON value: what kind it is, and its beginning."""
    kinds = {bool: "a truth value", int: "a number", float: "a number", str: "a text"}
    kinds |= {list: "a list", dict: "an object", type(None): "null"}
    return f"{kinds[type(value)]} ({reprlib.repr(value)})" if value is not None else "null"


class _SharedPlaceError(Exception):
    """Two fields are to be read from one place, or one from inside the other."""


def _ways(path: str) -> list[tuple[str, ...]]:
    """Return the ways to read a dotted path: a name that holds dots, and names inside names."""
    parts = tuple(path.split("."))
    return [(path,), parts] if len(parts) > 1 else [(path,)]


def _object(record: bytes) -> dict[str, Any]:
    try:
        found = json.loads(record.decode("utf-8-sig"), strict=False)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UnfitError(f"not UTF-8: byte 0x{byte:02x} at place {error.start + 1:,}") from error
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
            raise UnfitError("cut off in mid-record") from error
        raise UnfitError(f"not JSON: {error.msg} at character {error.pos + 1:,}") from error
    except (RecursionError, ValueError) as error:
        raise UnfitError(f"JSON that cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise UnfitError(f"{described(found)}, expected an object")
    return found


def _at(found: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    for name in path:
        found = found.get(name, ABSENT) if isinstance(found, dict) else ABSENT
    return found


def _value(field: Field, found: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return what a column holds for a JSON value; raise `UnfitError` where it cannot."""
    if found is ABSENT or found is None:
        return found
    number = isinstance(found, int | float) and not isinstance(found, bool)
    match field.name:
        case _ if field.kept:
            fits, expected = True, ""
        case "abstract_inverted_index":
            fits = isinstance(found, dict | str)
            expected = "an object of words and positions"
        case "id":
            fits = isinstance(found, str) or (number and isinstance(found, int))
            expected = "a text or a whole number"
        case "year":
            fits, expected = isinstance(found, str) or number, "a whole number"
        case _:
            fits, expected = isinstance(found, str), "a text"
    if not fits:
        raise UnfitError(f"{field.name!r} is {described(found)}, expected {expected}")
    if number and not field.raw:
        return found
    return _text(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))


def _text(found: str) -> str:
    return found if found.isascii() else well_formed(found)


def years(values: Sequence[float | str | None]) -> tuple[list[int | None], int]:
    """Return what values say as years, and how many say something that is none."""
    found = [_year(value) for value in values]
    if None not in found:
        return found, 0
    said = [value is not None and str(value).strip() != "" for value in values]
    return found, sum(one and year is None for one, year in zip(said, found, strict=True))


def _year(found: float | str | None) -> int | None:
    try:
        year = float("nan" if found is None else found)
    except (ValueError, OverflowError):
        return None
    return int(year) if year.is_integer() and abs(year) < _LARGEST_YEAR else None


def _plant(tree: dict[str, Any], path: Sequence[str], field: Field) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise _SharedPlaceError
    if path[-1] in tree:
        raise _SharedPlaceError
    tree[path[-1]] = field


def _struct(tree: Mapping[str, Any]) -> type[msgspec.Struct]:
    """Return a type that holds what a tree of names asks for; members are `m0`, `m1` and so on."""
    members: list[tuple[str, Any, Any]] = []
    for number, branch in enumerate(tree.values()):
        if isinstance(branch, dict):
            inside = _struct(branch)
            members.append((f"m{number}", inside | None, inside()))
        else:
            members.append((f"m{number}", *_leaf_type(branch)))
    names = {f"m{number}": name for number, name in enumerate(tree)}
    return msgspec.defstruct("Record", members, rename=names, gc=False, frozen=True)


def _leaf_type(field: Field) -> tuple[Any, Any]:
    if field.raw:
        return msgspec.Raw, _NO_RAW
    types: dict[str, Any] = {"id": str | int, "year": int | float | str}
    return types.get(field.name, str) | None | msgspec.UnsetType, ABSENT


def _members(path: Sequence[str], tree: Mapping[str, Any]) -> str:
    """Return the dotted members of a record that a path of names leads to."""
    members = []
    for name in path:
        members.append(f"m{list(tree).index(name)}")
        tree = tree[name]
    return ".".join(members)


def _of_raw(field: Field, raw: msgspec.Raw) -> Any:  # noqa: ANN401 - a text, null or absent
    if raw is _NO_RAW:
        return ABSENT
    value = bytes(raw)
    if value == b"null":
        return None
    if value[:1] == b'"':
        return msgspec.json.decode(value)
    if value[:1] == b"{" or field.kept:
        return value.decode("utf-8")
    raise UnfitError  # the slow way says what it is
