"""An evaluation as tables in a terminal: figures, prevalence, agreement, reliability."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import typer

from scorer.counted import counted

if TYPE_CHECKING:
    from rich.table import Table

    from scorer.review.bootstrap_interval import Figure
    from scorer.review.evaluate_results import Compared, Evaluation, Section

_NONE: Final = "–"


def show(found: "Evaluation", *, reliability: bool) -> None:
    """Print an evaluation; with `reliability`, the steps behind each calibration error."""
    from scorer.cli.tables import console, status_line

    screen = console()
    for name in found.asked:
        screen.print(_figures(found, name))
        for line in _reasons(found.whole.compared[name]):
            screen.print(f"  {line}")
        if reliability and (steps := _steps(found, name)) is not None:
            screen.print(steps)
        for by, levels in found.groups.items():
            screen.print(_levels(found, name, by, levels))
            if untold := "; ".join(_untold(name, levels)):
                screen.print(f"  too little support: {untold}")
    screen.print(_prevalence(found, found.whole))
    if any(found.whole.agreement.values()):
        screen.print(_agreement(found, found.whole))
    for by, levels in found.groups.items():
        for level, section in levels.items():
            rates = [rate for of_who in section.prevalence.values() for rate in of_who.values()]
            if all(rate.share.value is None for rate in rates):
                continue
            screen.print(_prevalence(found, section, f"{by}: {level}"))
            if any(section.agreement.values()):
                screen.print(_agreement(found, section, f"{by}: {level}"))
    for line in _closing(found):
        screen.print(line)
    typer.echo(status_line())


def _table(*columns: str, title: str, numbers_from: int = 1) -> "Table":
    from scorer.cli.tables import table

    return table(*columns, title=title, numbers_from=numbers_from, tight=True)


def _figures(found: "Evaluation", name: str) -> "Table":
    of_kinds = found.whole.compared[name]
    shown = _table(
        *("", "yes", "called", "AP", "AUROC", "precision", "recall", _fbeta(found), "ECE"),
        title=f"{_label(found, name)} ({_judged(of_kinds)})",
    )
    for kind, compared in of_kinds.items():
        shown.add_row(
            kind,
            f"{compared.positives:,}",
            _NONE if compared.called is None else f"{compared.called:,}",
            *_cells(compared),
            _NONE if compared.calibration_error is None else f"{compared.calibration_error:.3f}",
        )
    return shown


def _levels(found: "Evaluation", name: str, by: str, levels: "Mapping[str, Section]") -> "Table":
    shown = _table(
        *(by, "", "yes", "AP", "AUROC", "precision", "recall", _fbeta(found)),
        title=f"{_label(found, name)}, by {by}",
        numbers_from=2,
    )
    for level, section in levels.items():
        told = {k: c for k, c in section.compared[name].items() if any(_values(c))}
        for place, (kind, compared) in enumerate(told.items()):
            first = "" if place else f"{level}\n{section.works:,}"
            shown.add_row(first, kind, f"{compared.positives:,}", *_cells(compared))
    return shown


def _untold(name: str, levels: "Mapping[str, Section]") -> Iterator[str]:
    """Yield the levels, and kinds in them, of which no figure is given."""
    for level, section in levels.items():
        kinds = [kind for kind, c in section.compared[name].items() if not any(_values(c))]
        if kinds:
            yield f"{level}: {', '.join(kinds)}"


def _values(compared: "Compared") -> list[bool]:
    figures = (compared.average_precision, compared.precision, compared.recall)
    return [figure.value is not None for figure in figures]


def _cells(compared: "Compared") -> Iterator[str]:
    for figure in (
        compared.average_precision,
        compared.auroc,
        compared.precision,
        compared.recall,
        compared.fbeta,
    ):
        yield _cell(figure)


def _cell(figure: "Figure") -> str:
    """Return a figure over its limits, so that five of them fit a screen."""
    if figure.value is None:
        return _NONE
    return f"{figure.value:.3f}\n{_short(figure.low)}–{_short(figure.high)}"


def _short(limit: float | None) -> str:
    if limit is None:
        return ""
    return f"{limit:.2f}".removeprefix("0").replace("1.00", "1").replace("-0.", "-.")


def _judged(of_kinds: "Mapping[str, Compared]") -> str:
    counts = sorted({compared.works for compared in of_kinds.values()})
    return " to ".join(f"{count:,}" for count in {counts[0]: 0, counts[-1]: 0}) + " works"


def _reasons(of_kinds: "Mapping[str, Compared]") -> Iterator[str]:
    """Yield why figures are missing, a line a kind."""
    names = {"average_precision": "AP, AUROC", "precision": "precision", "recall": "recall"}
    for kind, compared in of_kinds.items():
        why: dict[str, list[str]] = {}
        for field, name in names.items():
            figure = getattr(compared, field)
            if figure.why:
                why.setdefault(figure.why, []).append(name)
        for reason, missing in why.items():
            what = "no figures" if len(missing) == len(names) else f"no {', '.join(missing)}"
            yield f"{kind}: {what}: {reason}"


def _steps(found: "Evaluation", name: str) -> "Table | None":
    of_kinds = {k: c for k, c in found.whole.compared[name].items() if c.reliability}
    if not of_kinds:
        return None
    shown = _table(
        "score", *of_kinds, title=f"{_label(found, name)}: mean score, share of yes, its limits"
    )
    ends = sorted({(s.low, s.high) for c in of_kinds.values() for s in c.reliability})
    for low, high in ends:
        cells = []
        for compared in of_kinds.values():
            step = next((step for step in compared.reliability if step.low == low), None)
            cells.append(
                f"{step.mean_score:.2f} {step.yes.value:.2f}\n"
                f"{_short(step.yes.low)}–{_short(step.yes.high)}"
                if step
                else _NONE
            )
        shown.add_row(f"{low:.1f}–{high:.1f}", *cells)
    return shown


def _prevalence(found: "Evaluation", section: "Section", part: str = "") -> "Table":
    shown = _table(
        *("target", "yes of", "works", "yes", "prevalence", "in the frame"),
        title=f"Prevalence, by design weights{f', {part}' if part else ''}",
        numbers_from=2,
    )
    for name in found.asked:
        for place, (who, rate) in enumerate(section.prevalence[name].items()):
            share, count = rate.share, rate.count
            cells = (_NONE, _NONE)
            if share.value is not None and share.low is not None and share.high is not None:
                cells = (
                    f"{share.value:.2%}\n{share.low:.2%}–{share.high:.2%}",
                    f"{count.value:,.0f}\n{count.low:,.0f}–{count.high:,.0f}",
                )
            shown.add_row(
                "" if place else name, who, f"{rate.works:,}", f"{rate.positives:,}", *cells
            )
    return shown


def _agreement(found: "Evaluation", section: "Section", part: str = "") -> "Table":
    shown = _table(
        *("target", "between", "works", "raw", "kappa", "Jaccard"),
        title=f"Agreement, by design weights{f', {part}' if part else ''}",
        numbers_from=2,
    )
    for name in found.asked:
        for place, agreed in enumerate(section.agreement[name]):
            shown.add_row(
                "" if place else name,
                f"{agreed.what} of\n{', '.join(agreed.between)}",
                f"{agreed.works:,}",
                _cell(agreed.raw),
                _cell(agreed.kappa),
                _cell(agreed.jaccard),
            )
    return shown


def _closing(found: "Evaluation") -> Iterator[str]:
    """Yield what a reader must know of the figures."""
    from scorer.review.bootstrap_interval import METHOD
    from scorer.review.evaluate_questions import RANKED_BY

    kinds = next(iter(found.whole.compared.values()))
    ranked = [f"{kind}: {RANKED_BY[kind]}" for kind in kinds if kind in RANKED_BY]
    yield f"Compared with {found.rule}."
    yield (
        f"{counted(found.works, 'work')} in {counted(found.strata, 'stratum', 'strata')} stand for "
        f"{found.frame_works:,.0f}. "
        f"Figures need {found.min_positives:g} positives, by weight."
    )
    yield f"AP and AUROC rank the works by a head's score; {'; '.join(ranked)}."
    yield "ECE: expected calibration error. A score is no probability of truth."
    yield f"{METHOD}; {found.replicates:,} replicates, seed {found.seed}."


def _fbeta(found: "Evaluation") -> str:
    return f"F-{found.beta:g}"


def _label(found: "Evaluation", name: str) -> str:
    return next(t.label.en for t in found.targets.binary if t.name == name)
