"""Scenes in which the frame is the trouble: changed, damaged, in crumbs, in one lump, too long."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
from disturbed import Broken, Scene, Setting, ended, sha256

_BAD_INPUT = 3


def changed(setting: Setting, expected: str, *, times: int) -> Scene:
    """Change the frame in mid-run: longer, shorter, other content; then put it back."""
    frame = setting.folder / "changed.parquet"
    now = Scene(setting, "input changed", frame, setting.model)
    whole = setting.frame.read_bytes()
    while now.faults < times:
        now.clear()
        frame.write_bytes(whole)
        with ended(now.start()) as process:
            if not now.wait_for(1, process):
                now.end(process).expect(0)
                continue
            match now.faults % 3:
                case 0:
                    frame.write_bytes(whole + b" ")
                case 1:
                    os.truncate(frame, len(whole) // 2)
                case _:
                    frame.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) // 2))
            now.end(process).expect(_BAD_INPUT, words="changed while it was read")
        if now.output.exists():
            raise Broken("an output of a frame that changed")
        now.faults += 1
        frame.write_bytes(whole)
        now.run().expect(0)
        now.compare(expected)
    return now


def damaged(setting: Setting, expected: str, *, shard: int, kills: int) -> Scene:
    """Damage a row group in the middle: told; repaired; left out, also by a run that was killed."""
    frame = setting.folder / "damaged.parquet"
    now = Scene(setting, "damaged row group", frame, setting.model)
    shutil.copy2(setting.frame, frame)
    before = frame.stat()
    group, first, last = _middle(frame)
    _damage(frame, group)
    os.utime(frame, ns=(before.st_atime_ns, before.st_mtime_ns))
    now.run().expect(_BAD_INPUT, words=f"in row group {group:,} (")
    kept = now.finished()
    if kept != first // shard:
        raise Broken(f"{kept} parts are kept of {first // shard} before the damage")
    shutil.copy2(setting.frame, frame)
    now.run().expect(0)
    now.compare(expected)
    _damage(frame, group)
    now.faults = 1
    works = pl.read_parquet(frame, columns=["id"]).height
    without = range(first // shard * shard, min(-(-(last + 1) // shard) * shard, works))
    fewer = setting.folder / "fewer.parquet"
    left = pl.read_parquet(setting.frame).with_row_index("row")
    left.filter(~pl.col("row").is_in(without)).drop("row").write_parquet(fewer)
    alone = Scene(setting, "without", fewer, setting.model)
    alone.run().expect(0)
    for kill in range(kills + 1):
        now.clear()
        with ended(now.start("--on-bad-shard", "skip")) as process:
            if kill and now.wait_for(kill, process):
                process.kill()
                now.faults += 1
            run = now.end(process).expect(0, -9)
        if run.code:
            now.run("--on-bad-shard", "skip").expect(0)
        _check_skipped(now, without)
        now.compare(sha256(alone.output), without=without)
    now.notes.append(
        f"{len(without):,} of {works:,} works left out, in {len(without) // shard} shards"
    )
    return now


def _middle(frame: Path) -> tuple[int, int, int]:
    """Return a row group in the middle of a file, and its first and last row."""
    metadata = pq.read_metadata(frame)
    group = metadata.num_row_groups // 2
    first = sum(metadata.row_group(place).num_rows for place in range(group))
    return group, first, first + metadata.row_group(group).num_rows - 1


def _damage(frame: Path, group: int) -> None:
    chunk = (
        pq.read_metadata(frame)
        .row_group(group)
        .column(pq.read_schema(frame).get_field_index("title"))
    )
    with frame.open("r+b") as file:
        file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        file.write(bytes([255]) * chunk.total_compressed_size)


def _check_skipped(now: Scene, without: range) -> None:
    said = json.loads(now.output.with_name("out.parquet.meta.json").read_text())
    rows = [
        row
        for shard in said["skipped_shards"]
        for row in range(shard["first_row"], shard["last_row"] + 1)
    ]
    if rows != list(without):
        raise Broken(f"the manifest names other rows than {without}: {said['skipped_shards']}")
    verified = subprocess.run(
        [*now.setting.program, "verify", now.output], capture_output=True, text=True, check=False
    )
    if verified.returncode or f"but {len(without):,} that were left out" not in verified.stdout:
        raise Broken(f"verify: {verified.stdout}{verified.stderr}")


def in_crumbs(setting: Setting, expected: str, *, files: int) -> Scene:
    """Score the frame as a folder of small files; one run is killed half-way."""
    folder = setting.folder / "crumbs"
    works = pl.read_parquet(setting.frame)
    rows = -(-works.height // files)
    if not folder.exists():
        folder.mkdir()
        for number, start in enumerate(range(0, works.height, rows)):
            works[start : start + rows].write_parquet(folder / f"{number:06}.parquet")
    now = Scene(setting, "small files", folder, setting.model)
    return _whole_and_killed(now, expected)


def in_a_lump(setting: Setting, expected: str) -> Scene:
    """Score the frame as one row group; one run is killed half-way."""
    lump = setting.folder / "lump.parquet"
    if not lump.exists():
        works = pl.read_parquet(setting.frame)
        pq.write_table(works.to_arrow(), lump, row_group_size=works.height, compression="zstd")
    if pq.read_metadata(lump).num_row_groups != 1:
        raise Broken("the frame has more than one row group")
    now = Scene(setting, "one row group", lump, setting.model)
    return _whole_and_killed(now, expected)


def long_text(setting: Setting, model: str, *, length: int) -> Scene:
    """Score works among which one has a title, and one an abstract, of so many characters.

    The other works' rows must be those of a frame without the two.
    """
    frame, plain = setting.folder / "long.parquet", setting.folder / "plain.parquet"
    works = pl.read_parquet(setting.frame, columns=["id", "title"]).head(2_000)
    works = works.with_columns(abstract=pl.lit("We audit replication of trials here"))
    works.write_parquet(plain)
    text = ("replication of registered trials " * (length // 33 + 1))[:length]
    row, one, other = pl.int_range(pl.len()), works.height // 3, works.height // 2
    works.with_columns(
        title=pl.when(row == one).then(pl.lit(text)).otherwise("title"),
        abstract=pl.when(row == other).then(pl.lit(text)).otherwise("abstract"),
    ).write_parquet(frame)
    alone = Scene(setting, "plain text", plain, model)
    alone.run().expect(0)
    now = Scene(setting, "long text", frame, model)
    now.run().expect(0)
    rows, others = (pl.read_parquet(place.output).with_row_index("row") for place in (now, alone))
    aside = ~pl.col("row").is_in([one, other])
    if not rows.filter(aside).equals(others.filter(aside)):
        raise Broken("a long text changed the rows of other works")
    now.faults = 2
    return _whole_and_killed(now, sha256(now.output))


def _whole_and_killed(now: Scene, expected: str) -> Scene:
    """Run to the end, and again with a kill after the first part."""
    now.clear()
    now.run().expect(0)
    now.compare(expected)
    now.clear()
    with ended(now.start()) as process:
        if now.wait_for(1, process):
            process.kill()
            now.faults += 1
        run = now.end(process).expect(0, -9)
    if run.code:
        now.run().expect(0)
    now.compare(expected)
    return now
