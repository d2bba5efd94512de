"""Runs and calls from and to a store: the same bytes as on a disk, and whole or absent there."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from remote_servers import BUCKET, S3, keys_for, only_these, s3_server

from scorer.engine.call import CallRequest, call
from scorer.engine.convert import ConvertRequest, convert
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError, OutputError

URL = f"s3://{BUCKET}"


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with s3_server() as running:
        yield running


@pytest.fixture
def s3(server: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> S3:
    server.empty()
    only_these(monkeypatch, tmp_path, **keys_for(server.url))
    monkeypatch.chdir(tmp_path)
    return server


def test_a_frame_in_a_store_gives_the_bytes_that_it_gives_on_a_disk(
    s3: S3, tiny_frame: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    run(RunRequest(frame=tiny_frame, output=tmp_path / "disk.parquet", model=str(tiny_bundle)))
    there = s3.put("in/frame.parquet", tiny_frame.read_bytes())
    output = Path(f"{URL}/out/scored.parquet")
    manifest = run(RunRequest(frame=there, output=output, model=str(tiny_bundle)))
    assert s3.get("out/scored.parquet") == (tmp_path / "disk.parquet").read_bytes()
    assert manifest.sources[0].name == "frame.parquet"
    assert s3.names() == [
        "in/frame.parquet",
        "out/scored.parquet",
        "out/scored.parquet.meta.json",
    ]
    assert s3.unfinished() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "disk.parquet",
        "disk.parquet.meta.json",
    ]


def test_packed_json_lines_of_a_prefix_are_read_as_one_frame(
    s3: S3, tiny_frame: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    works = pl.read_parquet(tiny_frame).with_columns(pl.col(pl.String).replace("", None))
    works.write_parquet(tmp_path / "whole.parquet")
    for number, first in enumerate(range(0, works.height, 90)):
        content = works[first : first + 90].write_ndjson().encode()
        s3.put(f"frame/lang=xx/part_{number}.gz", gzip.compress(content))
    s3.put("frame/_SUCCESS", b"")
    local, remote = (
        run(RunRequest(frame=frame, output=tmp_path / name, model=str(tiny_bundle)))
        for frame, name in (
            (tmp_path / "whole.parquet", "a.parquet"),
            (f"{URL}/frame/", "b.parquet"),
        )
    )
    assert remote.output.sha256 == local.output.sha256
    assert len(remote.sources) == 3


def test_an_output_in_a_store_is_not_replaced_unasked(
    s3: S3, tiny_frame: Path, tiny_bundle: Path
) -> None:
    output = Path(f"{URL}/scored.parquet")
    request = RunRequest(frame=tiny_frame, output=output, model=str(tiny_bundle))
    run(request)
    before = s3.get("scored.parquet.meta.json")
    with pytest.raises(OutputError) as caught:
        run(request)
    assert str(caught.value) == (
        f"{URL}/scored.parquet: exists already. Choose another output with -o, or say --overwrite."
    )
    assert s3.get("scored.parquet.meta.json") == before


def test_calls_go_to_a_store(s3: S3, tiny_frame: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    scores = tmp_path / "scores.parquet"
    run(RunRequest(frame=tiny_frame, output=scores, model=str(tiny_bundle)))
    call(CallRequest(scores=scores, output=Path(f"{URL}/called.parquet")))
    assert s3.get("called.parquet") == scores.read_bytes()
    assert s3.names() == ["called.parquet", "called.parquet.meta.json"]


def test_a_conversion_to_a_store_gives_the_bytes_that_it_gives_on_a_disk(
    s3: S3, tiny_frame: Path, tmp_path: Path
) -> None:
    convert(ConvertRequest(frame=tiny_frame, output=tmp_path / "disk.parquet"))
    url = f"{URL}/out/frame.parquet"
    report = convert(ConvertRequest(frame=tiny_frame, output=Path(url)))
    assert report.output == url
    assert s3.names() == ["out/frame.parquet"]
    assert s3.get("out/frame.parquet") == (tmp_path / "disk.parquet").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["disk.parquet"]
    with pytest.raises(OutputError, match=f"^{url}: exists already. Choose another output"):
        convert(ConvertRequest(frame=tiny_frame, output=Path(url)))
    with pytest.raises(InputError, match=r"none\.parquet: no such file"):
        convert(ConvertRequest(frame=Path("none.parquet"), output=Path(f"{URL}/out/other.parquet")))
    assert [path.name for path in tmp_path.iterdir()] == ["disk.parquet"]
