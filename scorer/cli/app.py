"""The `scorer` program: its commands, and how failures leave it.

Command modules import the library inside their functions, so that `--help` is instant.
"""

import gc
import io
import os
import signal
import sys
import threading
from typing import Annotated

import typer

from scorer import __version__
from scorer.cli import (
    bench,
    call,
    compare,
    convert,
    evaluate,
    explain,
    fetch,
    gate,
    inspect,
    models,
    rank,
    report,
    run,
    sample,
    show,
    thresholds,
    train,
    verify,
)
from scorer.errors import ScorerError

_DEBUG = "SCORER_DEBUG"
_OBJECTS_BETWEEN_LOOKS = 100_000
_STORY = """\
scorer reads every work of a frame and says which are worth a human look.
Its scores rank works for review; they never assert a category.

  scorer run frame.parquet                                score, call, stamp
  scorer rank frame.scored.parquet --by metaresearch      what to read first
  scorer show W2741809807 --scores frame.scored.parquet   one work, and why
  scorer sample frame.scored.parquet -n 400 -o audit.csv  what to check by hand
  scorer evaluate frame.scored.parquet audit.coder1.csv   how far to trust it

scorer --help lists all commands, scorer COMMAND --help has options, an example."""

app = typer.Typer(
    name="scorer",
    help="Score every scholarly work of a frame with a small student, honestly stamped.",
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"scorer {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: scorer run frame.parquet, then scorer verify frame.scored.parquet")
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback where a command fails.")
    ] = False,
) -> None:
    """Score every scholarly work of a frame with a small student, honestly stamped.

    Every row says machine_predicted_unvalidated.
    Scores rank works for human review, they never assert a category.
    """
    if debug:
        os.environ[_DEBUG] = "1"
    if context.invoked_subcommand is None:
        typer.echo(_STORY)


run.register(app)
convert.register(app)
inspect.register(app)
bench.register(app)
call.register(app)
thresholds.register(app)
verify.register(app)
show.register(app)
explain.register(app)
rank.register(app)
sample.register(app)
evaluate.register(app)
compare.register(app)
report.register(app)
fetch.register(app)
models.register(app)
train.register(app)
gate.register(app)


def main() -> None:
    """Run the program; a failure ends in one or two plain lines and its own exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≥ still shows the table
    # Batches make thousands of short-lived objects, hardly any in cycles: looked for more rarely.
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS)
    if threading.current_thread() is threading.main_thread():
        # A kind kill ends like Ctrl-C: finished parts stay, worker processes go.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except ScorerError as error:
        if os.environ.get(_DEBUG):
            raise
        typer.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        reason = (str(error).splitlines() or [""])[0][:300]
        typer.echo(
            f"Error: {type(error).__name__}: {reason}\n"
            "This was not foreseen: scorer --debug COMMAND shows where it happened.",
            err=True,
        )
        sys.exit(ScorerError.exit_code)


if __name__ == "__main__":
    main()
