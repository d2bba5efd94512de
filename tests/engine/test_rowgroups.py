"""Row groups as bytes: joined, they are the file that one writer would have written."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.rowgroups import (
    RowGroup,
    RowGroupReader,
    RowGroupWriter,
    encode,
    row_group,
    with_columns,
)


class Pair(pa.ExtensionType):
    """A type of one's own that is stored as a struct: two chunks under one name."""

    def __init__(self) -> None:
        super().__init__(pa.struct({"x": pa.int32(), "y": pa.int32()}), "scorer.test.pair")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "Pair":
        return cls()

    def __hash__(self) -> int:
        return hash(self.extension_name)


pa.register_extension_type(Pair())

NESTED = {
    "lists": pa.array([[1, 2], [], None, [3]] * 3),
    "lists of lists": pa.array([[["a"], []], None, [], [["b", "c"]]] * 3),
    "structs": pa.array([{"a": 1, "b": ["x"]}, {"a": None, "b": None}, None, {"a": 2}] * 3),
    "lists of structs": pa.array([[{"a": 1, "b": "x"}], None, [], [{"a": None, "b": "y"}]] * 3),
    "maps": pa.array(
        [[("k", 1), ("l", None)], [], None, [("k", 2)]] * 3, pa.map_(pa.string(), pa.int32())
    ),
    "fixed lists": pa.array(
        [[1.0, 2.0], None, [3.0, 4.0], [5.0, 6.0]] * 3, pa.list_(pa.float32(), 2)
    ),
    "pairs": pa.ExtensionArray.from_storage(
        Pair(), pa.array([{"x": 1, "y": 2}, {"x": 3, "y": None}] * 6, Pair().storage_type)
    ),
    "tensors": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float32(), [2]),
        pa.array([[1.0, 2.0]] * 12, pa.list_(pa.float32(), 2)),
    ),
}


OWN_TYPES = ("pairs", "tensors")  # of Arrow's, not every reader's


def works(**more: pa.Array) -> pa.Table:
    """Twelve works with a column of each kind that a scored file has."""
    columns: dict[str, Any] = {
        "id": [f"W{row}" for row in range(12)],
        "segment": pa.array(["covered", "excluded", "covered"] * 4).dictionary_encode(),
        "score_codex_sts": pa.array([row / 16 for row in range(12)], pa.float32()),
        "codex_categories": pa.array([["sts"], [], ["sts", "metaresearch"]] * 4),
        "codex_genre": pa.array(["review", None] * 6),
        "usable_title": [True, False] * 6,
    }
    return pa.table(columns | more).replace_schema_metadata({"prediction_status": "as it was"})


def parts_of(table: pa.Table, sizes: Sequence[int]) -> list[pa.Table]:
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    return [table.slice(start, size) for start, size in zip(starts, sizes, strict=True)]


def joined(groups: list[RowGroup], schema: pa.Schema, path: Path) -> Path:
    with path.open("wb") as file:
        writer = RowGroupWriter(file, schema)
        for group in groups:
            writer.add(group)
        writer.close()
    return path


def joined_tables(parts: list[pa.Table], path: Path) -> Path:
    schema = parts[0].schema
    return joined([row_group(encode(part), schema) for part in parts], schema, path)


def written_in_one_go(parts: list[pa.Table]) -> pq.ParquetFile:
    """What one writer makes of the parts: the reference."""
    sink, empty = BytesIO(), BytesIO()
    pq.write_table(parts[0].schema.empty_table(), empty)
    leaves = pq.read_metadata(empty).schema
    paths = [leaves.column(place).path for place in range(len(leaves))]
    packed = [path for path in paths if not path.startswith("score_")]
    with pq.ParquetWriter(
        sink,
        parts[0].schema,
        compression={path: "ZSTD" if path in packed else "NONE" for path in paths},
        compression_level=dict.fromkeys(packed, 1),
        use_dictionary=[path for path in paths if path != "id"],
        write_statistics=["id"],
    ) as writer:
        for part in parts:
            writer.write_table(part)
    return pq.ParquetFile(BytesIO(sink.getvalue()))


def chunks(path: Path, column: str) -> list[bytes]:
    """The bytes of a column in a file, a chunk each."""
    content, metadata = path.read_bytes(), pq.read_metadata(path)
    found = []
    for number in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(number).column(place)
            if chunk.path_in_schema.split(".")[0] == column:
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                found.append(content[start : start + chunk.total_compressed_size])
    return found


SIZES = [[12], [5, 7], [1] * 12, [0, 6, 0, 6, 0], [12, 0]]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_joined_parts_are_the_whole_table_to_every_reader(tmp_path: Path, sizes: list[int]) -> None:
    table = works(
        **{
            name.replace(" ", "_"): column
            for name, column in NESTED.items()
            if name not in OWN_TYPES
        }
    )
    path = joined_tables(parts_of(table, sizes), tmp_path / "joined.parquet")
    read = pq.read_table(path)
    read.validate(full=True)
    assert read.equals(table)
    assert pl.read_parquet(path).equals(pl.from_arrow(table))
    by_database = duckdb.sql(f"select * from read_parquet('{path}')").to_arrow_table()
    assert by_database.column_names == table.column_names
    for name in ("id", "score_codex_sts", "codex_categories", "codex_genre", "structs", "maps"):
        assert by_database[name].to_pylist() == table[name].to_pylist()


