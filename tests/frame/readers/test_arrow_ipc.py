import gzip
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather
from reading import pieces, refusal, works

TABLE = pa.table({"id": [1, 2], "note": [[1], None], "title": ["a", None], "year": [2000.0, None]})
FOUND = {"id": ["1", "2"], "title": ["a", None], "year": [2000, None]}


def stream(path: Path, table: pa.Table, rows: int = 1 << 20) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def file(path: Path, table: pa.Table, rows: int = 1 << 20) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


@pytest.mark.parametrize("write", [stream, file])
def test_files_and_streams_are_read(tmp_path: Path, write) -> None:
    assert works(write(tmp_path / "x.arrow", TABLE)) == FOUND


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_is_read_compressed_inside_or_not(tmp_path: Path, compression: str) -> None:
    feather.write_feather(TABLE, str(tmp_path / "x.feather"), compression=compression)
    assert works(tmp_path / "x.feather") == FOUND


@pytest.mark.parametrize("write", [stream, file])
def test_both_are_read_inside_gzip(tmp_path: Path, write) -> None:
    whole = gzip.compress(write(tmp_path / "x.arrow", TABLE).read_bytes())
    path = tmp_path / "x.arrow.gz"
    path.write_bytes(whole)
    assert works(path) == FOUND
    path.write_bytes(whole[: len(whole) // 2])
    assert "x.arrow.gz: cut off: the gzip data ends early." in refusal(path)


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_every_kind_of_string_is_read(tmp_path: Path, kind: pa.DataType) -> None:
    titles = pa.array(["a", None, "a"]).cast(kind)
    path = file(tmp_path / "x.arrow", pa.table({"id": ["1", "2", "3"], "title": titles}))
    (piece,) = pieces(path)
    assert piece.works.schema["title"] == pl.String
    assert piece.works["title"].to_list() == ["a", None, "a"]


@pytest.mark.parametrize("rows", [7, 16_384, 40_000])
def test_pieces_have_the_same_size_whatever_the_record_batches(tmp_path: Path, rows: int) -> None:
    ids = [f"W{number}" for number in range(40_000)]
    path = stream(tmp_path / "x.arrows", pa.table({"id": ids, "title": ids}), rows)
    found = pieces(path)
    assert [piece.works.height for piece in found] == [16_384, 16_384, 7_232]
    assert pl.concat([piece.works for piece in found])["id"].to_list() == ids


def test_kept_columns_stay_as_they_are(tmp_path: Path) -> None:
    (piece,) = pieces(file(tmp_path / "x.arrow", TABLE), keep=("note", "id"))
    assert piece.kept.to_dict(as_series=False) == {"note": [[1], None], "id": [1, 2]}
    assert piece.columns == {"id": "id", "title": "title", "year": "year"}


def test_nested_openalex_columns_are_found(tmp_path: Path) -> None:
    places = pa.array([{"source": {"display_name": "Lancet"}}, None])
    path = file(tmp_path / "x.arrow", TABLE.append_column("primary_location", places))
    assert works(path)["venue"] == ["Lancet", None]


@pytest.mark.parametrize(
    "indexes",
    [
        pa.array([{"b": [1], "a": [0]}, None]),
        pa.array([[("b", [1]), ("a", [0])], None], pa.map_(pa.string(), pa.list_(pa.int32()))),
        pa.array([[{"key": "b", "value": [1]}, {"key": "a", "value": [0]}], None]),
    ],
    ids=["struct", "map", "pairs"],
)
def test_an_inverted_index_that_is_no_text_becomes_the_abstract(
    tmp_path: Path, indexes: pa.Array
) -> None:
    table = TABLE.append_column("abstract_inverted_index", indexes)
    (piece,) = pieces(file(tmp_path / "x.arrow", table))
    assert piece.works["abstract"].to_list() == ["a b", None]
    assert "abstract_inverted_index" not in piece.works.columns
    assert piece.columns["abstract"] == "abstract_inverted_index"


def test_no_rows_give_one_empty_piece(tmp_path: Path) -> None:
    (piece,) = pieces(file(tmp_path / "x.arrow", TABLE.slice(0, 0)), keep=("note",))
    assert (piece.works.columns, piece.works.height) == (["id", "title", "year"], 0)
    assert piece.kept.columns == ["note"]


def test_a_missing_column_and_a_wrong_type_are_told(tmp_path: Path) -> None:
    path = file(tmp_path / "x.arrow", pa.table({"id": ["1"], "Titre": ["t"]}))
    assert refusal(path) == (
        "x.arrow: no column 'title'. Columns found: id, Titre.\n"
        "If it is 'Titre', say: --map title=Titre"
    )
    file(path, pa.table({"id": ["1"], "title": [3]}))
    assert refusal(path).startswith("x.arrow: column 'title' holds int64, expected a string")


def test_a_file_that_was_cut_off_is_told(tmp_path: Path) -> None:
    path = file(tmp_path / "x.arrow", TABLE)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert refusal(path) == (
        "x.arrow: cut off: it starts as an Arrow file and lacks its end "
        f"(size {len(whole) - 20:,} bytes).\nCopy or make the file again."
    )


def test_a_damaged_stream_is_told_near_its_row(tmp_path: Path) -> None:
    ids = [f"W{number}" for number in range(1_000)]
    path = stream(tmp_path / "x.arrows", pa.table({"id": ids, "title": ids}), rows=100)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    text = refusal(path)
    assert text.startswith("x.arrows: damaged Arrow data, near row ")
    assert text.endswith("Copy or make the file again.")
    path.write_bytes(whole[:8] + bytes(40) + whole[48:])
    assert refusal(path).startswith("x.arrows: damaged Arrow data, its schema cannot be read (")


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    path = stream(tmp_path / "x.arrows", TABLE)
    path.write_bytes(path.read_bytes().replace(b"note", b"n\xbfte"))
    assert refusal(path).startswith("x.arrows: damaged Arrow data, its schema cannot be read (")


def test_text_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    latin = b"caf\xe9"
    offsets = pa.py_buffer((0).to_bytes(4, "little") + len(latin).to_bytes(4, "little"))
    titles = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(latin))
    path = file(tmp_path / "x.arrow", pa.table({"id": ["W1"], "title": titles}))
    assert refusal(path) == (
        "x.arrow: column 'title' holds text that is not UTF-8, in rows 0 to 0.\n"
        "Write the file again as UTF-8."
    )
