"""The site in headless Chromium, opened from files: what people do with it, and how it looks."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from site_cases import Made, Visit

from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.report.queue import page_name
from scorer.report.site import build
from scorer.report.site_facts import SiteRequest
from scorer.review.rank import RankRequest, rank
from scorer.status import STAMP

Open = Callable[..., Visit]
PAGES = ["index", "top", "queue", "method", "manifest", "works/W9004", "works/W9005", "works/W9006"]
QUIETLY = {"preload": False}
"""Without fetching style sheets, which the pages forbid: the browser knows the styles."""


def rows(page: Page) -> list[str]:
    """Return the ids in the list, in order."""
    told = page.locator("table.queue tbody td.work .small").all_inner_texts()
    return [text.split(" · ")[-1].strip() for text in told]


def found(page: Page) -> str:
    return page.locator("#found").inner_text().replace("\u202f", " ").replace("\u00a0", " ")


def wait_until(page: Page, condition: str) -> None:
    """Wait for an expression to hold (`wait_for_function` evals, which the pages forbid)."""
    for _ in range(600):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


@pytest.fixture(scope="module")
def truth(site: Made) -> pl.DataFrame:
    """The scored file beside its frame, and the heads' mean score for metaresearch."""
    scores, frame = pl.read_parquet(site.scores), pl.read_parquet(site.frame)
    frame = frame.with_columns(pl.col("id").str.replace("https://openalex.org/", "", literal=True))
    columns = [pl.col(f"score_{head}_metaresearch").cast(pl.Float64) for head in ("codex", "gemma")]
    return scores.join(frame, on="id").with_columns(mean=pl.mean_horizontal(columns))


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_every_page_stands_alone_says_its_status_and_fits_a_phone(
    site: Made, visit: Open, lang: str
) -> None:
    page = visit(site.address("index.html"), viewport={"width": 360, "height": 740}).page
    for name in PAGES:
        page.goto(site.address(f"{lang}/{name}.html"))
        assert STAMP in page.locator("body").inner_text(), name
        assert page.locator("h1").count() == 1, name
        assert page.locator("html").get_attribute("lang") == lang, name
        assert page.evaluate("document.documentElement.scrollWidth") == 360, name


@pytest.mark.parametrize(
    ("path", "scheme", "width"),
    [
        ("en/index", "light", 1200),
        ("fr/index", "dark", 360),
        ("en/top", "dark", 1200),
        ("en/queue", "light", 1200),
        ("fr/queue", "dark", 360),
        ("fr/method", "light", 360),
        ("en/manifest", "dark", 1200),
        ("fr/works/W9004", "light", 1200),
    ],
)
def test_axe_finds_nothing(site: Made, visit: Open, path: str, scheme: str, width: int) -> None:
    size = {"width": width, "height": 900}
    page = visit(site.address(f"{path}.html"), color_scheme=scheme, viewport=size).page
    violations = Axe().run(page, options=QUIETLY).response["violations"]
    found = [
        (violation["impact"], violation["id"], node["target"], node["failureSummary"])
        for violation in violations
        for node in violation["nodes"]
    ]
    assert found == []


def test_dark_is_dark_and_light_is_light(site: Made, visit: Open) -> None:
    brightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        ".reduce((a, b) => a + b) / 3"
    )
    shown = [
        visit(site.address("en/index.html"), color_scheme=scheme).page.evaluate(brightness)
        for scheme in ("light", "dark")
    ]
    assert shown[0] > 230
    assert shown[1] < 60


def test_the_plots_take_their_colours_from_the_page(site: Made, visit: Open) -> None:
    line = (
        "#scores + p + p + .plots svg path[style*='--head-1'], section svg path[style*='--head-1']"
    )
    colours = set()
    for scheme in ("light", "dark"):
        page = visit(site.address("en/index.html"), color_scheme=scheme).page
        stroke = page.locator(line).first.evaluate("e => getComputedStyle(e).stroke")
        colours.add(stroke)
        assert stroke.startswith("rgb")
    assert len(colours) == 2


