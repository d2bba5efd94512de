"""Counting what rows say, part by part; the manifest and the summary show the sums."""

from collections import Counter
from collections.abc import Mapping
from typing import Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorer.engine.manifest import Counts
from scorer.policy.calls import SEGMENT, WHATS, Mode, kinds
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets


class Tally:
    """Sums over parts."""

    def __init__(self, targets: Targets, mode: Mode) -> None:
        """Start at zero."""
        self._targets = targets
        self._kinds = kinds(targets, mode)
        self._rows = 0
        self._words: dict[str, Counter[str]] = {"segment": Counter(), "classification": Counter()}
        self._calls: dict[str, Counter[str]] = {kind: Counter() for kind in self._kinds}

    @classmethod
    def of(cls, counts: Counts, targets: Targets, mode: Mode) -> Self:
        """Return the sums that were counted elsewhere."""
        made = cls(targets, mode)
        made._rows = counts.rows
        made._words["segment"].update(counts.segments)
        made._words["classification"].update(counts.classification)
        for name, by_kind in counts.calls.items():
            for kind, count in by_kind.items():
                made._calls[kind][name] = count
        return made

    @property
    def rows(self) -> int:
        """Rows counted so far."""
        return self._rows

    def add(self, columns: Mapping[str, pa.ChunkedArray], rows: int) -> None:
        """Count a part: its columns in the schema of the output, and how many rows it has."""
        self._rows += rows
        for name, counter in self._words.items():
            counter.update(_counted(columns[name]))
        for kind, counter in self._calls.items():
            for what in WHATS:
                counter.update(_counted(pc.list_flatten(columns[f"{kind}_{what}"])))

    def merge(self, other: "Tally") -> None:
        """Add the sums of other parts."""
        self._rows += other._rows
        for name, counter in self._words.items():
            counter.update(other._words[name])
        for kind, counter in self._calls.items():
            counter.update(other._calls[kind])

    def counts(self) -> Counts:
        """Return the sums, every target among them."""
        names = self._targets.binary_names
        if INSUFFICIENT_PAYLOAD not in names:
            names = [*names, INSUFFICIENT_PAYLOAD]
        return Counts(
            rows=self._rows,
            segments={name: self._words["segment"][name] for name in SEGMENT.categories},
            classification=dict(sorted(self._words["classification"].items())),
            calls={name: {kind: self._calls[kind][name] for kind in self._kinds} for name in names},
        )


def _counted(values: pl.Series | pa.Array | pa.ChunkedArray) -> dict[str, int]:
    if isinstance(values, pl.Series) and isinstance(values.dtype, pl.Enum):
        codes = values.to_physical().to_numpy()
        words = enumerate(values.dtype.categories)
        found = {word: int(np.count_nonzero(codes == code)) for code, word in words}
        return {word: count for word, count in found.items() if count}
    counted = pl.Series(values).value_counts(name="count")
    return {str(value): count for value, count in counted.iter_rows()}
