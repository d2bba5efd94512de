"""Lists of works that are scored but never called: the forms that they come in."""

from pathlib import Path

import polars as pl
import pytest

from scorer.errors import InputError
from scorer.labels.excluded import ExcludedWorks

ASKED = pl.Series(["W1", "W2", "W3"], dtype=pl.String)


@pytest.mark.parametrize(
    "content",
    [
        b"W1\nW3\n",
        b"W3\nW1",
        b"id\nW1\nW3\n",
        b"\xef\xbb\xbfid\r\nW1\r\nW3\r\n",
        b"\xef\xbb\xbfW1\nW3\n",
        b"\n  W1\n\n\tW3 \n\n",
        b"https://openalex.org/W1\nhttp://openalex.org/W3\n",
        b"W1\nW3\nW1\nhttps://openalex.org/W3\n",
    ],
    ids=[
        *("a line each", "without a last line's end", "header", "mark and header", "mark"),
        *("blanks", "addresses", "twice"),
    ],
)
def test_text_has_an_id_a_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ids.txt").write_bytes(content)
    excluded = ExcludedWorks.read(tmp_path / "ids.txt")
    assert excluded.among(ASKED).tolist() == [True, False, True]
    assert len(excluded.lookup) == 2


def test_a_work_named_like_the_header_may_stand_on_a_later_line(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("W1\nid\n")
    assert ExcludedWorks.read(tmp_path / "ids.txt").among(pl.Series(["id"])).tolist() == [True]


@pytest.mark.parametrize(
    ("ids", "asked"),
    [
        (["W1", "https://openalex.org/W3"], ["W1", "W2", "W3"]),
        ([1, 3], ["1", "2", "3"]),
    ],
    ids=["text", "integers"],
)
def test_parquet_has_a_column_id(tmp_path: Path, ids: list[object], asked: list[str]) -> None:
    """Whatever else is in it, and whatever the file is called."""
    pl.DataFrame({"title": ["x", "y"], "id": ids}).write_parquet(tmp_path / "ids.txt")
    excluded = ExcludedWorks.read(tmp_path / "ids.txt")
    assert excluded.among(pl.Series(asked)).tolist() == [True, False, True]


def test_a_list_remembers_which_of_its_works_were_met(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("W1\nW3\nW9\n")
    excluded = ExcludedWorks.read(tmp_path / "ids.txt")
    for batch in (ASKED, ASKED[:0], ASKED):
        excluded.among(batch)
    assert (excluded.found.count(), len(excluded.lookup)) == (2, 3)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"id\n", b"\xef\xbb\xbf"])
def test_an_empty_list_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ids.txt").write_bytes(content)
    with pytest.raises(InputError) as refused:
        ExcludedWorks.read(tmp_path / "ids.txt")
    assert str(refused.value) == (
        f"{tmp_path}/ids.txt: holds no id. Leave the option out, or give the ids."
    )


def test_a_table_without_rows_is_refused_as_an_empty_list(tmp_path: Path) -> None:
    pl.DataFrame(schema={"id": pl.String}).write_parquet(tmp_path / "ids.parquet")
    with pytest.raises(InputError, match=r"ids\.parquet: holds no id\. Leave the option out"):
        ExcludedWorks.read(tmp_path / "ids.parquet")


def test_what_is_neither_parquet_nor_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ids.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(InputError) as refused:
        ExcludedWorks.read(tmp_path / "ids.png")
    assert str(refused.value) == (
        f"{tmp_path}/ids.png: neither Parquet nor text (invalid start byte).\n"
        "Give a Parquet file with a column id, or text with an id a line."
    )


def test_a_table_without_ids_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"work": ["W1"]}).write_parquet(tmp_path / "ids.parquet")
    with pytest.raises(InputError) as refused:
        ExcludedWorks.read(tmp_path / "ids.parquet")
    assert str(refused.value) == (
        f"{tmp_path}/ids.parquet: no record has 'id'; each one needs it. Found: work."
    )


def test_a_list_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.txt: no such file\. Check the path\."):
        ExcludedWorks.read(tmp_path / "no.txt")


@pytest.mark.parametrize("line", ["W1,Title", "W1 W2", '"W1"', '["W1", "W2"]'])
def test_a_line_that_is_no_id_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "ids.csv"
    path.write_text(f"id\nW7\n{line}\n")
    with pytest.raises(InputError) as caught:
        ExcludedWorks.read(path)
    assert str(caught.value) == (
        f"{path}: line 3 is no id: {line!r}.\n"
        "Give a Parquet file with a column id, or text with an id a line."
    )
