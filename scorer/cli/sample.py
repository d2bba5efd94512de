"""`scorer sample`: works for people to judge, drawn with known probabilities."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import Json, Mapping, Overwrite, Quiet, RecordFrame, SegmentNames, pairs
from scorer.counted import counted
from scorer.errors import INTERRUPTED, UsageError

if TYPE_CHECKING:
    from scorer.review.sample import Sample


class AllocationName(StrEnum):
    """Ways to share a sample out over strata."""

    neyman = "neyman"
    proportional = "proportional"
    fixed = "fixed"


class StratifierName(StrEnum):
    """What strata are made of."""

    calls = "calls"
    segment = "segment"
    lang = "lang"
    abstract = "abstract"
    year = "year"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: scorer sample frame.scored.parquet -n 400 --frame frame.parquet --blind "
        "-o audit.xlsx"
    )(sample)


def sample(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A scored file; its manifest lies beside it.")
    ],
    works: Annotated[
        int | None, typer.Option("-n", metavar="N", help="How many works to draw.")
    ] = None,
    strata: Annotated[
        list[StratifierName] | None,
        typer.Option(
            help="What tells strata apart: calls (consensus, candidate, none), segment, and with "
            "--frame lang (those of 1 % of the works or more), abstract, year (decade). "
            "Repeatable; by default all but year.",
        ),
    ] = None,
    allocation: Annotated[
        AllocationName,
        typer.Option(
            help="neyman: in proportion to N S of a stratum, S guessed from mean scores, best for "
            "prevalence; proportional: to N; fixed: the same number each, or as --works says. "
            "Two works of each stratum at least.",
        ),
    ] = AllocationName.neyman,
    numbers: Annotated[
        list[str] | None,
        typer.Option(
            "--works",
            metavar="CALLS=N",
            help="With fixed allocation, instead of -n: works of a level of calls, for instance "
            "consensus=200; repeatable.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help="Sample for this category or flag: its calls make strata, and it alone is asked.",
        ),
    ] = None,
    ask: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET",
            help="A question to the coders; repeatable. By default every category and flag but "
            "insufficient_payload.",
        ),
    ] = None,
    segment: SegmentNames = None,
    seed: Annotated[int, typer.Option(help="Another seed, another sample.")] = 0,
    coders: Annotated[int, typer.Option(metavar="N", help="How many sheets.")] = 2,
    blind: Annotated[
        bool, typer.Option("--blind", help="Leave scores, calls and design out of the sheets.")
    ] = False,
    frame: RecordFrame = None,
    mapping: Mapping = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="audit.xlsx makes audit.coder1.xlsx, audit.coder2.xlsx, audit.key.parquet; "
            ".xlsx or .csv.",
        ),
    ] = Path("audit.xlsx"),
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw a stratified probability sample for human audit, a sheet for each coder and a key.

    Every work of the segments can be drawn; the key holds each work's probability and weight.
    Coders answer yes, no or unsure (oui, non, incertain).
    scorer evaluate reads the sheets with the key beside them.
    """
    columns = pairs(mapping or [], "--map")
    levels = {name: _number(name, word) for name, word in pairs(numbers or [], "--works").items()}

    from scorer.cli.tables import shown_progress
    from scorer.review.audit import free_places, write_audit
    from scorer.review.sample import SampleRequest
    from scorer.review.sample import sample as draw
    from scorer.review.scores import REVIEWED

    free_places(output, coders, scores, overwrite=overwrite)
    request = SampleRequest(
        scores=scores,
        works=works,
        strata=tuple(strata or ()),
        allocation=allocation.value,
        numbers=levels,
        target=target,
        ask=tuple(ask or ()),
        segments=tuple(segment or REVIEWED),
        seed=seed,
        frame=frame,
        mapping=columns,
    )
    try:
        with shown_progress("sampling", quiet=quiet) as progress:
            drawn = draw(request, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    written = write_audit(drawn, output, coders=coders, blind=blind)
    if json:
        typer.echo(_as_json(drawn, written))
    elif not quiet:
        _show(drawn, written, blind=blind)


def _number(level: str, word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise UsageError(f"--works {level}={word}: expected a number of works.") from None


def _as_json(drawn: "Sample", written: list[Path]) -> str:
    import json

    from scorer.review.audit import design

    told = {
        **design(drawn),
        "strata": drawn.strata.to_dicts(),
        "files": [str(place) for place in written],
        **drawn.scores.statuses,
    }
    return json.dumps(told, indent=2, ensure_ascii=False)


def _show(drawn: "Sample", written: list[Path], *, blind: bool) -> None:
    from scorer.cli.tables import console, status_line, table

    shown = table("stratum", "works", "sample", "pi", "weight", title="audit sample")
    for row in drawn.strata.iter_rows(named=True):
        weight = row["works"] / row["sample"]
        shown.add_row(
            row["stratum"],
            f"{row['works']:,}",
            f"{row['sample']:,}",
            f"{row['pi']:.3g}",
            f"{weight:,.4g}",
        )
    console().print(shown)
    total = drawn.strata.select("works", "sample").sum().row(0)
    typer.echo(f"{total[1]:,} of {counted(total[0], 'work')}, seed {drawn.request.seed}.")
    typer.echo(f"Questions: {', '.join(drawn.asked)}.")
    if drawn.missing:
        typer.echo(f"The frame lacks {drawn.missing:,} of them: is it the one that was scored?")
    if drawn.records is None:
        typer.echo("The sheets have ids alone: --frame adds titles and abstracts.")
    *sheets, key = written
    typer.echo(f"Sheets: {', '.join(map(str, sheets))}. Key: {key}.")
    if blind:
        typer.echo("The sheets are blind: keep the key from the coders.")
    typer.echo(status_line())
