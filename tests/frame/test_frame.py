"""A frame is the same works in the same order, whatever files they lie in."""

import errno
import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import InputError
from scorer.frame.files import LocalFile, short_names
from scorer.frame.found import find_files
from scorer.frame.frame import Frame, changed
from scorer.frame.parquet import open_parquet

WANTED = ("id", "title", "lang", "year")


def write(path: Path, first: int, rows: int, **more: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = range(first, first + rows)
    columns = {"id": [f"W{n}" for n in numbers], "title": [f"title {n}" for n in numbers]}
    schema = None if rows else pa.schema([("id", pa.string()), ("title", pa.string())])
    pq.write_table(pa.table(columns | more, schema=schema), path)
    return path


def opened(location: Path | str, keep: tuple[str, ...] = ()) -> Frame:
    return Frame.open(find_files(location), wanted=WANTED, mapping={}, keep=keep)


def refusal(location: Path | str, keep: tuple[str, ...] = ()) -> str:
    with pytest.raises(InputError) as caught:
        opened(location, keep)
    return str(caught.value)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=5),
    rows=st.integers(1, 9),
    limit=st.none() | st.integers(0, 40),
    skipped=st.integers(0, 3),
)
def test_batches_do_not_show_where_a_file_ends(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    rows: int,
    limit: int | None,
    skipped: int,
) -> None:
    folder = tmp_path_factory.mktemp("many")
    first = 0
    for number, size in enumerate(sizes):
        write(folder / f"part-{number}.parquet", first, size)
        first += size
    frame = opened(folder)
    start = skipped * rows
    end = first if limit is None else min(first, limit)
    expected = [f"W{n}" for n in range(start, end)]
    batches = list(frame.batches(rows, start=start, limit=limit))
    assert [work for batch in batches for work in batch.frame["id"]] == expected
    assert [batch.frame.height for batch in batches[:-1]] == [rows] * (len(batches) - 1)
    assert [batch.start for batch in batches] == [start + rows * n for n in range(len(batches))]
    assert [work for part in frame.ids(limit) for work in part] == [f"W{n}" for n in range(end)]
    assert frame.rows == first
    assert frame.file_rows() == sizes


def test_files_come_by_name_and_marks_of_success_are_no_data(tmp_path: Path) -> None:
    for name in ("b/2.parquet", "a/9.parquet", "a/10.parquet"):
        write(tmp_path / name, 0, 1)
    for name in ("_SUCCESS", ".crc", "a/manifest", "_temporary/x.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"no data")
    found = [Path(one.file.name).relative_to(tmp_path) for one in find_files(tmp_path)]
    assert [str(path) for path in found] == ["a/10.parquet", "a/9.parquet", "b/2.parquet"]


def test_a_pattern_finds_files_and_spaces_and_accents_are_no_matter(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / "é tude" / f"part {number}.parquet", number, 1)
    frame = opened(f"{tmp_path}/é t*/part*.parquet")
    assert [work for part in frame.ids() for work in part] == ["W1", "W2"]
    with pytest.raises(InputError) as caught:
        find_files(f"{tmp_path}/*.csv")
    assert str(caught.value) == f"{tmp_path}/*.csv: no file has such a name. Check the pattern."


def test_columns_come_from_the_names_of_folders(tmp_path: Path) -> None:
    write(tmp_path / "lang=fr" / "year=2010" / "x.parquet", 1, 1)
    write(tmp_path / "lang=en" / "year=unknown" / "x.parquet", 0, 1)
    frame = opened(tmp_path)
    (batch,) = frame.batches(10)
    assert batch.frame.select(WANTED).rows() == [
        ("W0", "title 0", "en", None),
        ("W1", "title 1", "fr", 2010),
    ]
    assert batch.frame.schema["year"] == pl.Int32
    assert frame.columns["lang"] == "lang=…"


def test_a_column_of_the_file_wins_over_the_name_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "lang=fr" / "x.parquet", 0, 1, lang=["de"])
    (batch,) = opened(tmp_path).batches(10)
    assert batch.frame["lang"].to_list() == ["de"]


