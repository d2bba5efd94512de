"""BibTeX and BibLaTeX libraries, split into fields by bibtexparser, LaTeX decoded by pylatexenc.

bibtexparser takes whole texts: entries are cut out first, one at a time, at lines that begin with
`@`, where it would recover from an entry without end as well.
"""

import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from scorer.frame.files import FrameFile
from scorer.frame.readers.base import Asked, Piece
from scorer.frame.readers.bib_records import Record, library, numbered_lines, pieces

_BIBTEX: Final[Mapping[str, Sequence[str]]] = {
    "id": ("ID", "doi", "pmid"),  # ID: the entry's key, as bibtexparser once called it
    "title": ("title",),
    "abstract": ("abstract",),
    "venue": ("journal", "journaltitle", "booktitle"),
    "lang": ("langid", "language"),
    "type": ("ENTRYTYPE",),
    "year": ("year", "date"),
}
_BLOCK: Final = re.compile(r"\s*@\s*\w+\s*[{(]")
_BARE: Final = re.compile(r"(?<!\\)[%&]")
# Parts of a value, joined by `#`: in braces (two levels are matched, no more are found), in quotes,
# a name or a number.
_PART: Final = re.compile(
    r'\s*(\{(?:[^{}]|\{[^{}]*\})*+\}|"(?:[^"{}]|\{[^{}]*\})*+"|[^\s#{}"]+)\s*'
)
# What most texts with a backslash should have: escaped signs and accents of a letter. These
# are undone here, for pylatexenc reads a hundred abstracts a second.
_ESCAPED: Final = re.compile(r"\\([%&_#$])")
_LETTER: Final = r"(?:\{\\?([A-Za-z])\}|\\?([A-Za-z]))"
_ACCENT: Final = re.compile(rf"\\(?:(['`^\"~=.])\s*|([cvuHkrbd])(?=[\s{{\\])\s*){_LETTER}")
_MARKS: Final = dict(
    zip(
        "'`^\"~=.cvuHkrbd",
        "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0327\u030c\u0306\u030b\u0328\u030a\u0331\u0323",
        strict=True,
    )
)
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)

_NESTING: Final = re.compile(r"[{}\[\]]")
_DEEPEST_DECODED: Final = 6
_LONGEST_DECODED: Final = 20_000


def read(file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
    """Yield the works of a BibTeX file; see `Reader`."""
    needed = {name for names in _BIBTEX.values() for name in names}
    needed |= {*asked.mapping.values(), *asked.keep}
    records = _Entries(file.name, asked, needed).of(_blocks(numbered_lines(file, compression)))
    yield from pieces(records, _BIBTEX, asked, file.name)


class _Entries:
    """Turns blocks into records; remembers the abbreviations that `@string` defines."""

    def __init__(self, file: str, asked: Asked, needed: set[str]) -> None:
        self._file, self._bad, self._needed = file, asked.bad, needed
        self._strings = {month: month for month in _MONTHS}
        self._splitter: Callable[[str], Any] = library("bibtexparser.splitter").Splitter
        self._model = library("bibtexparser.model")
        self._decode: Callable[[str], str] = (
            library("pylatexenc.latex2text").LatexNodes2Text(math_mode="verbatim").latex_to_text
        )
        # It tells of bad blocks in the log, too; here they are bad records.
        logging.getLogger("bibtexparser").addHandler(logging.NullHandler())

    def of(self, texts: Iterator[tuple[int, str]]) -> Iterator[Record]:
        """Yield the entries in texts: pairs of the line that a text begins at and the text."""
        model = self._model
        for line, text in texts:
            for found in self._splitter(text).split().blocks:
                block = found
                where = f"line {line + max(0, block.start_line or 0):,}"
                if isinstance(block, model.ParsingFailedBlock):
                    if block.ignore_error_block is None:
                        self._bad.found(self._file, where, _reason(block.error), block.raw or text)
                        continue
                    block = block.ignore_error_block  # a field given twice: the first one counts
                if isinstance(block, model.String):
                    self._strings[block.key.lower()] = self._value(block.value)
                elif isinstance(block, model.Entry):
                    yield Record(where, self._fields(block), block.raw or text)

    def _fields(self, entry: Any) -> dict[str, str]:  # noqa: ANN401 - of bibtexparser's model
        fields = {"ID": entry.key, "ENTRYTYPE": entry.entry_type.lower()}
        for field in entry.fields:
            name = field.key.lower()
            if name in self._needed and name not in fields:
                fields[name] = self._plain(self._value(field.value))
        return fields

    def _value(self, raw: str) -> str:
        """Return a value without its braces or quotes, abbreviations spelled out."""
        if raw[:1] == "{" and raw.find("#") < 0:
            return raw[1:-1]
        parts, at = [], 0
        while found := _PART.match(raw, at):
            part, at = found[1], found.end()
            parts.append(
                self._strings.get(part.lower(), part) if part[0] not in '{"' else part[1:-1]
            )
            if raw[at : at + 1] != "#":
                break
            at += 1
        if at == len(raw):
            return "".join(parts)
        return raw[1:-1] if raw[:1] in '{"' else raw

    def _plain(self, value: str) -> str:
        """Return LaTeX as Unicode; formulas stay, the cleaning of texts knows them."""
        if "\\" in value and "$" not in value:
            value = unicodedata.normalize("NFC", _ACCENT.sub(_accented, _ESCAPED.sub(r"\1", value)))
        if "\\" in value and _is_tame(value):
            # Bare, % begins a comment and & a column of a table; in abstracts they are neither.
            value = self._decode(_BARE.sub(r"\\\g<0>", value))
        else:
            value = value.replace("{", "").replace("}", "").replace("~", " ")
        return " ".join(value.split())


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the line that a block begins at, and the text from there to the next block."""
    began, held = 1, list[str]()
    for number, line in lines:
        if held and _BLOCK.match(line):
            yield began, "\n".join(held)
            began, held = number, []
        held.append(line)
    if held:
        yield began, "\n".join(held)


def _is_tame(value: str) -> bool:
    """Tell whether a value may be decoded: each level of nesting can double the time it takes.

    Others keep their commands, which the cleaning of texts takes out later.
    """
    depth = deepest = 0
    for sign in _NESTING.findall(value):
        depth += 1 if sign in "{[" else -1
        deepest = max(deepest, depth)
    return len(value) <= _LONGEST_DECODED and deepest <= _DEEPEST_DECODED


def _accented(found: re.Match[str]) -> str:
    return (found[3] or found[4]) + _MARKS[found[1] or found[2]]


def _reason(error: Exception) -> str:
    reason = getattr(error, "abort_reason", None) or str(error)
    return f"no BibTeX entry ({' '.join(reason.split()).rstrip('.')})"
