"""Times what a user waits for first: `scorer --help`, and `scorer run` on the sample frame."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from _measure import ROOT, SCORER, measure, report, scorer_run, work_folder

HELP_SECONDS: Final = 0.25
RUN_SECONDS: Final = 1.5
"""From the command to the finished file of 2,000 works (issue 6)."""


@dataclass(frozen=True, slots=True)
class Start:
    """A command, how long each of its runs took, and the goal, in seconds."""

    command: str
    seconds: Sequence[float]
    goal: float

    @property
    def median(self) -> float:
        """Half of the runs took less."""
        return statistics.median(self.seconds)

    @property
    def kept(self) -> str:
        """Whether the median is under the goal."""
        return "yes" if self.median < self.goal else "NO"


def starts(times: int) -> list[Start]:
    """Time both commands so many times, the page cache warm."""
    sample = ROOT / "sample_frames" / "works.parquet"
    output = work_folder() / "works.scored.parquet"
    commands: dict[str, tuple[Sequence[str | Path], float]] = {
        "scorer --help": ([SCORER, "--help"], HELP_SECONDS),
        "scorer run sample_frames/works.parquet": (scorer_run(sample, output), RUN_SECONDS),
    }
    found = []
    for name, (command, goal) in commands.items():
        measure(command)  # fills the page cache
        found.append(Start(name, [measure(command).seconds for _ in range(times)], goal))
    return found


def main(
    times: Annotated[int, typer.Option(min=1, help="How often; the table shows medians.")] = 10,
) -> None:
    """Time start-up."""
    rows = [
        {
            "command": start.command,
            "median s": f"{start.median:.3f}",
            "fastest s": f"{min(start.seconds):.3f}",
            "slowest s": f"{max(start.seconds):.3f}",
            "goal s": f"under {start.goal:g}",
            "kept": start.kept,
        }
        for start in starts(times)
    ]
    report("startup", "Start-up", rows, [f"Medians of {times}, page cache warm."])


if __name__ == "__main__":
    typer.run(main)
