"""The pages on paper, and what the keyboard sees: nothing runs off, overlaps, or is cut."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from site_cases import Made, Visit

from scorer.report.html import work_html
from scorer.report.language import Language, Texts
from scorer.report.show import ShowRequest, show

Open = Callable[..., Visit]
A4 = {"width": 718, "height": 1047}
"""CSS pixels of a sheet within margins of a centimetre."""
PRINTED = ["index", "top", "queue", "method", "manifest", "works/W9004", "works/W9005"]

RUN_OFF = """() => [...document.querySelectorAll("main *, footer *")].filter((e) => {
  const {left, right, width} = e.getBoundingClientRect();
  const hidden = e.closest(".unseen, svg");
  return !hidden && width > 0 && (left < -1 || right > innerWidth + 1);
}).map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 40)}`)"""
CUT = """() => {
  // A wide table or a long line inside a box that hides what sticks out.
  return [...document.querySelectorAll("main .scroll, main pre, main figure")]
    .filter((e) => e.scrollWidth > e.clientWidth + 1)
    .map((e) => `${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 40)}`);
}"""
OVERLAP = """() => {
  const boxes = [...document.querySelectorAll("main figure.plot, main table")]
    .map((e) => [e, e.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
  return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
    .filter(([other, b]) => !one.contains(other) && !other.contains(one)
      && a.left < b.right - 1 && b.left < a.right - 1
      && a.top < b.bottom - 1 && b.top < a.bottom - 1)
    .map(([other]) => [one, other].map((e) => e.textContent.trim().slice(0, 30)).join(" / ")));
}"""
OUTLINE = """() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  const {outlineStyle, outlineWidth, outlineOffset} = getComputedStyle(e);
  const room = parseFloat(outlineWidth) + parseFloat(outlineOffset);
  const name = `${e.tagName}#${e.id}.${e.className}: ${e.textContent.trim().slice(0, 30)}`;
  if (outlineStyle === "none" || room < 3) return [name, "no outline"];
  const boxes = [...e.getClientRects()];
  const left = Math.min(...boxes.map((b) => b.left)) - room;
  const right = Math.max(...boxes.map((b) => b.right)) + room;
  const top = Math.min(...boxes.map((b) => b.top)) - room;
  const bottom = Math.max(...boxes.map((b) => b.bottom)) + room;
  if (left < 0 || right > innerWidth || top < 0) return [name, "outside the window"];
  if (bottom > innerHeight && bottom - top < innerHeight) return [name, "below the window"];
  let above = e;
  while ((above = above.parentElement) !== document.documentElement) {
    const style = getComputedStyle(above);
    if (style.overflow === "visible" && style.clipPath === "none") continue;
    const box = above.getBoundingClientRect();
    const fits = box.left <= left && right <= box.right && box.top <= top && bottom <= box.bottom;
    if (!fits) return [name, `cut by ${above.tagName}.${above.className}`];
  }
  return [name, ""];
}"""


def printed(page: Page) -> None:
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_nothing_runs_off_the_paper(site: Made, visit: Open, lang: str) -> None:
    page = visit(site.address(f"{lang}/index.html"), viewport=A4).page
    for name in PRINTED:
        page.goto(site.address(f"{lang}/{name}.html"))
        printed(page)
        assert page.evaluate(RUN_OFF) == [], name
        assert page.evaluate(CUT) == [], name
        assert page.evaluate(OVERLAP) == [], name


def test_a_page_of_its_own_fits_the_paper(
    site: Made, visit: Open, tiny_bundle: Path, tmp_path: Path
) -> None:
    models = (str(tiny_bundle),)
    for work in ("W9004", "W9005", "W9001"):
        page = show(ShowRequest(work, site.scores, frame=str(site.frame), models=models))
        for language in Language:
            place = tmp_path / f"{work}.{language.value}.html"
            place.write_text(work_html(page, Texts(language)), encoding="utf-8")
            seen = visit(place.as_uri(), viewport=A4).page
            seen.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            seen.emulate_media(media="print")
            assert seen.evaluate(RUN_OFF) == []
            assert seen.evaluate(CUT) == []


def test_names_of_targets_stand_upright_on_paper_only(site: Made, visit: Open) -> None:
    page = visit(site.address("en/index.html"), viewport=A4).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    name = page.locator(".plots.wide thead th.number").last
    way = "e => getComputedStyle(e).writingMode"
    assert name.evaluate(way) == "horizontal-tb"
    page.emulate_media(media="print")
    assert name.evaluate(way) in ("sideways-lr", "vertical-rl")


@pytest.mark.parametrize("width", [1200, 360])
@pytest.mark.parametrize("path", ["index", "queue", "top", "manifest", "works/W9004"])
def test_the_outline_of_what_the_keyboard_is_at_is_wholly_seen(
    site: Made, visit: Open, path: str, width: int
) -> None:
    page = visit(site.address(f"en/{path}.html"), viewport={"width": width, "height": 700}).page
    if path == "queue":
        page.select_option("#target", "metaresearch")
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    seen: list[Any] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        told = page.evaluate(OUTLINE)
        if told is None:
            break
        seen.append(told)
    assert len(seen) > 8
    assert [one for one in seen if one[1]] == []
    if path == "queue":
        assert any("gemma" in name for name, _ in seen), "the buttons that sort"
        assert any(name.startswith("A#") and "peer review" in name for name, _ in seen), "a work"
