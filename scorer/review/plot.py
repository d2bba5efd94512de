"""A picture of an evaluation: for each target its figures with their limits, and reliability."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from scorer.decide.picture import MARKERS, SETTINGS, saved, style
from scorer.review.evaluate_results import Compared, Evaluation
from scorer.status import STAMP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES: Final[Mapping[str, str]] = {
    "average_precision": "average precision",
    "auroc": "AUROC",
    "precision": "precision",
    "recall": "recall",
    "fbeta": "F-beta",
}
_ACROSS: Final = 4
_PANEL: Final = (3.4, 2.7)  # inches
_APART: Final = 0.16
"""Between the kinds of one figure, where figures are 1 apart."""


def draw(found: Evaluation, kind: str) -> bytes:
    """Return the picture, `png` or `svg`; the same evaluation makes the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    targets = [target for target in found.targets.binary if target.name in found.asked]
    with mpl.rc_context(SETTINGS):
        panels = 2 * len(targets) + 1  # a place of its own for the legend
        down = -(-panels // _ACROSS)
        size = (_PANEL[0] * _ACROSS, _PANEL[1] * down + 0.7)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        places = figure.subplots(down, _ACROSS, squeeze=False).flatten()
        for place, target in enumerate(targets):
            of_kinds = found.whole.compared[target.name]
            _figures(places[2 * place], target.label.en, of_kinds, found)
            _reliability(places[2 * place + 1], of_kinds, found)
        for panel in places[2 * len(targets) :]:
            panel.axis("off")
        _legend(places[2 * len(targets)], found)
        _caption(figure, found)
        return saved(figure, kind)


def _figures(
    panel: "Axes", title: str, of_kinds: Mapping[str, Compared], found: Evaluation
) -> None:
    heads = found.targets.head_names
    for place, (kind, compared) in enumerate(of_kinds.items()):
        shift = (place - (len(of_kinds) - 1) / 2) * _APART
        for row, name in enumerate(FIGURES):
            figure = getattr(compared, name)
            if figure.value is None:
                continue
            panel.errorbar(
                figure.value,
                row + shift,
                xerr=[[figure.value - figure.low], [figure.high - figure.value]],
                fmt=MARKERS.get(kind, "o"),
                ms=4,
                lw=1.1,
                color=style(heads, kind)["color"],
                mec="white",
                mew=0.5,
            )
    panel.set(xlim=(-0.02, 1.02), ylim=(len(FIGURES) - 0.5, -0.5))
    panel.set_yticks(range(len(FIGURES)), list(FIGURES.values()))
    panel.set_title(title, loc="left")
    panel.grid(axis="x", color="#dddddd", lw=0.5)
    panel.set_axisbelow(True)
    if all(getattr(c, name).value is None for c in of_kinds.values() for name in FIGURES):
        panel.text(0.5, len(FIGURES) / 2 - 0.5, "too little support", ha="center", va="center")


def _reliability(panel: "Axes", of_kinds: Mapping[str, Compared], found: Evaluation) -> None:
    heads = found.targets.head_names
    panel.plot([0, 1], [0, 1], color="#bbbbbb", lw=0.8)
    for kind, compared in of_kinds.items():
        points = [(s.mean_score, s.yes.value) for s in compared.reliability]
        panel.plot(
            [score for score, _ in points],
            [share for _, share in points if share is not None],
            marker=MARKERS.get(kind, "o"),
            ms=3.5,
            lw=1.1,
            mec="white",
            mew=0.5,
            **style(heads, kind),
        )
    panel.set(xlim=(0, 1.02), ylim=(-0.02, 1.02))
    panel.set_xlabel("mean score of a step", labelpad=1)
    panel.set_ylabel("share said to be a yes", labelpad=1)
    panel.grid(color="#dddddd", lw=0.5)
    panel.set_axisbelow(True)


def _legend(panel: "Axes", found: Evaluation) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    kinds = list(next(iter(found.whole.compared.values())))
    heads = found.targets.head_names
    lines = [
        Line2D([], [], label=kind, marker=MARKERS.get(kind, "o"), lw=1.3, **style(heads, kind))
        for kind in kinds
    ]
    panel.legend(
        handles=lines,
        loc="upper left",
        frameon=False,
        title="left: figures and 95 % limits\nright: how often works of about the same\n"
        f"score were said to be a yes\nF-beta: beta {found.beta:g}\n",
        alignment="left",
    )


def _caption(figure: "Figure", found: Evaluation) -> None:
    notes = "".join(f"\nNote: {note}" for note in found.notes)
    figure.supxlabel(
        f"{found.model_version}, policy {found.policy_version}. Design-weighted, compared with "
        f"{found.rule}.\nScores are no probability of truth. Status of every row: {STAMP}.{notes}",
        fontsize=8,
        wrap=True,
    )
