"""Scores a million works locally and on Ray: the same sha256; and what a work costs on a cluster.

Needs an environment with the extras `ray`, `fast` and `train`. `ray_guide.py` makes the tables of
docs/ray.md from what is stored here.
"""

import time
from pathlib import Path
from typing import Annotated, Final

import typer
from _contest import START_WORKS, Entrant
from _frames import made_frame, repeated_abstracts
from _measure import SHIPPED, console, report, scorer_run, work_folder
from abstract_bundle import abstract_bundle

from scorer.engine.job import Job
from scorer.engine.manifest import RunManifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.frame.ids import check_ids

ABSTRACTS: Final = 200_000


def by_ray(frame: Path, output: Path) -> tuple[RunManifest, float, float]:
    """Score on a Ray of this machine; return the manifest, wall seconds, and the driver's CPU.

    That of the thread that saves parts: with one driver, no cluster is faster.
    """
    started, spent = time.perf_counter(), time.thread_time()
    manifest = run(RunRequest(frame=frame, output=output, engine="ray", overwrite=True))
    return manifest, time.perf_counter() - started, time.thread_time() - spent


def local(name: str, works: int) -> Entrant:
    """Time local runs, of some works and of a few."""
    abstracts = name == "title + abstract"
    frame = repeated_abstracts if abstracts else made_frame
    bundle = abstract_bundle() if abstracts else SHIPPED
    entrant = Entrant(name, lambda of, to: scorer_run(of, to, "--model", bundle), works)
    entrant.run(frame, work_folder() / f"ray-{'abstracts' if abstracts else 'titles'}.parquet")
    if entrant.failed is not None:
        raise SystemExit(entrant.failed)
    return entrant


def ids_pass(frame: Path) -> float:
    """Return the CPU seconds a work of looking at all ids once for ids that occur twice."""
    job = Job.prepare(RunRequest(frame=frame))
    spent = time.process_time()
    check_ids(job.frame.ids, job.works, frame.name)
    return (time.process_time() - spent) / job.works


def main(
    works: Annotated[int, typer.Option(min=1, help="Made titles to score.")] = 1_000_000,
) -> None:
    """Compare the bytes, and measure what a work costs the workers and the driver."""
    frame, output = made_frame(works), work_folder() / "ray.scored.parquet"
    kinds = [local("title", 2 * works), local("title + abstract", ABSTRACTS)]
    here = run(
        RunRequest(frame=frame, output=output.with_name("here.scored.parquet"), overwrite=True)
    )
    console.print("on Ray", style="dim")
    by_ray(made_frame(START_WORKS), output)  # what is imported once counts for neither
    _, start, start_spent = by_ray(made_frame(START_WORKS), output)
    there, wall, spent = by_ray(frame, output)
    driver = (spent - start_spent) / (works - START_WORKS)
    same = here.output.sha256 == there.output.sha256
    measured = {
        "worker": {each.name: each.processor for each in kinds},
        "driver": driver,
        "ids": ids_pass(frame),
        "start": start,
        "out": there.output.size / works,
    }
    rows = [
        _row("local", works, here, here.wall_seconds),
        _row("Ray, one node, two processors", works, there, wall),
    ]
    notes = [
        f"The same sha256: {'yes' if same else 'NO'}.",
        *(
            f"CPU µs a work of a local run, {name}: {1e6 * each:.2f} (without what the same "
            f"command needs for {START_WORKS:,} works)."
            for name, each in measured["worker"].items()
        ),
        f"CPU µs a work of the driver on Ray, in its one thread: {1e6 * driver:.2f}; of one look "
        f"at all ids: {1e6 * measured['ids']:.2f}.",
        f"Ray started and ended, with {START_WORKS:,} works: {start:.1f} s.",
    ]
    report("ray", "Local and on Ray", rows, notes, measured=measured)
    raise typer.Exit(0 if same else 1)


def _row(name: str, works: int, manifest: RunManifest, wall: float) -> dict[str, str]:
    return {
        "engine": name,
        "works": f"{works:,}",
        "wall s": f"{wall:.1f}",
        "sha256": manifest.output.sha256,
    }


if __name__ == "__main__":
    typer.run(main)
