"""Ctrl-C and SIGTERM: the part in work is finished, a second one stops at once, others stay."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from scorer.engine.checkpoint import Checkpoint
from scorer.engine.interrupt import deferred
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run

WORKS_A_SHARD = 64
SAID = "Stopping when the part in work is finished; once more stops at once."


class Notes(Silence):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def stop(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal that raises `KeyboardInterrupt`, as it does in the program."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("part", [0, 1, 2, 3])
def test_the_part_in_work_is_finished_before_a_run_stops(
    request_for: Callable[..., RunRequest],
    monkeypatch: pytest.MonkeyPatch,
    undisturbed: str,
    stop: signal.Signals,
    part: int,
) -> None:
    save = Checkpoint.save

    def interrupted(self: Checkpoint, index: int, content: pa.Buffer) -> None:
        if index == part:
            os.kill(os.getpid(), stop)
        save(self, index, content)

    progress = Notes()
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(request_for(), progress)
    assert progress.said == [SAID]
    manifest = run(request_for())
    assert manifest.resumed_rows == min(200, (part + 1) * WORKS_A_SHARD)
    assert manifest.output.sha256 == undisturbed


@pytest.mark.usefixtures("small_shards")
def test_a_second_signal_stops_at_once(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch, stop: signal.Signals
) -> None:
    def interrupted(self: Checkpoint, index: int, content: pa.Buffer) -> None:
        os.kill(os.getpid(), stop)
        os.kill(os.getpid(), stop)
        raise AssertionError("still at work")

    monkeypatch.setattr(Checkpoint, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(request_for())
    assert not list(request_for().output.parent.glob("out.parquet.parts/part-*"))


def test_signals_are_as_they_were_afterwards(stop: signal.Signals) -> None:
    with deferred(Silence()) as interrupt:
        assert signal.getsignal(stop) is not signal.default_int_handler
        os.kill(os.getpid(), stop)
        assert interrupt.asked
    assert signal.getsignal(stop) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), stop)


def test_signals_that_a_program_uses_for_itself_stay_its_own() -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
    try:
        with deferred(Silence()) as interrupt:
            os.kill(os.getpid(), signal.SIGTERM)
        assert (caught, interrupt.asked) == ([signal.SIGTERM], False)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_leave_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    asked: list[bool] = []

    def work() -> None:
        with deferred(Silence()) as interrupt:
            asked.append(interrupt.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [False]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("small_shards")
def test_hashing_a_large_frame_does_not_delay_the_end(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, given_up = threading.Event(), threading.Event()

    def endless(_: object, over: Callable[[], bool]) -> str:
        begun.set()
        while not over():
            given_up.wait(0.01)
        given_up.set()
        return ""

    def interrupted(self: Checkpoint, index: int, content: pa.Buffer) -> None:
        assert begun.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr("scorer.engine.run.file_hash", endless)
    monkeypatch.setattr(Checkpoint, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(request_for())
    assert given_up.is_set()


def test_a_frame_of_one_shard_is_finished_too(
    request_for: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch, tiny_frame: Path
) -> None:
    save = Checkpoint.save

    def interrupted(self: Checkpoint, index: int, content: pa.Buffer) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        save(self, index, content)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(request_for())
    assert run(request_for()).resumed_rows == 200
