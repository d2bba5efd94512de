"""The plots of the overview, drawn from counts with matplotlib; `plots_svg` fits them to a page.

Each is as wide as the narrowest screen shows, so that text keeps its size: pages set them side by
side. Colours are names that the page's style sheet gives values to, for light and for dark.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scorer.errors import UsageError
from scorer.report.language import Texts
from scorer.report.overview import BINS, CELLS, Counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH: Final = 3.35  # inches; 322 CSS pixels
_EDGE: Final = 0.08  # inches, above and to the right
_DASHES: Final = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (2, 1)))
# Matplotlib wants colours: these stand for names of the style sheet, and are taken out again.
COLOURS: Final = {
    "#000001": "var(--ink)",
    "#000002": "var(--quiet)",
    "#000003": "var(--line)",
    "#000004": "var(--candidate)",
    "#000005": "var(--consensus)",
    "#000006": "var(--density)",
    **{f"#00001{place}": f"var(--head-{place})" for place in range(1, 6)},
}
_INK, _QUIET, _LINE, _CANDIDATE, _CONSENSUS, _DENSITY, *_HEADS = COLOURS
SETTINGS: Final[Any] = {
    "font.size": 8,
    "font.family": "DejaVu Sans",  # comes with matplotlib; the page shows its own
    "svg.hashsalt": "scorer",
    "svg.fonttype": "none",  # text stays text
    "text.color": _INK,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _LINE,
    "ytick.color": _LINE,
    "xtick.labelcolor": _QUIET,
    "ytick.labelcolor": _QUIET,
    "grid.color": _LINE,
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
}
"""Of matplotlib, while a figure is drawn and while it is written."""
DENSITY_LEVELS: Final = (0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
"""Opacity of a cell, by the power of ten of its works."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a bar chart says of one thing: works called by any head, and by all."""

    label: str
    candidate: int
    consensus: int


def check_library() -> None:
    """Raise `UsageError` where plots cannot be drawn."""
    try:
        import matplotlib  # noqa: F401, PLC0415 - an extra, loaded where it is used
    except ModuleNotFoundError as error:
        raise UsageError(
            "The site's plots need matplotlib, which is not installed.\n"
            "Install the extra: pip install 'scorer[plot]'"
        ) from error


def bars(bars_of: Sequence[Bar], t: Texts) -> "Figure":
    """Draw two bars a thing, its label above them, its counts at their ends."""
    with _figure(0.42 * len(bars_of) + 0.15) as (figure, panel):
        most = max([bar.candidate for bar in bars_of], default=0) or 1
        for place, bar in enumerate(bars_of):
            panel.text(0, place - 0.32, bar.label, va="center", ha="left")
            for offset, count, colour in (
                (0.02, bar.candidate, _CANDIDATE),
                (0.29, bar.consensus, _CONSENSUS),
            ):
                panel.barh(place + offset, count / most, height=0.23, color=colour)
                panel.text(
                    count / most + 0.015,
                    place + offset,
                    t.number(count),
                    va="center",
                    fontsize=7,
                    color=_QUIET,
                )
        panel.set(xlim=(0, 1.22), ylim=(len(bars_of) - 0.5, -0.6))
        panel.axis("off")
    return figure


