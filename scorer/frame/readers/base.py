"""What every reader of works takes and gives."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

import polars as pl

from scorer.errors import InputError
from scorer.frame.files import FrameFile

RECORDS_A_PIECE: Final = 16_384
"""About so many records a reader gives at a time; with abstracts that is 25 MB of text."""

OnBad = Literal["error", "skip"]


class BadRecords:
    """Records that cannot be read: an error at once, or counted and written aside."""

    def __init__(self, policy: OnBad = "error", aside: Path | None = None) -> None:
        """`aside`: the file that skipped records go to."""
        self.policy = policy
        self._aside = aside
        self.count = 0

    def found(self, file: str, where: str, reason: str, content: str) -> None:
        """Take note of a bad record, for instance ("x.jsonl", "line 7", "cut off", "{...")."""
        if self.policy == "error":
            raise InputError(
                f"{file}: {where}: {reason}.\nMend the record, or say --on-bad-line skip."
            )
        self.count += 1
        if self._aside is not None:
            with self._aside.open("a", encoding="utf-8", errors="replace") as out:
                # One line a record, whatever breaks its own text has.
                record = content.rstrip().replace("\\", r"\\").replace("\n", r"\n")
                record = record.replace("\r", r"\r").replace("\t", r"\t")
                out.write(f"{file}\t{where}\t{reason}\t{record}\n")

    def join(self, count: int, aside: Path) -> None:
        """Take over `count` records that were skipped elsewhere, and listed in the file `aside`."""
        self.count += count
        if count and self._aside is not None:
            with self._aside.open("ab") as out, aside.open("rb") as skipped:
                shutil.copyfileobj(skipped, out)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of each record."""

    wanted: tuple[str, ...]
    """The contract's columns, `id` and `title` among them."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Contract column -> where the user says it is (`--map`)."""
    keep: tuple[str, ...] = ()
    """Further columns to carry along; readers that are not of tables give them as text."""
    bad: BadRecords = field(default_factory=BadRecords)


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive works of a file.

    `works`: the contract's columns that were asked for and that this file has, as `conform` in
    contract.py makes them (`abstract_inverted_index` may stay JSON text); `kept`: the columns of
    `Asked.keep`, as many rows; `columns`: contract column -> where it was found.
    """

    works: pl.DataFrame
    kept: pl.DataFrame
    columns: Mapping[str, str]
    notes: tuple[str, ...] = ()
    """What the user should know of the file: said once, with its first piece."""
    unreadable_years: int = 0
    """Works whose year is there and is no whole number: it is null, as a missing one."""


class Reader(Protocol):
    """Reads the works of one file, piece by piece, in memory that does not grow with the file."""

    def __call__(self, file: FrameFile, compression: str | None, asked: Asked) -> Iterator[Piece]:
        """Yield the works in their order; `compression`: None, "gz", "zst" or "bz2".

        Raises `InputError` that names file and line (or record) and says what to do. A file
        without works yields one empty piece, so that its columns are known.
        """
