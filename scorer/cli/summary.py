"""What `run` and `call` tell at their end: counts of calls, what was missing, the status."""

from pathlib import Path
from typing import Final

import typer

from scorer.cli.options import ModeName
from scorer.cli.tables import console, no_works, share, status_line, table
from scorer.counted import counted
from scorer.engine.manifest import RunManifest
from scorer.engine.remote import Destination
from scorer.status import SCORE_ONLY

_SHOWN_SHARDS: Final = 3


def show_calls(manifest: RunManifest, output: Path, mode: ModeName) -> None:
    """Print the summary of a file that has just been written."""
    if not manifest.counts.rows and not manifest.skipped_shards:
        files = manifest.sources
        where = files[0].name if len(files) == 1 else f"{len(files):,} files"
        typer.echo(no_works(where, manifest.skipped_records, manifest.limit, _place(output)))
        return
    typer.echo(_works(manifest))
    _show_refined(manifest)
    if manifest.score_status.startswith(SCORE_ONLY):
        typer.echo(
            f"{manifest.score_status}: the student's maturity gate has not passed, "
            "so there are scores and no calls."
        )
    else:
        _show_counts(manifest, mode)
    _show_notes(manifest)
    # A run that found all its parts finished has scored none anew: no pace to tell.
    pace = f", {manifest.works_a_second:,.0f} works/s" if manifest.works_a_second else ""
    typer.echo(
        f"{_place(output)} ({manifest.output.size / 1e6:,.1f} MB), "
        f"{manifest.wall_seconds:,.1f} s{pace}"
    )
    typer.echo(status_line())


def _place(output: Path) -> str:
    return str(Destination.of(output).url or output)


def _works(manifest: RunManifest) -> str:
    rows, segments = manifest.counts.rows, manifest.counts.segments
    verb = "scored" if manifest.made_by == "run" else "called anew, scored"
    excluded = f"; {segments['excluded']:,} excluded from calls" if segments["excluded"] else ""
    return (
        f"{counted(rows, 'work')} {verb} by {manifest.model_version}; {segments['covered']:,} with "
        f"a usable title ({share(segments['covered'], rows)}){excluded}."
    )


def _show_refined(manifest: RunManifest) -> None:
    if (second := manifest.refined) is None:
        return
    if not second.works:
        typer.echo(f"None was scored again by {second.model_version}: nothing was refined.")
        return
    typer.echo(
        f"{second.works:,} of them scored again by {second.model_version}, and called by its own "
        f"policy: {second.chosen_in_words}."
    )
    if second.columns_not_found:
        missing = ", ".join(second.columns_not_found)
        typer.echo(f"It reads {missing} too, which the frame lacks: it scores worse without.")


def _show_counts(manifest: RunManifest, mode: ModeName) -> None:
    heads = manifest.targets.head_names
    kinds = [*heads, *(["candidate", "consensus"] if mode is ModeName.both else [mode.value])]
    titles = [f"{kind} (direct)" if kind in manifest.direct else kind for kind in kinds]
    shown = table("works called, by target", *titles)
    for target in manifest.targets.binary:
        if target.kind == "flag" and target.name == manifest.targets.flags[0]:
            shown.add_section()
        calls = manifest.counts.calls[target.name]
        shown.add_row(target.label.en, *(f"{calls[kind]:,}" for kind in kinds))
    console().print(shown)
    entries = [e for head in heads for _, e in manifest.policy.of_head(head)]
    if any(entry.kind == "none" for entry in entries):
        typer.echo("Some heads make no call on some targets: see scorer thresholds.")


def _show_notes(manifest: RunManifest) -> None:
    if manifest.skipped_shards:
        typer.echo(f"Not scored, and in no row: {counted(manifest.skipped_works, 'work')}.")
    for shard in manifest.skipped_shards[:_SHOWN_SHARDS]:
        typer.echo(f"  rows {shard.first_row:,} to {shard.last_row:,}: {shard.reason}")
    if (more := len(manifest.skipped_shards) - _SHOWN_SHARDS) > 0:
        typer.echo(f"  and {more:,} further stretches, all in the manifest")
    if manifest.columns_not_found and manifest.made_by == "run":
        missing = ", ".join(manifest.columns_not_found)
        typer.echo(f"The frame lacks {missing}: the student reads them, and scores worse without.")
    for head, source in manifest.direct.items():
        typer.echo(
            f"{head}: direct labels of {source.name}. Works that it lacks, so that {head} makes no "
            f"call: {source.works_without_label:,}; labels of works that are not here: "
            f"{source.labels_without_work:,}."
        )
    if manifest.excluded is not None and manifest.excluded.ids_without_work:
        typer.echo(
            f"{manifest.excluded.name}: {manifest.excluded.ids_without_work:,} of its "
            f"{manifest.excluded.ids:,} ids are not here."
        )
