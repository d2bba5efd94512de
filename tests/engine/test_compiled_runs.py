"""Compiled loops change the time that a run takes, and nothing else."""

from collections.abc import Callable

import pytest

import scorer.engine.job
from scorer.engine.job import Job
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.student.ngrams import NgramEncoder

pytest.importorskip("numba", reason="the extra fast is not installed")

from scorer.student.compiled.encoder import CompiledEncoder


def test_a_run_by_compiled_loops_gives_the_same_bytes(
    request_for: Callable[..., RunRequest],
    small_shards: None,
    undisturbed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(Job.prepare(request_for()).with_loops().student.encoder, NgramEncoder)
    monkeypatch.setattr(scorer.engine.job, "MUCH_TEXT", 1)
    assert isinstance(Job.prepare(request_for()).with_loops().student.encoder, CompiledEncoder)
    assert run(request_for(threads=2)).output.sha256 == undisturbed


def test_a_run_may_go_on_by_compiled_loops(
    request_for: Callable[..., RunRequest],
    small_shards: None,
    undisturbed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stopped(Exception):
        pass

    class StopsAtAPart:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *_: None

        def advance(self, works: int) -> None:
            if works:
                raise Stopped

    with pytest.raises(Stopped):
        run(request_for(), StopsAtAPart())
    monkeypatch.setattr(scorer.engine.job, "MUCH_TEXT", 1)
    found = run(request_for())
    assert found.resumed_rows > 0
    assert found.output.sha256 == undisturbed
