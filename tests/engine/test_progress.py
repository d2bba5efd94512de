"""What a run tells while it works."""

import threading

from scorer.engine.progress import Silence, told_if_long


class Heard(Silence):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.told = threading.Event()

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.told.set()


def test_a_step_that_takes_long_is_told_while_it_lasts() -> None:
    heard = Heard()
    with told_if_long(heard, "still at it", seconds=0.01):
        assert heard.told.wait(30)
    assert heard.notes == ["still at it"]


def test_a_step_that_is_soon_done_is_not_told() -> None:
    heard = Heard()
    with told_if_long(heard, "still at it", seconds=60):
        pass
    assert heard.notes == []