def test_the_first_page_goes_to_the_language_of_the_browser(site: Made, visit: Open) -> None:
    for locale, lang in (("fr-CA", "fr"), ("en-GB", "en"), ("de-DE", "en")):
        page = visit(site.address("index.html"), locale=locale).page
        page.wait_for_url(f"**/{lang}/index.html")


def test_the_language_switch_keeps_search_sort_and_page(site: Made, visit: Open) -> None:
    page = visit(site.address("en/queue.html")).page
    page.fill("#q", "study")
    page.select_option("#target", "bibliometrics")
    page.select_option("#sort", "gemma")
    page.select_option("#order", "up")
    page.click("#next")
    before = rows(page)
    assert before
    page.click("#language")
    page.wait_for_url("**/fr/queue.html*")
    assert rows(page) == before
    assert page.input_value("#q") == "study"
    assert page.input_value("#sort") == "gemma"
    assert page.locator("#page").inner_text().startswith("Page 2 sur")
    page.click("#language")
    page.wait_for_url("**/en/queue.html*")
    assert rows(page) == before


def test_the_language_switch_keeps_the_place_on_a_long_page(site: Made, visit: Open) -> None:
    page = visit(site.address("en/index.html")).page
    page.locator("#scores").scroll_into_view_if_needed()
    page.locator("details summary").nth(3).click()
    page.evaluate("document.getElementById('scores').scrollIntoView(); window.scrollBy(0, 150)")
    top = "document.getElementById('scores').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.evaluate("document.getElementById('language').click()")
    page.wait_for_url("**/fr/index.html*")
    wait_until(page, f"Math.abs({top} - {before}) < 2")
    assert page.locator("html").get_attribute("lang") == "fr"
    assert page.locator("details").nth(3).get_attribute("open") is not None
    assert page.locator("details[open]").count() == 1
    assert "at=" not in page.url


def test_search_finds_words_in_any_order_without_accents(site: Made, visit: Open) -> None:
    page = visit(site.address("en/queue.html")).page
    page.fill("#q", "PAIRS evaluation")
    assert rows(page) == ["W9007"]
    assert found(page) == "1 of 199 works. 1 to 1"
    page.fill("#q", "w9006")
    assert rows(page) == ["W9006"]
    page.fill("#q", "nothing has these words")
    assert rows(page) == []
    assert found(page).startswith("0 of 199 works. No work fits.")
    page.click("button[type=reset]")
    expect(page.locator("table.queue tbody tr")).to_have_count(50)
    assert found(page) == "199 of 199 works. 1 to 50"
    assert "#" not in page.url


@pytest.mark.parametrize(
    ("pasted", "work"),
    [
        ("https://openalex.org/W9006", "W9006"),
        ("http://openalex.org/works/w9006", "W9006"),
        ("https://api.openalex.org/works/W9006?mailto=a@b.org", "W9006"),
        (" openalex.org/W9006 ", "W9006"),
        ("https://doi.org/10.1/a?b=c#d", "10.1/a?b=c#d"),
        ("https://dx.doi.org/10.1/A%3Fb%3Dc%23d", "10.1/a?b=c#d"),
    ],
)
def test_a_pasted_address_finds_its_work(site: Made, visit: Open, pasted: str, work: str) -> None:
    page = visit(site.address("en/queue.html")).page
    page.fill("#q", pasted)
    assert rows(page) == [work]


def test_french_words_agree_with_what_they_count_and_filter(site: Made, visit: Open) -> None:
    page = visit(site.address("fr/queue.html")).page
    chosen = [page.locator(f"#{name} option").first.inner_text() for name in ("lang", "field")]
    assert chosen == ["toutes", "tous"]
    page.fill("#q", "W9006")
    assert found(page) == "1 œuvre sur 199. 1 à 1"
    page.fill("#q", "W900")
    assert found(page) == "7 œuvres sur 199. 1 à 7"
    page.fill("#q", "nothing has these words")
    assert found(page).startswith("0 œuvre sur 199.")


