"""Telling what a file holds: by its content first, by its name where the content leaves it open."""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from scorer.errors import InputError
from scorer.frame.files import FrameFile
from scorer.frame.readers.dialect import CONTROLS, DELIMITERS, dialect
from scorer.frame.readers.streams import COMPRESSIONS, opened

LABELS: Final = {
    "parquet": "Parquet",
    "arrow": "Arrow IPC",
    "csv": "delimited text",
    "jsonl": "JSON Lines",
    "json": "JSON",
    "openalex": "OpenAlex works",
    "ris": "RIS",
    "bibtex": "BibTeX",
    "medline": "MEDLINE",
}
"""Kind -> what people call the format."""

FORMATS: Final = "Parquet, Arrow, CSV, TSV, JSON, JSON Lines, OpenAlex, RIS, BibTeX and MEDLINE"

_HEAD: Final = 1 << 16
_COMPRESSED: Final = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2"}
_SKIPPABLE_ZSTD: Final = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
_ARROW_STREAM: Final = b"\xff\xff\xff\xff"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_OTHERS: Final = {
    b"FEA1": "Feather in its first version. Write it as version 2",
    b"PK\x03\x04": "a ZIP archive or an Excel workbook. Unpack it, or save it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Save it as CSV",
    b"\xfd7zXZ\x00": "xz data. Unpack it, or compress it as gzip or zstd",
    b"%PDF-": "a PDF. Export the works as CSV or RIS",
    b"SQLite format 3\x00": "an SQLite database. Export the table as CSV or Parquet",
}
_MARKUP: Final = re.compile(r"<(!doctype|html|\?xml)", re.IGNORECASE)
# Text has one control character in many; of random bytes, one in nine is one.
_RUBBISH_SHARE: Final = 0.05

