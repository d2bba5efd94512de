"""One part of a scored file, made in any thread: its bytes, and what its rows say."""

from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.counts import Tally
from scorer.engine.rowgroups import encode
from scorer.policy.calls import Mode
from scorer.targets import Targets


@dataclass(frozen=True, slots=True)
class Part:
    """A whole Parquet file of one row group, and its counts."""

    content: pa.Buffer
    tally: Tally

    @classmethod
    def of(cls, table: pa.Table, targets: Targets, mode: Mode) -> Self:
        """Encode and count a table in the schema of the output."""
        tally = Tally(targets, mode)
        tally.add(table, table.num_rows)
        return cls(encode(table), tally)

    @classmethod
    def of_bytes(cls, content: pa.Buffer, targets: Targets, mode: Mode) -> Self:
        """Count a part that was encoded before."""
        tally = Tally(targets, mode)
        table = pq.read_table(pa.BufferReader(content))
        tally.add(table, table.num_rows)
        return cls(content, tally)
