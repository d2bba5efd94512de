"""A stretch of the frame that cannot be read ends the run, or is left out, counted and named."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import scorer.engine.job
from scorer.cli.app import app
from scorer.engine.call import CallRequest, call
from scorer.engine.files import sha256
from scorer.engine.manifest import SkippedShard, manifest_path, read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.engine.verify import verify
from scorer.errors import InputError

WORKS_A_SHARD, WORKS_A_GROUP = 20, 50
# Row group 1 holds rows 50 to 99, so that the shards 2, 3 and 4 cannot be made.
FIRST, LAST = 40, 99


@pytest.fixture(autouse=True)
def smaller_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer.engine.job, "TITLES_A_BATCH", WORKS_A_SHARD)


def damage(frame: Path, column: str, group: int = 1) -> None:
    """Overwrite a column of a row group."""
    schema = pq.read_schema(frame)
    chunk = pq.read_metadata(frame).row_group(group).column(schema.get_field_index(column))
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    with frame.open("r+b") as file:
        file.seek(start)
        file.write(bytes([255]) * chunk.total_compressed_size)


@pytest.fixture
def frame(tiny_frame: Path, tmp_path: Path) -> Path:
    """The tiny frame in row groups of 50, whole."""
    path = tmp_path / "works.parquet"
    pl.read_parquet(tiny_frame).write_parquet(path, row_group_size=WORKS_A_GROUP)
    return path


@pytest.fixture
def without(
    request_for: Callable[..., RunRequest], tiny_frame: Path, tmp_path: Path
) -> Callable[..., str]:
    """The sha256 of a run on the frame from which rows were taken out: `without(first, last)`."""

    def scored(first: int, last: int, **settings: object) -> str:
        path = tmp_path / "fewer.parquet"
        works = pl.read_parquet(tiny_frame)
        pl.concat([works[:first], works[last + 1 :]]).write_parquet(path)
        output = tmp_path / "fewer.scored.parquet"
        return run(request_for(frame=path, output=output, **settings)).output.sha256

    return scored


class Notes(Silence):
    """Remembers what was said, and how many works were counted as done."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.done = 0

    def note(self, text: str) -> None:
        self.said.append(text)

    def advance(self, works: int) -> None:
        self.done += works


def test_a_damaged_row_group_is_named_and_what_is_before_it_is_kept(
    request_for: Callable[..., RunRequest], frame: Path
) -> None:
    damage(frame, "title")
    with pytest.raises(InputError) as refused:
        run(request_for(frame=frame))
    first, second = str(refused.value).splitlines()
    assert first.startswith("works.parquet: damaged near row 50, in row group 1 (")
    assert second == "Copy or make the file again."
    parts = request_for().output.with_name("out.parquet.parts")
    assert sorted(path.name for path in parts.glob("*.parquet")) == [
        "part-000000.parquet",
        "part-000001.parquet",
    ]
    assert not request_for().output.exists()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("column", ["title", "id"])
def test_a_damaged_row_group_is_left_out_counted_and_named_where_that_is_asked(
    request_for: Callable[..., RunRequest],
    frame: Path,
    without: Callable[..., str],
    column: str,
    threads: int,
) -> None:
    damage(frame, column)
    progress = Notes()
    manifest = run(request_for(frame=frame, on_bad_shard="skip", threads=threads), progress)
    assert [(s.first_row, s.last_row, s.works) for s in manifest.skipped_shards] == [
        (40, 59, 20),
        (60, 79, 20),
        (80, 99, 20),
    ]
    for shard in manifest.skipped_shards:
        assert shard.reason.startswith("works.parquet: damaged near row 50, in row group 1 (")
    assert (manifest.skipped_works, manifest.counts.rows) == (60, 140)
    assert progress.done == 200
    assert progress.said == [
        f"Rows {s.first_row} to {s.last_row} were left out: {s.reason}"
        for s in manifest.skipped_shards
    ]
    assert manifest.output.sha256 == sha256(request_for().output) == without(FIRST, LAST)
    assert read_manifest(request_for().output) == manifest