_WORK: Final = re.compile(r'"id"\s*:\s*"https?://openalex\.org/W\d')
# Names that the contract lacks: a file of the contract may well have OpenAlex's ids.
_NATIVE: Final = re.compile(
    r'"(display_name|publication_year|primary_location|primary_topic|authorships|ids)"\s*:'
)
_META: Final = re.compile(r'"meta"\s*:\s*\{')
_RESULTS: Final = re.compile(r'"results"\s*:\s*\[')
_TAGGED: Final = {
    "ris": re.compile(r"^TY {0,2}- ", re.MULTILINE),
    "medline": re.compile(r"^PMID ?- *\d", re.MULTILINE),
    "bibtex": re.compile(
        r"^\s*@\s*(?:(?:string|preamble|comment)\s*[{(]|[a-z]+\s*[{(][^,\n=]*,)", re.M | re.I
    ),
}
# The first line of an object that is spread over several lines.
_OPEN_LINE: Final = re.compile(r"\{\s*(\"[^\"]*\"\s*:.*[,{\[])?\s*")
_KINDS_BY_NAME: Final = {
    **dict.fromkeys([".parquet", ".pq"], ("parquet",)),
    **dict.fromkeys([".arrow", ".arrows", ".ipc", ".feather"], ("arrow",)),
    **dict.fromkeys([".csv", ".tsv", ".tab"], ("csv",)),
    **dict.fromkeys([".jsonl", ".ndjson"], ("jsonl", "openalex")),
    ".json": ("json", "openalex"),
    ".ris": ("ris",),
    **dict.fromkeys([".bib", ".bibtex"], ("bibtex",)),
    **dict.fromkeys([".nbib", ".medline"], ("medline",)),
}
"""Extension -> the kinds that it may stand for, first the one to take where nothing tells."""
_COMPRESSION_BY_NAME: Final = {
    ".gz": "gz", ".gzip": "gz", ".zst": "zst", ".zstd": "zst", ".bz2": "bz2",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What a file holds."""

    kind: str
    """A key of `LABELS`, and of the registry's readers."""
    compression: str | None
    """None, "gz", "zst" or "bz2"."""
    note: str | None = None
    """Where the name says otherwise than the content, what it is read as."""


def sniff(file: FrameFile) -> Sniffed:
    """Tell what a file holds; raise `InputError` where it is empty or none of the formats."""
    with opened(file, None) as stream:
        start = stream.read(16)
    compression = _compression(start)
    with opened(file, compression) as stream:
        head = stream.read(_HEAD)
    _refuse_empty(file.name, head)
    packed = f", inside {COMPRESSIONS[compression]}" if compression else ""
    kind = _binary(file.name, head, packed)
    label = LABELS.get(kind or "")
    if kind is None:
        kind, label = _text(file.name, head, packed)
    return Sniffed(kind, compression, _note(file.name, kind, compression, label or ""))


def by_name(name: str) -> tuple[tuple[str, ...], str | None]:
    """Return the kinds and the compression that the extensions of a name speak of."""
    path = PurePath(name.lower())
    compression = _COMPRESSION_BY_NAME.get(path.suffix)
    if compression:
        path = path.with_suffix("")
    return _KINDS_BY_NAME.get(path.suffix, ()), compression


def _compression(start: bytes) -> str | None:
    if _SKIPPABLE_ZSTD.match(start):
        return "zst"
    found = (name for magic, name in _COMPRESSED.items() if start.startswith(magic))
    return next(found, None)


def _refuse_empty(name: str, head: bytes) -> None:
    if len(head) < _HEAD and not head.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError(f"{name}: the file is empty. Make it again.")


def _binary(name: str, head: bytes, packed: str) -> str | None:
    """Return the kind of a binary file by its magic; raise `InputError` for those not read."""
    if head.startswith(b"PAR1"):
        if packed:
            raise InputError(f"{name}: Parquet{packed}. Unpack it first.")
        return "parquet"
    if head.startswith((b"ARROW1", _ARROW_STREAM)):
        return "arrow"
    for magic, what in _OTHERS.items():
        if head.startswith(magic):
            raise InputError(f"{name}: holds {what}.\nFormats read: {FORMATS}.")
    return None


def _text(name: str, head: bytes, packed: str) -> tuple[str, str]:
    """Return the kind of a text file and what people call it."""
    text = _decoded(head)
    if _MARKUP.match(text.lstrip()):
        raise InputError(
            f"{name}: holds HTML or XML{packed}, perhaps the page of a download that failed.\n"
            f"Formats read: {FORMATS}."
        )
    kind = _json(text) or _tagged(text)
    if kind and head.startswith(_UTF16):
        raise InputError(
            f"{name}: holds {LABELS[kind]} in UTF-16. Save it as UTF-8.\nFormats read: {FORMATS}."
        )
    if kind is None:
        found = dialect(text)
        if found.clear:
            return "csv", DELIMITERS.get(found.delimiter, LABELS["csv"])
        if len(CONTROLS.findall(text)) > _RUBBISH_SHARE * len(text):
            raise InputError(f"{name}: binary data of no known format.\nFormats read: {FORMATS}.")
        named = [kind for kind in by_name(name)[0] if kind not in ("parquet", "arrow")]
        kind = named[0] if named else "csv"
    return kind, LABELS[kind]


def _decoded(head: bytes) -> str:
    if head.startswith(_UTF16):
        return head.decode("utf-16", "replace")
    return head.decode("utf-8-sig", "replace")


def _json(text: str) -> str | None:
    text = text.lstrip()
    if not text.startswith(("{", "[")):
        return None
    if (_WORK.search(text) and _NATIVE.search(text)) or (
        _META.search(text) and _RESULTS.search(text)
    ):
        return "openalex"
    if text.startswith("["):
        # A list of records, or one of no records; any other text may begin with a bracket.
        return "json" if text[1:].lstrip()[:1] in ("{", "]") else None
    first = text.splitlines()[0]
    rest = text[len(first) :].strip()
    return "json" if rest and _OPEN_LINE.fullmatch(first) else "jsonl"


def _tagged(text: str) -> str | None:
    places = {kind: found.start() for kind, mark in _TAGGED.items() if (found := mark.search(text))}
    return min(places, key=lambda kind: places[kind], default=None)


def _note(name: str, kind: str, compression: str | None, label: str) -> str | None:
    kinds, packed = by_name(name)
    lies = bool(kinds) and kind not in kinds
    if kind == "csv" and name.lower().removesuffix(f".{packed}").endswith((".tsv", ".tab")):
        lies = label != DELIMITERS["\t"]
    said = [label] if lies else []
    if packed != compression:
        said.append(f"{COMPRESSIONS[compression]} data" if compression else "no compressed data")
    return f"{name}: holds {', '.join(said)}; read as that" if said else None