def test_a_database_finds_a_work_by_the_statistics_of_its_id(tmp_path: Path) -> None:
    path = joined_tables(parts_of(works(), [5, 7]), tmp_path / "joined.parquet")
    found = duckdb.sql(
        f"select codex_genre from read_parquet('{path}') where id = 'W10'"
    ).fetchall()
    assert found == [("review",)]
    assert pq.read_table(path, filters=[("id", "=", "W10")]).num_rows == 1
    assert pl.scan_parquet(path).filter(pl.col("id") == "W10").collect().height == 1


@pytest.mark.parametrize("sizes", [[12], [5, 7], [6, 0, 6]], ids=str)
@pytest.mark.parametrize("kind", [None, *NESTED])
def test_the_footer_is_that_of_one_writer(
    tmp_path: Path, sizes: list[int], kind: str | None
) -> None:
    table = works(**{kind: NESTED[kind]} if kind else {})
    path = joined_tables(parts_of(table, sizes), tmp_path / "joined.parquet")
    expected = written_in_one_go([part for part in parts_of(table, sizes) if part.num_rows])
    found = pq.ParquetFile(path)
    assert found.schema.equals(expected.schema)
    assert found.schema_arrow.equals(expected.schema_arrow, check_metadata=True)
    assert found.metadata.metadata == expected.metadata.metadata
    said, reference = found.metadata.to_dict(), expected.metadata.to_dict()
    del said["serialized_size"], reference["serialized_size"]
    assert said == reference


def test_a_file_without_rows_has_its_schema(tmp_path: Path) -> None:
    table = works().slice(0, 0)
    for parts in ([], [table], [table, table]):
        groups = [row_group(encode(part), table.schema) for part in parts]
        path = joined(groups, table.schema, tmp_path / "empty.parquet")
        assert pq.read_metadata(path).num_row_groups == 0
        assert pq.read_table(path).equals(table)
        assert pl.read_parquet(path).height == 0
        assert duckdb.sql(f"select count(*) from read_parquet('{path}')").fetchall() == [(0,)]


def test_bytes_do_not_depend_on_where_a_chunk_lies(tmp_path: Path) -> None:
    parts = parts_of(works(), [5, 7])
    together = joined_tables(parts, tmp_path / "together.parquet")
    for number, part in enumerate(parts):
        alone = joined_tables([part], tmp_path / "alone.parquet")
        for name in works().column_names:
            assert chunks(alone, name) == [chunks(together, name)[number]]


@pytest.mark.parametrize("kind", NESTED)
def test_columns_that_stay_are_taken_over_as_bytes(tmp_path: Path, kind: str) -> None:
    """Other columns are new, renamed, dropped, or of a new place; nested ones among both."""
    table = works(**{kind: NESTED[kind]})
    source = joined_tables(parts_of(table, [5, 7]), tmp_path / "source.parquet")
    changed = pa.table(
        {"codex_categories": pa.array([["new"]] * 12), "codex_genre": pa.array(["poem"] * 12)}
    )
    fields = [
        *(table.schema.field(name) for name in ("id", "score_codex_sts", "codex_categories")),
        *(table.schema.field(name) for name in ("codex_genre", kind, "usable_title")),
        table.schema.field("codex_genre").with_name("best_codex_genre"),
    ]
    schema = pa.schema(fields, metadata=table.schema.metadata)
    names = {name: name.removeprefix("best_") for name in schema.names}
    reader = RowGroupReader(source, pq.ParquetFile(source))
    assert len(reader) == 2
    groups = [
        with_columns(reader.read(number), row_group(encode(part), changed.schema), names)
        for number, part in enumerate(parts_of(changed, [5, 7]))
    ]
    reader.close()
    path = joined(groups, schema, tmp_path / "made.parquet")
    made = pq.read_table(path)
    made.validate(full=True)
    assert made.column_names == schema.names
    assert made["codex_categories"].to_pylist() == [["new"]] * 12
    assert made["codex_genre"].to_pylist() == ["poem"] * 12
    assert made["best_codex_genre"].to_pylist() == table["codex_genre"].to_pylist()
    for name in ("id", "score_codex_sts", kind, "usable_title"):
        assert made[name].equals(table[name])
        assert chunks(path, name) == chunks(source, name)
    assert chunks(path, "best_codex_genre") == chunks(source, "codex_genre")
    if kind not in OWN_TYPES:
        assert pl.read_parquet(path).equals(pl.from_arrow(made))


def test_a_column_whose_name_has_a_dot_is_one_column(tmp_path: Path) -> None:
    table = works(**{"a.b": pa.array(range(12)), "a": pa.array([{"b": 1}] * 12)})
    path = joined_tables(parts_of(table, [5, 7]), tmp_path / "joined.parquet")
    assert pq.read_table(path).equals(table)


def test_a_group_of_too_few_columns_is_not_written(tmp_path: Path) -> None:
    table = works()
    group = row_group(encode(table.drop_columns("usable_title")), table.schema.remove(5))
    with pytest.raises(ValueError, match="zip"):
        joined([group], table.schema, tmp_path / "short.parquet")
