"""A site made once of a frame with odd titles, and a browser to look at it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright
from site_cases import ODD, Made, Visit

from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.report.site import build
from scorer.report.site_facts import SiteRequest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MOST = 120_000  # milliseconds to wait on a busy machine, where Playwright's 30 s may be too few
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="session")
def odd_frame(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Path of a frame of 209 works, nine of them odd; years, fields and languages differ."""
    works = make_labels(200, seed=3).select(
        *("id", "title", "venue", "topic", "field", "type"),
        pl.when(pl.int_range(pl.len()) % 9 != 0).then("year").alias("year"),
        pl.Series("lang", ["en", "en", "fr", None] * 50),
    )
    odd = pl.DataFrame({"id": list(ODD), "title": list(ODD.values())}).with_columns(
        venue=pl.lit('Venue "of" <b'),
        field=pl.lit("<script>globalThis.harmed = 1</script>"),
        lang=pl.lit("<i>en"),
        year=pl.lit(2020, pl.Int64),
    )
    path = tmp_path_factory.mktemp("odd") / "odd.parquet"
    pl.concat([odd, works], how="diagonal").write_parquet(path)
    return path


@pytest.fixture(scope="session")
def odd_scores(odd_frame: Path, tiny_bundle: Path) -> Path:
    """The frame of odd titles, scored by the tiny bundle."""
    path = odd_frame.with_name("odd.scored.parquet")
    run(RunRequest(frame=odd_frame, output=path, model=str(tiny_bundle)))
    return path


@pytest.fixture(scope="session")
def site(
    odd_frame: Path, odd_scores: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    """The site of the frame of odd titles."""
    folder = tmp_path_factory.mktemp("made") / "site"
    request = SiteRequest(
        scores=odd_scores, frame=str(odd_frame), output=folder, top=20, models=(str(tiny_bundle),)
    )
    build(request)
    return Made(folder, odd_scores, odd_frame, request)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium; what needs it is skipped where it is absent."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    expect.set_options(timeout=MOST)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=MOST)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Open pages: `visit(address, **options of the context)`.

    At the end of a test no page may have said anything on its console or asked for anything
    but files.
    """
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def opened(address: str, **options: Any) -> Visit:
        context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | options))
        context.set_default_timeout(MOST)
        contexts.append(context)
        made = Visit(context.new_page())
        visits.append(made)
        made.page.on("console", lambda said: made.wrong.append(f"{said.type}: {said.text}"))
        made.page.on("pageerror", lambda error: made.wrong.append(str(error)))
        made.page.on("request", lambda request: made.asked.append(request.url))
        made.page.goto(address)
        return made

    yield opened
    for made in visits:
        assert made.wrong == []
        assert [url for url in made.asked if not url.startswith("file:///")] == []
    for context in contexts:
        context.close()
