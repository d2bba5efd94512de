"""What the engine tells while it works; the command line decides how it looks."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

LONG_SILENCE: Final = 2.0
"""Seconds after which a step that says nothing says what it is doing."""


class Progress(Protocol):
    """Receives the progress of a run."""

    def start(
        self, total: int, done: int, doing: str | None = None, unit: str | None = None
    ) -> None:
        """Work begins: `total` works, of which `done` were scored by an earlier run.

        `doing`: what is done with them, where that is not what the command is about; `unit`: what
        is counted, where that is not what the command counts.
        """

    def read(self, works: int) -> None:
        """So many works were read so far from a format that has to be read through first."""

    def advance(self, works: int) -> None:
        """Take note of so many more works, scored and safely on disk."""

    def note(self, text: str) -> None:
        """Say one line to the user."""


class Silence:
    """Tells nobody."""

    def start(
        self, total: int, done: int, doing: str | None = None, unit: str | None = None
    ) -> None:
        """Say nothing."""

    def read(self, works: int) -> None:
        """Say nothing."""

    def advance(self, works: int) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


@contextmanager
def told_if_long(progress: Progress, text: str, seconds: float | None = None) -> Iterator[None]:
    """Say what a step is doing where it takes long; most often it does not, and nothing is said."""
    after = LONG_SILENCE if seconds is None else seconds
    waiting = threading.Timer(after, progress.note, (text,))
    waiting.daemon = True
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()
