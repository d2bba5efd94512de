"""Records of every kind on a work's page: abstracts by origin, titles that mean harm."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from eagle import shown

from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.report.html import work_html
from scorer.report.language import Language, Texts
from scorer.report.page import WorkPage
from scorer.report.show import ShowRequest, show
from scorer.report.terminal import work_view
from scorer.report.words import PageWords

EN, FR = Texts(Language.en), Texts(Language.fr)
Show = Callable[..., WorkPage]


def text_of(html: str) -> str:
    words: list[str] = []
    parser = HTMLParser()
    parser.handle_data = words.append  # type: ignore[method-assign]
    parser.feed(html)
    return "".join(words)


@pytest.fixture(scope="module")
def abstracts(
    abstract_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], WorkPage]:
    """Show a work with an abstract of each kind, by the student that reads abstracts."""
    folder = tmp_path_factory.mktemp("abstracts")
    frame, output = folder / "works.parquet", folder / "scored.parquet"
    title = "A title that tells nothing"
    pl.DataFrame(
        {
            "id": ["text", "index", "none"],
            "title": [title] * 3,
            "abstract": ["<jats:p>We audit\nreplication &amp; more</jats:p>", None, " "],
            "abstract_inverted_index": [None, '{"here": [2], "We": [0], "audit": [1]}', None],
        }
    ).write_parquet(frame)
    run(RunRequest(frame=frame, output=output, model=str(abstract_bundle)))
    models = [str(abstract_bundle)]
    return lambda work: show(ShowRequest(work, output, frame=str(frame), models=models))


@pytest.mark.parametrize(
    ("work", "abstract", "origin", "said"),
    [
        ("text", "We audit\nreplication & more", "abstract", "From the frame, as text."),
        ("index", "We audit here", "abstract_inverted_index", "Put together from the frame's"),
        ("none", None, None, "The frame has no abstract of this work."),
    ],
)
def test_the_page_says_where_the_abstract_came_from(
    abstracts: Callable[[str], WorkPage], work: str, abstract: str, origin: str, said: str
) -> None:
    page = abstracts(work)
    assert page.record is not None
    assert (page.record.abstract, page.record.abstract_from) == (abstract, origin)
    end = PageWords(page, EN).record_end()
    assert end[0].startswith(said)
    read = "The student reads abstracts: this one had a part in the scores."
    assert (read in end) == (abstract is not None)
    assert page.explanation is not None  # scored from the same abstract: the same bits
    lines = [line.strip() for line in shown(work_view(page, EN)).splitlines()]
    assert [line for line in (abstract or "").splitlines() if line not in lines] == []


HOSTILE = {
    "W1": "<script>alert('x')</script> & \"quotes\" in <b>trials</b> of sleep",
    "W2": "long " * 1000,
    "W3": "أثر التعلم الآلي: دراسة ميدانية \u202eevil\u202c",
    "W4": "Bell \x07 and colour \x1b[31mred\x1b[0m in a title\x00 of bees",
    "W5": "5 < 6 and {{ 7 * 7 }} {% raw %} [bold]not markup[/bold] of sleep",
    "W6": "unbroken" * 625,
}


@pytest.fixture(scope="module")
def hostile(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Show:
    folder = tmp_path_factory.mktemp("hostile")
    frame, output = folder / "works.parquet", folder / "scored.parquet"
    venue = '"><img src=x onerror=alert(1)> Journal</title><script>alert(2)</script>'
    titles = list(HOSTILE.values())
    works = pl.DataFrame({"id": list(HOSTILE), "title": titles}).with_columns(venue=pl.lit(venue))
    works.write_parquet(frame)
    run(RunRequest(frame=frame, output=output, model=str(tiny_bundle)))
    models = [str(tiny_bundle)]
    return lambda work: show(ShowRequest(work, output, frame=str(frame), models=models))


@pytest.mark.parametrize("work", HOSTILE)
@pytest.mark.parametrize("texts", [EN, FR])
def test_no_title_does_more_than_stand_there(hostile: Show, work: str, texts: Texts) -> None:
    page = hostile(work)
    assert page.record is not None
    assert page.record.title_as_given == HOSTILE[work]
    html = work_html(page, texts)
    tags = re.findall(r"<(script|img|b|i)\b", html)
    assert tags == []
    assert "{{" not in html.replace("{{ 7 * 7 }}", "")
    assert page.record.title in text_of(html)
    view = shown(work_view(page, texts))
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", view) is None
    assert all(len(line) <= 80 for line in view.splitlines())
    assert json.loads(page.to_json())["record"]["title_as_given"] == HOSTILE[work]


def test_what_looks_like_a_template_or_markup_is_text(hostile: Show) -> None:
    text = "5 < 6 and {{ 7 * 7 }} {% raw %} [bold]not markup[/bold] of sleep"
    page = hostile("W5")
    assert text in text_of(work_html(page, EN))
    assert text in " ".join(shown(work_view(page, EN)).split())


def test_a_title_of_another_direction_is_kept_apart(hostile: Show) -> None:
    html = work_html(hostile("W3"), EN)
    assert '<h1><bdi dir="auto">أثر' in html


def test_the_page_s_own_title_is_cut(hostile: Show) -> None:
    for work in ("W2", "W6"):
        (title,) = re.findall(r"<title>(.*?)</title>", work_html(hostile(work), EN))
        assert 120 < len(title) < 200
        assert "machine_predicted_unvalidated" in title