def test_verify_accepts_a_file_that_lacks_what_was_left_out_and_says_so(
    request_for: Callable[..., RunRequest], frame: Path
) -> None:
    damage(frame, "title")
    run(request_for(frame=frame, on_bad_shard="skip"))
    output = request_for().output
    checks = verify(output)
    assert [check.name for check in checks if check.offending] == []
    said = "every work of the frame has a row, but 60 that were left out as unreadable"
    assert said in [check.name for check in checks]
    content = json.loads(manifest_path(output).read_text())
    del content["skipped_shards"][1]
    manifest_path(output).write_text(json.dumps(content))
    offending = {check.name: check.offending for check in verify(output) if check.offending}
    assert offending == {
        "every work of the frame has a row, but 40 that were left out as unreadable": [
            "180 of 200 are accounted for"
        ]
    }


def test_new_calls_keep_what_is_known_of_the_works_left_out(
    request_for: Callable[..., RunRequest], frame: Path, tmp_path: Path
) -> None:
    damage(frame, "title")
    manifest = run(request_for(frame=frame, on_bad_shard="skip"))
    called = call(CallRequest(request_for().output, output=tmp_path / "called.parquet"))
    assert called.skipped_shards == manifest.skipped_shards
    assert [c.name for c in verify(tmp_path / "called.parquet") if c.offending] == []


