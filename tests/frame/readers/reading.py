"""Reading a small file whole, as the engine would: told by its content, read by the registry."""

from pathlib import Path

import polars as pl
import pytest

from scorer.errors import InputError, ScorerError
from scorer.frame.files import LocalFile
from scorer.frame.readers.base import Asked, BadRecords, Piece
from scorer.frame.readers.registry import READERS
from scorer.frame.readers.sniff import sniff

EVERY = (
    *("id", "title", "abstract", "abstract_inverted_index", "venue", "topic", "field"),
    *("lang", "type", "year"),
)


def pieces(path: Path, kind: str | None = None, **asked) -> list[Piece]:
    file = LocalFile.at(path)
    told = sniff(file)
    read = READERS[kind or told.kind]
    return list(read(file, told.compression, Asked(**{"wanted": EVERY, **asked})))


def works(path: Path, kind: str | None = None, **asked) -> dict[str, list[object]]:
    found = [piece.works for piece in pieces(path, kind, **asked)]
    return pl.concat(found, how="diagonal").to_dict(as_series=False)


def refusal(path: Path, kind: str | None = None, error: type[ScorerError] = InputError, **asked):
    """The text of the error, the folder left out of it."""
    with pytest.raises(error) as caught:
        pieces(path, kind, **asked)
    return str(caught.value).replace(f"{path.parent}/", "")


def skipping(tmp_path: Path) -> BadRecords:
    return BadRecords("skip", tmp_path / "aside.tsv")


def aside(path: Path) -> list[list[str]]:
    """The lines of the side file, without the file's name."""
    lines = (path.parent / "aside.tsv").read_text().splitlines()
    return [line.split("\t", 3)[1:] for line in lines]
