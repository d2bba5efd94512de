"""One work as OpenAlex writes it, today's shape and the older one, turned into contract columns.

Only the keys that are asked for are decoded, into typed structs: the rest of a work, most of
its bytes, is passed over at the speed of memory.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec
import polars as pl
from msgspec import Raw

from scorer.counted import counted
from scorer.errors import UsageError
from scorer.frame.contract import NATIVE_NAMES, bare_id
from scorer.frame.mojibake import well_formed
from scorer.frame.readers.base import Asked, Piece


class Named(msgspec.Struct, gc=False):
    """A source, a host venue or a field."""

    display_name: str | None = None


class Location(msgspec.Struct, gc=False):
    """Where a work lies."""

    source: Named | None = None


class Topic(msgspec.Struct, gc=False):
    """What a work is about."""

    display_name: str | None = None
    field: Named | None = None


_TYPES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("id", "title", "display_name", "language", "type"), str | None),
    "publication_year": int | None,
    "primary_location": Location | None,
    "host_venue": Named | None,
    "primary_topic": Topic | None,
    "topics": Raw,
    "abstract_inverted_index": Raw,
}
_NEEDS: Final[Mapping[str, Sequence[str]]] = {
    "id": ("id",),
    "title": ("title", "display_name"),
    "abstract_inverted_index": ("abstract_inverted_index",),
    "venue": ("primary_location", "host_venue"),
    "topic": ("primary_topic", "topics"),
    "field": ("primary_topic", "topics"),
    "lang": ("language",),
    "type": ("type",),
    "year": ("publication_year",),
}
"""Contract name -> the keys of a work that it is made of."""

# Keys that OpenAlex leaves out where they do not apply: a file without them is no slip of the pen.
_OPTIONAL: Final = {"merged_into_id", "merged_ids", "updated_date", *_TYPES}
_TOPICS: Final = msgspec.json.Decoder(list[Topic] | None)
_STRING: Final = msgspec.json.Decoder(str)


class WorkColumns:
    """Decodes works, and gathers what is asked for of them."""

    def __init__(self, asked: Asked, where: str) -> None:
        """`where`: the file, for messages. Raises `UsageError` for a mapping of no column."""
        self._asked, self._where = asked, where
        for name, path in asked.mapping.items():
            if name not in NATIVE_NAMES:
                names = ", ".join(NATIVE_NAMES)
                raise UsageError(f"--map {name}={path}: no such frame column; there are {names}.")
        mapped = {name: path for name, path in asked.mapping.items() if name in asked.wanted}
        self._mapped = mapped
        self._native = [name for name in asked.wanted if name in _NEEDS and name not in mapped]
        self._raw = {_top(path) for path in (*mapped.values(), *asked.keep)}
        typed = {key: _TYPES[key] for name in self._native for key in _NEEDS[name]}
        keys = typed | dict.fromkeys(self._raw, Raw)
        if "id" not in mapped:
            keys.setdefault("id", _TYPES["id"])
        self._attributes = {key: f"key_{number}" for number, key in enumerate(keys)}
        self._id_of = attrgetter(self._attributes[_top(mapped.get("id", "id"))])
        self._typed = {
            key: msgspec.json.Decoder(_TYPES[key]).decode
            for key in typed.keys() & self._raw
            if _TYPES[key] is not Raw
        }
        work = msgspec.defstruct(
            "Work",
            [
                (self._attributes[key], kind, Raw() if kind is Raw else None)
                for key, kind in keys.items()
            ],
            rename={attribute: key for key, attribute in self._attributes.items()},
            gc=False,
        )
        self.decode: Callable[[bytes | Raw], Any] = msgspec.json.Decoder(work).decode
        """Decode one work; raises `msgspec.DecodeError` where `mended` may still help."""
        self._seen: set[str] = set()
        self._first = True
        self._empty()

    @property
    def columns(self) -> dict[str, str]:
        """Contract column -> where it is found."""
        native = {name: NATIVE_NAMES[name][-1] for name in self._native} | {"title": "title"}
        return {
            name: self._mapped.get(name, native.get(name, ""))
            for name in self._asked.wanted
            if name in self._mapped or name in native
        }

    @property
    def height(self) -> int:
        """Number of works gathered since the last piece."""
        return self._height

    def has_id(self, work: Any) -> bool:  # noqa: ANN401 - a struct made for what is asked
        """Tell whether a decoded work has what its id is read from."""
        value = self._id_of(work)
        return value is not None if type(value) is not Raw else _bare(value) is not None

    def gather(self, works: Sequence[Any]) -> None:
        """Take over works: their structs, and the lines that those look into, may go then."""
        self._height += len(works)
        for name in self._native:
            self._values[name] += self._contract(name, works)
        for number, path in enumerate((*self._mapped.values(), *self._asked.keep)):
            top = _top(path)
            raws = [bytes(value) for value in self._key(top, works)]
            if top not in self._seen and any(raws):
                self._seen.add(top)
            self._texts[number] += [_text(raw, path) for raw in raws]

    def piece(self) -> Piece:
        """Return what was gathered, and begin anew."""
        self._check_seen()
        texts = [pl.Series("", values, dtype=pl.String) for values in self._texts]
        found = dict(zip((*self._mapped, *self._asked.keep), texts, strict=True))
        mapped = dict(zip(self._mapped, texts, strict=False))
        works = pl.DataFrame(
            {
                name: _conformed(name, mapped[name] if name in mapped else self._values[name])
                for name in self.columns
            }
        )
        kept = pl.DataFrame([found[name].alias(name) for name in self._asked.keep])
        if not self._asked.keep:
            kept = pl.DataFrame(height=works.height)
        self._empty()
        return Piece(works, kept, self.columns)

    def _empty(self) -> None:
        self._height = 0
        self._values: dict[str, list[Any]] = {name: [] for name in self._native}
        self._texts: list[list[str | None]] = [
            [] for _ in range(len(self._mapped) + len(self._asked.keep))
        ]

    def _check_seen(self) -> None:
        """Refuse a path that no work of the first piece has, rather than fill a column of nulls."""
        if not self._first or not self._height:
            return
        self._first = False
        options = [(f"--map {name}={path}", path) for name, path in self._mapped.items()]
        for option, path in options + [(f"--keep {path}", path) for path in self._asked.keep]:
            if _top(path) not in self._seen | _OPTIONAL:
                raise UsageError(
                    f"{option}: {self._where} has no {_top(path)!r} in its first "
                    f"{counted(self._height, 'work')}. Check the name."
                )

    def _key(self, key: str, works: Iterable[Any]) -> list[Any]:
        return list(map(attrgetter(self._attributes[key]), works))

    def _typed_key(self, key: str, works: Iterable[Any]) -> list[Any]:
        values = self._key(key, works)
        if key in self._typed:
            decode = self._typed[key]
            return [decode(value) if bytes(value) else None for value in values]
        return values

    def _contract(self, name: str, works: Sequence[Any]) -> list[Any]:
        first, *others = (self._typed_key(key, works) for key in _NEEDS[name])
        match name:
            case "title":
                pairs = zip(first, others[0], strict=True)
                return [title if title is not None else other for title, other in pairs]
            case "venue":
                return [_venue(*pair) for pair in zip(first, others[0], strict=True)]
            case "topic" | "field":
                topics = (_topic(*pair) for pair in zip(first, others[0], strict=True))
                if name == "topic":
                    return [topic and topic.display_name for topic in topics]
                return [topic and topic.field and topic.field.display_name for topic in topics]
            case "abstract_inverted_index":
                return [_bare(raw) for raw in first]
            case _:
                return first


def mended(value: Mapping[str, Any]) -> bytes:
    """Return a work as JSON that decodes: what is of the wrong type goes, and so do half letters.

    `value`: what `json.loads` made of it.
    """
    fitted = dict(value)
    for key in ("id", "title", "display_name", "language", "type"):
        fitted[key] = _scalar(value.get(key))
    year = _scalar(value.get("publication_year"))
    fitted["publication_year"] = int(year) if year and year.lstrip("-").isdecimal() else None
    location, topic = value.get("primary_location"), value.get("primary_topic")
    if "primary_location" in value:
        fitted["primary_location"] = _with_named(location, "source")
    if "host_venue" in value:
        fitted["host_venue"] = _with_named({"at": value["host_venue"]}, "at")["at"]
    if "primary_topic" in value:
        fitted["primary_topic"] = _with_named(topic, "field")
    return well_formed(json.dumps(fitted, ensure_ascii=False)).encode()


def _with_named(value: Any, key: str) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(value, dict):
        return None
    inner = value.get(key)
    if isinstance(inner, dict):
        inner = inner | {"display_name": _scalar(inner.get("display_name"))}
    else:
        inner = None
    name = {"display_name": _scalar(value["display_name"])} if "display_name" in value else {}
    return value | {key: inner} | name


def _scalar(value: Any) -> str | None:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _venue(location: Location | None, host: Named | None) -> str | None:
    source = location.source if location is not None else None
    name = source.display_name if source is not None else None
    return name if name is not None or host is None else host.display_name


def _topic(primary: Topic | None, topics: Raw) -> Topic | None:
    """Return the primary topic: by OpenAlex's definition the first of its topics."""
    if primary is not None or not bytes(topics):
        return primary
    try:
        return next(iter(_TOPICS.decode(topics) or ()), None)
    except msgspec.DecodeError:
        return None


