"""Times `scorer run` beside its peers and the floor; start-up, output size, who can read it.

Whole commands, one after the other, round by round: scorer, each peer, scorer again. Peers run in
environments of their own, made once. One table is printed and stored, with what each stage costs.
"""

from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Final

import typer
from _contest import START_WORKS, Contest, Row, range_of, row_of
from _contestants import ABSTRACTS, TITLES, contests
from _frames import repeated_abstracts, repeated_titles
from _measure import RESULTS, SHIPPED, WORK, console, machine, show, store, work_folder
from _peers import versions
from _reading import reader_rows
from abstract_bundle import abstract_bundle
from startup import starts

from scorer.engine.bench_stages import Stage, stages
from scorer.engine.job import Job
from scorer.engine.request import RunRequest
from scorer.student.bundle import load_student

MOST_BYTES: Final = 60
"""Of output a work, for two heads and 11 targets (issue 6)."""
_TITLE: Final = "Speed beside peers"


def output_rows(found: list[Contest]) -> list[Row]:
    """Return the size of what scorer wrote in each contest."""
    rows = []
    for contest in found:
        output = contest.output(contest.entrants[0])
        if not contest.entrants[0].whole:
            continue
        each = output.stat().st_size / contest.entrants[0].works
        kept = "yes" if each <= MOST_BYTES else "NO"
        goal = f"≤ {MOST_BYTES} bytes"
        rows.append(
            row_of("output", contest.name, figure=f"{each:.1f} bytes", goal=goal, kept=kept)
        )
    return rows


def start_rows(times: int) -> list[Row]:
    """Return what a user waits for first."""
    return [
        row_of(
            "start-up",
            start.command.replace("sample_frames/works.parquet", "2,000 works"),
            **{
                "wall s": f"{start.median:.3f}",
                "figure": f"{start.median:.3f} s",
                "range": range_of(start.seconds, "{:.3f}"),
                "goal": f"< {start.goal:g} s",
                "kept": start.kept,
            },
        )
        for start in starts(times)
    ]


def profile() -> dict[str, tuple[Stage, ...]]:
    """Return what each stage costs on one shard, with compiled loops and without."""
    kinds: dict[str, tuple[Path, Path]] = {
        "titles": (repeated_titles(TITLES.scorer), SHIPPED),
        "abstracts": (repeated_abstracts(ABSTRACTS.scorer), abstract_bundle()),
    }
    folder = work_folder() / "run"
    found = {}
    for name, (frame, bundle) in kinds.items():
        job = Job.prepare(RunRequest(frame=frame, model=str(bundle)))
        job = replace(job, student=load_student(bundle))
        found[f"{name}, no loops"] = stages(job, folder)
        found[name] = stages(replace(job, student=job.student.compiled()), folder)
    return found


def profile_notes(found: dict[str, tuple[Stage, ...]]) -> list[str]:
    """Put the stages of each kind of text in a line."""
    return [
        f"CPU µs a work of each stage, one shard at a time, {name}: "
        + ", ".join(f"{stage.name} {stage.microseconds:.2f}" for stage in costs)
        + f"; together {sum(stage.microseconds for stage in costs):.2f}."
        for name, costs in found.items()
    ]


NOTES: Final = (
    "One command at a time, in turn, page cache warm. wall s, start s: medians. "
    "works/s, CPU µs a work: once it runs, without what the same command takes on "
    f"{START_WORKS:,} works.",
    "figure: scorer's own pace, or how many times a peer's pace that is; for the floor, how many "
    "times the floor's time scorer takes. The median of the rounds, each by itself; range: the "
    "lowest and the highest.",
    "abstracts: title and abstract. scorer: `scorer run`, default settings, extra `fast`; no "
    "loops: an environment without it.",
    "recipe × 1, × 2: the published recipe in one process, as published, and in two.",
    "fastText: supervised, a label an output of the student, wordNgrams 2, dim 32, one-vs-all, two "
    "processes; tokens by Polars; the best label alone is asked for.",
    "floor: reads, splits on spaces, dictionary-encodes, writes a file of the same size and "
    "layout; two threads.",
    "Real texts repeat to reach their numbers (26,660 titles, 19,934 title and abstract): within a "
    "batch a title two or three times, hardly an abstract twice; made titles never do, and bring "
    "six columns of metadata along.",
    "read by: rows, ids, calls of each category, the status and the sum of a score are those of "
    "the manifest and of Polars.",
    "R's arrow was not tried: no R here. It reads Parquet by the library that pyarrow reads it by.",
)


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds; the table shows medians.")] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small frames, one round, stored in .work: a trial.")
    ] = False,
) -> None:
    """Time scorer beside its peers."""
    if quick:
        rounds = 1
    try:
        version("numba")
    except PackageNotFoundError:
        raise SystemExit("numba is not installed: pip install '.[fast]' first.") from None
    about = machine()
    found = contests(quick=quick)
    for number in range(rounds):
        for contest in found:
            console.print(f"round {number + 1} of {rounds}", style="dim")
            contest.round()
            # What is there so far stays, whatever happens to the rest.
            partial = f"{_TITLE}, round {number + 1} of {rounds}"
            store(WORK, "run-so-far", partial, _rows(found), NOTES, about=about)
    console.print("start-up, output, stages", style="dim")
    rows = [*_rows(found), *start_rows(3 if quick else 10), *output_rows(found), *reader_rows()]
    costs, peers = profile(), versions()
    named = ", ".join(f"{peer}: {package}" for peer, package in peers.items())
    notes = [f"Rounds: {rounds}. Peers: {named}.", *NOTES, *profile_notes(costs)]
    show(_TITLE, rows, notes, about)
    store(
        WORK if quick else RESULTS,
        "run",
        _TITLE,
        rows,
        notes,
        about=about,
        rounds=rounds,
        peers=peers,
        profile={name: [asdict(stage) for stage in part] for name, part in costs.items()},
        measured={contest.name: contest.measured() for contest in found},
    )
    raise typer.Exit(1 if any(row["kept"] == "NO" for row in rows) else 0)


def _rows(found: list[Contest]) -> list[Row]:
    return [row for contest in found for row in contest.rows()]


if __name__ == "__main__":
    typer.run(main)
