"""`scorer run`: score a frame."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import (
    Json,
    Model,
    ModeName,
    Overwrite,
    PolicyFile,
    pairs,
)
from scorer.errors import INTERRUPTED
from scorer.student import DEFAULT_MODEL

if TYPE_CHECKING:
    from scorer.engine.manifest import RunManifest


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer run frame.parquet -o scored.parquet --keep doi")(run)


def run(
    frame: Annotated[
        Path, typer.Argument(metavar="FRAME", help="A Parquet file with id and title.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="By default FRAME.scored.parquet in this folder."
        ),
    ] = None,
    model: Model = DEFAULT_MODEL,
    policy: PolicyFile = None,
    mode: Annotated[
        ModeName,
        typer.Option(help="Which calls the table and the column classification speak of."),
    ] = ModeName.both,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COLUMN", help="A frame column to carry into the output; repeatable."
        ),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="NAME=COLUMN", help="Where a column has another name; repeatable."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Score the first N works only.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="By default as many as processors.")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
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

    from scorer.cli.tables import shown_progress
    from scorer.engine.job import RunRequest
    from scorer.engine.run import run as run_frame

    request = RunRequest(
        frame=frame,
        output=output,
        model=model,
        policy=policy,
        mode=mode.value,
        keep=tuple(keep or ()),
        mapping=mapped,
        limit=limit,
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
        _show(manifest, request.output_path(), mode)


def _show(manifest: "RunManifest", output: Path, mode: ModeName) -> None:
    from scorer.cli.tables import console, share, status_line, table

    counts = manifest.counts
    kinds = [*manifest.targets.head_names, *_combinations(mode)]
    shown = table("works called, by target", *kinds)
    for target in manifest.targets.binary:
        if target.kind == "flag" and target.name == manifest.targets.flags[0]:
            shown.add_section()
        calls = counts.calls[target.name]
        shown.add_row(target.label.en, *(f"{calls[kind]:,}" for kind in kinds))
    covered = counts.segments["covered"]
    typer.echo(
        f"{counts.rows:,} works scored by {manifest.model_version}; "
        f"{covered:,} with a usable title ({share(covered, counts.rows)})."
    )
    console().print(shown)
    if manifest.columns_not_found:
        missing = ", ".join(manifest.columns_not_found)
        typer.echo(f"The frame lacks {missing}: the student reads them, and scores worse without.")
    typer.echo(
        f"{output} ({manifest.output.size / 1e6:,.1f} MB), "
        f"{manifest.wall_seconds:,.1f} s, {manifest.works_a_second:,.0f} works/s"
    )
    entries = [e for head in manifest.targets.head_names for _, e in manifest.policy.of_head(head)]
    if any(entry.kind == "none" for entry in entries):
        typer.echo("Some heads make no call on some targets: see scorer thresholds.")
    typer.echo(status_line())


def _combinations(mode: ModeName) -> list[str]:
    return ["candidate", "consensus"] if mode is ModeName.both else [mode.value]
