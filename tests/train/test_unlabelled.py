"""Unlabelled frames: read in any format, and parted from what is labelled."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from scorer.errors import InputError
from scorer.labels.sample import Labels, read_label_table
from scorer.train.unlabelled import read_unlabelled


@pytest.fixture(scope="module")
def labels(tiny_labels: Path) -> Labels:
    return read_label_table(tiny_labels)


def write(path: Path, ids: list[str], titles: list[str | None], **more: list[str]) -> Path:
    frame = pl.DataFrame({"id": ids, "title": pl.Series(titles, dtype=pl.String), **more})
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


def test_what_is_labelled_repeated_or_untitled_is_left_out_counted_and_said(
    labels: Labels, tmp_path: Path
) -> None:
    known = labels.works["title"][0]
    titles = [
        *("A title of a labelled id", f"<i>{known.upper()}</i>", None, "Short"),
        *("The first of two alike", "the FIRST of two   alike", "A title of its own"),
        "Another with an id that came before",
    ]
    ids = ["https://openalex.org/W1", "X2", "X3", "X4", "X5", "X6", "X7", "X7"]
    said: list[str] = []
    (frame,) = read_unlabelled([write(tmp_path / "a.parquet", ids, titles)], labels, said.append)
    assert frame.works["id"].to_list() == ["X5", "X7"]
    data = frame.data
    assert (data.rows, data.learned_from) == (8, 2)
    assert (data.labelled, data.repeated, data.untitled) == (2, 2, 2)
    assert said == [
        "a.parquet: 2 unlabelled works; left out: 2 labelled, 2 there twice, "
        "2 without a title of more than 10 characters"
    ]


def test_a_work_of_a_frame_before_is_left_out_of_the_next(labels: Labels, tmp_path: Path) -> None:
    first = write(tmp_path / "a.parquet", ["X1", "X2"], ["Title number one", "Title number two"])
    second = write(
        tmp_path / "b.csv",
        ["X1", "X3", "X4"],
        ["Something else altogether", "TITLE NUMBER TWO", "Title number four"],
    )
    one, two = read_unlabelled([first, second], labels)
    assert one.data.sha256 != two.data.sha256
    assert (one.works["id"].to_list(), two.works["id"].to_list()) == (["X1", "X2"], ["X4"])
    assert two.data.repeated == 2


def test_columns_that_the_labels_lack_are_not_read(labels: Labels, tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        ["X1"],
        ["A title of its own"],
        venue=["Nature"],
        abstract=["Not read"],
    )
    (frame,) = read_unlabelled([path], labels)
    assert frame.works.columns == ["id", "title", "venue"]


@pytest.mark.parametrize(
    ("ids", "titles", "told"),
    [
        ([], [], "holds no works.\nLeave it out, or give other works with --unlabelled."),
        (
            ["X1", "X2"],
            [None, "Short"],
            "no work to learn from: 2 rows, none with a title of more than 10 characters that the "
            "labels and the frames before lack.\nLeave it out, or give other works with "
            "--unlabelled.",
        ),
    ],
)
def test_a_frame_that_teaches_nothing_is_told(
    labels: Labels, tmp_path: Path, ids: list[str], titles: list[str | None], told: str
) -> None:
    path = write(tmp_path / "a.parquet", ids, titles)
    with pytest.raises(InputError) as refused:
        read_unlabelled([path], labels)
    assert str(refused.value) == f"{path}: {told}"


def test_a_frame_without_titles_is_told(labels: Labels, tmp_path: Path) -> None:
    pl.DataFrame({"id": ["X1"], "name_of_it": ["x"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="title"):
        read_unlabelled([tmp_path / "a.parquet"], labels)


def test_labels_as_their_own_unlabelled_frame_teach_nothing(
    labels: Labels, tiny_labels: Path, make_labels: Callable[..., pl.DataFrame]
) -> None:
    with pytest.raises(InputError, match="no work to learn from: 300 rows"):
        read_unlabelled([tiny_labels], labels)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_frame_that_is_not_clean_names_the_command_that_cleans_it(
    labels: Labels, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    frame = pl.DataFrame({"id": ["X1"], "Titre": ["A title of its own"]})
    frame.write_parquet(path) if suffix == "parquet" else frame.write_csv(path)
    with pytest.raises(InputError) as refused:
        read_unlabelled([path], labels)
    where = path.name if suffix == "parquet" else path
    assert str(refused.value) == (
        f"{where}: no column 'title'. Columns found: id, Titre.\n"
        f"Make a clean frame of it first: scorer convert {path} -o FRAME, which takes --map, "
        "--on-bad-line and --on-duplicate."
    )
