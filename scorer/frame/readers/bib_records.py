"""Records of a bibliography (RIS, BibTeX, MEDLINE), gathered into pieces of the contract."""

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Final

import polars as pl

from scorer.errors import UsageError
from scorer.frame.contract import NATIVE_NAMES, bare_id
from scorer.frame.files import FrameFile
from scorer.frame.readers.base import RECORDS_A_PIECE, Asked, Piece
from scorer.frame.readers.streams import opened

Fields = Mapping[str, str | Sequence[str]]
"""Tag or field name -> its value, or its values where it may occur more than once."""

_YEAR: Final = re.compile(r"(?<!\d)(\d{4})(?!\d)")
_DOI_ADDRESS: Final = r"(?i)\Ahttps?://(?:dx\.)?doi\.org/"
# Languages as PubMed (ISO 639-2/B) and library catalogues name them, each followed by OpenAlex's
# code: frames and students know the latter. Any other word stays as it is.
_LANGUAGE_CODES: Final = (
    "eng en fre fr fra fr ger de deu de spa es ita it por pt rus ru jpn ja chi zh zho zh kor ko "
    "pol pl dut nl nld nl cze cs ces cs hun hu tur tr swe sv dan da nor no fin fi gre el ell el "
    "heb he ara ar per fa fas fa ukr uk rum ro ron ro bul bg hrv hr srp sr slo sk slk sk slv sl "
    "cat ca ind id tha th vie vi hin hi english en french fr français fr german de deutsch de "
    "spanish es español es italian it portuguese pt russian ru japanese ja chinese zh korean ko "
    "polish pl dutch nl"
)
_LANGUAGES: Final = dict(
    zip(_LANGUAGE_CODES.split()[::2], _LANGUAGE_CODES.split()[1::2], strict=True)
)

# Types as RIS, BibTeX and PubMed name them, as OpenAlex's words for them. Any other stays as it is.
_TYPES: Final = {
    **dict.fromkeys(("jour", "ejour", "mgzn", "news", "journal article", "article"), "article"),
    **dict.fromkeys(("conf", "cpaper", "inproceedings", "conference"), "article"),
    **dict.fromkeys(("chap", "echap", "incollection", "inbook"), "book-chapter"),
    **dict.fromkeys(("book", "ebook", "booklet"), "book"),
    **dict.fromkeys(("thes", "phdthesis", "mastersthesis", "thesis"), "dissertation"),
    **dict.fromkeys(("rprt", "techreport", "report"), "report"),
    **dict.fromkeys(("data", "dataset"), "dataset"),
    **dict.fromkeys(("review", "systematic review"), "review"),
    "editorial": "editorial",
    "letter": "letter",
    "published erratum": "erratum",
    "preprint": "preprint",
}


@dataclass(frozen=True, slots=True)
class Record:
    """One entry: `where` it begins, its `fields`, and its `text` for what is told of bad ones."""

    where: str
    fields: Fields
    text: str


def library(name: str) -> ModuleType:
    """Import a library of the extra `bib`; raise `UsageError` where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Reading bibliographies needs {name.partition('.')[0]}, which is not installed.\n"
            "Install it: pip install 'scorer[bib]'"
        ) from error


def numbered_lines(file: FrameFile, compression: str | None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file without their ends, numbered from 1.

    UTF-8; a line that is not is read as Windows-1252, which reference managers once wrote.
    """
    with opened(file, compression) as stream:
        for number, raw in enumerate(stream, 1):
            line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError:
                text = line.decode("cp1252", "replace")
            yield number, text.rstrip("\r\n")


def pieces(
    records: Iterable[Record], native: Mapping[str, Sequence[str]], asked: Asked, file: str
) -> Iterator[Piece]:
    """Yield the works that records make; `native`: contract column -> fields, first found wins.

    Columns say all fields that a column was taken from, as `AN, DO`. A record without any id is
    a bad one, told by its number.
    """
    names = _sources(native, asked)
    used: dict[str, dict[str, None]] = {name: {} for name in names}
    rows: list[list[str | None]] = []
    kept: list[list[str | None]] = []
    given = False
    unreadable = 0
    for number, record in enumerate(records, 1):
        row = {name: _first(record.fields, names[name], used[name]) for name in names}
        if row["id"] is None:
            sought = ", ".join(names["id"])
            where = f"record {number:,} ({record.where})"
            asked.bad.found(file, where, f"no id: none of {sought}", record.text)
            continue
        plain = {name: _plain(name, value) for name, value in row.items()}
        unreadable += plain.get("year") is None and row.get("year") is not None
        rows.append(list(plain.values()))
        kept.append([_kept(record.fields, name) for name in asked.keep])
        if len(rows) == RECORDS_A_PIECE:
            yield replace(_piece(rows, kept, names, used, asked), unreadable_years=unreadable)
            rows, kept, given, unreadable = [], [], True, 0
    if rows or not given:
        yield replace(_piece(rows, kept, names, used, asked), unreadable_years=unreadable)


def _sources(native: Mapping[str, Sequence[str]], asked: Asked) -> dict[str, Sequence[str]]:
    for name, path in asked.mapping.items():
        if name not in NATIVE_NAMES:
            names = ", ".join(NATIVE_NAMES)
            raise UsageError(f"--map {name}={path}: no such frame column; there are {names}.")
    sources = {**native, **{name: (path,) for name, path in asked.mapping.items()}}
    return {name: sources[name] for name in asked.wanted if name in sources}


def _piece(
    rows: list[list[str | None]],
    kept: list[list[str | None]],
    names: Mapping[str, Sequence[str]],
    used: Mapping[str, Mapping[str, None]],
    asked: Asked,
) -> Piece:
    works = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    works = works.with_columns(_conformed(name) for name in names)
    carried = (
        pl.DataFrame(kept, schema=dict.fromkeys(asked.keep, pl.String), orient="row")
        if asked.keep
        else pl.DataFrame(height=works.height)
    )
    columns = {name: ", ".join(used[name] or names[name]) for name in names}
    return Piece(works, carried, columns)


def _conformed(name: str) -> pl.Expr:
    match name:
        case "id":
            return bare_id(pl.col(name).str.replace(_DOI_ADDRESS, ""))
        case "year":
            return pl.col(name).cast(pl.Int32, strict=False)
        case _:
            return pl.col(name)


def _first(fields: Fields, sought: Sequence[str], used: dict[str, None]) -> str | None:
    for name in sought:
        value = fields.get(name)
        text = value if isinstance(value, str) or value is None else next(iter(value), None)
        if text is not None and (text := text.strip()):
            used[name] = None
            return text
    return None


def _kept(fields: Fields, name: str) -> str | None:
    value = fields.get(name)
    if value is None or isinstance(value, str):
        return value
    return value[0] if len(value) == 1 else json.dumps(list(value), ensure_ascii=False)


def _plain(name: str, value: str | None) -> str | None:
    """Return the year in a date such as `2018/02/13/`, OpenAlex's words for languages and types."""
    if value is None:
        return None
    if name == "year":
        found = _YEAR.search(value)
        return found[1] if found else None
    known = {"lang": _LANGUAGES, "type": _TYPES}.get(name, {})
    return known.get(value.lower(), value)
