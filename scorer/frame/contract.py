"""Contract 1, *frame in*: the columns of a work, the names they go by, the types they may have.

`resolve` finds the contract's columns in a file's schema; `conform` turns a batch of the file into
a batch of the contract: id as a bare string, text as String or null, year as Int32 or null.
"""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl
import pyarrow as pa

from scorer.errors import InputError, UsageError
from scorer.frame.abstract import deinvert

NATIVE_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "id": ("id",),
    "title": ("title", "display_name"),
    "abstract": ("abstract",),
    "abstract_inverted_index": ("abstract_inverted_index",),
    "venue": ("venue", "primary_location.source.display_name"),
    "topic": ("topic", "primary_topic.display_name"),
    "field": ("field", "primary_topic.field.display_name"),
    "lang": ("lang", "language"),
    "type": ("type",),
    "year": ("year", "publication_year"),
}
"""Contract name -> the names it is found under, first match wins; the later ones are OpenAlex's."""

REQUIRED: Final = ("id", "title")

# Other words for the required columns, for the hint alone: nothing is mapped without being asked.
_LIKE: Final[Mapping[str, Sequence[str]]] = {
    "id": ("identifier", "work_id", "openalex_id", "paper_id", "key", "doi", "pmid", "uid"),
    "title": ("titre", "titulo", "titel", "name", "paper_title", "work_title", "article_title"),
}
_OPENALEX_PREFIXES: Final = ("https://openalex.org/", "http://openalex.org/")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a file keeps the contract's columns: contract name -> dotted path in the file."""

    paths: Mapping[str, str]
    kept: Sequence[str]

    def leaves(self) -> list[str]:
        """Return the paths to read, each once."""
        return list(dict.fromkeys([*self.paths.values(), *self.kept]))


def segments(path: str, schema: pa.Schema) -> list[str]:
    """Split a dotted path into field names; a top-level name may itself hold dots."""
    return [path] if path in schema.names else path.split(".")


def resolve(
    schema: pa.Schema,
    where: str,
    *,
    wanted: Sequence[str],
    mapping: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    remedy: str = "--map {name}={column}",
) -> Columns:
    """Find the `wanted` contract columns in `schema`, and check that their types fit.

    `remedy` tells what to do where `{column}` holds what is wanted as `{name}`.
    Raises `InputError` for a required column that is missing or a column of the wrong type,
    `UsageError` for a mapping or a kept column that names nothing.
    """
    mapping = mapping or {}
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise InputError(f"{where}: column {twice[0]!r} occurs more than once. Rename one of them.")
    for name, path in mapping.items():
        if name not in NATIVE_NAMES:
            names = ", ".join(NATIVE_NAMES)
            raise UsageError(f"--map {name}={path}: no such frame column; there are {names}.")
        if _find(schema, path) is None:
            raise UsageError(f"--map {name}={path}: {where} has no column {path!r}. {_has(schema)}")
    for name in keep:
        if name not in schema.names:
            raise UsageError(f"--keep {name}: {where} has no such column. {_has(schema)}")
    paths: dict[str, str] = {}
    for name in wanted:
        known_as = (mapping[name],) if name in mapping else NATIVE_NAMES[name]
        found = next((there for there in known_as if _find(schema, there) is not None), None)
        if found is not None:
            _check_type(name, found, schema, where, remedy)
            paths[name] = found
        elif name in REQUIRED:
            raise InputError(_missing(name, schema, where, remedy))
    return Columns(paths, tuple(keep))


def conform(batch: pl.DataFrame, columns: Columns, schema: pa.Schema) -> pl.DataFrame:
    """Turn a batch as read into the contract's columns; those that the file lacks are left out."""
    return batch.select(
        _conformed(name, _at(segments(path, schema))).alias(name)
        for name, path in columns.paths.items()
    )


