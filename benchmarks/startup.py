"""Times what a user waits for first: `scorer --help`, and `scorer run` on the sample frame."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from _measure import ROOT, SCORER, measure, report, scorer_run, work_folder

HELP_SECONDS: Final = 0.4
RUN_SECONDS: Final = 5.0
"""From the command to the finished file of 2,000 works (issue 2)."""


def main(
    times: Annotated[int, typer.Option(min=1, help="How often; the table shows medians.")] = 10,
) -> None:
    """Time start-up."""
    sample = ROOT / "sample_frames" / "works.parquet"
    commands: dict[str, tuple[Sequence[str | Path], float]] = {
        "scorer --help": ([SCORER, "--help"], HELP_SECONDS),
        "scorer run sample_frames/works.parquet": (
            scorer_run(sample, work_folder() / "works.scored.parquet"),
            RUN_SECONDS,
        ),
    }
    rows = []
    for name, (command, goal) in commands.items():
        measure(command)  # fills the page cache
        seconds = [measure(command).seconds for _ in range(times)]
        median = statistics.median(seconds)
        rows.append(
            {
                "command": name,
                "median s": f"{median:.3f}",
                "fastest s": f"{min(seconds):.3f}",
                "slowest s": f"{max(seconds):.3f}",
                "goal s": f"under {goal:g}",
                "kept": "yes" if median < goal else "NO",
            }
        )
    report("startup", "Start-up", rows, [f"Medians of {times}, page cache warm."])


if __name__ == "__main__":
    typer.run(main)