def test_files_of_different_columns_are_named(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", 0, 1, lang=["fr"])
    two = write(tmp_path / "b.parquet", 1, 1)
    assert refusal(tmp_path) == (
        f"{two}: other columns than {one}: there lang is lang, here not there.\n"
        "Score files of different columns one by one, or bring them into one form first."
    )


def test_kept_columns_of_different_types_are_named(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", 0, 1, n=[1])
    two = write(tmp_path / "b.parquet", 1, 1, n=["1"])
    assert refusal(tmp_path, keep=("n",)) == (
        f"{two}: other columns than {one}: there column 'n' holds int64, here string.\n"
        "Score files of different columns one by one, or bring them into one form first."
    )


def test_text_may_be_held_in_different_ways(tmp_path: Path) -> None:
    for number, kind in enumerate((pa.string(), pa.large_string(), pa.string_view())):
        columns = {"id": pa.array([f"W{number}"], kind), "title": pa.array(["x"], kind)}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    words = pa.table({"id": ["W3"], "title": pa.array(["x"]).dictionary_encode()})
    pq.write_table(words, tmp_path / "3.parquet")
    (batch,) = opened(tmp_path).batches(10)
    assert batch.frame["title"].to_list() == ["x"] * 4


def test_a_folder_without_data_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: a folder with no data in it. Check the path."


def test_a_link_back_to_a_folder_above_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a" / "x.parquet", 0, 1)
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert refusal(tmp_path) == (
        f"{tmp_path}/a/again: a link that leads back to a folder above it.\nRemove the link."
    )


def test_a_link_to_itself_or_to_nothing_is_told(tmp_path: Path) -> None:
    link = tmp_path / "self"
    link.symlink_to("self")
    told = f"{link}: a link that leads back to itself. Remove the link."
    for location in (link, tmp_path, f"{tmp_path}/s*"):
        assert refusal(location) == told
    link.unlink()
    link.symlink_to("nowhere.parquet")
    told = f"{link}: a link to nowhere.parquet, which is not there. Mend or remove the link."
    for location in (link, tmp_path, f"{tmp_path}/s*"):
        assert refusal(location) == told


@pytest.mark.skipif(os.name != "posix", reason="makes a named pipe")
def test_a_stream_among_files_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", 0, 1)
    os.mkfifo(tmp_path / "b.parquet")
    told = f"{tmp_path}/b.parquet: a stream; a frame must lie in a file. Save it first."
    assert refusal(tmp_path) == refusal(tmp_path / "b.parquet") == told


def test_a_folder_that_may_not_be_read_is_no_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who may read anything cannot make such a folder: the system's answer is made up."""
    write(tmp_path / "a.parquet", 0, 1)
    (tmp_path / "closed").mkdir()
    listed = os.scandir

    def refused(path: str) -> object:
        if Path(path).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert refusal(tmp_path) == f"{tmp_path}/closed: may not be read. Check its permissions."


def test_a_pattern_leaves_out_what_is_no_data_unless_it_speaks_of_it(tmp_path: Path) -> None:
    for name in ("a.parquet", "_odd.parquet"):
        write(tmp_path / name, 0, 1)
    for name in ("_SUCCESS", "manifest"):
        (tmp_path / name).write_bytes(b"no data")
    for pattern, names in (("*", ["a.parquet"]), ("_o*", ["_odd.parquet"])):
        found = find_files(f"{tmp_path}/{pattern}")
        assert [Path(one.file.name).name for one in found] == names


def test_a_damaged_file_is_named_with_its_folder(tmp_path: Path) -> None:
    for lang in ("en", "fr"):
        path = write(tmp_path / f"lang={lang}" / "part.parquet", 0, 1)
    path.write_bytes(path.read_bytes()[:-6])
    assert refusal(tmp_path).startswith(f"{tmp_path}/lang=fr/part.parquet: cut off: ")
    pq.write_table(pa.table({"id": ["W1"], "name": ["x"]}), path)
    assert refusal(tmp_path).startswith("lang=fr/part.parquet: no column 'title'. ")


def test_damage_is_told_of_the_file_by_the_same_name_wherever_the_frame_lies(
    tmp_path: Path,
) -> None:
    """What is left out is told in the manifest, whose bytes are the same on any machine."""
    for lang in ("en", "fr"):
        path = tmp_path / f"lang={lang}" / "part.parquet"
        write(path, 0, 3)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    at = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[at : at + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(content)
    frame = opened(tmp_path)
    for one in (frame, frame.absolute(), frame.only(WANTED, keep=())):
        with pytest.raises(InputError, match=r"^lang=fr/part\.parquet: damaged near row 0, "):
            list(one.batches(10))


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["/x/y/a.csv"], ["a.csv"]),
        (["x/lang=fr/p", "x/lang=en/p"], ["lang=fr/p", "lang=en/p"]),
        (["a.csv", "sub/a.csv"], ["a.csv", "sub/a.csv"]),
        (["s3://b/x/1/p", "s3://b/x/2/p"], ["1/p", "2/p"]),
    ],
)
def test_names_of_files_are_told_from_the_folder_that_all_lie_in(
    names: list[str], short: list[str]
) -> None:
    assert short_names(names) == short


@pytest.mark.parametrize("address", ["s3://bucket/a.parquet", "https://example.org/a.parquet"])
def test_an_address_where_a_path_is_asked_for_is_told(address: str) -> None:
    with pytest.raises(InputError) as caught:
        open_parquet(Path(address))
    assert str(caught.value).endswith(
        ": an address; a file on a disk is needed here. Copy it first."
    )


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet", 0, 5)
    files = [LocalFile.at(path)]
    assert changed(files) is None
    os.utime(path, ns=(1, 1))
    assert changed(files) is files[0]
    path.unlink()
    assert changed(files) is files[0]
