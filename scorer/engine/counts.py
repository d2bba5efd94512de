"""Counting what rows say, part by part; the manifest and the summary show the sums."""

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from scorer.engine.manifest import Counts
from scorer.policy.calls import CANDIDATE, CONSENSUS
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets


class Tally:
    """Sums over parts."""

    def __init__(self, targets: Targets) -> None:
        """Start at zero."""
        self._targets = targets
        self._kinds = [*targets.head_names, CANDIDATE, CONSENSUS]
        self._rows = 0
        self._words: dict[str, Counter[str]] = {"segment": Counter(), "classification": Counter()}
        self._calls: dict[str, Counter[str]] = {kind: Counter() for kind in self._kinds}

    def add(self, part: pa.Table) -> None:
        """Count a part in the schema of the output."""
        self._rows += part.num_rows
        for name, counter in self._words.items():
            counter.update(_counted(part[name]))
        for kind, counter in self._calls.items():
            for what in ("categories", "flags"):
                counter.update(_counted(pc.list_flatten(part[f"{kind}_{what}"])))

    def counts(self) -> Counts:
        """Return the sums, every target among them."""
        names = self._targets.binary_names
        if INSUFFICIENT_PAYLOAD not in names:
            names = [*names, INSUFFICIENT_PAYLOAD]
        return Counts(
            rows=self._rows,
            segments={
                name: self._words["segment"][name] for name in ("covered", INSUFFICIENT_PAYLOAD)
            },
            classification=dict(sorted(self._words["classification"].items())),
            calls={name: {kind: self._calls[kind][name] for kind in self._kinds} for name in names},
        )


def _counted(values: pa.ChunkedArray) -> dict[str, int]:
    pairs = pc.value_counts(values)
    return {
        str(value): count
        for value, count in zip(
            pairs.field("values").to_pylist(), pairs.field("counts").to_pylist(), strict=True
        )
    }
