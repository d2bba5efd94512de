"""`scorer rank`: the works to look at first for one target."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scorer.cli.options import Json, Mapping, Overwrite, Quiet, RecordFrame, SegmentNames, pairs
from scorer.counted import counted
from scorer.errors import INTERRUPTED

if TYPE_CHECKING:
    from scorer.review.rank import Queue


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: scorer rank frame.scored.parquet --by metaresearch --frame frame.parquet "
        "--top 200 -o queue.ris"
    )(rank)


def rank(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A scored file; its manifest lies beside it.")
    ],
    by: Annotated[str, typer.Option(metavar="TARGET", help="The category or flag to rank by.")],
    order: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER",
            help="consensus (then candidate, then none, each by mean), mean, max, disagreement, "
            "uncertainty (near a threshold first), or a head's name for its score. By default "
            "consensus, or mean where the file has scores alone. Ties go by id.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="How many works.")] = 100,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="Which works, for instance \"lang = 'fr' AND call = 'candidate'\": columns of the "
            "scored file; with --frame those of the record and has_abstract; call, mean, max, "
            "disagreement, uncertainty.",
        ),
    ] = None,
    segment: SegmentNames = None,
    frame: RecordFrame = None,
    mapping: Mapping = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write them instead of showing them: .csv, .xlsx, .ris or .jsonl.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Rank works for human review by one target, with their titles.

    As a table, or a file for ASReview, Rayyan, Zotero or a spreadsheet.
    Texts that a spreadsheet takes for a formula get an apostrophe in CSV, and stay text in XLSX.
    """
    columns = pairs(mapping or [], "--map")

    from scorer.cli.tables import shown_progress
    from scorer.decide.place import free_place
    from scorer.review.export import check_format, write_table
    from scorer.review.rank import RankRequest
    from scorer.review.rank import rank as rank_works
    from scorer.review.scores import REVIEWED

    if output is not None:
        check_format(output)
        beside = Path(frame) if frame is not None else None
        output = free_place(output, (scores, beside), overwrite=overwrite)
    request = RankRequest(
        scores=scores,
        by=by,
        order=order,
        top=top,
        where=where,
        segments=tuple(segment or REVIEWED),
        frame=frame,
        mapping=columns,
    )
    try:
        with shown_progress("ranking", quiet=quiet) as progress:
            queue = rank_works(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if output is not None:
        write_table(output, "queue", queue.works, queue.about())
    if json:
        typer.echo(_as_json(queue))
    elif not quiet:
        _show(queue, output)


def _as_json(queue: "Queue") -> str:
    import json

    told: dict[str, Any] = dict(queue.about())
    works = json.loads(queue.works.write_json())
    return json.dumps({**told, "works": works}, indent=2, ensure_ascii=False)


def _show(queue: "Queue", output: Path | None) -> None:
    from scorer.cli.tables import console, status_line

    if output is None and queue.works.height:
        console().print(_table(queue))
    of_all = f"{queue.works.height:,} of {counted(queue.eligible, 'work')}"
    what = f"{of_all}, by {queue.order.described()}."
    typer.echo(what if output is None else f"{output}: {what}")
    if queue.missing:
        typer.echo(f"The frame lacks {queue.missing:,} of them: is it the one that was scored?")
    typer.echo(status_line())


def _table(queue: "Queue") -> Any:  # noqa: ANN401 - rich is loaded when there is something to show
    from scorer.cli.tables import isolated, table
    from scorer.review.rank_order import CALL, DISAGREEMENT, UNCERTAINTY

    works, order = queue.works, queue.order
    titled = "title" in works.columns
    extra = [order.name] if order.name in (DISAGREEMENT, UNCERTAINTY) else []
    called = [] if order.scores.score_only else [CALL]
    shown = table(
        *("", "id", *(["title"] if titled else []), *called, *order.heads, *extra),
        title=f"{order.target}, for review",
    )
    for column in shown.columns:
        column.no_wrap, column.overflow = True, "ellipsis"
        if column.header in ("title", CALL):
            column.justify = "left"
        if column.header == "title":  # it takes the room that the others leave
            column.ratio, shown.expand = 1, True
    for row in works.iter_rows(named=True):
        numbers = [f"{row[name]:.3f}" for name in (*order.score_columns(), *extra)]
        cells = [*(str(row[name]) for name in called), *numbers]
        if titled:
            cells[:1] = isolated(row["title"] or "–", cells[0])
        shown.add_row(f"{row['rank']:,}", row["id"], *cells)
    return shown
