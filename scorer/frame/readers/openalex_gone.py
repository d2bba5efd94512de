"""Works that OpenAlex took back: deleted ones, and ones merged into others."""

from collections.abc import Iterable
from typing import Final

import polars as pl

from scorer.errors import InputError
from scorer.frame.contract import bare_id
from scorer.frame.files import FrameFile
from scorer.frame.readers.streams import opened

DELETED_WORK: Final = "W4285719527"
"""Deleted works were merged into this one; its title is DELETED_TITLE."""
DELETED_TITLE: Final = "Deleted Work"


def is_deleted(ids: pl.Expr, titles: pl.Expr) -> pl.Expr:
    """Tell which works are what OpenAlex leaves in place of deleted ones; never null."""
    deleted = (bare_id(ids) == DELETED_WORK) | (titles.str.strip_chars() == DELETED_TITLE)
    return deleted.fill_null(False)


def merged_away(files: Iterable[tuple[FrameFile, str | None]]) -> pl.Series:
    """Return the ids of works that were merged into others, each once, as the contract has them.

    `files`: the snapshot's `data/merged_ids/works/*.csv.gz` and how each is compressed. A column,
    not a Python set: there may be millions of them.
    """
    found = [pl.Series("id", [], dtype=pl.String)]
    for file, compression in files:
        with opened(file, compression) as stream:
            content = stream.read()
        try:
            table = pl.read_csv(content, columns=["id"], schema_overrides={"id": pl.String})
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise InputError(
                f"{file.name}: no list of merged ids (merge_date,id,merge_into_id).\n"
                "Give the files of data/merged_ids/works in OpenAlex's snapshot."
            ) from error
        found.append(table.select(bare_id(pl.col("id")))["id"].drop_nulls())
    return pl.concat(found).unique(maintain_order=True)
