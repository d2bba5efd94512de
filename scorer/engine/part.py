"""One part of a scored file, made in any thread: its bytes, and what its rows say."""

from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.counts import Tally
from scorer.engine.manifest import SkippedShard
from scorer.engine.rowgroups import encode
from scorer.policy.calls import Mode
from scorer.targets import Targets

_SKIPPED: Final = b"skipped_shard"


@dataclass(frozen=True, slots=True)
class Part:
    """A whole Parquet file of one row group, and its counts.

    Of a shard that was skipped it has no rows; its metadata tell why.
    """

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

    @classmethod
    def without(
        cls, skipped: SkippedShard, schema: pa.Schema, targets: Targets, mode: Mode
    ) -> Self:
        """Return the part of a shard that has no rows."""
        said = {**(schema.metadata or {}), _SKIPPED: skipped.model_dump_json()}
        return cls.of(schema.with_metadata(said).empty_table(), targets, mode)

    @property
    def skipped(self) -> SkippedShard | None:
        """The shard that has no rows here, and why; None for any other part."""
        if self.tally.rows:
            return None
        said = pq.read_schema(pa.BufferReader(self.content)).metadata or {}
        return SkippedShard.model_validate_json(said[_SKIPPED]) if _SKIPPED in said else None
