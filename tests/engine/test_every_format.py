"""The same works score the same, bit for bit, whatever they are kept in."""

import gzip
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from written_formats import BIBLIOGRAPHIES, COMPRESSIONS, FORMATS, lines, openalex

from scorer.engine.convert import ConvertRequest, convert
from scorer.engine.manifest import read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError
from scorer.frame import source
from scorer.frame.contract import text
from scorer.train.distil import train
from scorer.train.trained import TrainRequest

SAMPLE = Path(__file__).parents[2] / "sample_frames" / "works.parquet"
COLUMNS = ("id", "title", "abstract", "venue", "topic", "field", "lang", "type", "year")
# What a bibliography holds; its types are few, and PubMed's ids are numbers.
BIBLIOGRAPHIC = ("id", "title", "abstract", "venue", "lang", "type", "year")


@pytest.fixture(scope="module")
def works() -> pl.DataFrame:
    """The sample frame's 2,000 works; an empty title and none are one in most formats.

    Each abstract as text, a space between its words: an inverted index keeps no more.
    """
    frame = pl.read_parquet(SAMPLE)
    abstract = text(frame, "abstract").str.replace_all(r"\s+", " ").str.strip_chars()
    assert abstract.str.len_chars().gt(0).sum() > 1_000
    frame = frame.with_columns(abstract.alias("abstract")).select(COLUMNS)
    return frame.with_columns(pl.col(pl.String).replace("", None))


@pytest.fixture(scope="module")
def listed(works: pl.DataFrame) -> pl.DataFrame:
    """The works as far as a bibliography holds them, all of them articles."""
    numbers = pl.int_range(1, pl.len() + 1).cast(pl.String)
    return works.with_columns(id=numbers, type=pl.lit("article")).select(BIBLIOGRAPHIC)


