"""A drawn figure as SVG for a page: its colours, its ids, and words for who cannot see it."""

import io
import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from markupsafe import Markup

from scorer.report.plots import COLOURS, SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_USED: Final = re.compile(r"#([A-Za-z_][\w.-]*)")
_COLOUR: Final = re.compile("|".join(COLOURS))
_FONT: Final = re.compile(r"font: ([\d.]+px) [^;]*")
_PIXELS_A_POINT: Final = 4 / 3

ET.register_namespace("", _SVG)
ET.register_namespace("xlink", _XLINK)


def picture(figure: "Figure", name: str, title: str, description: str) -> Markup:
    """Return a figure as an SVG element; the same figure and words make the same text.

    `name`: of the picture in its page, so that no two elements share an id. `title` and
    `description` are read out in its stead.
    """
    import matplotlib as mpl  # noqa: PLC0415 - an extra, loaded where it is used

    sink = io.BytesIO()
    told = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context(SETTINGS):
        figure.savefig(sink, format="svg", metadata=told)
    root = ET.fromstring(sink.getvalue())
    _fit(root, name)
    for tag, words in (("desc", description), ("title", title)):
        element = ET.Element(f"{{{_SVG}}}{tag}", id=f"{name}-{tag}")
        element.text = words
        root.insert(0, element)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    return Markup(ET.tostring(root, encoding="unicode"))


def _fit(root: ET.Element, name: str) -> None:
    """Take out what would act upon the whole page, and bring in the page's colours."""
    _, _, width, height = (float(number) for number in root.attrib["viewBox"].split())
    root.set("width", f"{width * _PIXELS_A_POINT:.0f}")
    root.set("height", f"{height * _PIXELS_A_POINT:.0f}")
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    used = {
        found
        for element in root.iter()
        for key, value in element.attrib.items()
        if key == f"{{{_XLINK}}}href" or "url(#" in value
        for found in _USED.findall(value)
    }
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id":
                if value in used:
                    element.set("id", f"{name}-{value}")
                else:
                    del element.attrib["id"]
            elif key == f"{{{_XLINK}}}href" or "url(#" in value:
                element.set(key, value.replace("#", f"#{name}-"))
            elif key == "style":
                fitted = _COLOUR.sub(lambda found: COLOURS[found[0]], value)
                element.set("style", _FONT.sub(r"font-size: \1", fitted))
