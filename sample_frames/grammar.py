"""The seeded grammar: titles, abstracts and the mess around them, for the rows of works.parquet.

Draws use `random.Random.random()` alone, the one method whose sequence Python promises to keep.
"""

from __future__ import annotations

import html
import html.entities
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

from phrases import Language, Sections, Subject

T = TypeVar("T")
Context = Mapping[str, str]

MIN_WORDS, MAX_WORDS = 60, 230  # an abstract's target length; the last sentence may overshoot it
MIN_TAGGED = 5  # letters of a word that is put in a tag: species and terms are, articles are not
SMALL_COUNTS = 0.3  # of the studies count tens of cases, the others hundreds or thousands
VOWELS = tuple("aeiouhàâéèêîôùœ")  # French elides before these; our words have no aspirate h
SLOT = re.compile(r"\{(?:(de|à):)?(\w+)\}")


def pick(rng: Random, items: Sequence[T]) -> T:
    """Draw one item, each as likely."""
    return items[int(rng.random() * len(items))]


def whole(rng: Random, low: int, high: int) -> int:
    """Draw a whole number from `low` to `high`, both included."""
    return low + int(rng.random() * (high - low + 1))


def weighted(rng: Random, weights: Mapping[T, float]) -> T:
    """Draw one key, as likely as its weight says."""
    left = rng.random() * sum(weights.values())
    for item, weight in weights.items():
        left -= weight
        if left < 0:
            return item
    return item


def shuffled(rng: Random, items: Sequence[T]) -> list[T]:
    """Return the items in a random order."""
    keys = [rng.random() for _ in items]
    return [items[position] for position in sorted(range(len(items)), key=keys.__getitem__)]


def contract(preposition: str, phrase: str) -> str:
    """Join "de" or "à" to a French phrase, contracting with the article "le" and eliding "de"."""
    if phrase.startswith("le "):
        return {"de": "du", "à": "au"}[preposition] + phrase[2:]
    if preposition == "de" and phrase.lower().startswith(VOWELS):
        return f"d'{phrase}"
    return f"{preposition} {phrase}"


def capitalise(text: str) -> str:
    """Upper-case the first letter; text that opens with a tag stays as it is."""
    return text[:1].upper() + text[1:]


def context(subject: Subject, language: Language, year: int, rng: Random) -> dict[str, str]:
    """Choose what one work is about; title and abstract share it."""
    words = subject.fr if language.code == "fr" else subject.en
    things, factors = shuffled(rng, words.things), shuffled(rng, words.factors)
    first, last = subject.years or (year - 35, year - 1)
    return {
        "thing": things[0],
        "thing2": things[1],
        "factor": factors[0],
        "factor2": factors[1],
        "among": pick(rng, words.among),
        "units": pick(rng, words.units),
        "design": pick(rng, words.designs),
        "place": pick(rng, language.places),
        "year1": str(whole(rng, first, last - 10)),
        "year2": str(whole(rng, last - 8, last)),
    }


def number(slot: str, decimal: str, rng: Random) -> str:
    """Write a number for a numeric slot, the English or the French way."""
    if slot == "n":
        count = whole(rng, 12, 90) if rng.random() < SMALL_COUNTS else whole(rng, 100, 9800)
        return f"{count:,}".replace(",", "," if decimal == "." else " ")
    if slot == "small":
        return str(whole(rng, 3, 24))
    value = {
        "pct": f"{rng.random() * 90 + 2:.1f}",
        "p": f"{rng.random() * 0.9 + 0.001:.3f}",
        "ratio": f"{rng.random() * 3 + 0.3:.2f}",
    }[slot]
    return value.replace(".", decimal)


def fill(template: str, about: Context, language: Language, rng: Random) -> str:
    """Fill a template's slots and capitalise the sentence."""

    def value(match: re.Match[str]) -> str:
        preposition, slot = match.groups()
        text = about[slot] if slot in about else number(slot, language.decimal, rng)
        return contract(preposition, text) if preposition else text

    return capitalise(SLOT.sub(value, template))


def title(about: Context, language: Language, kind: str, without_place: bool, rng: Random) -> str:
    """Write a title in the form that works of this type have."""
    forms = [form for form in language.titles if not (without_place and "{place}" in form)]
    plain = fill(pick(rng, forms), about, language, rng)
    template = language.title_of_type.get(kind, "{title}")
    return fill(template, {**about, "title": plain}, language, rng)


