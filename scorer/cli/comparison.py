"""A comparison of two students as tables in a terminal: figures, means, works that moved."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer

from scorer.counted import counted

if TYPE_CHECKING:
    from rich.table import Table

    from scorer.review.compare_results import Beside, Comparison, Ranked

_NONE: Final = "–"
_TITLES: Final = {
    "plain": "Plain: every labelled work counts once",
    "weighted": "Design-weighted: every work counts for those of the frame it stands for",
}


def show(found: "Comparison") -> None:
    """Print a comparison."""
    from scorer.cli.tables import console, status_line

    screen = console()
    for weighting in _TITLES:
        if any(getattr(pair, weighting) for pair in found.pairs):
            screen.print(_figures(found, weighting))
    for pair in found.pairs:
        if pair.why:
            screen.print(f"  {pair.head} {pair.target}: no figures: {pair.why}")
    if found.moved:
        screen.print(_moved(found))
    for line in _closing(found):
        screen.print(line)
    for note in found.notes:
        screen.print(f"Note: {note}.")
    typer.echo(status_line())


def _words(target: str) -> str:
    """Return a target's name with places to break it at."""
    return target.replace("_", " ")


def _figures(found: "Comparison", weighting: str) -> "Table":
    from rich.text import Text

    from scorer.cli.tables import table

    shown = table(
        *("", "yes"),
        *("AP\nof A", "AP\nof B", "B − A\nlimits"),
        *("AUROC\nof A", "AUROC\nof B", "B − A\nlimits"),
        title=_TITLES[weighting],
        tight=True,
    )
    for head in dict.fromkeys(pair.head for pair in found.pairs):
        shown.add_section()
        shown.add_row(Text(head, "bold"))
        for pair in found.pairs:
            ranked: Ranked | None = getattr(pair, weighting)
            if pair.head == head and ranked is not None:
                shown.add_row(_words(pair.target), f"{pair.positives:,}", *_cells(ranked))
    shown.add_section()
    for mean in found.means:
        without = "" if mean.without is None else f", without {_words(mean.without)}"
        pairs = "1 pair" if mean.pairs == 1 else f"{mean.pairs} pairs"
        shown.add_row(f"mean, {pairs}{without}", "", *_cells(getattr(mean, weighting)))
    return shown


def _cells(ranked: "Ranked") -> Iterator[str]:
    for beside in (ranked.average_precision, ranked.auroc):
        yield from (f"{beside.a:.3f}", f"{beside.b:.3f}", _difference(beside))


def _difference(beside: "Beside") -> str:
    """Return a difference over its limits."""
    figure = beside.difference
    if figure.value is None:
        return _NONE
    if figure.low is None or figure.high is None:
        return f"{figure.value:+.3f}"
    return f"{figure.value:+.3f}\n{_limit(figure.low)}…{_limit(figure.high)}"


def _limit(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".").replace("1.000", "1")


def _moved(found: "Comparison") -> "Table":
    from scorer.cli.tables import table

    shown = table(
        *("work", "title", "target\nhead", "teacher", "score by A\nby B", "place by A\nby B"),
        title="Works that moved most: the largest difference of a score",
        numbers_from=4,
        tight=True,
    )
    for work in found.moved:
        shown.add_row(
            work.id,
            work.title or _NONE,
            f"{_words(work.target)}\n{work.head}",
            "yes" if work.yes else "no",
            f"{work.a:.3f}\n{work.b:.3f}",
            f"{work.place_a:,}\n{work.place_b:,}",
        )
    return shown


def _closing(found: "Comparison") -> Iterator[str]:
    """Yield what a reader must know of the figures."""
    from scorer.policy.fit import ENOUGH_POSITIVES
    from scorer.review.bootstrap_interval import DIFFERENCE_METHOD
    from scorer.review.compare_results import OUT_OF_FOLD
    from scorer.review.evaluate import MIN_POSITIVES

    for letter, side in (("A", found.a), ("B", found.b)):
        yield f"{letter}: {side.name}, {side.kind} of {side.model_version}."
    unsure = [
        letter
        for letter, side in (("A", found.a), ("B", found.b))
        if not side.learned_from_labels and side.kind != OUT_OF_FOLD
    ]
    if unsure:
        yield (
            f"{' and '.join(unsure)} did not learn from this very file of labels, by its hash. If "
            "these works were in another file that it learned from, its figures flatter it."
        )
    yield (
        f"Compared on {found.compared:,} of {found.labelled:,} labelled works, those that both "
        "have a score of, with the labels of each head's own teacher: machine labels, not the "
        "truth. Works that a teacher declined to judge are left out."
    )
    yield (
        f"Means are over the heads and targets with {ENOUGH_POSITIVES} positives or more. "
        "A difference whose limits hold 0 may be chance. With fewer than "
        f"{MIN_POSITIVES:g} positives, by weight, it has no limits."
    )
    yield (
        f"{DIFFERENCE_METHOD}; {counted(found.strata, 'stratum', 'strata')}, "
        f"{found.replicates:,} replicates, seed {found.seed}."
    )
