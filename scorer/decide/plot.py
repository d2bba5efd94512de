"""A picture of operating points: one panel a target, precision against recall."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from scorer.decide.curve import Curves, Point
from scorer.decide.picture import MARKERS, SETTINGS, saved, style
from scorer.status import STAMP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS: Final = 4
_PANEL: Final = (3.3, 3.0)  # inches


def draw(curves: Curves, kind: str) -> bytes:
    """Return the picture, `png` or `svg`; the same curves make the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(SETTINGS):
        targets = curves.targets.binary
        down = -(-(len(targets) + 1) // _ACROSS)  # a place of its own for the legend
        size = (_PANEL[0] * _ACROSS, _PANEL[1] * down + 0.6)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(down, _ACROSS, squeeze=False).flatten()
        for panel, target in zip(panels, targets, strict=False):
            _panel(panel, target.label.en, curves, target.name)
        for panel in panels[len(targets) :]:
            panel.axis("off")
        _legend(panels[len(targets)], curves)
        _caption(figure, curves)
        return saved(figure, kind)


def _panel(panel: "Axes", title: str, curves: Curves, target: str) -> None:
    by_kind = curves.by_target[target]
    for kind, curve in by_kind.items():
        points = curve.points()
        panel.plot(
            [p.recall for p in points],
            [p.precision for p in points],
            lw=1.3,
            **style(curves.targets.head_names, kind),
        )
    panel.set(xlim=(0, 1.02), ylim=(0, 1.02))
    _marks(panel, {kind: c.current for kind, c in by_kind.items() if c.current}, curves)
    panel.set_title(title, pad=14)
    panel.set_xlabel("recall", labelpad=1)
    panel.set_ylabel("precision", labelpad=1)
    panel.grid(color="#dddddd", lw=0.5)
    panel.set_axisbelow(True)
    silent = [f"{head} {by_kind[head].silent}" for head in curves.targets.head_names]
    silent = [words for words in silent if not words.endswith(" None")]
    panel.text(
        *(0.5, 1.02),
        ", ".join(silent) or "all heads make calls",
        transform=panel.transAxes,
        ha="center",
        va="bottom",
        fontsize=6.5,
        color="#555555",
    )


def _marks(panel: "Axes", points: Mapping[str, Point], curves: Curves) -> None:
    """Mark current points; their figures stand where the panel has room."""
    marks = [
        panel.plot(
            [point.recall],
            [point.precision],
            label=f"{kind} {point.precision:.2f} / {point.recall:.2f}",
            marker=MARKERS.get(kind, "o"),
            ms=7,
            ls="none",
            color=style(curves.targets.head_names, kind)["color"],
            mec="white",
            mew=0.9,
            clip_on=False,
            zorder=6,
        )[0]
        for kind, point in points.items()
    ]
    if marks:
        panel.legend(handles=marks, fontsize=6.5, framealpha=0.85, edgecolor="none", borderpad=0.2)


def _legend(panel: "Axes", curves: Curves) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    kinds = list(next(iter(curves.by_target.values())))
    lines = [
        Line2D(
            [],
            [],
            label=kind,
            lw=1.3,
            marker=MARKERS.get(kind, "o"),
            ms=7,
            mec="white",
            **style(curves.targets.head_names, kind),
        )
        for kind in kinds
    ]
    panel.legend(
        handles=lines,
        loc="upper left",
        frameon=False,
        title=f"line: all thresholds\nmark: what policy {curves.policy.version} calls,\n"
        "with its precision / recall\n",
        alignment="left",
    )


def _caption(figure: "Figure", curves: Curves) -> None:
    figure.supxlabel(
        f"{curves.model_version}. Design-weighted, against the teachers' labels, not the truth. "
        f"Status of every score: {STAMP}.",
        fontsize=8,
    )
