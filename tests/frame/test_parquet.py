import re
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.frame.contract import text
from scorer.frame.parquet import ParquetFrame, open_parquet

WANTED = ["id", "title", "abstract", "abstract_inverted_index", "venue", "year"]
checked = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def write(path: Path, table: pa.Table | dict[str, list[object]], **more) -> Path:
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **more)
    return path


def numbered(path: Path, rows: int, row_group: int = 1_000) -> Path:
    ids = [f"W{row}" for row in range(rows)]
    titles = [f"title {row}" if row % 3 else None for row in range(rows)]
    return write(path, {"id": ids, "title": titles}, row_group_size=row_group)


def opened(path: Path, **more) -> ParquetFrame:
    return ParquetFrame(path, **{"wanted": WANTED, **more})


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_parquet(path)
    assert caught.value.exit_code == 3
    return str(caught.value)


def test_a_path_with_no_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    assert refusal(path) == f"{path}: no such file. Check the path."


def test_a_folder_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: a folder, expected one Parquet file."


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    path.touch()
    assert refusal(path) == f"{path}: the file is empty. Make it again."


def test_a_file_of_another_format_is_told(tmp_path: Path) -> None:
    path = tmp_path / "works.csv"
    path.write_text("id,title\n1,x\n")
    assert refusal(path) == f"{path}: not a Parquet file. Convert it to Parquet first."


def test_a_file_that_was_cut_off_is_told(tmp_path: Path) -> None:
    whole = numbered(tmp_path / "whole.parquet", 500).read_bytes()
    path = tmp_path / "half.parquet"
    path.write_bytes(whole[: len(whole) // 2])
    assert refusal(path) == (
        f"{path}: cut off: it starts as Parquet and lacks its end "
        f"(size {len(whole) // 2:,} bytes).\nCopy or make the file again."
    )


def test_a_file_with_a_damaged_footer_is_told(tmp_path: Path) -> None:
    whole = bytearray(numbered(tmp_path / "whole.parquet", 50).read_bytes())
    whole[-60:-8] = bytes(52)
    path = tmp_path / "damaged.parquet"
    path.write_bytes(whole)
    text = refusal(path)
    assert text.startswith(f"{path}: damaged Parquet (")
    assert text.endswith("). Copy or make the file again.")


def damaged_in_the_last_row_group(path: Path) -> Path:
    rng = np.random.default_rng(0)
    titles = ["".join(rng.choice(list("abcdefgh "), 60)) for _ in range(3_000)]
    ids = [f"W{row}" for row in range(3_000)]
    write(path, {"id": ids, "title": titles}, row_group_size=1_000, compression="zstd")
    chunk = pq.ParquetFile(path).metadata.row_group(2).column(1)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 40] = bytes(40)
    path.write_bytes(content)
    return path


def test_damage_in_the_middle_is_an_input_error_after_the_sound_batches(tmp_path: Path) -> None:
    frame = opened(damaged_in_the_last_row_group(tmp_path / "f.parquet"))
    starts = []
    with pytest.raises(InputError) as caught:
        starts += [batch.start for batch in frame.batches(500)]
    first, second = str(caught.value).splitlines()
    assert first.startswith("f.parquet: damaged near row ")
    assert second == "Copy or make the file again."


def test_damage_is_told_near_the_row_where_it_is(tmp_path: Path) -> None:
    frame = opened(damaged_in_the_last_row_group(tmp_path / "f.parquet"))
    with pytest.raises(InputError) as caught:
        list(frame.batches(500))
    row = re.search(r"near row ([\d,]+)", str(caught.value))
    assert row is not None
    assert 1_500 <= int(row[1].replace(",", "")) < 3_000


def test_text_that_is_not_utf8_is_an_input_error(tmp_path: Path) -> None:
    latin = b"caf\xe9 in Latin-1"
    titles = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, len(latin)], np.int32)), pa.py_buffer(latin)
    )
    path = write(tmp_path / "f.parquet", pa.table({"id": ["W1"], "title": titles}))
    with pytest.raises(InputError):
        list(opened(path).batches(10))


def test_a_missing_column_is_told_when_the_file_is_opened(tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet", {"id": ["W1"], "Titre": ["t"]})
    with pytest.raises(InputError) as caught:
        opened(path)
    assert str(caught.value) == (
        "f.parquet: no column 'title'. Columns found: id, Titre.\n"
        "If it is 'Titre', say: --map title=Titre"
    )
    assert opened(path, mapping={"title": "Titre"}).columns == {"id": "id", "title": "Titre"}


@pytest.mark.parametrize("row_group", [1, 3, 7, 10, 1_000])
def test_batches_have_the_asked_size_whatever_the_row_groups(
    tmp_path: Path, row_group: int
) -> None:
    frame = opened(numbered(tmp_path / "f.parquet", 23, row_group))
    batches = list(frame.batches(5))
    assert [batch.frame.height for batch in batches] == [5, 5, 5, 5, 3]
    assert [batch.start for batch in batches] == [0, 5, 10, 15, 20]
    assert pl.concat([batch.frame for batch in batches])["id"].to_list() == [
        f"W{row}" for row in range(23)
    ]


def test_reading_starts_in_the_middle_of_a_row_group_and_stops_at_the_limit(
    tmp_path: Path,
) -> None:
    frame = opened(numbered(tmp_path / "f.parquet", 23, row_group=7))
    batches = list(frame.batches(5, start=10, limit=17))
    assert [(batch.start, batch.frame["id"].to_list()) for batch in batches] == [
        (10, ["W10", "W11", "W12", "W13", "W14"]),
        (15, ["W15", "W16"]),
    ]


@pytest.mark.parametrize(("start", "limit"), [(23, None), (30, None), (10, 10), (10, 5), (0, 0)])
def test_nothing_is_read_past_the_end_or_the_limit(
    tmp_path: Path, start: int, limit: int | None
) -> None:
    frame = opened(numbered(tmp_path / "f.parquet", 23, row_group=7))
    assert list(frame.batches(5, start=start, limit=limit)) == []


def test_a_file_without_rows_has_no_batches(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([], pa.string()), "title": pa.array([], pa.string())})
    frame = opened(write(tmp_path / "f.parquet", table))
    assert (frame.rows, list(frame.batches(5)), list(frame.ids())) == (0, [], [])


