"""What tests of runs and calls share: labels and lists of works beside the tiny frame."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.verify import verify
from scorer.policy.policy import Policy


def failing(path: Path) -> list[str]:
    """The checks that a scored file fails."""
    return [check.name for check in verify(path) if check.offending]


def column_bytes(path: Path) -> dict[str, list[bytes]]:
    """The bytes of each column of a file, a chunk each."""
    content, metadata = path.read_bytes(), pq.read_metadata(path)
    found: dict[str, list[bytes]] = {}
    for number in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(number).column(place)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            bytes_there = content[start : start + chunk.total_compressed_size]
            found.setdefault(chunk.path_in_schema.split(".")[0], []).append(bytes_there)
    return found


def changed(policy: Policy, target: str, **entries: dict[str, object]) -> Policy:
    """The policy with other entries for a target; support stays."""
    content = policy.model_dump(mode="json")
    for head, entry in entries.items():
        support = {} if entry["kind"] == "none" else {"found_by": "hand"}
        support |= {"support": content["entries"][target][head]["support"]}
        content["entries"][target][head] = support | entry
    return Policy.model_validate(content)


def write(policy: Policy, path: Path) -> Path:
    path.write_text(policy.to_json(), encoding="utf-8")
    return path


def categories(path: Path, kind: str) -> list[list[str]]:
    return pl.read_parquet(path)[f"{kind}_categories"].to_list()


def nullable(table: pa.Table) -> pa.Table:
    """The same table whose columns may be null, as files of earlier versions had them all."""
    fields = [field.with_nullable(True) for field in table.schema]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))
