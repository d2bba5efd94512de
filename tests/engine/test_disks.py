"""Disks that refuse: full ones, read-only ones, folders that are not there."""

import errno
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scorer.engine.files import sha256
from scorer.engine.manifest import manifest_path
from scorer.engine.request import RunRequest
from scorer.engine.rowgroups import RowGroupWriter
from scorer.engine.run import run
from scorer.errors import OutputError

WORKS_A_SHARD = 64
pytestmark = pytest.mark.usefixtures("small_shards")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_old_output_keeps_its_manifest_where_the_new_one_does_not_fit(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch, undisturbed: str
) -> None:
    run(request_for())
    close = RowGroupWriter.close

    def full(self: RowGroupWriter) -> None:
        close(self)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(RowGroupWriter, "close", full)
        with pytest.raises(OutputError, match="no space left"):
            run(request_for(overwrite=True))
    assert sha256(request_for().output) == undisturbed
    assert manifest_path(request_for().output).exists()


def test_an_output_folder_that_is_missing_is_told(request_for: Callable[..., RunRequest]) -> None:
    request = request_for(output=Path("/nowhere/at/all/out.parquet"))
    with pytest.raises(OutputError) as refused:
        run(request)
    assert str(refused.value) == (
        "/nowhere/at/all: no such folder. Make it first, or choose -o elsewhere."
    )


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a small disk in memory, or mount it anew with other options: `mounted("size=1m")`."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        again = "remount," if folder.is_mount() else ""
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", again + options, "tmpfs", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
        return folder

    yield mount
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("kilobytes", [16, 48, 80, 112, 140])
def test_a_full_disk_keeps_the_parts_and_a_rerun_finishes(
    request_for: Callable[..., RunRequest],
    mounted: Callable[[str], Path],
    undisturbed: str,
    kilobytes: int,
) -> None:
    disk = mounted(f"size={kilobytes}k")
    request = request_for(output=disk / "out.parquet")
    with pytest.raises(OutputError) as refused:
        run(request)
    first, second = str(refused.value).splitlines()
    assert first.endswith(": no space left on the disk.")
    assert first.startswith(str(request.output))
    assert second == (
        "Free some and give the same command again: a run goes on from its finished parts."
    )
    parts = len(list((disk / "out.parquet.parts").glob("*.parquet")))
    assert not manifest_path(request.output).exists()
    mounted("size=8m")
    manifest = run(request)
    assert manifest.resumed_rows == min(parts * WORKS_A_SHARD, 200)
    assert manifest.output.sha256 == undisturbed
    assert names(disk) == ["out.parquet", "out.parquet.meta.json"]


def test_a_read_only_folder_is_told(
    request_for: Callable[..., RunRequest], mounted: Callable[[str], Path]
) -> None:
    disk = mounted("size=1m")
    mounted("ro")
    with pytest.raises(OutputError) as refused:
        run(request_for(output=disk / "out.parquet"))
    assert str(refused.value) == (
        f"{disk}/out.parquet.parts: may not be written. Check permissions, or choose -o elsewhere."
    )
