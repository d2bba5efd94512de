"""How things look in a terminal: tables, the status line, progress."""

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
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

from scorer.counted import counted
from scorer.status import STAMP

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from scorer.engine.progress import Progress

_SECONDS_BETWEEN_LINES: Final = 5.0
_FILE_WIDTH: Final = 160
_SLOW: Final = 10  # a second
_TIGHT: Final = (0, 1, 0, 0)
# Hebrew, Arabic and their kin, their presentation forms, the mark that stands for such a letter.
_RIGHT_TO_LEFT: Final = re.compile(
    "[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_TURNS: Final = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_ISOLATE: Final = "\u2068"
_END_OF_ISOLATE: Final = "\u2069"
_MINUTE: Final = 60
_HOUR: Final = 3_600


def console(*, err: bool = False) -> Console:
    """Return a console for tables; what goes to a file or a pipe is not cut at 80 columns."""
    made = Console(stderr=err, highlight=False, markup=False)
    if not made.is_terminal:
        made.width = max(made.width, _FILE_WIDTH)
    return made


def table(
    *columns: str, title: str | None = None, numbers_from: int = 1, tight: bool = False
) -> Table:
    """Return an empty table whose columns from `numbers_from` on hold numbers.

    `tight`: little room around cells, and no word cut off, so that many columns fit 80.
    """
    made = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    if tight:
        made.padding = _TIGHT
    for place, name in enumerate(columns):
        right = place >= numbers_from
        made.add_column(
            name, justify="right" if right else "left", overflow="fold" if tight else "ellipsis"
        )
    return made


def isolated(text: str, after: str) -> tuple[str, str]:
    """Return a text of a table and the cell after it, neither turning the other's direction.

    A text with letters from right to left opens an isolate. The next cell closes it, for the end of
    the text may be cut off; what is isolated there has no width.
    """
    text = text.translate(_TURNS)
    if not _RIGHT_TO_LEFT.search(text):
        return text, after
    return f"{_ISOLATE}{text}", f"{_END_OF_ISOLATE}{after}"


def share(part: int, whole: int) -> str:
    """Return a share in per cent, with two digits that mean something."""
    if not whole:
        return "–"
    return "over 99.9 %" if part < whole < 1.0005 * part else f"{100 * part / whole:.3g} %"


def no_works(where: str, skipped: int, limit: int | None, output: str | None = None) -> str:
    """Tell in one line that there was no work, why, and what to do.

    `skipped`: records that could not be read; `limit`: how many works were asked for at most;
    `output`: what was written all the same.
    """
    made = f"; {output} has no rows" if output is not None else ""
    if limit == 0:
        return f"No works: --limit 0 asks for none of {where}{made}."
    said = f" ({counted(skipped, 'record')} could not be read)" if skipped else ""
    return f"No works in {where}{said}{made}. Check that it is the one you mean."


def duration(seconds: float) -> str:
    """Return a time that was reckoned, in words."""
    if seconds < 1:
        return "under a second"
    if seconds < _MINUTE:
        return f"about {seconds:.0f} s"
    if seconds < _HOUR:
        return f"about {seconds / _MINUTE:.0f} min"
    return f"about {seconds / _HOUR:.1f} h"


def as_json(found: "DataclassInstance") -> str:
    """Return a result as a script takes it."""
    return json.dumps(asdict(found), indent=2, ensure_ascii=False)


def status_line() -> str:
    """Return the line that ends every table of calls or scores."""
    return f"Status of every row: {STAMP}. Scores rank works for human review."


def _a_second(pace: float) -> str:
    """Return how many a second; fits of a search are few, and 0 would say that nothing moves."""
    return f"{pace:,.0f}" if pace >= _SLOW else f"{pace:.2g}"


class Lines:
    """Progress for a log file: a plain line every few seconds."""

    def __init__(self, unit: str = "works") -> None:
        """Start the clock; `unit`: what is counted."""
        self._usual = self._unit = unit
        self._doing = ""
        self._total = self._done = self._start_done = 0
        self._started = self._said = time.monotonic()

    def start(
        self, total: int, done: int, doing: str | None = None, unit: str | None = None
    ) -> None:
        """Remember how much there is to do."""
        self._unit = unit or self._usual
        self._doing = f"{doing}: " if doing else ""
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
                f"{self._doing}{self._done:,} of {self._total:,} {self._unit}, "
                f"{_a_second(pace)} {self._unit}/s, {left:,.0f} s left"
            )

    def note(self, text: str) -> None:
        """Print a line on standard error."""
        print(text, file=sys.stderr, flush=True)


class _Pace(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Show works a second, or what else is counted."""
        unit = task.fields.get("unit") or self._unit
        return Text(f"{_a_second(task.speed or 0)} {unit}/s")


class _Rich:
    """Progress for people: a bar."""

    def __init__(self, bar: Bar, doing: str) -> None:
        self._bar = bar
        self._doing = doing
        self._task = bar.add_task("checking", total=None)

    def start(
        self, total: int, done: int, doing: str | None = None, unit: str | None = None
    ) -> None:
        """Turn the spinner into a bar; what was done earlier does not count as pace."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(
            doing or self._doing, total=total, completed=done, unit=unit
        )

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
def shown_progress(
    doing: str = "scoring", *, quiet: bool, unit: str = "works"
) -> "Iterator[Progress | None]":
    """Yield a progress receiver: a bar on a terminal, lines elsewhere, nothing where `quiet`."""
    if quiet:
        yield None
        return
    target = console(err=True)
    if not target.is_terminal:
        yield Lines(unit)
        return
    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Pace(unit),
        TimeRemainingColumn(),
        console=target,
        transient=True,
    ) as bar:
        yield _Rich(bar, doing)
