"""Kills `scorer run` (SIGKILL) at random moments, reruns it, and compares the finished file.

After each kill the same command is given again, to be killed at a random moment of its own, until
it ends; then a fresh job begins, until all kills are spent. Every finished file must be, byte for
byte, that of a run which nothing disturbed.
"""

import hashlib
import random
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import polars as pl
import typer
from _frames import made_frame
from _measure import SCORER, WORK, console, measure, report, scorer_run, work_folder

_REFUSED: Final = 6  # the exit code for an output that is finished already
_AFTER_THE_END: Final = 1.02  # kills also fall on the last steps of a run


@dataclass(slots=True)
class Count:
    """What happened over all jobs."""

    runs: int = 0
    kills: int = 0
    jobs: int = 0
    killed_at: list[str] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    equal: int = 0
    left_over: int = 0


class Job:
    """One output, and the command that makes it."""

    def __init__(self, frame: Path) -> None:
        """Name the output; nothing is run."""
        self.output = work_folder() / "kills.scored.parquet"
        self.manifest = self.output.with_name(self.output.name + ".meta.json")
        self.parts = self.output.with_name(self.output.name + ".parts")
        self.command: Sequence[str | Path] = [SCORER, "run", frame, "-o", self.output, "--quiet"]

    def clear(self) -> None:
        """Remove all that earlier runs left."""
        shutil.rmtree(self.parts, ignore_errors=True)
        for path in WORK.glob("kills.scored.parquet*"):
            path.unlink()

    def run(self, kill_after: float | None) -> bool:
        """Run once, and kill after so many seconds; tell whether it ended by itself."""
        process = subprocess.Popen([str(word) for word in self.command], stderr=subprocess.PIPE)
        try:
            _, errors = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return False
        # A run that was killed after its manifest was written is complete, and says so.
        complete = process.returncode == _REFUSED and self.manifest.exists()
        if process.returncode and not complete:
            raise SystemExit(f"exit code {process.returncode}: {errors.decode()}")
        return True

    def progress(self) -> str:
        """Say how far the run came that was killed."""
        if self.manifest.exists():
            return "manifest written"
        return f"{len(list(self.parts.glob('part-*.parquet')))} parts"


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def disturb(frame: Path, *, kills: int, seconds: float, expected: str, seed: int) -> Count:
    """Kill so many runs, each at a random moment of `seconds`; count what came of it."""
    moments, count, job = random.Random(seed), Count(), Job(frame)
    wanted = pl.read_parquet(frame, columns=["id"])["id"].str.strip_prefix("https://openalex.org/")
    while count.kills < kills:
        job.clear()
        count.jobs += 1
        ended = False
        while not ended:
            moment = moments.uniform(0, seconds * _AFTER_THE_END)
            ended = job.run(moment if count.kills < kills else None)
            count.runs += 1
            if not ended:
                count.kills += 1
                count.killed_at.append(f"{moment:.2f} s ({job.progress()})")
                console.print(f"kill {count.kills}: {count.killed_at[-1]}", style="dim")
        found = pl.read_parquet(job.output, columns=["id"])["id"]
        count.lost += len(set(wanted) - set(found))
        count.doubled += len(found) - found.n_unique()
        count.equal += sha256(job.output) == expected
        count.left_over += job.parts.exists()
    return count


def main(
    kills: Annotated[int, typer.Option(min=1, help="How often to kill.")] = 10,
    rows: Annotated[int, typer.Option(min=1, help="Titles in the made frame.")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Seed of the moments.")] = 0,
) -> None:
    """Kill runs at random moments and compare what the reruns finish."""
    frame, undisturbed = made_frame(rows), work_folder() / "undisturbed.scored.parquet"
    seconds = measure(scorer_run(frame, undisturbed)).seconds
    started = time.perf_counter()
    expected = sha256(undisturbed)
    count = disturb(frame, kills=kills, seconds=seconds, expected=expected, seed=seed)
    row = {
        "works": f"{rows:,}",
        "jobs": f"{count.jobs}",
        "runs": f"{count.runs}",
        "kills": f"{count.kills}",
        "works lost": f"{count.lost:,}",
        "works doubled": f"{count.doubled:,}",
        "sha256 equal": f"{count.equal} of {count.jobs}",
        "parts left over": f"{count.left_over}",
    }
    notes = [
        f"A run that nothing disturbs takes {seconds:.1f} s; killed (SIGKILL) after "
        + ", ".join(count.killed_at)
        + ".",
        "After a kill the same command goes on from the parts on disk; a job ends when it does.",
        f"All jobs together: {time.perf_counter() - started:.0f} s. Seed {seed}.",
    ]
    report("kills", "Killed and started again", [row], notes)
    kept = count.equal == count.jobs and not (count.lost or count.doubled)
    raise typer.Exit(0 if kept else 1)


if __name__ == "__main__":
    typer.run(main)
