"""What the engine tells while it works; the command line decides how it looks."""

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of a run."""

    def start(self, total: int, done: int) -> None:
        """Scoring begins: `total` works, of which `done` were scored by an earlier run."""

    def read(self, works: int) -> None:
        """So many works were read so far from a format that has to be read through first."""

    def advance(self, works: int) -> None:
        """Take note of so many more works, scored and safely on disk."""

    def note(self, text: str) -> None:
        """Say one line to the user."""


class Silence:
    """Tells nobody."""

    def start(self, total: int, done: int) -> None:
        """Say nothing."""

    def read(self, works: int) -> None:
        """Say nothing."""

    def advance(self, works: int) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""
