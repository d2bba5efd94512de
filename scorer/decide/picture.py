"""What all pictures share: formats, settings that make the same bytes, colours that tell apart."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scorer.errors import UsageError
from scorer.policy.calls import CANDIDATE, CONSENSUS, MAJORITY
from scorer.status import STAMP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMATS: Final = ("png", "svg")
_DPI: Final = 130
# Okabe and Ito (2008), told apart by the colour-blind; heads solid, combinations broken.
_HEADS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
_COMBINED: Final = {
    CANDIDATE: ("#E69F00", "--"),
    CONSENSUS: ("#000000", ":"),
    MAJORITY: ("#777777", "-."),
}
MARKERS: Final = {CANDIDATE: "D", CONSENSUS: "s", MAJORITY: "^"}
"""Of combinations; heads have "o"."""
SETTINGS: Final[Any] = {
    "font.size": 8,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is there everywhere
    "svg.hashsalt": "scorer",  # ids of the elements: the same picture, the same bytes
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


def style(heads: Sequence[str], kind: str) -> dict[str, Any]:
    """Return colour and line of a kind."""
    if kind in _COMBINED:
        colour, line = _COMBINED[kind]
        return {"color": colour, "ls": line}
    return {"color": _HEADS[list(heads).index(kind) % len(_HEADS)], "ls": "-"}


def saved(figure: "Figure", kind: str) -> bytes:
    """Return the file's bytes; nothing in them says when or by which version they were drawn."""
    sink = io.BytesIO()
    if kind == "svg":
        told = {"Date": None, "Creator": "scorer", "Description": STAMP}
        figure.savefig(sink, format="svg", metadata=told)
    else:
        told = {"Software": "scorer", "Description": STAMP}
        figure.savefig(sink, format="png", dpi=_DPI, metadata=told)
    return sink.getvalue()
