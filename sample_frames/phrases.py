"""The phrase tables that all frames here are written from, read from the TOML files.

`ORDINARY` and `META` (research on research) say what works are about, `ENGLISH` and `FRENCH` how
sentences and titles run.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

Phrases = tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """What one subject says in one language; the rules stand at the head of ordinary.toml."""

    things: Phrases
    factors: Phrases
    among: Phrases
    units: Phrases
    designs: Phrases
    venues: Phrases


@dataclass(frozen=True)
class Subject:
    """A kind of research."""

    name: str
    field: str
    topics: Phrases
    en: Words
    fr: Words
    years: tuple[int, int] | None = None
    """The time that works speak of, where it is not the years before they appeared."""

    @property
    def interpretive(self) -> bool:
        """Whether works argue from sources of the past rather than from counts."""
        return self.years is not None


@dataclass(frozen=True)
class Sections:
    """Sentence templates of an abstract, section by section, in reading order."""

    background: Phrases
    aim: Phrases
    methods: Phrases
    results: Phrases
    conclusion: Phrases


@dataclass(frozen=True)
class Language:
    """All that the grammar needs to write in one language."""

    code: str
    decimal: str
    places: Phrases
    section_names: Phrases
    titles: Phrases
    title_of_type: dict[str, str]
    empirical: Sections
    interpretive: Sections


def load(name: str) -> dict[str, Any]:
    """Read one TOML file of this folder."""
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))


def frozen(table: dict[str, Any]) -> dict[str, Any]:
    """Turn a table's lists into tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def subjects(name: str) -> tuple[Subject, ...]:
    """Read the subjects of one file."""
    return tuple(
        Subject(
            **frozen(table) | {code: Words(**frozen(table[code])) for code in ("en", "fr")},
        )
        for table in load(name)["subject"]
    )


def language(code: str) -> Language:
    """Read the sentences of one language."""
    table = load("sentences.toml")[code]
    kinds = {kind: Sections(**frozen(table[kind])) for kind in ("empirical", "interpretive")}
    return Language(code=code, **frozen(table) | kinds)


ORDINARY = subjects("ordinary.toml")
META = subjects("research_on_research.toml")
ENGLISH = language("en")
FRENCH = language("fr")
