"""Options that several commands share, each worded once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scorer.errors import UsageError

Model = Annotated[
    str,
    typer.Option("--model", metavar="NAME", help="A shipped bundle's name, or a bundle's folder."),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="A policy file; by default the bundle's own."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output that exists already.")
]


class ModeName(StrEnum):
    """Which calls a table speaks of; a scored file always holds both."""

    candidate = "candidate"
    consensus = "consensus"
    both = "both"


def pairs(words: list[str], option: str) -> dict[str, str]:
    """Read NAME=VALUE words; raise `UsageError` for one of another form."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {word}: expected NAME=VALUE.")
        if name in found:
            raise UsageError(f"{option} {word}: {name} is given twice.")
        found[name] = value
    return found
