"""How a survey of a frame looks in a terminal: readable at 80 columns."""

from collections import Counter
from typing import Final

import typer

from scorer.cli.tables import (
    console,
    duration,
    no_works,
    share,
    table,
)
from scorer.counted import counted
from scorer.engine.survey import Survey
from scorer.frame.frame import unreadable_years

_LANGUAGES: Final = 8
_DECADES: Final = 12
_BAR: Final = 30  # characters of the longest bar
_TITLE: Final = 44  # characters of an example, so that a row fits 80 columns


def show(found: Survey) -> None:
    """Print a survey."""
    packed = f", {found.compression}" if found.compression else ""
    files = counted(found.files, "file")
    typer.echo(f"{found.frame}: {found.format}{packed}, {files}, {found.size / 1e6:,.1f} MB")
    for note in found.notes:
        typer.echo(f"Note: {note}.")
    if found.rows:
        typer.echo(f"{counted(found.rows, 'work')}.")
    else:
        typer.echo(no_works(found.frame, found.bad_records, found.limit))
    if found.bad_records:
        typer.echo(f"Records that cannot be read: {found.bad_records:,}")
        for example in found.bad_examples:
            typer.echo(f"  {example}")
    if not found.rows:
        return
    _show_columns(found)
    _show_languages(found)
    _show_years(found)
    _show_ids(found)
    _show_titles(found)
    typer.echo(_time(found))


def _show_columns(found: Survey) -> None:
    shown = table("column", "found as", "filled", numbers_from=2)
    for name, path in found.columns.items():
        shown.add_row(name, path, share(found.filled[name], found.rows))
    console().print(shown)
    if found.student_lacks:
        missing = ", ".join(found.student_lacks)
        typer.echo(f"The student reads these too, and they are not here: {missing}.")
        typer.echo("It scores worse without. --map NAME=COLUMN names a column of another name.")


def _show_languages(found: Survey) -> None:
    if not found.languages:
        return
    shown = [
        f"{lang} {share(n, found.rows)}" for lang, n in list(found.languages.items())[:_LANGUAGES]
    ]
    others = len(found.languages) - len(shown)
    more = f", and {others:,} more" if others > 0 else ""
    typer.echo(f"Languages: {', '.join(shown)}{more}.")


def _show_years(found: Survey) -> None:
    unreadable = f" {unreadable_years(found.unreadable_years)}" if found.unreadable_years else ""
    if not found.years:
        if unreadable:
            typer.echo(f"Years: none.{unreadable}")
        return
    missing = found.rows - sum(found.years.values())
    typer.echo(
        f"Years: {min(found.years)} to {max(found.years)}; missing: "
        f"{share(missing, found.rows)}.{unreadable}"
    )
    decades: Counter[int] = Counter()
    for year, works in found.years.items():
        decades[year // 10 * 10] += works
    names = sorted(decades)
    earlier, later = names[:-_DECADES], names[-_DECADES:]
    rows = [(f"before {later[0]}", sum(decades[name] for name in earlier))] if earlier else []
    rows += [(f"{name}s", decades[name]) for name in later]
    most = max(works for _, works in rows)
    for name, works in rows:
        bar = "█" * max(1, round(_BAR * works / most))
        typer.echo(f"  {name:>11}  {bar:<{_BAR}}  {works:,}")


def _show_ids(found: Survey) -> None:
    ids = found.ids
    if not ids.null and not ids.duplicate:
        typer.echo("Ids: each work has one, no two the same.")
    if ids.null:
        rows = ", ".join(str(row) for row in ids.null_rows)
        works = counted(ids.null, "work")
        typer.echo(f"Ids: null in {works}, first in rows {rows} (counted from 0).")
    if ids.duplicate:
        first = ", ".join(f"{work} ({count} times)" for work, count in ids.duplicates.items())
        typer.echo(f"Ids that occur more than once: {ids.duplicate:,}, first: {first}.")


def _show_titles(found: Survey) -> None:
    typer.echo(f"Abstracts: {share(found.with_abstract, found.rows)} of the works.")
    typer.echo(
        f"Titles of more than ten characters: {share(found.usable_titles, found.rows)}; "
        f"null: {share(found.null_titles, found.rows)}."
    )
    if not found.odd_titles:
        return
    shown = table("odd titles", "works", "for instance", numbers_from=9)
    shown.columns[1].justify = "right"
    for odd in found.odd_titles:
        for place, (_, title) in enumerate(odd.examples):
            cells = (odd.kind, f"{odd.works:,}") if place == 0 else ("", "")
            shown.add_row(*cells, _cut(title))
    console().print(shown)


def _cut(title: str) -> str:
    line = " ".join(title.split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _time(found: Survey) -> str:
    """Return the estimated time to score, in one line."""
    if found.pace is None:
        return f"Time to score: unknown. {found.pace_note or 'There is no work to measure.'}"
    pace = found.pace
    processors = f"{pace.processors} processors" if pace.processors > 1 else "1 processor"
    return (
        f"Time to score: {duration(pace.seconds)} for {counted(found.rows, 'work')} at "
        f"{pace.works_a_second:,.0f} works/s on {processors}\n({pace.model}, measured just now)."
    )
