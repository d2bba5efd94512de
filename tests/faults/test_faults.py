"""Whatever happens to a run, no work is lost or doubled, and the bytes are those of a quiet one.

Short scenes on a tiny frame; benchmarks/faults.py plays the long ones.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import frame_scenes
import machine_scenes
import polars as pl
import pytest
from disturbed import Scene, Setting, Unplayable, sha256

PROGRAM = Path(__file__).with_name("small_parts.py")
WORKS_A_PART = 40
PAUSE = 0.08  # seconds after each part, in which a fault finds the run at work


@pytest.fixture(scope="module")
def setting(
    tiny_frame: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Setting:
    """200 works in row groups of 40, and a program that makes five parts of them."""
    folder = tmp_path_factory.mktemp("faults")
    frame = folder / "works.parquet"
    pl.read_parquet(tiny_frame).write_parquet(frame, row_group_size=40)
    program = (sys.executable, str(PROGRAM), str(WORKS_A_PART), str(PAUSE))
    return Setting(folder, program, frame, str(tiny_bundle))


@pytest.fixture(scope="module")
def expected(setting: Setting) -> str:
    """The sha256 of a run that nothing disturbed."""
    quiet = machine_scenes.scene(setting, "quiet")
    quiet.run().expect(0)
    return sha256(quiet.output)


def played(play: Callable[..., Scene], *arguments: object, **settings: object) -> Scene:
    """Play a scene; skip the test where this machine has not what it needs."""
    try:
        return play(*arguments, **settings)
    except Unplayable as reason:
        pytest.skip(str(reason))


def test_killed_runs(setting: Setting, expected: str) -> None:
    found = played(machine_scenes.killed, setting, expected, kills=3, seconds=2.0)
    assert found.kept()
    assert found.faults == 3


def test_a_full_disk(setting: Setting, expected: str) -> None:
    assert played(machine_scenes.full_disk, setting, expected, sizes=[128 << 10]).kept()


def test_a_limit_of_file_size(setting: Setting, expected: str) -> None:
    assert played(machine_scenes.file_limit, setting, expected, sizes=[16 << 10]).kept()


def test_an_output_folder_that_is_removed(setting: Setting, expected: str) -> None:
    assert played(machine_scenes.folder_removed, setting, expected, times=2).kept()


def test_memory_that_is_denied(setting: Setting, expected: str) -> None:
    found = played(
        machine_scenes.out_of_memory, setting, expected, limits=[700_000_000], mid_runs=1
    )
    assert found.kept()
    assert found.faults >= 1


def test_a_clock_that_is_set_back(setting: Setting, expected: str) -> None:
    assert played(machine_scenes.clock_set_back, setting, expected, times=1).kept()


def test_two_runs_for_one_output(setting: Setting, expected: str) -> None:
    assert played(machine_scenes.two_at_once, setting, expected, times=1).kept()


def test_runs_that_are_asked_to_stop(setting: Setting, expected: str) -> None:
    assert played(machine_scenes.stopped, setting, expected, times=2).kept()


def test_a_frame_that_changes(setting: Setting, expected: str) -> None:
    assert played(frame_scenes.changed, setting, expected, times=2).kept()


def test_a_damaged_row_group(setting: Setting, expected: str) -> None:
    found = played(frame_scenes.damaged, setting, expected, shard=WORKS_A_PART, kills=1)
    assert found.kept()
    assert found.notes == ["40 of 200 works left out, in 1 shards"]


def test_a_frame_in_small_files(setting: Setting, expected: str) -> None:
    assert played(frame_scenes.in_crumbs, setting, expected, files=67).kept()


def test_a_frame_of_one_row_group(setting: Setting, expected: str) -> None:
    assert played(frame_scenes.in_a_lump, setting, expected).kept()


def test_works_of_a_million_characters(setting: Setting, abstract_bundle: Path) -> None:
    found = played(frame_scenes.long_text, setting, str(abstract_bundle), length=1_000_000)
    assert found.kept()
