"""`scorer thresholds curve`: what every threshold would come to, and where the policy stands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scorer.cli.options import HeadFiles, Json, Overwrite, Sample, paths

if TYPE_CHECKING:
    from scorer.decide.curve import Curve, Curves

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
    labels: Annotated[
        Path | None,
        typer.Option(metavar="LABELS", help="A label table (Parquet), as for scorer train."),
    ] = None,
    sample: Sample = None,
    head: HeadFiles = None,
    beta: Annotated[float, typer.Option(min=0.01, help="Beta of the F-beta.")] = 2.0,
    equal_weights: Annotated[
        bool, typer.Option("--equal-weights", help="Every labelled work weighs 1.")
    ] = False,
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
        from scorer.decide.plot import check_format, draw

        check_format(plot)
        place = free_place(plot, [*files.paths, scores], overwrite=overwrite)
    found = curves(scores, files, beta=beta, equal_weights=equal_weights)
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
            shown.add_row(f"{threshold:.3f}", *(_at(c, threshold) for c in by_kind.values()))
        shown.add_section()
        shown.add_row("now", *(_now(c) for c in by_kind.values()))
        screen.print(shown)
    typer.echo(
        f"Precision, recall and F-{found.beta:g}, design-weighted. candidate: the highest of the "
        "heads' scores, against a yes\nof any teacher; consensus: the lowest, against a yes of all. "
        f"now: what policy {found.policy.version} calls.\n"
        "Compared with the teachers' labels, not with the truth; where the student learned from "
        "these labels,\nthe figures are too good."
    )
    typer.echo(status_line())


def _positives(by_kind: "dict[str, Curve]") -> str:
    counts = ", ".join(f"{kind} {c.positives:,}" for kind, c in by_kind.items())
    return f"positives: {counts}"


def _rows(by_kind: "dict[str, Curve]") -> list[float]:
    """Return at most ten thresholds, at telling levels of the candidate's recall."""
    points = by_kind["candidate"].points
    found = {
        next(p.threshold for p in points if p.recall >= min(level, points[-1].recall))
        for level in _RECALLS
        if points
    }
    return sorted((t for t in found if t is not None), reverse=True)


def _at(curve: "Curve", threshold: float) -> str:
    """Return the figures at a threshold: those of the lowest score that it still calls."""
    called = [p for p in curve.points if p.threshold is not None and p.threshold >= threshold]
    if not called:
        return "–"
    point = called[-1]
    return f"{point.precision:.3f} {point.recall:.3f} {point.fbeta:.3f}"


def _now(curve: "Curve") -> str:
    point = curve.current
    if point is None:
        return curve.silent or "–"
    return f"{point.precision:.3f} {point.recall:.3f} {point.fbeta:.3f}"


def _print_json(found: "Curves") -> None:
    import json as json_text
    from dataclasses import asdict

    from scorer.status import STAMP

    report = {
        "model_version": found.model_version,
        "policy_version": found.policy.version,
        "prediction_status": STAMP,
        "compared_with": "the teachers' labels, not the truth",
        "beta": found.beta,
        "notes": found.notes,
        "targets": {
            target: {kind: asdict(curve) for kind, curve in by_kind.items()}
            for target, by_kind in found.by_target.items()
        },
    }
    typer.echo(json_text.dumps(report, indent=2, ensure_ascii=False))