class StopAfter(Notes):
    """Ends the run once so many parts are safe."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.left = parts

    def advance(self, works: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("parts", [1, 3, 5, 8])
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes_and_leaves_out_the_same(
    request_for: Callable[..., RunRequest], frame: Path, without: Callable[..., str], parts: int
) -> None:
    damage(frame, "title")
    request = request_for(frame=frame, on_bad_shard="skip")
    with pytest.raises(KeyboardInterrupt):
        run(request, StopAfter(parts))
    manifest = run(request)
    assert manifest.resumed_rows == parts * WORKS_A_SHARD
    assert [shard.first_row for shard in manifest.skipped_shards] == [40, 60, 80]
    assert manifest.output.sha256 == without(FIRST, LAST)


def test_a_run_that_failed_goes_on_from_its_parts_where_the_damage_is_to_be_left_out(
    request_for: Callable[..., RunRequest], frame: Path, without: Callable[..., str]
) -> None:
    damage(frame, "title")
    with pytest.raises(InputError):
        run(request_for(frame=frame))
    manifest = run(request_for(frame=frame, on_bad_shard="skip"))
    assert manifest.resumed_rows == 2 * WORKS_A_SHARD
    assert manifest.output.sha256 == without(FIRST, LAST)


def test_what_was_left_out_is_tried_again_where_nothing_is_to_be_left_out(
    request_for: Callable[..., RunRequest], frame: Path
) -> None:
    damage(frame, "title")
    with pytest.raises(KeyboardInterrupt):
        run(request_for(frame=frame, on_bad_shard="skip"), StopAfter(6))
    progress = Notes()
    with pytest.raises(InputError, match="damaged near row 50"):
        run(request_for(frame=frame), progress)
    assert progress.said == ["40 works were scored before; going on from there."]


def test_the_last_and_the_first_shard_can_be_left_out(
    request_for: Callable[..., RunRequest], frame: Path, without: Callable[..., str]
) -> None:
    damage(frame, "title", group=3)  # rows 150 to 199: the shards 7, 8 and 9
    manifest = run(request_for(frame=frame, on_bad_shard="skip"))
    assert [shard.first_row for shard in manifest.skipped_shards] == [140, 160, 180]
    assert manifest.output.sha256 == without(140, 199)
    damage(frame, "title", group=0)
    again = run(request_for(frame=frame, on_bad_shard="skip", overwrite=True))
    assert [shard.first_row for shard in again.skipped_shards] == [0, 20, 40, 140, 160, 180]
    assert again.counts.rows == 80


def test_a_frame_of_which_nothing_can_be_read_leaves_an_output_without_rows(
    request_for: Callable[..., RunRequest], frame: Path
) -> None:
    for group in range(4):
        damage(frame, "title", group)
    manifest = run(request_for(frame=frame, on_bad_shard="skip"))
    assert (manifest.counts.rows, manifest.skipped_works) == (0, 200)
    assert [c.name for c in verify(request_for().output) if c.offending] == []


def test_a_shard_whose_works_cannot_be_scored_is_left_out_too(
    abstract_bundle: Path,
    request_for: Callable[..., RunRequest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scorer.engine.job, "ABSTRACTS_A_BATCH", WORKS_A_SHARD)
    index = [json.dumps({"We": [0], "audit": [1]})] * 60
    index[30] = "{no index"
    frame = tmp_path / "inverted.parquet"
    pl.DataFrame(
        {
            "id": [f"W{n}" for n in range(60)],
            "title": "Some title",
            "abstract_inverted_index": index,
        }
    ).write_parquet(frame)
    request = request_for(frame=frame, model=str(abstract_bundle), on_bad_shard="skip")
    manifest = run(request)
    (shard,) = manifest.skipped_shards
    assert (shard.first_row, shard.last_row) == (20, 39)
    assert shard.reason.startswith("inverted.parquet: ")
    assert manifest.counts.rows == 40


def test_labels_of_works_left_out_count_as_labels_without_a_work(
    request_for: Callable[..., RunRequest], frame: Path, label_files: dict[str, Path]
) -> None:
    damage(frame, "title")
    whole = run(request_for(direct={"gemma": label_files["gemma"]})).direct["gemma"]
    request = request_for(
        frame=frame,
        direct={"gemma": label_files["gemma"]},
        on_bad_shard="skip",
        overwrite=True,
    )
    found = run(request).direct["gemma"]
    labelled = pl.read_parquet(label_files["gemma"], columns=["id"])["id"]
    works = pl.read_parquet(request.output, columns=["id"])["id"]
    here = works.is_in(labelled.str.strip_prefix("https://openalex.org/").implode())
    assert found.labels == whole.labels
    assert found.works_without_label == works.len() - here.sum()
    assert found.labels_without_work == found.labels - here.sum()


def test_a_file_that_changed_is_refused_and_not_left_out(
    request_for: Callable[..., RunRequest], frame: Path
) -> None:
    class Meddling(Notes):
        def advance(self, works: int) -> None:
            damage(frame, "title", group=2)

    request = request_for(frame=frame, on_bad_shard="skip", threads=1)
    with pytest.raises(InputError) as refused:
        run(request, Meddling())
    assert str(refused.value) == (
        f"{frame}: changed while it was read; no output was written.\n"
        "Give the command again when the file is finished."
    )
    assert not request.output.exists()


def test_a_change_is_noticed_before_the_next_part_is_kept(
    request_for: Callable[..., RunRequest], frame: Path
) -> None:
    class Meddling(Notes):
        def advance(self, works: int) -> None:
            super().advance(works)
            with frame.open("ab") as file:
                file.write(b" ")

    progress = Meddling()
    with pytest.raises(InputError, match="changed while it was read"):
        run(request_for(frame=frame, threads=1), progress)
    assert progress.done < 100


def test_the_terminal_tells_what_was_left_out(
    frame: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    damage(frame, "title")
    words = ["run", frame, "-o", tmp_path / "out.parquet", "--model", tiny_bundle]
    ended = CliRunner().invoke(app, [str(word) for word in [*words, "--on-bad-shard", "skip"]])
    assert ended.exit_code == 0
    lines = ended.stdout.splitlines()
    at = lines.index("Not scored, and in no row: 60 works.")
    for row, line in zip((40, 60, 80), lines[at + 1 : at + 4], strict=True):
        assert line.startswith(
            f"  rows {row} to {row + 19}: works.parquet: damaged near row 50, in row group 1 ("
        )


def test_rows_of_a_skipped_shard_are_counted_from_nought() -> None:
    assert SkippedShard(first_row=0, last_row=19, reason="damaged").works == 20