def test_row_groups_without_rows_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    rows = pa.table({"id": ["W0", "W1", "W2"], "title": ["a", "b", "c"]})
    with pq.ParquetWriter(path, rows.schema) as writer:
        for part in (rows.slice(0, 0), rows.slice(0, 2), rows.slice(0, 0), rows.slice(2)):
            writer.write_table(part)
    frame = opened(path)
    assert [b.frame["title"].to_list() for b in frame.batches(2)] == [["a", "b"], ["c"]]
    assert [b.frame["title"].to_list() for b in frame.batches(2, start=2)] == [["c"]]


@checked
@given(
    rows=st.integers(0, 60),
    row_group=st.integers(1, 70),
    size=st.integers(1, 70),
    skipped=st.integers(0, 5),
    limit=st.none() | st.integers(0, 80),
)
def test_batches_put_together_are_the_file(
    *, tmp_path: Path, rows: int, row_group: int, size: int, skipped: int, limit: int | None
) -> None:
    path = numbered(tmp_path / "f.parquet", rows, row_group)
    start, end = skipped * size, rows if limit is None else min(limit, rows)
    batches = list(opened(path).batches(size, start=start, limit=limit))
    assert all(batch.frame.height == size for batch in batches[:-1])
    assert [batch.start for batch in batches] == list(range(start, end, size))
    found = [row for batch in batches for row in batch.frame.iter_rows()]
    expected = pl.read_parquet(path).slice(start, max(0, end - start))
    assert found == expected.rows()


def test_ids_are_those_of_the_first_works_as_the_contract_has_them(tmp_path: Path) -> None:
    path = write(
        tmp_path / "f.parquet",
        {"id": ["https://openalex.org/W1", "W2", None, "W4"], "title": ["a", "b", "c", "d"]},
        row_group_size=2,
    )
    assert pl.concat(opened(path).ids()).to_list() == ["W1", "W2", None, "W4"]
    assert pl.concat(opened(path).ids(limit=3)).to_list() == ["W1", "W2", None]


def test_kept_columns_come_beside_the_frame_in_their_own_type(tmp_path: Path) -> None:
    path = write(
        tmp_path / "f.parquet",
        {"id": ["W1", "W2"], "note": [[1], None], "title": ["a", "b"], "left": [1, 2]},
    )
    frame = opened(path, keep=["note", "title"])
    (batch,) = frame.batches(10)
    assert batch.frame.columns == ["id", "title"]
    assert batch.kept.to_pydict() == {"note": [[1], None], "title": ["a", "b"]}
    assert frame.kept_schema().names == ["note", "title"]


def test_nested_openalex_columns_are_read_from_the_file(tmp_path: Path) -> None:
    places = pa.array(
        [
            {"is_oa": True, "source": {"id": "S", "display_name": "Lancet"}},
            None,
            {"is_oa": False, "source": None},
        ]
    )
    table = pa.table({"id": [1, 2, 3], "display_name": ["a", "b", "c"], "primary_location": places})
    (batch,) = opened(write(tmp_path / "f.parquet", table)).batches(10)
    assert batch.frame.to_dict(as_series=False) == {
        "id": ["1", "2", "3"],
        "title": ["a", "b", "c"],
        "venue": ["Lancet", None, None],
    }


@pytest.mark.parametrize(
    "indexes",
    [
        pa.array(['{"b": [1], "a": [0, 2]}', None]),
        pa.array(['{"b": [1], "a": [0, 2]}', None]).dictionary_encode(),
        pa.array([{"b": [1], "a": [0, 2]}, None]),
        pa.array([[("b", [1]), ("a", [0, 2])], None], pa.map_(pa.string(), pa.list_(pa.int32()))),
    ],
    ids=["string", "dictionary", "struct", "map"],
)
def test_every_shape_of_inverted_abstract_is_read_from_a_file(
    tmp_path: Path, indexes: pa.Array
) -> None:
    table = pa.table({"id": ["W1", "W2"], "title": ["x", "y"], "abstract_inverted_index": indexes})
    (batch,) = opened(write(tmp_path / "f.parquet", table)).batches(10)
    assert text(batch.frame, "abstract").to_list() == ["a b a", None]
