"""`scorer call`: new calls for scores that are there already."""

import os
from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.options import (
    Direct,
    ExcludeIds,
    Json,
    Mode,
    ModeName,
    Overwrite,
    Quiet,
    Threads,
    paths,
)
from scorer.errors import INTERRUPTED


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer call frame.scored.parquet --policy policy.json")(call)


def call(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A scored file; its manifest lies beside it.")
    ],
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A policy file; by default the file's own policy."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="By default NAME.called.parquet in this folder."
        ),
    ] = None,
    mode: Mode = ModeName.both,
    direct: Direct = None,
    exclude_ids: ExcludeIds = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Call a scored file anew by another policy, without scoring again.

    Scores keep their very bytes; calls, axes and policy_version are new.
    The manifest names the scored file and its hash as the source.
    """
    labels = paths(direct, "--direct")
    # Row groups are called side by side; within one, threads of Polars would only get in the way.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # read when polars is imported
    import pyarrow as pa

    from scorer.cli.summary import show_calls
    from scorer.cli.tables import shown_progress
    from scorer.engine.call import CallRequest
    from scorer.engine.call import call as call_scores

    request = CallRequest(
        scores=scores,
        policy=policy,
        output=output,
        mode=mode.value,
        direct=labels,
        exclude_ids=exclude_ids,
        threads=threads,
        overwrite=overwrite,
    )
    pa.set_memory_pool(pa.system_memory_pool())  # it peaks lower, see scorer run
    try:
        with shown_progress("calling", quiet=quiet) as progress:
            manifest = call_scores(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json:
        typer.echo(manifest.model_dump_json(indent=2))
    elif not quiet:
        show_calls(manifest, request.output_path(), mode)
