"""A frame where a scored file is meant, and the other way round: a line says which is which."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Scorer = Callable[..., Any]
COMMANDS = {
    "show": ["W1", "--scores"],
    "explain": ["W1", "--frame", "f.parquet", "--scores"],
    "rank": ["--by", "metaresearch"],
    "sample": ["-n", 40, "-o", "audit.csv"],
    "evaluate": ["labels.parquet"],
    "report": ["--frame", "f.parquet", "-o", "site"],
    "verify": [],
    "call": ["--policy", "policy.json"],
    "thresholds": ["--mode", "consensus", "--scores"],
}


@pytest.fixture
def frames(tiny_frame: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go where there are frames of three formats: f.parquet, f.csv, f.jsonl."""
    monkeypatch.chdir(tmp_path)
    Path("f.parquet").write_bytes(tiny_frame.read_bytes())
    Path("f.csv").write_text("id,title\nW1,The first of the works\nW2,The second\n")
    Path("f.jsonl").write_text('{"id": "W1", "title": "The first of the works"}\n')


@pytest.mark.usefixtures("frames")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("format_", ["parquet", "csv", "jsonl"])
def test_a_frame_is_not_a_scored_file(scorer: Scorer, command: str, format_: str) -> None:
    frame, rest = f"f.{format_}", COMMANDS[command]
    words = [*rest, frame] if rest and rest[-1] == "--scores" else [frame, *rest]
    ended = scorer(command, *words)
    assert (ended.code, ended.out) == (3, "")
    said = f"Error: {frame}: a frame, not a scored file. Score it first: scorer run {frame}\n"
    assert ended.err == said


@pytest.mark.parametrize(
    "words",
    [
        ["rank", "{}", "--by", "metaresearch", "--frame", "{}"],
        ["report", "{}", "--frame", "{}", "-o", "site"],
        ["show", "W1", "--scores", "{}", "--frame", "{}"],
        ["run", "{}", "-o", "again.parquet"],
    ],
)
def test_a_scored_file_is_not_a_frame(
    scorer: Scorer, scored: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(scored.parent)
    ended = scorer(*(word.format(scored.name) for word in words))
    assert ended.code == 3
    assert ended.err == (
        f"Error: {scored.name}: a scored file, not a frame: it has no column 'title'.\n"
        "Name the frame that was scored.\n"
    )