@pytest.fixture(scope="module")
def bundle(
    works: pl.DataFrame,
    make_labels: Callable[..., pl.DataFrame],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Folder of a bundle that reads all columns, and has learned by heart: each n-gram counts."""
    folder = tmp_path_factory.mktemp("by_heart")
    labels = make_labels(300)
    chosen = works.filter(pl.col("abstract").is_not_null())[:300]
    labels.with_columns(*chosen.drop("id")).write_parquet(folder / "labels.parquet")
    train(TrainRequest(output=folder / "bundle", labels=folder / "labels.parquet"))
    return folder / "bundle"


@pytest.fixture(scope="module")
def scored(bundle: Path) -> Callable[[Path], pa.Table]:
    """Run on a frame; return the rows. No record may be left out."""

    def run_on(frame: Path) -> pa.Table:
        output = frame.parent / "out.parquet"
        run(RunRequest(frame=frame, output=output, model=str(bundle)))
        assert read_manifest(output).skipped_records == 0
        return pq.read_table(output)

    return run_on


@pytest.fixture(scope="module")
def of_parquet(
    scored: Callable[[Path], pa.Table], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[pl.DataFrame], pa.Table]:
    """Return the rows of works kept in a plain Parquet file."""

    def run_on(works: pl.DataFrame) -> pa.Table:
        folder = tmp_path_factory.mktemp("parquet")
        works.write_parquet(folder / "works.parquet")
        return scored(folder / "works.parquet")

    return run_on


@pytest.fixture(scope="module")
def expected(works: pl.DataFrame, of_parquet: Callable[[pl.DataFrame], pa.Table]) -> pa.Table:
    rows = of_parquet(works)
    # Scores that did not depend on what is read would prove nothing.
    assert len(rows["score_codex_metaresearch"].unique()) > 1_000
    for name in COLUMNS[1:]:
        changed = of_parquet(works.with_columns(pl.col(name).shift(1)))
        same = rows["score_codex_metaresearch"] == changed["score_codex_metaresearch"]
        assert not same, name
    return rows


UNPACKED = ("polars.arrow", "large.parquet", "view.parquet", "dictionary.parquet")


def differing(found: pa.Table, expected: pa.Table) -> list[str]:
    assert found.schema.equals(expected.schema, check_metadata=True)
    return [name for name in expected.column_names if found[name] != expected[name]]


@pytest.fixture
def same(expected: pa.Table, scored: Callable[[Path], pa.Table]) -> Callable[[Path], None]:
    """Run on a frame, and compare every column with the run on Parquet."""

    def compare(frame: Path) -> None:
        assert differing(scored(frame), expected) == []

    return compare


@pytest.fixture(scope="module")
def same_listed(
    listed: pl.DataFrame,
    scored: Callable[[Path], pa.Table],
    of_parquet: Callable[[pl.DataFrame], pa.Table],
) -> Callable[[Path], None]:
    """Run on a bibliography, and compare with the run on Parquet of what it holds."""
    expected = of_parquet(listed)

    def compare(frame: Path) -> None:
        assert differing(scored(frame), expected) == []

    return compare


@pytest.mark.parametrize(
    ("name", "ending"),
    [pair for pair in product(FORMATS, COMPRESSIONS) if pair[0] not in UNPACKED or not pair[1]],
)
def test_every_format_and_compression_gives_the_same_rows(
    works: pl.DataFrame, same: Callable[[Path], None], tmp_path: Path, name: str, ending: str
) -> None:
    frame = tmp_path / f"{name}{ending}"
    frame.write_bytes(COMPRESSIONS[ending](FORMATS[name](works)))
    same(frame)


@pytest.mark.parametrize(("name", "ending"), list(product(BIBLIOGRAPHIES, COMPRESSIONS)))
def test_every_bibliography_gives_the_rows_of_what_it_holds(
    listed: pl.DataFrame,
    same_listed: Callable[[Path], None],
    tmp_path: Path,
    name: str,
    ending: str,
) -> None:
    frame = tmp_path / f"{name}{ending}"
    frame.write_bytes(COMPRESSIONS[ending](BIBLIOGRAPHIES[name](listed)))
    same_listed(frame)


def test_a_clean_frame_made_of_any_format_gives_the_same_rows(
    works: pl.DataFrame, same: Callable[[Path], None], tmp_path: Path
) -> None:
    """What `convert` writes, too, with abstracts as text or as indexes."""
    source = tmp_path / "works.jsonl.gz"
    source.write_bytes(gzip.compress(lines(works, openalex)))
    for deinvert in (False, True):
        frame = tmp_path / f"{deinvert}" / "frame.parquet"
        frame.parent.mkdir()
        convert(ConvertRequest(frame=source, output=frame, deinvert=deinvert))
        same(frame)


def test_a_snapshot_of_many_files_gives_the_same_rows(
    works: pl.DataFrame, same: Callable[[Path], None], tmp_path: Path
) -> None:
    for number, first in enumerate(range(0, works.height, 300)):
        part = tmp_path / "works" / f"updated_date=2026-01-{number + 1:02}"
        part.mkdir(parents=True)
        content = lines(works[first : first + 300], openalex)
        (part / "part_000.gz").write_bytes(gzip.compress(content))
    (tmp_path / "works" / "manifest").write_text("{}")
    same(tmp_path / "works")


def test_many_parquet_files_give_the_same_rows(
    works: pl.DataFrame, same: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "works").mkdir()
    for number, first in enumerate(range(0, works.height, 370)):
        works[first : first + 370].write_parquet(tmp_path / "works" / f"{number:02}.parquet")
    same(tmp_path / "works")


def test_a_run_of_another_format_goes_on_after_it_was_stopped_while_reading_or_scoring(
    works: pl.DataFrame,
    same: Callable[[Path], None],
    bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = tmp_path / "works.csv"
    works.write_csv(frame)
    request = RunRequest(frame=frame, output=tmp_path / "out.parquet", model=str(bundle))
    for place in ("scorer.engine.ready.check_ids", "scorer.engine.run._score"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(place, interrupted)
            run(request)
        assert (tmp_path / "out.parquet.parts" / "frame.json").exists()
    same(frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.parquet",
        "out.parquet.meta.json",
        "works.csv",
    ]


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_records_that_cannot_be_read_are_counted_and_kept_aside_where_that_is_asked(
    works: pl.DataFrame, tiny_bundle: Path, tmp_path: Path
) -> None:
    frame = tmp_path / "works.jsonl"
    content = lines(works.head(20), dict).decode().splitlines()
    content[4] = content[4][:25]
    frame.write_text("\n".join(content) + "\n")
    output = tmp_path / "out.parquet"
    request = RunRequest(frame=frame, output=output, model=str(tiny_bundle))
    with pytest.raises(InputError) as caught:
        run(request)
    assert str(caught.value).startswith(f"{frame}: line 5: ")
    assert str(caught.value).endswith("Mend the record, or say --on-bad-line skip.")
    assert not output.exists()
    manifest = run(
        RunRequest(frame=frame, output=output, model=str(tiny_bundle), on_bad_record="skip")
    )
    assert manifest.skipped_records == 1
    assert manifest.counts.rows == 19
    aside = (tmp_path / "out.parquet.skipped.tsv").read_text()
    assert aside.startswith(f"{frame}\tline 5\t")
    assert aside.endswith(content[4] + "\n")


def test_a_frame_that_changes_while_it_is_read_is_refused(
    works: pl.DataFrame, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = tmp_path / "works.csv"
    works.head(20).write_csv(frame)
    request = RunRequest(frame=frame, output=tmp_path / "out.parquet", model=str(tiny_bundle))

    def appended(*_: object, **__: object) -> None:
        with frame.open("a") as file:
            file.write("W77,one more,,,,,,\n")

    monkeypatch.setattr("scorer.engine.ready.check_ids", appended)
    with pytest.raises(InputError) as caught:
        run(request)
    assert str(caught.value) == (
        f"{frame}: changed while it was read; no output was written.\n"
        "Give the command again when the file is finished."
    )
    assert not request.output_path().exists()


@pytest.mark.parametrize("skip", ["error", "skip"])
def test_a_record_that_is_being_written_is_no_bad_record(
    works: pl.DataFrame,
    tiny_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    skip: Any,
) -> None:
    """The file ends in mid-record when it is read, and has gone on when that is looked at."""
    frame = tmp_path / "works.jsonl"
    frame.write_bytes(lines(works.head(20), dict)[:-9])
    read = source.read

    def read_and_written_on(*given: Any) -> Any:
        try:
            return read(*given)
        finally:
            with frame.open("ab") as file:
                file.write(b" of research")

    monkeypatch.setattr(source, "read", read_and_written_on)
    request = RunRequest(
        frame=frame, output=tmp_path / "out.parquet", model=str(tiny_bundle), on_bad_record=skip
    )
    with pytest.raises(InputError) as caught:
        run(request)
    assert str(caught.value).startswith(f"{frame}: changed while it was read; ")
    assert not request.output_path().exists()


def test_a_work_whose_index_cannot_be_read_is_a_bad_record(
    works: pl.DataFrame, bundle: Path, tmp_path: Path
) -> None:
    """One such index among hundreds of millions must not be the end of a snapshot."""
    frame, output = tmp_path / "works.jsonl", tmp_path / "out.parquet"
    rows = [openalex(row) for row in works.head(20).iter_rows(named=True)]
    for place, index in ((3, {"a": [-1]}), (11, {"a": "b"})):
        rows[place]["abstract_inverted_index"] = index
    frame.write_text("\n".join(map(json.dumps, rows)))
    told = (
        'its abstract_inverted_index is not of the form {"word": [positions]} '
        "(position -1 is out of range)"
    )
    ids = works["id"].str.strip_prefix("https://openalex.org/").to_list()
    requests: list[Callable[[Any], object]] = [
        lambda bad: run(RunRequest(frame, output, str(bundle), on_bad_record=bad)),
        lambda bad: convert(ConvertRequest(frame, output, deinvert=True, on_bad_record=bad)),
    ]
    for make in requests:
        with pytest.raises(InputError) as caught:
            make("error")
        assert str(caught.value) == (
            f"{frame}: work {ids[3]}: {told}.\nMend the record, or say --on-bad-line skip."
        )
        make("skip")
        left = [work for place, work in enumerate(ids[:20]) if place not in (3, 11)]
        assert pl.read_parquet(output)["id"].to_list() == left
        aside = output.with_name("out.parquet.skipped.tsv")
        lines_aside = [line.split("\t") for line in aside.read_text().splitlines()]
        assert [line[:2] for line in lines_aside] == [
            [str(frame), f"work {ids[place]}"] for place in (3, 11)
        ]
        assert lines_aside[0][2:] == [told, '{"a": [-1]}']
        for path in (output, aside):
            path.unlink()
