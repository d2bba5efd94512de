"""How things look in a terminal: tables, the status line, progress."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from scorer.status import STAMP

if TYPE_CHECKING:
    from scorer.engine.progress import Progress

_SECONDS_BETWEEN_LINES: Final = 5.0
_FILE_WIDTH: Final = 160


def console(*, err: bool = False) -> Console:
    """Return a console for tables; what goes to a file or a pipe is not cut at 80 columns."""
    made = Console(stderr=err, highlight=False, markup=False)
    if not made.is_terminal:
        made.width = max(made.width, _FILE_WIDTH)
    return made


def table(*columns: str, title: str | None = None, numbers_from: int = 1) -> Table:
    """Return an empty table whose columns from `numbers_from` on hold numbers."""
    made = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for place, name in enumerate(columns):
        made.add_column(name, justify="right" if place >= numbers_from else "left")
    return made


def share(part: int, whole: int) -> str:
    """Return a share in per cent, with two digits that mean something."""
    if not whole:
        return "–"
    return "over 99.9 %" if part < whole < 1.0005 * part else f"{100 * part / whole:.3g} %"


def status_line() -> str:
    """Return the line that ends every table of calls or scores."""
    return f"Status of every row: {STAMP}. Scores rank works for human review."


class Lines:
    """Progress for a log file: a plain line every few seconds."""

    def __init__(self) -> None:
        """Start the clock."""
        self._total = self._done = self._start_done = 0
        self._started = self._said = time.monotonic()

    def start(self, total: int, done: int) -> None:
        """Remember how much there is to do."""
        self._total, self._done, self._start_done = total, done, done
        self._started = self._said = time.monotonic()

    def read(self, works: int) -> None:
        """Say how far reading is, now and then."""
        now = time.monotonic()
        if now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            self.note(f"{works:,} works read")

    def advance(self, works: int) -> None:
        """Say how far it is, now and then."""
        self._done += works
        now = time.monotonic()
        if now - self._said >= _SECONDS_BETWEEN_LINES and self._done < self._total:
            self._said = now
            pace = (self._done - self._start_done) / (now - self._started)
            left = (self._total - self._done) / pace
            self.note(
                f"{self._done:,} of {self._total:,} works, {pace:,.0f} works/s, {left:,.0f} s left"
            )

    def note(self, text: str) -> None:
        """Print a line on standard error."""
        print(text, file=sys.stderr, flush=True)


class _Pace(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Show works a second."""
        return Text(f"{task.speed or 0:,.0f} works/s")


class _Rich:
    """Progress for people: a bar."""

    def __init__(self, bar: Bar, doing: str) -> None:
        self._bar = bar
        self._doing = doing
        self._task = bar.add_task("checking", total=None)

    def start(self, total: int, done: int) -> None:
        """Turn the spinner into a bar; what was done earlier does not count as pace."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(self._doing, total=total, completed=done)

    def read(self, works: int) -> None:
        """Say how far reading is."""
        self._bar.update(self._task, description=f"reading, {works:,} works")

    def advance(self, works: int) -> None:
        """Move the bar."""
        self._bar.advance(self._task, works)

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text)


@contextmanager
def shown_progress(doing: str = "scoring", *, quiet: bool) -> "Iterator[Progress | None]":
    """Yield a progress receiver: a bar on a terminal, lines elsewhere, nothing where `quiet`."""
    if quiet:
        yield None
        return
    target = console(err=True)
    if not target.is_terminal:
        yield Lines()
        return
    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Pace(),
        TimeRemainingColumn(),
        console=target,
        transient=True,
    ) as bar:
        yield _Rich(bar, doing)