@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_a_head_of_a_column_sorts_by_its_score(
    site: Made, visit: Open, truth: pl.DataFrame, order: str
) -> None:
    page = visit(site.address("en/queue.html")).page
    page.select_option("#target", "metaresearch")
    button = page.get_by_role("button", name="codex")
    button.click()
    if order == "ascending":
        button.click()
    assert page.get_by_role("columnheader", name="codex").get_attribute("aria-sort") == order
    scores = dict(truth.select("id", "score_codex_metaresearch").iter_rows())
    shown = [scores[work] for work in rows(page)]
    wanted = truth["score_codex_metaresearch"].sort(descending=order == "descending")
    assert shown == wanted.head(50).to_list()
    assert button.evaluate("e => e === document.activeElement")
    cells = page.locator("table.queue tbody tr:first-child td.number").all_inner_texts()
    assert cells[0] == f"{shown[0]:.3f}"


def test_without_a_sort_the_list_stands_in_turn_by_category(site: Made, visit: Open) -> None:
    page = visit(site.address("en/queue.html")).page
    best = [
        rank(RankRequest(site.scores, category, top=3)).works["id"].to_list()
        for category in ("metaresearch", "bibliometrics", "open_science")
    ]
    in_turn = [work for place in zip(*best, strict=True) for work in place]
    shown = [work for work in rows(page) if work in in_turn]
    assert shown[:5] == list(dict.fromkeys(in_turn))[:5]


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({"calls": "consensus"}, pl.col("consensus_categories").list.len() > 0),
        ({"calls": "none"}, pl.col("candidate_categories").list.len() == 0),
        (
            {"target": "metaresearch", "calls": "candidate"},
            pl.col("candidate_categories").list.contains("metaresearch")
            & ~pl.col("consensus_categories").list.contains("metaresearch"),
        ),
        (
            {"target": "about_ca_topic", "calls": "called"},
            pl.col("candidate_flags").list.contains("about_ca_topic"),
        ),
        ({"lang": "fr"}, pl.col("lang") == "fr"),
        ({"field": "Medicine"}, pl.col("field") == "Medicine"),
        ({"from": "2001", "to": "2010"}, pl.col("year").is_between(2001, 2010)),
        ({"lang": "fr", "from": "2000"}, (pl.col("lang") == "fr") & (pl.col("year") >= 2000)),
    ],
)
def test_filters_leave_the_works_that_fit(
    site: Made, visit: Open, truth: pl.DataFrame, asked: dict[str, str], fits: pl.Expr
) -> None:
    # Works without a usable title are called by rule, and not ranked.
    listed = truth.filter(pl.col("segment") == "covered")
    page = visit(site.address("en/queue.html")).page
    for name, value in asked.items():
        if name in ("from", "to"):
            page.fill(f"#{name}", value)
        else:
            page.select_option(f"#{name}", value)
    wanted = listed.filter(fits)
    assert 0 < wanted.height < listed.height
    assert found(page).startswith(f"{wanted.height} of {listed.height} works.")
    assert set(rows(page)) <= set(wanted["id"])


def test_the_list_is_used_from_the_keyboard(site: Made, visit: Open) -> None:
    page = visit(site.address("en/queue.html")).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("study")
    first = rows(page)
    page.locator("#next").focus()
    page.keyboard.press("Enter")
    assert rows(page) != first
    assert page.locator("#found").get_attribute("aria-live") == "polite"


def test_a_work_is_opened_from_the_list_in_either_language(site: Made, visit: Open) -> None:
    page = visit(site.address("en/queue.html")).page
    page.fill("#q", "quoted titles")
    page.get_by_role("link", name="Quoted").click()
    page.wait_for_url(f"**/{page_name('W9003')}*")
    heading = page.locator("h1").inner_text()
    assert heading.startswith("\"Quoted\" 'titles' & what they hold: peer review")
    assert STAMP in page.locator("main").inner_text()
    page.click("#language")
    page.wait_for_url(f"**/fr/works/{page_name('W9003')}*")
    assert page.locator("h1").inner_text() == heading