def abstract_sections(
    about: Context, language: Language, sections: Sections, rng: Random
) -> list[list[str]]:
    """Write each section's sentences: one each, then more at random until long enough."""
    pools = [
        shuffled(rng, pool)
        for pool in (
            sections.background,
            sections.aim,
            sections.methods,
            sections.results,
            sections.conclusion,
        )
    ]
    target = whole(rng, MIN_WORDS, MAX_WORDS)
    texts = [[fill(pool.pop(), about, language, rng)] for pool in pools]
    while any(pools) and sum(len(text.split()) for part in texts for text in part) < target:
        section = pick(rng, [place for place, pool in enumerate(pools) if pool])
        texts[section].append(fill(pools[section].pop(), about, language, rng))
    return texts


def plain_abstract(texts: Sequence[Sequence[str]]) -> str:
    """Join all sentences to one running text, as most sources give it."""
    return " ".join(sentence for part in texts for sentence in part)


def jats_abstract(texts: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    """Write a structured abstract with JATS tags and escaped signs, as publishers deposit it."""
    parts = (
        f"<jats:sec><jats:title>{name}</jats:title>"
        f"<jats:p>{plain_abstract([part]).replace('&', '&amp;').replace('(p = ', '(p &lt; ')}"
        "</jats:p></jats:sec>"
        for name, part in zip(names, texts, strict=True)
    )
    return "".join(parts)


def inverted(text: str, untidy: bool, rng: Random) -> str:
    """Index a text as OpenAlex does; untidy: words out of order and a position missing."""
    words = text.split()
    gap = whole(rng, 1, len(words) - 1) if untidy else len(words)
    index: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        index.setdefault(word, []).append(place + (place >= gap))
    if untidy:
        index = {word: index[word] for word in shuffled(rng, list(index))}
    return json.dumps(index, ensure_ascii=untidy)


def tag(text: str, name: str, rng: Random) -> str:
    """Put one word of five letters or more into a tag."""
    words = text.split(" ")
    places = [
        place for place, word in enumerate(words) if len(word) >= MIN_TAGGED and word.isalpha()
    ]
    if places:
        place = pick(rng, places)
        words[place] = f"<{name}>{words[place]}</{name}>"
    return " ".join(words)


def escape_accents(text: str, form: str) -> str:
    """Write accented letters as entities; `form` holds `{name}` or `{code}`."""
    names = html.entities.codepoint2name
    return "".join(
        form.format(name=names[ord(letter)], code=ord(letter))
        if letter.isalpha() and not letter.isascii() and ord(letter) in names
        else letter
        for letter in text
    )


def escape_and(text: str, entity: str) -> str:
    """Write the first "and" or "et" as an escaped ampersand."""
    return re.sub(r" (and|et) ", f" {entity} ", text, count=1)


# What sources do to titles. Each leaves a title alone that has nothing for it to change.
MESS: dict[str, Callable[[str, Random], str]] = {
    "<i>": lambda text, rng: tag(text, "i", rng),
    "<scp>": lambda text, rng: tag(text, "scp", rng),
    "<jats:p>": lambda text, rng: f"<jats:p>{text}</jats:p>",
    "escaped tag": lambda text, rng: html.escape(tag(text, "em", rng)),
    "&amp;": lambda text, rng: escape_and(text, "&amp;"),
    "&amp;amp;": lambda text, rng: escape_and(text, "&amp;amp;"),
    "&eacute;": lambda text, rng: escape_accents(text, "&{name};"),
    "&amp;eacute;": lambda text, rng: escape_accents(text, "&amp;{name};"),
    "&#233;": lambda text, rng: escape_accents(text, "&#{code};"),
    "&#xE9;": lambda text, rng: escape_accents(text, "&#x{code:X};"),
    "&quot;": lambda text, rng: text.replace('"', "&quot;").replace("«", "&laquo;"),
    "ligature": lambda text, rng: (
        text.replace("ffi", "\ufb03").replace("fi", "\ufb01").replace("fl", "\ufb02")
    ),
    "decomposed": lambda text, rng: unicodedata.normalize("NFD", text),
    "no-break space": lambda text, rng: text.replace(" :", "\u00a0:").replace(" in ", " in\u00a0"),
    "thin space": lambda text, rng: text.replace(" ", "\u2009", 2),
    "full width": lambda text, rng: text.replace(":", "\uff1a").replace("(", "\uff08"),
    "superscript": lambda text, rng: text + "\u00b9",
    "upper case": lambda text, rng: text.upper(),
    "extra space": lambda text, rng: text.replace(" ", "  ", 3) + "\n",
}


def mess(text: str, rng: Random) -> tuple[str, str]:
    """Spoil a title in one way that changes it; returns the text and the way's name."""
    for name in shuffled(rng, list(MESS)):
        changed = MESS[name](text, rng)
        if changed != text:
            return changed, name
    return text, ""
