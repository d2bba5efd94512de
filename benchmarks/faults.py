"""Disturbs `scorer run` in every way of issue 6, and counts works lost and works doubled.

The scenes are those of tests/faults, at full length and with the program as it is. After each fault
the same command is given again until it ends; every finished file must be, byte for byte, that of a
run which nothing disturbed. Exits with 1 where one is not, or where a work was lost or doubled.
"""

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import polars as pl
import typer
from _frames import made_frame, repeated_titles
from _measure import RESULTS, ROOT, SCORER, SHIPPED, console, measure, report, work_folder
from abstract_bundle import abstract_bundle

sys.path.insert(0, str(ROOT / "tests" / "faults"))
import frame_scenes
import machine_scenes
from disturbed import Scene, Setting, Unplayable, sha256

_SHARD: Final = 32_768
_MEGABYTE: Final = 1_000_000
_LIMITS: Final = [mb * _MEGABYTE for mb in (100, 300, 600, *range(800, 4_000, 200))]


class Stage:
    """The frames and undisturbed runs that scenes are compared with, each made once."""

    def __init__(self, works: int, lump: int) -> None:
        """Make the frame of most scenes, and score it in peace."""
        self.folder = work_folder() / "faults"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.lump_works = lump
        frame = self.folder / "works.parquet"
        # Row groups of a size that no shard has, so that shards lie across them.
        pl.read_parquet(made_frame(works)).write_parquet(frame, row_group_size=30_000)
        self.setting = self.set_for(frame)
        self.expected, self.seconds = self.quiet(self.setting)

    def set_for(self, frame: Path) -> Setting:
        """Return the setting of a frame, with the program and student that users have."""
        return Setting(self.folder, (str(SCORER),), frame, str(SHIPPED))

    def quiet(self, setting: Setting) -> tuple[str, float]:
        """Score a frame undisturbed; return the output's sha256, and the seconds it took."""
        now = machine_scenes.scene(setting, "quiet")
        began = time.perf_counter()
        now.run().expect(0)
        return sha256(now.output), time.perf_counter() - began

    def output_bytes(self) -> int:
        """Return the size of the undisturbed output."""
        return (self.folder / "quiet" / "out.parquet").stat().st_size


