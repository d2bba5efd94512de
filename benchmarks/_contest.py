"""Programs timed in turn on frames of one kind of text, and the rows of the table that follow.

Steady state is what is left when the time of the same command on 1,000 works is taken away: neither
interpreters nor imports nor models count, for either side.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from _measure import Measured, console, measure

START_WORKS: Final = 1_000
Command = Callable[[Path, Path], Sequence[str | Path]]
"""A frame and an output -> the command."""
Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Goal:
    """What scorer must reach against an entrant, or by itself."""

    value: float
    kind: str
    """`pace`: at least so many works a second; `times`: at least so many times the entrant's pace;
    `time`: at most so many times the entrant's time."""

    def __str__(self) -> str:
        """Say it as the table does."""
        return {
            "pace": f"≥ {self.value:,.0f}/s",
            "times": f"≥ {self.value:g} ×",
            "time": f"≤ {self.value:g} × time",
        }[self.kind]


@dataclass(slots=True)
class Entrant:
    """One program on one kind of text; the lists grow by one a round."""

    name: str
    command: Command
    works: int
    goal: Goal | None = None
    start: list[Measured] = field(default_factory=list)
    whole: list[Measured] = field(default_factory=list)
    failed: str | None = None
    """Why it takes no part, or no longer does."""

    def run(self, frame: Callable[[int], Path], output: Path) -> None:
        """Time one round: the small frame for the start-up, then the frame."""
        if self.failed is not None:
            return
        small = output.with_name(f"start-{output.name}")
        try:
            start = measure(self.command(frame(START_WORKS), small))
            whole = measure(self.command(frame(self.works), output))
        except SystemExit as error:
            self.failed = "failed: " + (str(error).strip().splitlines() or [""])[-1][:200]
            console.print(f"{self.name}: {error}", style="red", highlight=False, markup=False)
            return
        self.start.append(start)
        self.whole.append(whole)

    def pace(self, number: int) -> float:
        """Works a second in one round, once it runs; of the whole where that is no longer."""
        whole = self.whole[number].seconds
        seconds = whole - self.start[number].seconds
        return (self.works - START_WORKS) / (seconds if seconds > 0 else whole)

    @property
    def paces(self) -> list[float]:
        """Works a second of each round."""
        return [self.pace(number) for number in range(len(self.whole))]

    @property
    def processor(self) -> float:
        """Processor seconds a work once it runs, all processes together."""
        rounds = zip(self.whole, self.start, strict=True)
        spent = [whole.processor_seconds - start.processor_seconds for whole, start in rounds]
        return statistics.median(spent) / (self.works - START_WORKS)


@dataclass(slots=True)
class Contest:
    """One kind of text: scorer first, then who it is compared with."""

    name: str
    frame: Callable[[int], Path]
    entrants: list[Entrant]
    folder: Path

    def round(self) -> None:
        """Run everyone once, in turn."""
        for entrant in self.entrants:
            console.print(f"  {self.name}: {entrant.name}", style="dim", highlight=False)
            entrant.run(self.frame, self.output(entrant))

    def output(self, entrant: Entrant) -> Path:
        """Return where an entrant writes; the next round replaces it."""
        name = "".join(c if c.isalnum() else "-" for c in f"{self.name} {entrant.name}")
        return self.folder / f"{name}.scored.parquet"

    def measured(self) -> dict[str, dict[str, list[dict[str, float]]]]:
        """Return all that was measured: entrant -> start, whole -> rounds."""
        return {
            entrant.name: {
                "start": [asdict(run) for run in entrant.start],
                "whole": [asdict(run) for run in entrant.whole],
            }
            for entrant in self.entrants
        }

    def rows(self) -> list[Row]:
        """Return a row of the table for each entrant."""
        return [_row(self.name, entrant, self.entrants[0]) for entrant in self.entrants]


def _row(texts: str, entrant: Entrant, ours: Entrant) -> Row:
    goal = entrant.goal
    row = row_of(texts, entrant.name, goal=str(goal or ""))
    if not entrant.whole:
        return {**row, "figure": entrant.failed or "not run yet", "kept": "NO" if goal else ""}
    seconds = [run.seconds for run in entrant.whole]
    row |= {
        "works": f"{entrant.works:,}",
        "wall s": f"{statistics.median(seconds):.2f}",
        "start s": f"{statistics.median(run.seconds for run in entrant.start):.2f}",
        "CPU µs": f"{entrant.processor * 1e6:,.2f}",
        "works/s": f"{statistics.median(entrant.paces):,.0f}",
    }
    if entrant is not ours and not ours.whole:
        return {**row, "figure": "scorer did not run", "kept": "NO" if goal else ""}
    if entrant is ours:
        found, form = entrant.paces, "{:,.0f}/s"
    elif goal is not None and goal.kind == "time":
        found, form = _ratios(entrant.paces, ours.paces), "{:.2f} × time"
    else:
        found, form = _ratios(ours.paces, entrant.paces), "{:.2f} ×"
    figure = statistics.median(found)
    row["figure"] = form.format(figure)
    row["range"] = range_of(found, form.split("}", maxsplit=1)[0] + "}")
    if goal is not None:
        kept = figure <= goal.value if goal.kind == "time" else figure >= goal.value
        row["kept"] = "yes" if kept else "NO"
    return row


def range_of(found: Sequence[float], form: str) -> str:
    """Return the lowest and the highest of some figures."""
    return f"{form.format(min(found))} to {form.format(max(found))}"


def _ratios(paces: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return how many times the other's each pace is, round by round."""
    return [one / other for one, other in zip(paces, others, strict=False)]


def row_of(texts: str, program: str, **cells: str) -> Row:
    """Return a row of the table; cells that are not given are empty."""
    columns = ("works", "wall s", "start s", "CPU µs", "works/s", "figure", "range", "goal", "kept")
    return {"texts": texts, "program": program, **dict.fromkeys(columns, ""), **cells}
