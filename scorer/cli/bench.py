"""`scorer bench`: how fast it is here."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import Json, Mapping, Model, Quiet, Threads, pairs
from scorer.counted import counted
from scorer.errors import INTERRUPTED
from scorer.student import DEFAULT_MODEL

if TYPE_CHECKING:
    from scorer.engine.bench import Bench


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer bench frame.parquet --seconds 30")(bench)


def bench(
    frame: Annotated[
        str | None,
        typer.Argument(metavar="[FRAME]", help="As for scorer run; by default made works."),
    ] = None,
    model: Model = DEFAULT_MODEL,
    mapping: Mapping = None,
    seconds: Annotated[
        float, typer.Option(metavar="S", help="About how long the timed run takes.")
    ] = 10,
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure how fast this machine scores a frame, stage by stage, and reckon large ones.

    Scores works from all over the frame in this folder and leaves nothing behind.
    """
    mapped = pairs(mapping or [], "--map")
    if threads is not None:
        os.environ.setdefault("POLARS_MAX_THREADS", str(threads))  # read when polars is imported
    from scorer.cli.tables import as_json, shown_progress
    from scorer.engine.bench import BenchRequest
    from scorer.engine.bench import bench as measure

    request = BenchRequest(
        frame=frame, model=model, mapping=mapped, seconds=seconds, threads=threads
    )
    try:
        with shown_progress("scoring", quiet=quiet) as progress:
            found = measure(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json:
        typer.echo(as_json(found))
    else:
        _show(found)


def _show(found: "Bench") -> None:
    """Print what was measured: readable at 80 columns."""
    from rich.filesize import decimal

    from scorer.cli.tables import console, duration, share, table

    works = counted(found.works, "work") if found.works is not None else "works not counted"
    anew = "put together of their texts" if found.drawn < found.sample else "of them"
    typer.echo(f"{found.frame}: {works}. Measured on {found.sample:,} {anew}, repeated.")
    fast = "compiled loops" if found.compiled else "no compiled loops (extra fast)"
    typer.echo(f"{found.model}, {fast}.")
    if found.columns_not_found:
        missing = ", ".join(found.columns_not_found)
        typer.echo(f"The student reads {missing} too: with these it takes longer.")
    typer.echo("")
    typer.echo(
        f"{found.works_a_second:,.0f} works/s, measured over {found.seconds:,.1f} s and "
        f"{found.scored:,} works."
    )
    memory = f", {found.peak_bytes / 1e6:,.0f} MB of memory" if found.peak_bytes else ""
    typer.echo(
        f"{found.processors_used:.1f} of {found.processors} processors busy{memory}, "
        f"{found.output_bytes_a_work:.1f} bytes of output a work."
    )
    if found.reading_a_second is not None:
        typer.echo(
            f"Reading comes before, at {found.reading_a_second:,.0f} works/s: this is no Parquet."
        )
    whole = sum(stage.microseconds for stage in found.stages)
    shown = table("stage", "what", "CPU µs a work", "share", numbers_from=2)
    for stage in found.stages:
        part = share(round(stage.microseconds * 1e3), round(whole * 1e3))
        shown.add_row(stage.name, stage.what, f"{stage.microseconds:.2f}", part)
    shown.add_section()
    shown.add_row("", "one shard at a time", f"{whole:.2f}", "")
    shown.add_row("", "in the timed run", f"{found.processor_microseconds:.2f}", "")
    console().print(shown)
    times = table("works", "time to score", "scored file", numbers_from=0)
    for reckoned in found.estimates:
        size = decimal(reckoned.output_bytes)
        times.add_row(f"{reckoned.works:,}", duration(reckoned.seconds), size)
    console().print(times)