def text(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return a text column of a contract frame, all null where the frame lacks it.

    `abstract` is de-inverted where only its inverted index is there.
    Raises `InputError` for an inverted index that cannot be read.
    """
    if name in frame.columns:
        column = frame[name].cast(pl.String)
    else:
        column = pl.repeat(None, frame.height, dtype=pl.String, eager=True).alias(name)
    if name == "abstract" and "abstract_inverted_index" in frame.columns:
        return _with_deinverted(column, frame)
    return column


def bare_id(ids: pl.Expr) -> pl.Expr:
    """Return ids as the contract has them: strings, without OpenAlex's address in front."""
    ids = ids.cast(pl.String)
    for prefix in _OPENALEX_PREFIXES:
        ids = ids.str.strip_prefix(prefix)
    return ids


def _with_deinverted(abstracts: pl.Series, frame: pl.DataFrame) -> pl.Series:
    inverted = frame["abstract_inverted_index"]
    # Tables often have an empty text where an abstract is missing.
    missing = abstracts.is_null() | (abstracts.str.strip_chars() == "")
    rows = (missing & inverted.is_not_null()).arg_true()
    if rows.is_empty():
        return abstracts
    return abstracts.scatter(rows, deinvert(inverted.gather(rows), frame["id"].gather(rows)))


def _find(schema: pa.Schema, path: str) -> pa.DataType | None:
    first, *rest = segments(path, schema)
    if first not in schema.names:
        return None
    found = schema.field(first).type
    for name in rest:
        if not pa.types.is_struct(found) or found.get_field_index(name) < 0:
            return None
        found = found.field(name).type
    return found


def _check_type(name: str, path: str, schema: pa.Schema, where: str, remedy: str) -> None:
    found = _find(schema, path)
    assert found is not None
    value = found.value_type if pa.types.is_dictionary(found) else found
    string = (
        pa.types.is_string(value)
        or pa.types.is_large_string(value)
        or pa.types.is_string_view(value)
        or pa.types.is_null(value)
    )
    integer = pa.types.is_integer(value)
    match name:
        case "id":
            fits, expected = string or integer, "a string or an integer"
        case "year":
            fits = integer or pa.types.is_floating(value) or pa.types.is_null(value)
            expected = "an integer"
        case "abstract_inverted_index":
            nested = pa.types.is_struct(value) or pa.types.is_map(value)
            fits = string or nested or _is_list_of_pairs(value)
            expected = "a JSON string, a struct or a map"
        case _:
            fits, expected = string, "a string"
    if not fits:
        raise InputError(
            f"{where}: column {path!r} holds {found}, expected {expected} for {name!r}.\n"
            f"Convert the column, or name another one: {remedy.format(name=name, column='COLUMN')}"
        )


def _is_list_of_pairs(kind: pa.DataType) -> bool:
    """Tell whether a type is what a map becomes in programs that have none."""
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    inside = kind.value_type
    return pa.types.is_struct(inside) and {"key", "value"} <= {field.name for field in inside}


def _missing(name: str, schema: pa.Schema, where: str, remedy: str) -> str:
    if {"prediction_status", "score_status"} <= set(schema.names):
        return (
            f"{where}: a scored file, not a frame: it has no column {name!r}.\n"
            "Name the frame that was scored."
        )
    lowered = {column.lower(): column for column in schema.names}
    close = next((lowered[like] for like in _LIKE[name] if like in lowered), None)
    if close is None:
        close = next(iter(difflib.get_close_matches(name, list(lowered), n=1, cutoff=0.6)), None)
        close = lowered[close] if close else None
    it = f"it is {close!r}" if close else "another column holds it"
    remedy = remedy.format(name=name, column=close or "COLUMN")
    return f"{where}: no column {name!r}. {_has(schema)}\nIf {it}, say: {remedy}"


def _has(schema: pa.Schema) -> str:
    shown = 20  # enough to recognise a file by, few enough for two lines
    names = ", ".join(map(_shortened, schema.names[:shown]))
    names += ", …" if len(schema.names) > shown else ""
    return f"Columns found: {names or 'none'}."


def _shortened(name: str) -> str:
    """Return a column's name on one line; text that was taken for a header may be of any length."""
    name = " ".join(name.split())
    longest = 40
    return name if len(name) <= longest else f"{name[:longest]}…"


def _at(names: Sequence[str]) -> pl.Expr:
    expression = pl.col(names[0])
    for name in names[1:]:
        expression = expression.struct.field(name)
    return expression


def _conformed(name: str, column: pl.Expr) -> pl.Expr:
    match name:
        case "id":
            return bare_id(column)
        case "year":
            # Tables with missing years often hold them as floats; a fraction is no year.
            number = column.cast(pl.Float64)
            return pl.when(number == number.floor()).then(column).cast(pl.Int32, strict=False)
        case "abstract_inverted_index":
            return column
        case _:
            return column.cast(pl.String)
