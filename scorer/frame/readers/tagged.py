"""Bibliographies with a tag a line, read by rispy: RIS, and PubMed's MEDLINE text (`.nbib`).

rispy takes whole texts: records are cut out first, one at a time, so that a file of any size fits.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from scorer.frame.files import FrameFile
from scorer.frame.readers.base import Asked, Piece
from scorer.frame.readers.bib_records import Fields, Record, library, numbered_lines, pieces

_RIS: Final[Mapping[str, Sequence[str]]] = {
    "id": ("ID", "AN", "DO", "PMID"),
    "title": ("TI", "T1"),
    "abstract": ("AB", "N2"),
    "venue": ("JF", "T2", "JO", "BT", "JA"),  # full names before short ones
    "lang": ("LA",),
    "type": ("TY",),
    "year": ("PY", "Y1", "DA"),
}
_MEDLINE: Final[Mapping[str, Sequence[str]]] = {
    "id": ("PMID",),
    "title": ("TI", "BTI", "TT"),
    "abstract": ("AB",),
    "venue": ("JT", "TA"),
    "lang": ("LA",),
    "type": ("PT",),
    "year": ("DP", "DEP"),
}
_RIS_LISTS: Final = ("A1", "A2", "A3", "A4", "AU", "ED", "KW", "N1", "UR", "L1", "L2", "SN")
_MEDLINE_LISTS: Final = (
    *(
        "AD",
        "AID",
        "AU",
        "AUID",
        "CN",
        "FAU",
        "GR",
        "IR",
        "IS",
        "LA",
        "LID",
        "MH",
        "OT",
        "PT",
        "RN",
    ),
)
_RIS_START: Final = re.compile(r"TY {2}-")
_RIS_END: Final = re.compile(r"ER {2}-")
_MEDLINE_TAG: Final = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?")
_END: Final = "ER  - "


def read_ris(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of a RIS file; see `Reader`."""
    records = _records(file, _ris_texts(numbered_lines(file, compression)), "RIS", asked)
    yield from pieces(records, _RIS, asked, file.name)


def read_medline(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of a file in PubMed's MEDLINE format; see `Reader`."""
    texts = _medline_texts(numbered_lines(file, compression))
    yield from pieces(_records(file, texts, "MEDLINE", asked), _MEDLINE, asked, file.name)


class _EveryTag(dict[str, str]):
    """A mapping in which each tag is its own name, so that `--keep` may name any."""

    def __missing__(self, tag: str) -> str:
        return tag


@cache
def _parser(kind: str) -> Any:  # noqa: ANN401 - rispy has no types
    """Return the parser of a format, tags as names."""
    rispy = library("rispy")
    if kind == "RIS":
        return rispy.RisParser(mapping=_EveryTag(), list_tags=_RIS_LISTS, delimiter_tags_mapping={})

    class Medline(rispy.RisParser):  # type: ignore[name-defined,misc]
        """Tags of up to four letters; PubMed ends a record with a blank line, rispy with ER."""

        START_TAG = "PMID"

        def parse_line(self, line: str) -> tuple[str | None, str]:
            tag = _MEDLINE_TAG.match(line)
            return (tag[1], line[tag.end() :].strip()) if tag else (None, line.strip())

    return Medline(mapping=_EveryTag(), list_tags=_MEDLINE_LISTS, delimiter_tags_mapping={})


def _records(
    file: FrameFile, texts: Iterator[tuple[int, list[str]]], kind: str, asked: Asked
) -> Iterator[Record]:
    parser = _parser(kind)
    for line, lines in texts:
        where, text = f"line {line:,}", "\n".join(lines)
        fields = _parsed(parser, lines)
        if fields is None:
            asked.bad.found(file.name, where, f"no {kind} record", text)
        else:
            yield Record(where, fields, text)


def _parsed(parser: Any, lines: list[str]) -> Fields | None:  # noqa: ANN401 - rispy has no types
    try:
        found = parser.parse_lines(iter([*lines, _END]))
    except (KeyError, TypeError, ValueError):  # text before the first tag
        return None
    return found[0] if found else None


def _ris_texts(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield each record's first line number and lines; what stands between records goes.

    A record that lacks its end ends where the next begins, or with the file.
    """
    began, held = 0, list[str]()
    for number, line in lines:
        starts = _RIS_START.match(line)
        if held and (starts or _RIS_END.match(line)):
            yield began, held
            held = []
        if starts:
            began, held = number, [line]
        elif held and line.strip():
            held.append(line)
    if held:
        yield began, held


def _medline_texts(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield each record's first line number and lines: up to a blank line, or the next PMID."""
    began, held = 0, list[str]()
    for number, line in lines:
        blank = not line.strip()
        if held and (blank or line.startswith("PMID-")):
            yield began, held
            held = []
        if not blank:
            began = began if held else number
            held.append(line)
    if held:
        yield began, held