def years(by_year: Mapping[int, Bar], t: Texts) -> "Figure":
    """Draw works called a year: by all heads, and on top of them by some alone."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    with _figure(2.1, left=0.62, bottom=0.24) as (figure, panel):
        at = np.array(list(by_year))
        consensus = np.array([bar.consensus for bar in by_year.values()])
        rest = np.array([bar.candidate for bar in by_year.values()]) - consensus
        panel.bar(at, consensus, width=0.8, color=_CONSENSUS)
        panel.bar(at, rest, width=0.8, bottom=consensus, color=_CANDIDATE)
        panel.grid(axis="y")
        panel.tick_params(length=0)
        panel.xaxis.set_major_locator(MaxNLocator(7, integer=True))
        panel.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        panel.xaxis.set_major_formatter(lambda year, _: f"{year:.0f}")
        panel.yaxis.set_major_formatter(lambda works, _: t.number(int(works)))
        panel.set_ylabel(t("site.works"))
    return figure


def distribution(
    by_head: Mapping[str, Counts], thresholds: Mapping[str, float], heads: Sequence[str], t: Texts
) -> "Figure":
    """Draw works by score, a line a head, on a logarithmic axis; dotted where a head calls from."""
    with _figure(1.75, left=0.62, bottom=0.38) as (figure, panel):
        edges = np.linspace(0, 1, BINS + 1)
        for head, counts in by_head.items():
            place = heads.index(head)
            panel.stairs(
                counts, edges, color=_colour(place), ls=_DASHES[place % 5], lw=1.4, baseline=None
            )
            if head in thresholds:
                panel.axvline(thresholds[head], color=_colour(place), lw=0.9, ls=":")
        top = max([int(counts.max()) for counts in by_head.values()], default=1)
        panel.set_yscale("symlog", linthresh=1, linscale=0.8)
        panel.set(xlim=(0, 1), ylim=(0, 1.4 * max(top, 10)))
        panel.minorticks_off()
        panel.set_yticks([0, *_powers(top)])
        panel.yaxis.set_major_formatter(lambda works, _: t.number(int(works)))
        _score_axis(panel.xaxis, t)
        panel.grid(axis="y")
        panel.tick_params(length=0)
        panel.set_xlabel(t("site.score"), labelpad=1)
    return figure


def density(
    cells: Counts, pair: tuple[str, str], thresholds: Mapping[str, float], t: Texts
) -> "Figure":
    """Draw works by the scores of two heads: the more there are in a cell, the stronger it is."""
    from matplotlib.collections import PathCollection  # noqa: PLC0415

    with _figure(2.9, left=0.45, bottom=0.38) as (figure, panel):
        power = np.floor(np.log10(np.maximum(cells, 1))).astype(int)
        for level, opacity in enumerate(DENSITY_LEVELS):
            last = level == len(DENSITY_LEVELS) - 1
            there = (cells > 0) & ((power >= level) if last else (power == level))
            if there.any():
                shape = PathCollection([_squares(there)], facecolor=_DENSITY, alpha=opacity, lw=0)
                panel.add_collection(shape)
        panel.plot([0, 1], [0, 1], color=_QUIET, lw=0.6, ls=":")
        for head, line in zip(pair, (panel.axvline, panel.axhline), strict=True):
            if head in thresholds:
                line(thresholds[head], color=_INK, lw=0.8, ls=(0, (4, 2)))
        panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        panel.tick_params(length=0)
        _score_axis(panel.xaxis, t)
        _score_axis(panel.yaxis, t)
        panel.set_xlabel(pair[0], labelpad=1)
        panel.set_ylabel(pair[1], labelpad=1)
    return figure


@contextmanager
def _figure(
    height: float, *, left: float = 0.0, bottom: float = 0.0
) -> "Iterator[tuple[Figure, Axes]]":
    """Yield a figure and its panel; `left` and `bottom`: room for what stands at the axes, inches.

    The same for all plots of a kind, so that panels side by side have axes of one length.
    """
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_WIDTH, height))
        FigureCanvasSVG(figure)
        right, top = _WIDTH - left - _EDGE, height - bottom - _EDGE
        rectangle = (left / _WIDTH, bottom / height, right / _WIDTH, top / height)
        panel = figure.add_axes(rectangle)
        panel.patch.set_visible(False)
        figure.patch.set_visible(False)
        yield figure, panel


def _score_axis(axis: Any, t: Texts) -> None:  # noqa: ANN401 - either of matplotlib's axes
    axis.set_ticks([0, 0.25, 0.5, 0.75, 1])
    axis.set_major_formatter(lambda score, _: t.number(score))


def _powers(top: int) -> list[int]:
    """Return the powers of ten up to `top`, at most five of them."""
    powers = [10**power for power in range(12) if 10**power <= max(top, 10)]
    return powers[:: -(-len(powers) // 5)]


def _colour(place: int) -> str:
    return _HEADS[place % len(_HEADS)]


def _squares(there: Any) -> Any:  # noqa: ANN401 - bool [CELLS, CELLS] to a matplotlib path
    """Return one path around all cells that are there, runs of a column in one piece."""
    from matplotlib.path import Path  # noqa: PLC0415

    pieces = []
    for column, cells in enumerate(there):
        ends = np.flatnonzero(np.diff(np.pad(cells, 1).astype(int)))
        for start, stop in ends.reshape(-1, 2):
            left, right, low, high = (v / CELLS for v in (column, column + 1, start, stop))
            corners = [(left, low), (right, low), (right, high), (left, high), (left, low)]
            pieces.append(Path(corners, closed=True))
    return Path.make_compound_path(*pieces)
