"""`scorer convert`: any format into a clean frame, once."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scorer.cli.options import (
    BadLine,
    Frame,
    Json,
    Keep,
    Limit,
    Mapping,
    OnBadLine,
    Overwrite,
    Quiet,
    pairs,
)
from scorer.errors import INTERRUPTED

if TYPE_CHECKING:
    from scorer.engine.convert import ConvertReport

_REASONS: Final = {
    "null_id": "without an id",
    "duplicate": "another row of the same id was kept",
    "deleted": "deleted in OpenAlex",
    "merged_away": "merged into another work in OpenAlex",
    "where": "--where does not hold",
}


class OnDuplicate(StrEnum):
    """Which row of an id stays."""

    error = "error"
    first = "first"
    last = "last"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer convert works.jsonl.gz -o frame.parquet --deinvert")(
        convert
    )


def convert(
    frame: Frame,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The Parquet file to write, or its address."
        ),
    ],
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", help="Keep works that this holds for: \"lang = 'fr' AND year >= 2010\"."
        ),
    ] = None,
    drop_abstract: Annotated[
        bool, typer.Option("--drop-abstract", help="Write no abstracts.")
    ] = False,
    deinvert: Annotated[
        bool, typer.Option("--deinvert", help="Write abstracts as text, not as inverted indexes.")
    ] = False,
    on_duplicate: Annotated[
        OnDuplicate,
        typer.Option(
            help="Which row of an id stays; last: the newest by updated_date, where there is one."
        ),
    ] = OnDuplicate.error,
    drop_null_ids: Annotated[
        bool, typer.Option("--drop-null-ids", help="Leave out works without an id.")
    ] = False,
    drop_deleted: Annotated[
        bool,
        typer.Option(
            "--drop-deleted", help="Leave out what OpenAlex deleted or, by --merged-ids, merged."
        ),
    ] = False,
    merged_ids: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="OpenAlex's merged_ids (CSV, gzip or not): a file or a folder."
        ),
    ] = None,
    keep: Keep = None,
    mapping: Mapping = None,
    limit: Limit = None,
    on_bad_line: OnBadLine = BadLine.error,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Convert works of any format into a clean Parquet frame, and tell what was left out.

    Ids are bare and unique, columns have the frame's names; texts stay as the source has them.
    """
    mapped = pairs(mapping or [], "--map")
    import pyarrow as pa

    from scorer.cli.tables import as_json, shown_progress
    from scorer.engine.convert import ConvertRequest
    from scorer.engine.convert import convert as convert_frame

    request = ConvertRequest(
        frame=frame,
        output=output,
        where=where,
        drop_abstract=drop_abstract,
        deinvert=deinvert,
        on_duplicate=on_duplicate.value,
        drop_null_ids=drop_null_ids,
        drop_deleted=drop_deleted,
        merged_ids=merged_ids,
        keep=tuple(keep or ()),
        mapping=mapped,
        limit=limit,
        on_bad_record=on_bad_line.value,
        overwrite=overwrite,
    )
    pa.set_memory_pool(pa.system_memory_pool())  # it peaks lower, see scorer run
    try:
        with shown_progress("converting", quiet=quiet) as progress:
            report = convert_frame(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json:
        typer.echo(as_json(report))
    elif not quiet:
        _show(report, dropped=drop_deleted)


def _show(report: "ConvertReport", *, dropped: bool) -> None:
    """Print what was read, left out and written."""
    from scorer.cli.tables import console, no_works, share, table
    from scorer.frame.frame import unreadable_years

    if not report.read:
        typer.echo(no_works(report.frame, report.bad_records, report.limit, report.output))
        return
    shown = table("works", "", "share", numbers_from=1)
    shown.add_row("read", f"{report.read:,}", "")
    for reason, works in report.dropped.items():
        if works:
            shown.add_row(
                f"  left out: {_REASONS[reason]}", f"{works:,}", share(works, report.read)
            )
    shown.add_row("written", f"{report.written:,}", share(report.written, report.read))
    console().print(shown)
    if report.bad_records:
        typer.echo(f"Records that could not be read: {report.bad_records:,}.")
    if report.unreadable_years:
        typer.echo(f"Years: {unreadable_years(report.unreadable_years)}")
    gone = report.deleted + (report.merged_away or 0)
    if gone and not dropped:
        merged = "" if report.merged_away is None else f", merged away: {report.merged_away:,}"
        typer.echo(
            f"Deleted in OpenAlex: {report.deleted:,}{merged}. --drop-deleted leaves them out."
        )
    found = (name if name == at else f"{name} ({at})" for name, at in report.columns.items())
    typer.echo(f"{report.format}; columns: {', '.join(found)}.")
    typer.echo(f"{report.output} ({report.size / 1e6:,.1f} MB), {report.seconds:,.1f} s")