def _top(path: str) -> str:
    return path.partition(".")[0]


def _bare(raw: Raw) -> str | None:
    """Return JSON as text; what is null or not there, as null."""
    text = str(memoryview(raw), "utf-8", "replace")
    if not text or text == "null":
        return None
    return _STRING.decode(text) if text[0] == '"' else text


def _text(raw: bytes, path: str) -> str | None:
    """Return what a path leads to: a string as such, anything else as JSON text."""
    if not raw or raw == b"null":
        return None
    names = path.split(".")[1:]
    if names or raw[:1] == b'"':
        value = msgspec.json.decode(raw)
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None or isinstance(value, str):
            return value
        raw = msgspec.json.encode(value)
    return raw.decode("utf-8", "replace")


def _conformed(name: str, values: list[Any] | pl.Series) -> pl.Series:
    match name:
        case "id":
            ids = pl.Series(name, values, dtype=pl.String)
            return ids.to_frame().select(bare_id(pl.col(name)))[name]
        case "year" if isinstance(values, pl.Series):
            return values.cast(pl.Int32, strict=False)
        case "year":
            return pl.Series(name, values, dtype=pl.Int64, strict=False).cast(
                pl.Int32, strict=False
            )
        case _:
            return pl.Series(name, values, dtype=pl.String)
