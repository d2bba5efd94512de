"""`scorer report` on a large scored file: time, peak memory; and how fast its list answers a key.

The list is used in Debian's chromium, driven by Playwright (extra `test`). A time goes from the
event to the second frame after it, when the new rows are on the screen; two frames alone take
33 ms. The script's own share, filter, sort and new rows, is given apart.
"""

import shutil
import statistics
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
from _frames import made_frame
from _measure import SCORER, measure, report, scorer_run, work_folder
from playwright.sync_api import Page, sync_playwright

GOAL_MS: Final = 100
"""From a key to the rows that it leaves: what people take for at once."""
FLAGS: Final = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"),
]
WATCH: Final = """() => {
  globalThis.taken = [];
  const form = document.querySelector("form.filters");
  let started;
  form.addEventListener("input", () => { started = performance.now(); }, { capture: true });
  form.addEventListener("input", () => {
    const begun = started;
    const own = performance.now() - begun;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      globalThis.taken.push([own, performance.now() - begun]);
    }));
  });
}"""


def main(
    works: Annotated[int, typer.Option(min=10_000, help="Works of the made frame.")] = 4_300_000,
) -> None:
    """Time the making of a site, then the use of its list."""
    frame, scores = made_frame(works), work_folder() / f"report-{works}.scored.parquet"
    if not scores.exists():
        measure(scorer_run(frame, scores))
    site = work_folder() / "site"
    command = [SCORER, "report", scores, "--frame", frame, "-o", site, "-q", "--overwrite"]
    made = measure(command, memory=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        page.goto((site / "en" / "queue.html").as_uri())
        listed = page.locator("#found").inner_text()
        page.evaluate(WATCH)
        search = page.locator("#q")
        rows = [
            timed(page, "type 16 letters", lambda: search.press_sequentially("review of trials")),
            timed(page, "delete them", lambda: [search.press("Backspace") for _ in range(16)]),
            *(
                timed(page, f"each {name}", chosen(page, name))
                for name in ("target", "sort", "calls")
            ),
        ]
        chromium.close()
    notes = [
        f"scorer report on {works:,} works: {made.seconds:.0f} s, of processor "
        f"{made.processor_seconds:.0f} s, {made.peak_bytes / 1e6:,.0f} MB at the peak.",
        f"The list: {listed}.",
    ]
    report("report", "The list of the site: from a key to the rows on the screen", rows, notes)


def chosen(page: Page, name: str) -> Callable[[], None]:
    """Return what chooses each option of a field in turn."""

    def choose() -> None:
        options = page.locator(f"#{name} option").evaluate_all("all => all.map(o => o.value)")
        for value in options:
            page.select_option(f"#{name}", value)

    return choose


def timed(page: Page, what: str, use: Callable[[], object]) -> dict[str, Any]:
    """Use the list, and return how long it took to answer."""
    page.evaluate("globalThis.taken.length = 0")
    use()
    page.wait_for_timeout(300)
    own, shown = zip(*page.evaluate("globalThis.taken"), strict=True)
    median = statistics.median(shown)
    return {
        "what": what,
        "script, median ms": f"{statistics.median(own):.0f}",
        "shown, median ms": f"{median:.0f}",
        "shown, worst ms": f"{max(shown):.0f}",
        "goal ms": f"under {GOAL_MS}",
        "kept": "yes" if median < GOAL_MS else "NO",
    }


if __name__ == "__main__":
    typer.run(main)
