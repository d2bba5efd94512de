"""`--where`: an SQL expression over the columns of a work that tells which works to keep."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import polars as pl

from scorer.errors import UsageError

# What Polars calls expressions that look at other rows too. Works pass through in batches, so these
# would see a part of the frame and say something else for each size of batch.
_ACROSS_ROWS: Final = frozenset(
    ("Agg", "Len", "Over", "Rolling", "Quantile", "Correlation", "Covariance", "Rank", "Shift")
)
_FLAG: Final = "where"
_SHOWN: Final = 30  # columns that an error lists; a frame has fewer, a scored file has many


@dataclass(frozen=True, slots=True)
class Where:
    """An expression, checked as far as it can be without a frame."""

    text: str
    expression: pl.Expr

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the expression; raise `UsageError` where it is none, or looks at several works."""
        try:
            expression = pl.sql_expr(text)
            tree = json.loads(expression.meta.serialize(format="json"))
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise UsageError(f"--where {text!r}: {_reason(error)}.\n{_EXAMPLE}") from error
        if any(name in _ACROSS_ROWS for name in _operations(tree)):
            raise UsageError(
                f"--where {text!r}: looks at several works at once, as AVG, COUNT and OVER do.\n"
                "Works are judged one by one: compare columns of one work with values."
            )
        return cls(text, expression)

    @property
    def columns(self) -> list[str]:
        """The columns that the expression names, each once."""
        return list(dict.fromkeys(self.expression.meta.root_names()))

    def check_names(self, columns: Iterable[str]) -> None:
        """Raise `UsageError` where the expression names a column that is not there."""
        there = list(columns)
        for name in self.columns:
            if name not in there:
                hint = ""
                if name == "abstract" and "abstract_inverted_index" in there:
                    hint = " With --deinvert there is an abstract too."
                listed = ", ".join(there[:_SHOWN]) + (", …" if len(there) > _SHOWN else "")
                raise UsageError(
                    f"--where {self.text!r}: no column {name!r}.\n"
                    f"Columns: {listed}.{hint} Text stands in 'single quotes'."
                )

    def check_types(self, empty: pl.DataFrame) -> None:
        """Raise `UsageError` where the types of an empty frame's columns do not fit."""
        found = self._values(empty).dtype
        if found not in (pl.Boolean, pl.Null):
            raise UsageError(
                f"--where {self.text!r}: gives {found}, expected a condition.\n{_EXAMPLE}"
            )

    def holds(self, works: pl.DataFrame) -> pl.Series:
        """Tell which works the expression holds for; where it is null, it does not (Boolean)."""
        return self._values(works).cast(pl.Boolean).fill_null(False)

    def _values(self, works: pl.DataFrame) -> pl.Series:
        try:
            # `with_columns` repeats a constant for every work, as `1 = 1` is.
            return works.with_columns(self.expression.alias(_FLAG))[_FLAG]
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"--where {self.text!r}: {_reason(error)}.\n{_EXAMPLE}") from error


_EXAMPLE: Final = "For instance: --where \"lang = 'fr' AND year >= 2010\""


def _operations(tree: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield the names of all operations in Polars' own form of an expression."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for item in tree:
            yield from _operations(item)
    elif isinstance(tree, dict):
        for name, value in tree.items():
            if name not in ("Column", "Literal"):
                yield name
                yield from _operations(value)


def _reason(error: Exception) -> str:
    """Return the first line of Polars' words."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
