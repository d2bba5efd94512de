"""`scorer run`: score a frame."""

import os
from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import (
    BadLine,
    Direct,
    ExcludeIds,
    Frame,
    Json,
    Keep,
    Limit,
    Mapping,
    Mode,
    Model,
    ModeName,
    OnBadLine,
    Overwrite,
    PolicyFile,
    Quiet,
    Threads,
    pairs,
    paths,
)
from scorer.errors import INTERRUPTED
from scorer.student import DEFAULT_MODEL


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer run frame.parquet -o scored.parquet --keep doi")(run)


def run(
    frame: Frame,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="By default FRAME.scored.parquet in this folder."
        ),
    ] = None,
    model: Model = DEFAULT_MODEL,
    policy: PolicyFile = None,
    mode: Mode = ModeName.both,
    direct: Direct = None,
    exclude_ids: ExcludeIds = None,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline",
            help="Score with a student whose maturity gate has not passed: scores, no calls.",
        ),
    ] = False,
    keep: Keep = None,
    mapping: Mapping = None,
    limit: Limit = None,
    on_bad_line: OnBadLine = BadLine.error,
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Score a frame, call its targets, stamp every row.

    Writes the scored Parquet file and, last, its manifest (.meta.json).
    Interrupted, it goes on where it stopped: give the same command again.
    """
    mapped = pairs(mapping or [], "--map")
    if threads is not None:
        os.environ.setdefault("POLARS_MAX_THREADS", str(threads))  # read when polars is imported
    import pyarrow as pa

    from scorer.cli.summary import show_calls
    from scorer.cli.tables import shown_progress
    from scorer.engine.job import RunRequest
    from scorer.engine.run import run as run_frame

    request = RunRequest(
        frame=frame,
        output=output,
        model=model,
        policy=policy,
        mode=mode.value,
        direct=paths(direct, "--direct"),
        exclude_ids=exclude_ids,
        baseline=baseline,
        keep=tuple(keep or ()),
        mapping=mapped,
        limit=limit,
        on_bad_record=on_bad_line.value,
        threads=threads,
        overwrite=overwrite,
    )
    # Arrow's usual pool keeps freed memory for long; the system's peaks a sixth lower, and flatter.
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        with shown_progress(quiet=quiet) as progress:
            manifest = run_frame(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted. The same command goes on from the finished parts.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json:
        typer.echo(manifest.model_dump_json(indent=2))
    elif not quiet:
        show_calls(manifest, request.output_path(), mode)
