"""`scorer thresholds fit`: make a policy from labels and scores."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scorer.cli.options import (
    EqualWeights,
    HeadFiles,
    Json,
    LabelTable,
    MinEss,
    MinPos,
    OutOfFoldFile,
    Overwrite,
    Sample,
    pairs,
    paths,
)
from scorer.cli.thresholds.decisions import show_decisions
from scorer.errors import UsageError

if TYPE_CHECKING:
    from scorer.decide.fit import Fitted
    from scorer.decide.sources import Choice, How

_SOURCE: Final = "Where thresholds come from: one of these for all, --for and --set to differ"


class Scope(StrEnum):
    """Whose support has to pass the gates."""

    head = "head"
    all_heads = "all-heads"


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command(
        epilog="Example: scorer thresholds fit labels.parquet --scores frame.scored.parquet "
        "--quota --for open_science=off -o policy.json"
    )(fit)


def fit(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the policy goes.")
    ],
    labels: LabelTable = None,
    sample: Sample = None,
    head: HeadFiles = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORED", help="A scored file: labels join its scores, quotas count its works."
        ),
    ] = None,
    out_of_fold: OutOfFoldFile = None,
    fbeta: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            help="The score that maximises the design-weighted F-beta.",
            rich_help_panel=_SOURCE,
        ),
    ] = None,
    quota: Annotated[
        bool,
        typer.Option(
            "--quota",
            help="The k best works, k = prevalence by design weights × covered works of --scores.",
            rich_help_panel=_SOURCE,
        ),
    ] = False,
    recall: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="The highest threshold that reaches the recall on the labelled works.",
            rich_help_panel=_SOURCE,
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="The lowest threshold that reaches the precision: it calls the most works.",
            rich_help_panel=_SOURCE,
        ),
    ] = None,
    exceptions: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="WHERE=HOW",
            help="WHERE: a target, a head or HEAD.TARGET, the closest wins. HOW: fbeta:B, quota, "
            "quota:K, recall:R, precision:P or off. Repeatable.",
            rich_help_panel=_SOURCE,
        ),
    ] = None,
    by_hand: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="WHERE=VALUE",
            help="A threshold by hand, as in codex.metaresearch=0.19. Repeatable.",
            rich_help_panel=_SOURCE,
        ),
    ] = None,
    min_pos: MinPos = 20,
    min_ess: MinEss = 10.0,
    gate_scope: Annotated[
        Scope, typer.Option(help="Whether each head passes alone, or all heads of a target must.")
    ] = Scope.head,
    equal_weights: EqualWeights = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Fit a policy to labels: thresholds, quotas, gates, each with how it was found.

    Without a source for all, entries that nothing names stay as the policy of --scores has them.
    """
    default = _default(fbeta=fbeta, quota=quota, recall=recall, precision=precision)
    chosen = _exceptions(exceptions or [], by_hand or [])

    from scorer.decide.fit import fit as fit_policy
    from scorer.decide.inputs import FitRequest
    from scorer.decide.place import free_place
    from scorer.decide.sample import LabelFiles
    from scorer.engine.files import told, write_atomically
    from scorer.policy.policy import Gates

    request = FitRequest(
        labels=LabelFiles(labels, sample, paths(head, "--head")),
        scores=scores,
        out_of_fold=out_of_fold,
        default=default,
        exceptions=chosen,
        gates=Gates(
            min_pos=min_pos,
            min_ess=min_ess,
            scope="head" if gate_scope is Scope.head else "all_heads",
        ),
        equal_weights=equal_weights,
    )
    place = free_place(output, [*request.labels.paths, scores, out_of_fold], overwrite=overwrite)
    fitted = fit_policy(request)
    with told(place):
        write_atomically(place, fitted.policy.to_json().encode())
    for note in fitted.notes:
        typer.echo(f"Note: {note}", err=True)
    if json:
        _print_json(fitted)
    else:
        _show(fitted, output)


def _default(
    *, fbeta: float | None, quota: bool, recall: float | None, precision: float | None
) -> "How | None":
    """Return the one source for all, if there is one."""
    from scorer.decide.sources import parse_how

    given = [("fbeta", fbeta), ("recall", recall), ("precision", precision)]
    words = [
        (f"{name}:{value!r}", f"--{name} {value:g}") for name, value in given if value is not None
    ]
    words += [("quota", "--quota")] if quota else []
    if len(words) > 1:
        raise UsageError(
            f"{' and '.join(asked for _, asked in words)}: one for all is enough.\n"
            "Say where the other holds: --for WHERE=HOW"
        )
    return parse_how(*words[0]) if words else None


def _exceptions(words: list[str], values: list[str]) -> "dict[str, Choice]":
    from scorer.decide.sources import Choice, parse_how, parse_value

    hows, numbers = pairs(words, "--for"), pairs(values, "--set")
    for where in hows.keys() & numbers.keys():
        raise UsageError(f"{where}: given by --for and by --set. One of them is enough.")
    found = {}
    for where, text in hows.items():
        asked = f"--for {where}={text}"
        found[where] = Choice(parse_how(text, asked), asked)
    for where, text in numbers.items():
        asked = f"--set {where}={text}"
        found[where] = Choice(parse_value(text, asked), asked)
    return found


def _show(fitted: "Fitted", output: Path) -> None:
    from scorer.cli.tables import status_line
    from scorer.policy.words import rules

    reached = {pair: f"{f.name} {f.value:.3f}" for pair, f in fitted.figures.items()}
    targets = fitted.targets
    show_decisions(
        rules(fitted.policy, targets, None), targets.head_names, fitted.policy.gates, reached
    )
    if reached:
        typer.echo("reaches: against the teachers' labels, weighted; not against the truth.")
    typer.echo(f"Policy {fitted.policy.version} for {fitted.model_version}, written to {output}.")
    typer.echo(status_line())


def _print_json(fitted: "Fitted") -> None:
    import json as json_text

    from scorer.status import STAMP

    reached: dict[str, dict[str, dict[str, float]]] = {}
    for (head, target), figure in fitted.figures.items():
        reached.setdefault(target, {})[head] = {figure.name: figure.value}
    report = {
        "model_version": fitted.model_version,
        "policy_version": fitted.policy.version,
        "prediction_status": STAMP,
        "notes": fitted.notes,
        "reached": reached,
        "policy": fitted.policy.model_dump(mode="json"),
    }
    typer.echo(json_text.dumps(report, indent=2, ensure_ascii=False))
