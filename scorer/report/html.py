"""Pages: templates filled, whatever comes from works escaped; a page asks for nothing elsewhere."""

from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scorer.report.language import Texts
from scorer.report.page import WorkPage
from scorer.report.parts_words import ExplanationWords
from scorer.report.words import PageWords
from scorer.status import STAMP

_LONGEST_TITLE: Final = 120
"""Characters of a title that a browser's tab or a bookmark is given."""


@cache
def templates() -> Environment:
    """Return the environment of all templates: values are escaped, an unknown name is an error."""
    return Environment(
        loader=PackageLoader("scorer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def filled(template: str, texts: Texts, **values: Any) -> str:  # noqa: ANN401
    """Return a template with its values; it has `t` (the texts), `lang` and `stamp` besides.

    `style` is the content of `style.css`, which every page carries in itself.
    """
    return (
        templates()
        .get_template(template)
        .render(t=texts, lang=texts.language.value, stamp=STAMP, style=style(), **values)
    )


@cache
def style() -> Markup:
    """Return the style sheet that a page carries in itself; it is our own, and not escaped."""
    loader = templates().loader
    assert loader is not None
    return Markup(loader.get_source(templates(), "style.css")[0])


def work_html(
    page: WorkPage,
    texts: Texts,
    template: str = "work.html",
    **values: Any,  # noqa: ANN401
) -> str:
    """Return a work's page: whole and by itself, or in a template of the site that takes more."""
    say = PageWords(page, texts)
    parts = None
    if page.explanation is not None:
        labels = {target.name: target.label for target in page.targets}
        parts = ExplanationWords(page.explanation, labels, texts)
    title = say.heading()
    short = title if len(title) <= _LONGEST_TITLE else f"{title[:_LONGEST_TITLE]}…"
    return filled(template, texts, page=page, say=say, parts=parts, short_title=short, **values)
