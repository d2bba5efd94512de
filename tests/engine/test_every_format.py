"""The same works score the same, bit for bit, whatever they are kept in."""

import bz2
import gzip
import io
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.manifest import read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError

Write = Callable[[pl.DataFrame], bytes]
SAMPLE = Path(__file__).parents[2] / "sample_frames" / "works.parquet"
COLUMNS = ("id", "title", "venue", "topic", "field", "lang", "type", "year")


@pytest.fixture(scope="module")
def works() -> pl.DataFrame:
    """The sample frame's 2,000 works; an empty title and none are one in most formats."""
    frame = pl.read_parquet(SAMPLE).select(COLUMNS)
    return frame.with_columns(pl.col(pl.String).replace("", None))


@pytest.fixture(scope="module")
def expected(
    works: pl.DataFrame, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> pa.Table:
    folder = tmp_path_factory.mktemp("parquet")
    works.write_parquet(folder / "works.parquet")
    output = folder / "out.parquet"
    run(RunRequest(frame=folder / "works.parquet", output=output, model=str(tiny_bundle)))
    return pq.read_table(output)


def arrow(works: pl.DataFrame, *, stream: bool) -> bytes:
    sink = pa.BufferOutputStream()
    table = works.to_arrow()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    return sink.getvalue().to_pybytes()


def polars_arrow(works: pl.DataFrame) -> bytes:
    """As Polars writes it: the schema stands at the file's end alone."""
    sink = io.BytesIO()
    works.with_columns(unread=pl.lit(1)).write_ipc(sink)
    return sink.getvalue()


def lines(works: pl.DataFrame, make: Callable[[dict[str, Any]], object]) -> bytes:
    rows = (json.dumps(make(row), ensure_ascii=False) for row in works.iter_rows(named=True))
    return ("\n".join(rows) + "\n").encode()


def openalex(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"https://openalex.org/{row['id']}",
        "title": row["title"],
        "display_name": row["title"],
        "publication_year": row["year"],
        "language": row["lang"],
        "type": row["type"],
        "primary_location": {"source": {"display_name": row["venue"]}},
        "primary_topic": {
            "display_name": row["topic"],
            "field": {"display_name": row["field"]},
        },
    }


FORMATS: dict[str, Write] = {
    "works.csv": lambda works: works.write_csv().encode(),
    "bom.csv": lambda works: b"\xef\xbb\xbf" + works.write_csv().encode(),
    "works.tsv": lambda works: works.write_csv(separator="\t").encode(),
    "works.jsonl": lambda works: lines(works, dict),
    "works.json": lambda works: json.dumps(works.to_dicts()).encode(),
    "part_000": lambda works: lines(works, openalex),
    "works.arrow": lambda works: arrow(works, stream=False),
    "polars.arrow": polars_arrow,
    "works.arrows": lambda works: arrow(works, stream=True),
}
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


@pytest.fixture
def same(expected: pa.Table, tiny_bundle: Path) -> Callable[[Path], None]:
    """Run on a frame, and compare every column with the run on Parquet."""

    def compare(frame: Path) -> None:
        output = frame.with_name("out.parquet")
        run(RunRequest(frame=frame, output=output, model=str(tiny_bundle)))
        found = pq.read_table(output)
        assert [name for name in expected.column_names if found[name] != expected[name]] == []
        assert found.schema.equals(expected.schema, check_metadata=True)
        assert read_manifest(output).skipped_records == 0

    return compare


@pytest.mark.parametrize(
    ("name", "ending"),
    [pair for pair in product(FORMATS, COMPRESSIONS) if pair[0] != "polars.arrow" or not pair[1]],
)
def test_every_format_and_compression_gives_the_same_rows(
    works: pl.DataFrame, same: Callable[[Path], None], tmp_path: Path, name: str, ending: str
) -> None:
    frame = tmp_path / f"{name}{ending}"
    frame.write_bytes(COMPRESSIONS[ending](FORMATS[name](works)))
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
    tiny_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = tmp_path / "works.csv"
    works.write_csv(frame)
    request = RunRequest(frame=frame, output=tmp_path / "out.parquet", model=str(tiny_bundle))
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
