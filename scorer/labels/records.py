"""Reading the files that labels come in: Parquet tables, and JSON lists of records."""

import json
from pathlib import Path
from typing import Final

import polars as pl

from scorer.errors import InputError
from scorer.frame.contract import bare_id
from scorer.frame.ids import check_ids
from scorer.frame.parquet import open_parquet

_MAGIC: Final = b"PAR1"


def read_records(path: Path, *, needed: tuple[str, ...], distinct: bool = True) -> pl.DataFrame:
    """Read records from Parquet or JSON, whichever the file holds, ids as in the frame contract.

    `distinct`: whether an id may occur once only.
    """
    if is_parquet(path):
        table = pl.from_arrow(open_parquet(path).read())
        assert isinstance(table, pl.DataFrame)
    else:
        table = _read_json(path)
    for name in needed:
        if name not in table.columns:
            raise InputError(
                f"{path}: no record has {name!r}; each one needs it. "
                f"Found: {', '.join(table.columns) or 'nothing'}."
            )
    if "id" in table.columns:
        kind = table["id"].dtype
        if kind not in (pl.String, pl.Categorical, pl.Enum, pl.Null) and not kind.is_integer():
            raise InputError(f"{path}: column 'id' holds {kind}, expected text or integers.")
        table = table.with_columns(bare_id(pl.col("id")))
        if distinct:
            check_ids(lambda: [table["id"]], table.height, path.name)
    return table


def is_parquet(path: Path) -> bool:
    """Tell by its first bytes whether a file is Parquet."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: a folder or a stream, expected a file. Save it as one first.")
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. Check the path.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _read_json(path: Path) -> pl.DataFrame:
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise TypeError("it holds something else")
        return pl.DataFrame(rows, infer_schema_length=None)
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: not a JSON list of records ({reason}).") from error
