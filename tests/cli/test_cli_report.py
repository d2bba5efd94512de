"""`scorer report` as a shell sees it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scorer.status import STAMP

Run = Callable[..., Any]


@pytest.fixture
def asked(scored: Path, tiny_frame: Path, tiny_bundle: Path, tmp_path: Path) -> list[object]:
    """The words of a command that makes a small site."""
    small = ("--top", 1, "--list", 5, "--model", tiny_bundle)
    return ["report", scored, "--frame", tiny_frame, "-o", tmp_path / "site", *small]


def test_a_site_is_made_and_told(scorer: Run, asked: list[object], tmp_path: Path) -> None:
    ended = scorer(*asked, "-q")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    again = scorer(*asked, "--overwrite")
    assert again.code == 0
    first, last = again.out.splitlines()
    assert first.startswith(f"{tmp_path / 'site'}/index.html: 5 of 200 works listed, ")
    assert last.endswith(f"{STAMP}. Scores rank works for human review.")


def test_json_tells_a_script(scorer: Run, asked: list[object], tmp_path: Path) -> None:
    told = json.loads(scorer(*asked, "--json").out)
    assert told["folder"] == str(tmp_path / "site")
    assert told["works"] == 200
    assert told["listed"] >= told["pages"] > 1
    assert told["missing"] == 0
    assert told["prediction_status"] == STAMP
    assert (tmp_path / "site" / "fr" / "queue.html").is_file()


def test_a_folder_with_something_in_it_ends_in_6(
    scorer: Run, asked: list[object], tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine.txt").write_text("mine")
    ended = scorer(*asked)
    assert ended.code == 6
    assert ended.err == (
        f"Error: {tmp_path / 'site'}: not empty, and no site of this program. Choose another -o.\n"
    )


def test_a_file_without_manifest_ends_in_3(scorer: Run, asked: list[object], scored: Path) -> None:
    Path(f"{scored}.meta.json").unlink()
    ended = scorer(*asked)
    assert ended.code == 3
    assert "no manifest" in ended.err


def test_frame_and_folder_have_to_be_named(scorer: Run, scored: Path) -> None:
    assert scorer("report", scored).code == 2
