"""Works that are scored but never called, because they carry labels already: a list of ids."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.errors import InputError
from scorer.frame.contract import bare_id
from scorer.frame.lookup import IdLookup, IdsFound
from scorer.labels.records import is_parquet, read_records

_FORMS: Final = "Give a Parquet file with a column id, or text with an id a line."
_NO_ID: Final = re.compile(r"[\s,;\"'\[\]{}]")


@dataclass(frozen=True, slots=True)
class ExcludedWorks:
    """The ids of a file, each once, and which of them have been met."""

    file: str
    size: int
    sha256: str
    lookup: IdLookup
    found: IdsFound

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read ids: a Parquet file with a column `id`, or text with an id a line."""
        ids = _ids(path).unique(maintain_order=True)
        lookup = IdLookup(ids)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(path.name, path.stat().st_size, digest, lookup, IdsFound(lookup))

    def among(self, ids: pl.Series) -> npt.NDArray[np.bool_]:
        """Tell which of these works are excluded: bool [works]."""
        places = self.lookup.find(ids)
        self.found.add(places)
        found: npt.NDArray[np.bool_] = places >= 0
        return found


def _ids(path: Path) -> pl.Series:
    ids = (
        read_records(path, needed=("id",), distinct=False)["id"].drop_nulls()
        if is_parquet(path)
        else _lines(path)
    )
    if ids.is_empty():
        raise InputError(f"{path}: holds no id. Leave the option out, or give the ids.")
    return ids


def _lines(path: Path) -> pl.Series:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: neither Parquet nor text ({error.reason}).\n{_FORMS}") from error
    for number, line in enumerate(lines, start=1):
        if _NO_ID.search(line.strip()):
            raise InputError(f"{path}: line {number} is no id: {line[:40]!r}.\n{_FORMS}")
    words = [line.strip() for line in lines if line.strip()]
    ids = pl.Series("id", words[1:] if words[:1] == ["id"] else words, pl.String)
    return ids.to_frame().select(bare_id(pl.col("id"))).to_series()
