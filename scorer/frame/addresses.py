"""A work's name as people write or paste it: an id or a DOI, alone or inside an address."""

import re
from typing import Final

_OPENALEX: Final = re.compile(
    r"(?:(?:https?://)?(?:www\.|api\.)?openalex\.org/(?:works/)?)?(W\d+)/?(?:[?#].*)?", re.I
)
_DOI: Final = re.compile(r"(?:(?:https?://)?(?:dx\.|www\.)?doi\.org/|doi:\s*)?(10\.\d+/\S+)", re.I)


def openalex_id(word: str) -> str | None:
    """Return the id of a work at OpenAlex (`W123`) that a word is, or whose address it is."""
    found = _OPENALEX.fullmatch(word.strip())
    return found[1].upper() if found else None


def doi(word: str) -> str | None:
    """Return the DOI (`10.1/x`, as it is written) that a word is, or whose address it is."""
    found = _DOI.fullmatch(word.strip())
    return found[1] if found else None
