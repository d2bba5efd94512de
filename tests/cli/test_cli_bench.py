"""`scorer bench` as a shell sees it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Scorer = Callable[..., object]


@pytest.fixture
def quick(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_bundle: Path, tiny_frame: Path
) -> list[object]:
    """Arguments of a quick measurement: small shards, a student without compiled loops."""
    monkeypatch.setattr("scorer.engine.bench_stages._LEAST_SECONDS", 0.0)
    monkeypatch.setattr("scorer.engine.job.TITLES_A_BATCH", 100)
    monkeypatch.setattr("scorer.student.bundle.Student.compiled", lambda student: student)
    monkeypatch.chdir(tmp_path)
    return ["bench", tiny_frame, "--model", tiny_bundle, "--seconds", 0.01]


def test_bench_shows_pace_stages_and_times(scorer: Scorer, quick: list[object]) -> None:
    ended = scorer(*quick)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].endswith("200 works. Measured on 400 put together of their texts, repeated.")
    assert lines[1].startswith("tiny@")
    assert lines[1].endswith(", no compiled loops (extra fast).")
    assert "The student reads type too: with these it takes longer." in lines
    assert any(" works/s, measured over " in line for line in lines)
    words = [line.split() for line in lines if line.split()]
    found = [word[0] for word in words]
    places = [found.index(name) for name in ("check", "read", "clean", "encode", "score", "write")]
    assert places == sorted(places)
    assert any(word[0] == "4,300,000" and word[1] == "about" for word in words)
    assert any(word[0] == "250,000,000" for word in words)
    assert all(len(line.rstrip()) <= 80 for line in lines if not line.startswith("/"))


def test_bench_in_json(scorer: Scorer, quick: list[object], tmp_path: Path) -> None:
    ended = scorer(*quick, "--json", "--quiet")
    found = json.loads(ended.out)
    assert (found["works"], found["drawn"], found["sample"]) == (200, 200, 400)
    assert [stage["name"] for stage in found["stages"]][:2] == ["check", "read"]
    assert found["estimates"][0]["works"] == 200
    assert found["works_a_second"] > 0
    assert ended.err == ""
    assert list(tmp_path.iterdir()) == []


def test_bench_says_what_is_wrong(scorer: Scorer, quick: list[object]) -> None:
    assert scorer(*quick[:4], "--seconds", 0).code == 2
    ended = scorer("bench", "nowhere.parquet")
    assert (ended.code, ended.err) == (3, "Error: nowhere.parquet: no such file. Check the path.\n")
