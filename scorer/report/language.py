"""English and French: sentences, and numbers as each language writes them.

All sentences stand in `texts/<subject>.<language>.toml`; names and numbers of a work, a file or a
head are passed to them. Pages, terminal views and the site speak through one `Texts`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

from babel import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.numbers import format_decimal, format_percent

from scorer.targets import Label

# In French a space stands before these, and inside quotation marks; no line may break there.
_FRENCH_SPACE: Final = re.compile(r"(?<=«) | (?=[:;?!»%])")
_NO_BREAK: Final = "\u00a0"


class Language(StrEnum):
    """The languages of pages and terminal views."""

    en = "en"
    fr = "fr"


class Texts:
    """The sentences of one language.

    Keys are dotted: `record.title`. Numbers among the values are written as the language does; a
    year is passed as text, for it takes no separator.
    """

    def __init__(self, language: Language) -> None:
        """Load the language's sentences."""
        self.language = language
        self._locale = Locale.parse(language.value)
        self._sentences = sentences(language)

    def __call__(self, key: str, **values: str | int | float) -> str:
        """Return a sentence; raise `KeyError` where there is none of that key."""
        written = {
            name: value if isinstance(value, str) else self.number(value)
            for name, value in values.items()
        }
        return self._sentences[key].format(**written)

    def counted(self, key: str, count: int, **values: str | int | float) -> str:
        """Return the sentence for a number of things: `<key>.one` or `<key>.other`."""
        form = self._locale.plural_form(count)
        chosen = f"{key}.{form}" if f"{key}.{form}" in self._sentences else f"{key}.other"
        return self(chosen, count=count, **values)

    def has(self, key: str) -> bool:
        """Tell whether there is a sentence of that key."""
        return key in self._sentences

    def label(self, label: Label) -> str:
        """Return what people read for a target or a value."""
        return str(getattr(label, self.language.value))

    def score(self, score: float | None) -> str:
        """Return a score with three decimals; a dash where there is none."""
        return "–" if score is None else self.number(score, decimals=3)

    def number(self, value: int | float, decimals: int | None = None) -> str:
        """Return a number as the language writes it; `decimals`: exactly so many."""
        pattern = None if decimals is None else "#,##0." + "0" * decimals if decimals else "#,##0"
        return format_decimal(value, format=pattern, locale=self._locale)

    def signed(self, value: int) -> str:
        """Return an integer with its sign: a minus sign, not a hyphen."""
        sign = "+" if value > 0 else "−" if value < 0 else ""
        return sign + self.number(abs(value))

    def percent(self, value: float, decimals: int = 1) -> str:
        """Return a share of 1 in per cent."""
        pattern = "#,##0." + "0" * decimals if decimals else "#,##0"
        sign = f"{_NO_BREAK}%" if self.language is Language.fr else "%"
        return format_percent(value, format=pattern + sign, locale=self._locale)

    def day(self, iso: str) -> str:
        """Return the day of an ISO time stamp."""
        day = datetime.fromisoformat(iso)
        written = format_date(day, format="long", locale=self._locale)
        # CLDR has no ordinal; in French the first of a month, and no other day, is one.
        first = self.language is Language.fr and day.day == 1
        return re.sub(r"^1\b", "1er", written) if first else written

    def listed(self, words: Sequence[str]) -> str:
        """Return words as one list: a, b, and c."""
        return format_list(words, locale=self._locale)


@cache
def sentences(language: Language) -> Mapping[str, str]:
    """Return every sentence of a language by its dotted key."""
    found: dict[str, str] = {}
    for file in sorted(files(__package__).joinpath("texts").iterdir(), key=lambda file: file.name):
        if file.name.endswith(f".{language.value}.toml"):
            for key, text in _flat(tomllib.loads(file.read_text(encoding="utf-8"))):
                if key in found:
                    raise ValueError(f"{file.name}: {key} has a sentence in another file already")
                found[key] = _spaced(text) if language is Language.fr else text
    return found


def _flat(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value)


def _spaced(text: str) -> str:
    return _FRENCH_SPACE.sub(_NO_BREAK, text)
