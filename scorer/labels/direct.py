"""Direct labels: a head's calls as they were given, looked up by id, batch after batch."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.counted import counted
from scorer.errors import InputError
from scorer.frame.lookup import IdLookup, IdsFound
from scorer.labels.records import read_records
from scorer.policy.calls import Given
from scorer.targets import Targets

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class DirectLabels:
    """The labels of one head, by id.

    `said`, `known`: uint64 [labels], bit `i` for the binary target `i`; `axes`: axis -> Enum
    [labels].
    """

    head: str
    file: str
    size: int
    sha256: str
    flags: tuple[str, ...]
    """The flags that the file has a column for."""
    said: npt.NDArray[np.uint64]
    known: npt.NDArray[np.uint64]
    axes: Mapping[str, pl.Series]
    lookup: IdLookup
    found: IdsFound

    @classmethod
    def read(cls, head: str, path: Path, targets: Targets) -> Self:
        """Read a head's labels: `id`, `categories`, and flags and axes where the file has them.

        Raises `InputError` for duplicate ids, and for names that `targets` does not have.
        """
        table = read_records(path, needed=("id", "categories"))
        flags = tuple(name for name in targets.flags if name in table.columns)
        said, known = _category_bits(table, targets, path)
        for name in flags:
            flag = _flag(table, name, path)
            bit = np.uint64(1 << targets.binary_names.index(name))
            said |= flag.fill_null(False).to_numpy() * bit
            known |= flag.is_not_null().to_numpy() * bit
        lookup = IdLookup(table["id"])
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(
            head=head,
            file=path.name,
            size=path.stat().st_size,
            sha256=digest,
            flags=flags,
            said=said,
            known=known,
            axes={
                axis.name: _axis(table, axis.name, axis.values, path)
                for axis in targets.axes
                if axis.name in table.columns
            },
            lookup=lookup,
            found=IdsFound(lookup),
        )

    def of(self, ids: pl.Series) -> Given:
        """Return what the labels say of these works; null where the file lacks one."""
        places = self.lookup.find(ids)
        self.found.add(places)
        # A null place gathers a null.
        rows = pl.Series(places).replace(-1, None)
        return Given(
            said=pl.Series(self.said).gather(rows),
            known=pl.Series(self.known).gather(rows),
            axes={name: values.gather(rows) for name, values in self.axes.items()},
        )


def _category_bits(
    table: pl.DataFrame, targets: Targets, path: Path
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return (said, known) over the categories; a null list is a work that was not judged."""
    column = table["categories"]
    if column.dtype not in (pl.List(pl.String), pl.List(pl.Null)):
        raise InputError(
            f"{path}: column 'categories' holds {column.dtype}, expected lists of text."
        )
    bits = {name: 1 << place for place, name in enumerate(targets.categories)}
    named = table.select("id", pl.col("categories").cast(pl.List(pl.String))).with_row_index("row")
    named = named.explode("categories").filter(pl.col("categories").is_not_null())
    strangers = named.filter(~pl.col("categories").is_in(list(bits)))
    if strangers.height:
        _refuse(strangers["categories"], strangers["id"], "category", targets.categories, path)
    said = np.zeros(table.height, np.uint64)
    of_row = named["categories"].replace_strict(bits, return_dtype=pl.UInt64)
    np.bitwise_or.at(said, named["row"].to_numpy(), of_row.to_numpy())
    known = column.is_not_null().to_numpy() * np.uint64(sum(bits.values()))
    return said, known


def _flag(table: pl.DataFrame, name: str, path: Path) -> pl.Series:
    if table[name].dtype not in (pl.Boolean, pl.Null):
        raise InputError(
            f"{path}: column {name!r} holds {table[name].dtype}, expected true, false or null."
        )
    return table[name].cast(pl.Boolean)


def _axis(table: pl.DataFrame, name: str, values: tuple[str, ...], path: Path) -> pl.Series:
    if table[name].dtype not in (pl.String, pl.Null, pl.Categorical, pl.Enum):
        raise InputError(f"{path}: column {name!r} holds {table[name].dtype}, expected text.")
    said = table[name].cast(pl.String)
    strange = ~said.is_in(list(values)) & said.is_not_null()
    if strange.any():
        _refuse(said.filter(strange), table["id"].filter(strange), f"{name} value", values, path)
    return said.cast(pl.Enum(list(values)))


def _refuse(
    names: pl.Series, ids: pl.Series, what: str, known: list[str] | tuple[str, ...], path: Path
) -> None:
    distinct = ", ".join(repr(name) for name in names.unique(maintain_order=True).head(_SHOWN))
    raise InputError(
        f"{path}: unknown {what}: {distinct}, in {counted(ids.n_unique(), 'label')}, "
        f"first {ids[0]}.\n"
        f"The student has {', '.join(known)}."
    )