@pytest.mark.parametrize("path", ["index", "top", "queue", "works/W9002"])
def test_what_a_record_says_is_text_and_never_markup(site: Made, visit: Open, path: str) -> None:
    page = visit(site.address(f"en/{path}.html")).page
    text = page.locator("main").text_content() or ""
    if path in ("top", "queue", "works/W9002"):
        assert "<img src=x onerror='globalThis.harmed = 1' alt" in text
    if path in ("index", "queue"):
        assert "<script>globalThis.harmed = 1</script>" in text, "as the field"
    assert page.evaluate("globalThis.harmed") is None
    assert page.locator("main img, main script, main i").count() == 0


def test_odd_ids_have_a_page(site: Made, visit: Open) -> None:
    for work in ("10.1/a?b=c#d", "../../up"):
        page = visit(site.address("en/queue.html")).page
        page.fill("#q", work)
        page.locator("table.queue tbody a").click()
        page.wait_for_url("**/works/*")
        assert work in page.locator("dl.facts").first.inner_text()


def test_a_title_from_right_to_left_runs_that_way_and_alone(site: Made, visit: Open) -> None:
    direction = "e => getComputedStyle(e).direction"
    page = visit(site.address("en/works/W9006.html")).page
    assert page.locator("h1 bdi").evaluate(direction) == "rtl"
    assert page.locator("h1").evaluate(direction) == "ltr"
    page = visit(site.address("en/queue.html")).page
    page.fill("#q", "W9006")
    assert page.locator("table.queue .title bdi").evaluate(direction) == "rtl"


def test_without_javascript_works_are_reached_all_the_same(site: Made, visit: Open) -> None:
    page = visit(site.address("en/queue.html"), java_script_enabled=False).page
    page.locator("noscript a").click()
    page.wait_for_url("**/en/top.html")
    page.locator("ol.works a").first.click()
    page.wait_for_url("**/en/works/*")
    page.locator("#language").click()
    page.wait_for_url("**/fr/works/*")


def test_print_shows_all_numbers_and_no_controls(site: Made, visit: Open) -> None:
    page = visit(site.address("en/index.html")).page
    folded = page.locator("details:not([open])").count()
    assert folded > 5
    page.emulate_media(media="print")
    assert not page.locator("header.site").is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == folded
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_plots_have_names_and_their_numbers_beside_them(site: Made, visit: Open) -> None:
    page = visit(site.address("en/index.html")).page
    plots = page.locator("figure.plot svg").all()
    assert len(plots) > 8
    for plot in plots:
        named = plot.get_attribute("aria-labelledby").split()
        assert all(page.locator(f"#{name}").text_content() for name in named)
    texts = page.get_by_role("img").first.evaluate("e => e.querySelectorAll('text').length")
    assert texts > 3


@pytest.fixture(scope="module")
def score_only_site(
    odd_frame: Path, tiny_bundle: Path, reseal: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The site of scores that a student without maturity gave."""
    folder = tmp_path_factory.mktemp("immature")
    bundle = Path(shutil.copytree(tiny_bundle, folder / "bundle"))
    moved = {"rounds": 2, "criteria": {"moved": 0.2}, "passed": False, "note": "still moves"}
    reseal(bundle, maturity=moved)
    scores = folder / "only.parquet"
    run(RunRequest(frame=odd_frame, output=scores, model=str(bundle), baseline=True))
    build(SiteRequest(scores, str(odd_frame), folder / "site", top=5, models=(str(bundle),)))
    return folder / "site"


def test_a_site_of_scores_alone_makes_no_calls(score_only_site: Path, visit: Open) -> None:
    page = visit((score_only_site / "en" / "index.html").as_uri()).page
    text = page.locator("main").inner_text()
    assert "No calls are made" in text
    assert "score_only:" in text
    assert page.locator("figure.plot svg").count() > 4
    page = visit((score_only_site / "en" / "queue.html").as_uri()).page
    assert page.locator("#calls").count() == 0
    assert len(rows(page)) == 50
    assert page.locator("table.queue .call").count() == 0
    page = visit((score_only_site / "en" / "method.html").as_uri()).page
    assert "No head calls anything" in page.locator("main").inner_text()