def scenes(stage: Stage, kills: int, files: int) -> dict[str, Callable[[], Scene]]:
    """Return every scene at full length, by the name that --only takes."""
    setting, expected = stage.setting, stage.expected
    size = stage.output_bytes()
    shares = (0.1, 0.4, 0.8, 1.2, 1.6, 1.9)  # parts and output need its size twice
    return {
        "killed": lambda: machine_scenes.killed(
            setting, expected, kills=kills, seconds=stage.seconds
        ),
        "disk": lambda: machine_scenes.full_disk(
            setting, expected, sizes=[int(share * size) for share in shares]
        ),
        "file-size": lambda: machine_scenes.file_limit(
            setting, expected, sizes=[size // 20, size // 2]
        ),
        "folder": lambda: machine_scenes.folder_removed(setting, expected, times=12),
        "changed": lambda: frame_scenes.changed(setting, expected, times=9),
        "damaged": lambda: frame_scenes.damaged(setting, expected, shard=_SHARD, kills=3),
        "memory": lambda: machine_scenes.out_of_memory(
            setting, expected, limits=_LIMITS, mid_runs=6
        ),
        "clock": lambda: machine_scenes.clock_set_back(setting, expected, times=6),
        "race": lambda: machine_scenes.two_at_once(setting, expected, times=12),
        "stopped": lambda: machine_scenes.stopped(setting, expected, times=16),
        "crumbs": lambda: crumbs(stage, files),
        "lump": lambda: lump(stage),
        "long": lambda: frame_scenes.long_text(
            setting, str(abstract_bundle()), length=10 * _MEGABYTE
        ),
    }


def crumbs(stage: Stage, files: int) -> Scene:
    """Score the frame in small files, and say what that takes."""
    now = frame_scenes.in_crumbs(stage.setting, stage.expected, files=files)
    now.notes.append(f"{len(list(now.frame.iterdir())):,} files: {_cost(now)}")
    return now


def lump(stage: Stage) -> Scene:
    """Score a larger frame as one row group, and say what that takes."""
    setting = stage.set_for(repeated_titles(stage.lump_works))
    expected, _ = stage.quiet(setting)
    now = frame_scenes.in_a_lump(setting, expected)
    now.notes.append(f"{stage.lump_works:,} works in one row group: {_cost(now)}")
    return now


def _cost(now: Scene) -> str:
    now.clear()
    command = [SCORER, "run", now.frame, "-o", now.output, "--model", now.model, "--quiet"]
    took = measure(command, memory=True)
    return (
        f"{took.seconds:.0f} s, {took.processor_seconds:.0f} s of processors, "
        f"peak {took.peak_bytes / _MEGABYTE:,.0f} MB"
    )


def row(now: Scene, seconds: float) -> dict[str, str]:
    """Return a scene's line of the table."""
    return {
        "fault": now.name,
        "runs": f"{now.runs:,}",
        "faults": f"{now.faults:,}",
        "outputs": f"{now.jobs:,}",
        "works in them": f"{now.works:,}",
        "lost": f"{now.lost:,}",
        "doubled": f"{now.doubled:,}",
        "same sha256": f"{now.equal} of {now.jobs}",
        "seconds": f"{seconds:.0f}",
    }


def main(
    kills: Annotated[int, typer.Option(min=1, help="How often to kill.")] = 200,
    works: Annotated[int, typer.Option(min=100_000, help="Works of most scenes.")] = 200_000,
    files: Annotated[int, typer.Option(min=1, help="Small files.")] = 50_000,
    lump_works: Annotated[int, typer.Option(min=1, help="Works of one row group.")] = 5_000_000,
    only: Annotated[
        list[str] | None, typer.Option(help="Scenes to play; the table is kept.")
    ] = None,
) -> None:
    """Play all scenes; store the counts."""
    stage = Stage(works, lump_works)
    stored = RESULTS / "faults.json"
    found = json.loads(stored.read_text())["scenes"] if only and stored.exists() else {}
    for name, play in scenes(stage, kills, files).items():
        if only and name not in only:
            continue
        began = time.perf_counter()
        try:
            now = play()
        except Unplayable as reason:
            found[name] = {"row": None, "notes": [f"{name}: not played: {reason}"], "kept": True}
            continue
        made = row(now, time.perf_counter() - began)
        notes = [f"{now.name}: {note}." for note in now.notes]
        found[name] = {"row": made, "notes": notes, "kept": now.kept()}
        console.print(made, notes)
    tell(found, stage, works)
    shutil.rmtree(stage.folder)
    raise typer.Exit(0 if all(scene["kept"] for scene in found.values()) else 1)


def tell(found: dict[str, dict], stage: Stage, works: int) -> None:
    """Print and store the table, its sums last."""
    rows = [scene["row"] for scene in found.values() if scene["row"]]
    equal = [line["same sha256"].split(" of ") for line in rows]
    sums = {
        name: f"{sum(int(line[name].replace(',', '')) for line in rows):,}"
        for name in rows[0]
        if name not in {"fault", "same sha256"}
    }
    same = f"{sum(int(one) for one, _ in equal)} of {sum(int(all_) for _, all_ in equal)}"
    total = {"fault": "all", **sums, "same sha256": same}
    notes = [
        f"Most scenes: {works:,} made titles, {-(-works // _SHARD)} parts; a run that nothing "
        f"disturbs took {stage.seconds:.1f} s.",
        "After each fault the same command is given again, until it ends; then its output is "
        "compared with that of an undisturbed run: ids, and sha256.",
        *(note for scene in found.values() for note in scene["notes"]),
    ]
    report(
        "faults",
        "Faults",
        [*rows, {name: total[name] for name in rows[0]}],
        notes,
        scenes=found,
    )


if __name__ == "__main__":
    typer.run(main)
