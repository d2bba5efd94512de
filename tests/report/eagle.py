"""EAGLE-2 from the sample frame, as `scorer show` tells it: what the golden files hold.

    python tests/report/eagle.py

writes them anew, after a change that is meant; look at the difference before it is committed.
"""

import dataclasses
import io
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console

from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.report.explain import ExplainRequest, explain
from scorer.report.html import style, work_html
from scorer.report.language import Language, Texts
from scorer.report.page import WorkPage
from scorer.report.show import ShowRequest, show
from scorer.report.terminal import explanation_view, work_view

ROOT = Path(__file__).parents[2]
FRAME = ROOT / "sample_frames" / "works.parquet"
EAGLE: Final = "W9000000002"
GOLDEN: Final = Path(__file__).parent / "golden"
DAY: Final = "2026-12-01T09:00:00+00:00"
STYLE: Final = "/* style.css */"


def eagle_page(folder: Path) -> WorkPage:
    """Score the sample frame with both shipped bundles, and return the facts of EAGLE-2."""
    scores, baseline = folder / "works.scored.parquet", folder / "baseline.scored.parquet"
    run(RunRequest(frame=FRAME, output=scores))
    model = "metacan-v0-baseline"
    run(RunRequest(frame=FRAME, output=baseline, model=model, baseline=True))
    page = show(ShowRequest(EAGLE, scores, frame=str(FRAME), baseline_scores=baseline))
    assert page.baseline is not None
    # The day of the run is the one fact that changes from run to run.
    other = dataclasses.replace(page.baseline.origin, started=DAY)
    return dataclasses.replace(
        page,
        origin=dataclasses.replace(page.origin, started=DAY),
        baseline=dataclasses.replace(page.baseline, origin=other),
    )


def shown(view: object) -> str:
    """Return what a view looks like on a terminal of 80 columns without colours."""
    file = io.StringIO()
    Console(file=file, width=80, color_system=None, highlight=False, markup=False).print(view)
    return file.getvalue()


def views(page: WorkPage) -> dict[str, str]:
    """Return every golden file by name; the style sheet is left out of the pages."""
    made = {"eagle-2.json": page.to_json()}
    for language in Language:
        texts = Texts(language)
        made[f"eagle-2.{language.value}.txt"] = shown(work_view(page, texts))
        html = work_html(page, texts)
        assert style() in html
        made[f"eagle-2.{language.value}.html"] = html.replace(style(), STYLE)
        request = ExplainRequest(EAGLE, str(FRAME), targets=("metaresearch",))
        parts = shown(explanation_view(explain(request), texts))
        made[f"eagle-2.explained.{language.value}.txt"] = parts
    return made


def main() -> None:
    """Write the golden files."""
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in views(eagle_page(Path(folder))).items():
            (GOLDEN / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
