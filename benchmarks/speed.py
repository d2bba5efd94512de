"""Times `scorer run` against the published recipe, on titles and on title and abstract.

Whole commands, one process run after the other (A B A B), medians over the rounds. Steady state is
what is left when the same command's time on 1,000 works is taken away: start-up does not grow.
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from _frames import made_frame, repeated_abstracts, repeated_titles
from _measure import ROOT, SHIPPED, Measured, console, measure, report, scorer_run, work_folder
from abstract_bundle import abstract_bundle

START_WORKS: Final = 1_000
GOAL: Final = 12
"""Times faster than the recipe, in steady state, on both kinds of text (issue 2)."""


@dataclass(frozen=True, slots=True)
class Contest:
    """One kind of text: works for both, and a larger frame on which scorer alone is timed too."""

    name: str
    frame: Callable[[int], Path]
    works: int
    large: int
    model: Path


@dataclass(frozen=True, slots=True)
class Entrant:
    """One command on one size of frame; both lists grow by one a round."""

    name: str
    command: Callable[[Path], Sequence[str | Path]]
    start: list[Measured]
    whole: list[Measured]

    def run(self, start: Path, frame: Path) -> None:
        """Time one round: the small frame for the start-up, then the frame."""
        self.start.append(measure(self.command(start)))
        self.whole.append(measure(self.command(frame)))

    def steady(self, works: int) -> float:
        """Works a second once it runs."""
        return (works - START_WORKS) / (seconds(self.whole) - seconds(self.start))

    def processor(self, works: int) -> float:
        """Processor seconds a work once it runs, all cores together."""
        whole, start = (
            statistics.median(run.processor_seconds for run in runs)
            for runs in (self.whole, self.start)
        )
        return (whole - start) / (works - START_WORKS)


def entrant(name: str, command: Callable[[Path], Sequence[str | Path]]) -> Entrant:
    """Return an entrant without a round yet."""
    return Entrant(name, command, [], [])


def seconds(runs: Sequence[Measured]) -> float:
    """Return the median wall time."""
    return statistics.median(run.seconds for run in runs)


def recipe_run(processes: int) -> Callable[[Path], Sequence[str | Path]]:
    """Return the recipe's command for a frame."""
    script, output = ROOT / "benchmarks" / "recipe.py", work_folder() / "recipe.parquet"
    return lambda frame: [
        sys.executable,
        script,
        frame,
        "-o",
        output,
        "--processes",
        f"{processes}",
    ]


def contend(contest: Contest, rounds: int) -> list[dict[str, str]]:
    """Time everyone on one kind of text; return a row of the table each."""
    start, frame = contest.frame(START_WORKS), contest.frame(contest.works)
    large = contest.frame(contest.large)
    output = work_folder() / "speed.scored.parquet"

    def score(path: Path) -> Sequence[str | Path]:
        return scorer_run(path, output, "--model", contest.model)

    ours, ours_large = entrant("scorer", score), entrant("scorer", score)
    peers = [entrant(f"recipe × {n}", recipe_run(n)) for n in (1, 2)]
    for number in range(rounds):
        console.print(f"{contest.name}: round {number + 1} of {rounds}", style="dim")
        ours.run(start, frame)
        peers[0].run(start, frame)
        ours_large.run(start, large)
        peers[1].run(start, frame)
    lines = [(ours, contest.works), (ours_large, contest.large)]
    lines += [(peer, contest.works) for peer in peers]
    alone, together = (peer.steady(contest.works) for peer in peers)
    return [_row(contest.name, who, works, alone, together) for who, works in lines]


def _row(texts: str, who: Entrant, works: int, alone: float, together: float) -> dict[str, str]:
    times = [run.seconds for run in who.whole]
    steady = who.steady(works)
    return {
        "command": who.name,
        "texts": texts,
        "works": f"{works:,}",
        "wall s": f"{seconds(who.whole):.2f}",
        "±": f"{(max(times) - min(times)) / 2:.2f}",
        "start s": f"{seconds(who.start):.2f}",
        "CPU µs/work": f"{who.processor(works) * 1e6:,.1f}",
        "whole /s": f"{works / seconds(who.whole):,.0f}",
        "steady /s": f"{steady:,.0f}",
        "÷ recipe × 1": f"{steady / alone:.1f}",
        "÷ recipe × 2": f"{steady / together:.1f}",
    }


def contests(*, check_made: bool) -> list[Contest]:
    """Return the two contests of issue 2 and, as a check against repetition, a made frame."""
    bundle = abstract_bundle()
    found = [
        Contest("titles", repeated_titles, 200_000, 2_000_000, SHIPPED),
        Contest("abstracts", repeated_abstracts, 40_000, 200_000, bundle),
    ]
    if check_made:
        found.append(Contest("made titles", made_frame, 200_000, 1_000_000, SHIPPED))
    return found


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds; the table shows medians.")] = 3,
    made: Annotated[bool, typer.Option(help="Also time frames whose texts never repeat.")] = True,
) -> None:
    """Time `scorer run` against the published recipe."""
    rows = [row for contest in contests(check_made=made) for row in contend(contest, rounds)]
    notes = [
        f"Medians of {rounds} rounds, ± half the spread; one command at a time, cache warm. "
        "abstracts: title and abstract.",
        "whole: works a second of the whole command. steady, and CPU: without start-up, which is "
        f"what the same command takes on {START_WORKS:,} works.",
        "recipe × 1, × 2: in one process (as published), in two. scorer: one process, two threads.",
        f"The goal is {GOAL} times the recipe, in steady state.",
        "scorer also checks ids, calls, stamps, hashes and writes a checkpoint and 50 columns; the "
        "recipe writes its 22 scores.",
        "Real texts repeat to reach their numbers (26,660 titles, 19,934 title and abstract); "
        "made titles never do, and bring venue, topic, field, lang, type and year along.",
    ]
    report("speed", "Speed against the published recipe", rows, notes, rounds=rounds)


if __name__ == "__main__":
    typer.run(main)
