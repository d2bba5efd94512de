"""`scorer thresholds curve`: what every threshold would come to, and where the policy stands."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scorer.cli.options import (
    EqualWeights,
    HeadFiles,
    Json,
    LabelsOption,
    OutOfFoldFile,
    Overwrite,
    Sample,
    paths,
)

if TYPE_CHECKING:
    from scorer.decide.curve import Curve, Curves, Point

_RECALLS: Final = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Where the table looks along the candidate's recall: a row a level."""


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command(
        epilog="Example: scorer thresholds curve --scores frame.scored.parquet "
        "--labels labels.parquet --plot curves.svg"
    )(curve)


def curve(
    scores: Annotated[
        Path, typer.Option(metavar="SCORED", help="A scored file that holds labelled works.")
    ],
    labels: LabelsOption = None,
    sample: Sample = None,
    head: HeadFiles = None,
    out_of_fold: OutOfFoldFile = None,
    beta: Annotated[float, typer.Option(min=0.01, help="Beta of the F-beta.")] = 2.0,
    equal_weights: EqualWeights = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw them, as .png or .svg. Needs the extra: plot."),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show precision, recall and F-beta along the threshold, and the current point.

    For each target: each head, candidate and consensus, weighted by design.
    """
    from scorer.decide.curve import curves
    from scorer.decide.place import free_place
    from scorer.decide.sample import LabelFiles
    from scorer.engine.files import told, write_atomically

    files = LabelFiles(labels, sample, paths(head, "--head"))
    place = None
    if plot is not None:
        from scorer.decide.picture import check_format
        from scorer.decide.plot import draw

        check_format(plot)
        sources = [*files.paths, scores, out_of_fold]
        place = free_place(plot, sources, overwrite=overwrite, option="--plot")
    found = curves(scores, files, out_of_fold=out_of_fold, beta=beta, equal_weights=equal_weights)
    if place is not None:
        picture = draw(found, place.suffix[1:])
        with told(place):
            write_atomically(place, picture)
    for note in found.notes:
        typer.echo(f"Note: {note}", err=True)
    if json:
        _print_json(found)
        return
    _show(found)
    if plot is not None:
        typer.echo(f"Drawn in {plot}.")


def _show(found: "Curves") -> None:
    from scorer.cli.tables import console, status_line, table

    screen = console()
    for target in found.targets.binary:
        by_kind = found.by_target[target.name]
        title = f"{target.label.en} ({_positives(by_kind)})"
        shown = table("threshold", *by_kind, title=title)
        for threshold in _rows(by_kind):
            shown.add_row(
                f"{threshold:.4f}", *(_figures(c.at(threshold)) for c in by_kind.values())
            )
        shown.add_section()
        shown.add_row("now", *(_figures(c.current, c.silent or "–") for c in by_kind.values()))
        screen.print(shown)
    typer.echo(
        f"Precision, recall and F-{found.beta:g}, design-weighted. now: what policy "
        f"{found.policy.version} calls.\n"
        "candidate: the highest of the heads' scores, against a yes of any teacher; "
        "consensus: the lowest, against a yes of all.\n"
        "Compared with the teachers' labels, not with the truth."
    )
    typer.echo(status_line())


def _positives(by_kind: "Mapping[str, Curve]") -> str:
    counts = ", ".join(f"{kind} {c.positives:,}" for kind, c in by_kind.items())
    return f"positives: {counts}"


def _rows(by_kind: "Mapping[str, Curve]") -> list[float]:
    """Return at most ten thresholds, at telling levels of the candidate's recall."""
    points = [by_kind["candidate"].at_recall(level) for level in _RECALLS]
    found = {point.threshold for point in points if point is not None}
    return sorted((t for t in found if t is not None), reverse=True)


def _figures(point: "Point | None", otherwise: str = "–") -> str:
    if point is None:
        return otherwise
    return f"{point.precision:.3f} {point.recall:.3f} {point.fbeta:.3f}"


def _print_json(found: "Curves") -> None:
    import json as json_text

    from scorer.status import STAMP

    report = {
        "model_version": found.model_version,
        "policy_version": found.policy.version,
        "prediction_status": STAMP,
        "compared_with": "the teachers' labels, not the truth",
        "beta": found.beta,
        "notes": found.notes,
        "targets": {
            target: {kind: _content(curve) for kind, curve in by_kind.items()}
            for target, by_kind in found.by_target.items()
        },
    }
    typer.echo(json_text.dumps(report, indent=2, ensure_ascii=False))


def _content(curve: "Curve") -> dict[str, object]:
    from dataclasses import asdict

    return {
        "works": curve.works,
        "positives": curve.positives,
        "current": asdict(curve.current) if curve.current else None,
        "silent": curve.silent,
        "best": asdict(curve.best) if curve.best else None,
        "points": [asdict(point) for point in curve.points()],
    }
