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

Values = tuple[Any, ...]


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
        """Whether any value fits: what is no text becomes JSON text."""
        return self.kept or self.name == "abstract_inverted_index"


def fields_of(
    wanted: Sequence[str], mapping: Mapping[str, str], keep: Sequence[str]
) -> list[Field]:
    """Return the fields to take: the contract's columns in their order, then the kept ones."""
    fields = []
    for name in wanted:
        known_as = (mapping[name],) if name in mapping else NATIVE_NAMES[name]
        fields.append(Field(name, tuple(path for one in known_as for path in _ways(one))))
    return fields + [Field(name, ((name,),), kept=True) for name in keep]


def slow(record: bytes, fields: Sequence[Field]) -> Values:
    """Take the fields out of a record with Python's decoder; `UnfitError` says what is wrong."""
    try:
        found = json.loads(record.decode("utf-8-sig"), strict=False)
    except UnicodeDecodeError as error:
        byte = record[error.start]
        raise UnfitError(f"not UTF-8: byte 0x{byte:02x} at place {error.start + 1:,}") from error
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
            raise UnfitError("cut off in mid-record") from error
        raise UnfitError(f"not JSON: {error.msg} at character {error.pos + 1:,}") from error
    except (RecursionError, ValueError) as error:
        raise UnfitError(f"JSON that cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise UnfitError(f"{described(found)}, expected an object")
    return tuple(_value(field, _at_first(field, found)) for field in fields)


def fast(fields: Sequence[Field]) -> Callable[[bytes], Values] | None:
    """Return a decoder; where it raises `MsgspecError` or `UnfitError`, `slow` must be asked.

    None where two fields share a place: a type can be given to it only once.
    """
    tree: dict[str, Any] = {}
    try:
        for number, field in enumerate(fields):
            for path in field.paths:
                _plant(tree, path, (number, field))
    except _SharedPlaceError:
        return None
    decode = msgspec.json.Decoder(_struct(tree)).decode
    getters = [_getter(field, tree) for field in fields]

    def take(record: bytes) -> Values:
        found = decode(record)
        return tuple([get(found) for get in getters])

    return take


def found_at(field: Field, record: bytes) -> str:
    """Return where a record that has a field has it."""
    whole = json.loads(record.decode("utf-8-sig", "replace"), strict=False)
    return next(".".join(path) for path in field.paths if _at_path(whole, path) is not ABSENT)


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


def _at_first(field: Field, record: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    found = (_at_path(record, path) for path in field.paths)
    return next((value for value in found if value is not ABSENT), ABSENT)


def _at_path(found: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
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
    if field.name == "year" and not field.kept:
        return _year(found)
    return _text(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))


def _text(found: str) -> str:
    return found if found.isascii() else well_formed(found)


def _year(found: float | str) -> int | None:
    try:
        year = float(found)
    except (ValueError, OverflowError):
        return None
    return int(year) if year.is_integer() and abs(year) < _LARGEST_YEAR else None


def _plant(tree: dict[str, Any], path: Sequence[str], leaf: tuple[int, Field]) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise _SharedPlaceError
    if path[-1] in tree:
        raise _SharedPlaceError
    tree[path[-1]] = leaf


def _struct(tree: Mapping[str, Any]) -> type[msgspec.Struct]:
    """Return a type that holds what a tree of names asks for; members are `m0`, `m1` and so on."""
    members: list[tuple[str, Any, Any]] = []
    for number, branch in enumerate(tree.values()):
        if isinstance(branch, dict):
            members.append((f"m{number}", _struct(branch) | None, None))
        else:
            members.append((f"m{number}", *_leaf_type(branch[1])))
    names = {f"m{number}": name for number, name in enumerate(tree)}
    return msgspec.defstruct("Record", members, rename=names, gc=False)


def _leaf_type(field: Field) -> tuple[Any, Any]:
    if field.raw:
        return msgspec.Raw, _NO_RAW
    types: dict[str, Any] = {"id": str | int, "year": int | float | str}
    return types.get(field.name, str) | None | msgspec.UnsetType, ABSENT


def _getter(field: Field, tree: Mapping[str, Any]) -> Callable[[msgspec.Struct], Any]:
    places = [_members(path, tree) for path in field.paths]
    if field.raw:
        return _raw_getter(field, places)
    first = operator.attrgetter(places[0][0])
    if len(places) == 1 and field.name not in ("id", "year"):
        return first
    number_text = {"id": _id, "year": _year_or_none}.get(field.name)

    def get(record: msgspec.Struct) -> Any:  # noqa: ANN401 - a text or a number
        found = first(record) if len(places[0]) == 1 else _follow(record, places[0])
        if found is ABSENT:
            for place in places[1:]:
                found = _follow(record, place)
                if found is not ABSENT:
                    break
        return number_text(found) if number_text else found

    return get


def _raw_getter(field: Field, places: Sequence[Sequence[str]]) -> Callable[[msgspec.Struct], Any]:
    def get(record: msgspec.Struct) -> Any:  # noqa: ANN401 - a text, null or absent
        for place in places:
            found = _follow(record, place)
            if found is not ABSENT and found is not _NO_RAW:
                return _of_raw(field, bytes(found))
        return ABSENT

    return get


def _of_raw(field: Field, raw: bytes) -> str | None:
    if raw[:1] == b"{":
        return raw.decode("utf-8")
    if raw == b"null" or raw[:1] == b'"':
        found: str | None = msgspec.json.decode(raw)
        return found
    if field.kept:
        return raw.decode("utf-8")
    raise UnfitError  # the slow way says what it is


def _members(path: Sequence[str], tree: Mapping[str, Any]) -> list[str]:
    members = []
    for name in path:
        members.append(f"m{list(tree).index(name)}")
        tree = tree[name]
    return members


def _follow(record: Any, members: Sequence[str]) -> Any:  # noqa: ANN401 - a record or a leaf
    for member in members:
        if record is None:
            return ABSENT
        record = getattr(record, member)
    return record


def _id(found: Any) -> Any:  # noqa: ANN401 - a text, a number, null or absent
    return str(found) if type(found) is int else found


def _year_or_none(found: Any) -> Any:  # noqa: ANN401 - a text, a number, null or absent
    return found if found is ABSENT or found is None else _year(found)
