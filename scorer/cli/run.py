"""`scorer run`: score a frame."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from scorer.cli.limited import want_of_memory_told
from scorer.cli.options import (
    Address,
    BadLine,
    Direct,
    Engine,
    EngineName,
    ExcludeIds,
    Frame,
    Json,
    Keep,
    Limit,
    Mapping,
    Memory,
    Mode,
    Model,
    ModeName,
    OnBadLine,
    OnBadShard,
    Overwrite,
    PolicyFile,
    Provider,
    Quiet,
    Refine,
    RefineBand,
    RefinePolicy,
    RefineShare,
    Threads,
    pairs,
    paths,
    share,
    size,
)
from scorer.errors import INTERRUPTED
from scorer.student import CPU, DEFAULT_MODEL


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
    refine: Refine = None,
    refine_share: RefineShare = None,
    refine_band: RefineBand = None,
    refine_policy: RefinePolicy = None,
    keep: Keep = None,
    mapping: Mapping = None,
    limit: Limit = None,
    on_bad_line: OnBadLine = BadLine.error,
    on_bad_shard: OnBadShard = BadLine.error,
    threads: Threads = None,
    memory: Memory = None,
    provider: Provider = CPU,
    engine: Engine = EngineName.local,
    address: Address = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Score a frame, call its targets, stamp every row.

    Writes the scored Parquet file and, last, its manifest (.meta.json).
    Interrupted, it goes on where it stopped: give the same command again.
    """
    mapped = pairs(mapping or [], "--map")
    bound = size(memory, "--memory")
    part = share(refine_share, "--refine-share")
    labels = paths(direct, "--direct")
    # Shards are spread over threads: a pool of Polars's own would only take turns with them. This
    # is read when it is imported.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    if bound is not None:
        # So is this: what polars frees goes back to the system at once.
        os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
    with want_of_memory_told():
        _run(
            {
                "frame": frame,
                "output": output,
                "model": model,
                "policy": policy,
                "mode": mode.value,
                "direct": labels,
                "exclude_ids": exclude_ids,
                "baseline": baseline,
                "refine": refine,
                "refine_share": part,
                "refine_band": refine_band,
                "refine_policy": refine_policy,
                "keep": tuple(keep or ()),
                "mapping": mapped,
                "limit": limit,
                "on_bad_record": on_bad_line.value,
                "on_bad_shard": on_bad_shard.value,
                "threads": threads,
                "memory": bound,
                "provider": provider,
                "engine": engine.value,
                "address": address,
                "overwrite": overwrite,
            },
            mode,
            quiet=quiet,
            json=json,
        )


def _run(settings: dict[str, Any], mode: ModeName, *, quiet: bool, json: bool) -> None:
    """Load the library, which may be too much for a limit of memory already, and run."""
    import pyarrow as pa

    from scorer.cli.summary import show_calls
    from scorer.cli.tables import shown_progress
    from scorer.engine.request import RunRequest
    from scorer.engine.run import run as run_frame

    request = RunRequest(**settings)
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
