"""A picture of operating points: one panel a target, precision against recall."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scorer.decide.curve import Curves, Point
from scorer.errors import UsageError
from scorer.policy.calls import CANDIDATE, CONSENSUS
from scorer.status import STAMP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMATS: Final = ("png", "svg")
_ACROSS: Final = 4
_PANEL: Final = (3.3, 3.0)  # inches
_DPI: Final = 130
# Okabe and Ito (2008), told apart by the colour-blind; heads solid, combinations broken.
_HEADS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
_COMBINED: Final = {CANDIDATE: ("#E69F00", "--"), CONSENSUS: ("#000000", ":")}
_MARKERS: Final = {CANDIDATE: "D", CONSENSUS: "s"}
_SETTINGS: Final[Any] = {
    "font.size": 8,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is there everywhere
    "svg.hashsalt": "scorer",  # ids of the elements: the same curves, the same bytes
    "svg.fonttype": "none",  # text stays text: the status can be searched for
}


def check_format(path: Path) -> None:
    """Raise `UsageError` where a picture cannot be drawn so."""
    if path.suffix[1:] not in _FORMATS:
        raise UsageError(f"{path}: pictures are .png or .svg. Choose another --plot.")
    try:
        import matplotlib  # noqa: F401, PLC0415 - an extra, loaded where it is used
    except ModuleNotFoundError as error:
        raise UsageError(
            "Plots need matplotlib, which is not installed.\n"
            "Install the extra: pip install 'scorer[plot]'"
        ) from error


def draw(curves: Curves, kind: str) -> bytes:
    """Return the picture, `png` or `svg`; the same curves make the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_SETTINGS):
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
        return _saved(figure, kind)


def _panel(panel: "Axes", title: str, curves: Curves, target: str) -> None:
    by_kind = curves.by_target[target]
    for kind, curve in by_kind.items():
        points = curve.points()
        panel.plot(
            [p.recall for p in points],
            [p.precision for p in points],
            lw=1.3,
            **_style(curves, kind),
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
            marker=_MARKERS.get(kind, "o"),
            ms=7,
            ls="none",
            color=_style(curves, kind)["color"],
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
            marker=_MARKERS.get(kind, "o"),
            ms=7,
            mec="white",
            **_style(curves, kind),
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


def _style(curves: Curves, kind: str) -> dict[str, Any]:
    """Return colour and line of a kind."""
    if kind in _COMBINED:
        colour, line = _COMBINED[kind]
        return {"color": colour, "ls": line}
    return {"color": _HEADS[curves.targets.head_names.index(kind) % len(_HEADS)], "ls": "-"}


def _saved(figure: "Figure", kind: str) -> bytes:
    """Return the file's bytes; nothing in them says when or by which version they were drawn."""
    sink = io.BytesIO()
    if kind == "svg":
        told = {"Date": None, "Creator": "scorer", "Description": STAMP}
        figure.savefig(sink, format="svg", metadata=told)
    else:
        told = {"Software": "scorer", "Description": STAMP}
        figure.savefig(sink, format="png", dpi=_DPI, metadata=told)
    return sink.getvalue()
