"""`scorer report` as a function: a scored file and its frame become a folder of pages.

The folder holds all that its pages need and asks for nothing elsewhere. It is made under another
name beside its place and then moved there, so that it is whole or absent.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from scorer.engine.files import told
from scorer.engine.manifest import manifest_path
from scorer.engine.progress import Progress, Silence
from scorer.errors import OutputError, UsageError
from scorer.report.html import filled
from scorer.report.language import Language, Texts
from scorer.report.plots import check_library
from scorer.report.queue import queue_data
from scorer.report.site_facts import SiteFacts, SiteRequest, gathered
from scorer.report.site_pages import Pages
from scorer.review.scores import Scores
from scorer.status import STAMP

_ABOUT: Final = "site.json"
"""Says that a folder is a site, and of what; only such a folder is ever replaced."""
_ASSETS: Final = ("site.css", "site.js", "queue.js", "start.js")


@dataclass(frozen=True, slots=True)
class Site:
    """A site that was made."""

    folder: Path
    works: int
    listed: int
    pages: int
    """Works that have a page, in each language."""
    missing: int
    """Works of the scored file that the frame lacks."""
    bytes: int
    score_status: str
    prediction_status: str = STAMP


def build(request: SiteRequest, progress: Progress | None = None) -> Site:
    """Make the site of a scored file; the same inputs give the same bytes.

    Raises `OutputError` where the folder holds something else, `UsageError` for options that do not
    fit, `InputError` where the scored file or the frame is off.
    """
    said = progress or Silence()
    check_library()
    if min(request.top, request.listed) < 1:
        raise UsageError("--top and --list: expected at least 1.")
    output = _free_folder(request)
    scores = Scores.open(request.scores)
    facts = gathered(request, scores, said)
    with _made(output) as folder:
        _write(facts, folder, said)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return Site(
            folder=request.output,
            works=scores.rows,
            listed=facts.queue.rows.height,
            pages=facts.queue.pages,
            missing=facts.missing,
            bytes=size,
            score_status=scores.manifest.in_words("score_status"),
        )


def _write(facts: SiteFacts, folder: Path, said: Progress) -> None:
    languages = {language: Pages(facts, Texts(language)) for language in Language}
    assets = folder / "assets"
    assets.mkdir()
    for name in _ASSETS:
        content = files(__package__).joinpath("static", name).read_bytes()
        (assets / name).write_bytes(content)
    data = queue_data(facts.queue, facts.scores)
    (assets / "queue-data.js").write_bytes(b"globalThis.scorerQueue = " + data + b";\n")
    shutil.copyfile(manifest_path(facts.scores.path), folder / "manifest.json")
    (folder / _ABOUT).write_bytes(_about(facts))
    texts = [Texts(language) for language in Language]
    start = filled("site/start.html", texts[0], languages=texts)
    (folder / "index.html").write_text(start, encoding="utf-8")
    for language, pages in languages.items():
        (folder / language.value / "works").mkdir(parents=True)
        for path, text in pages.all():
            (folder / language.value / path).write_text(text, encoding="utf-8")
    said.start(facts.queue.pages, 0)
    for page in facts.pages():
        for language, pages in languages.items():
            path, text = pages.work(page)
            (folder / language.value / path).write_text(text, encoding="utf-8")
        said.advance(1)


def _about(facts: SiteFacts) -> bytes:
    about = {
        **facts.scores.statuses,
        "policy_version": facts.manifest.in_words("policy_version"),
        "scores": facts.manifest.output.name,
        "scores_sha256": facts.manifest.output.sha256,
        "works": facts.scores.rows,
        "listed": facts.queue.rows.height,
        "pages": facts.queue.pages,
        "works_not_in_frame": facts.missing,
    }
    return msgspec.json.format(msgspec.json.encode(about), indent=2) + b"\n"


def _free_folder(request: SiteRequest) -> Path:
    """Return where the site really goes; raise `OutputError` where it may not."""
    output = request.output.resolve()
    if not output.parent.is_dir():
        raise OutputError(
            f"{request.output.parent}: no such folder. Make it first, or choose -o elsewhere."
        )
    if not output.exists():
        return output
    if not output.is_dir():
        raise OutputError(f"{request.output}: a file. A site is a folder: choose another -o.")
    if not any(output.iterdir()):
        return output
    if not (output / _ABOUT).is_file():
        raise OutputError(
            f"{request.output}: not empty, and no site of this program. Choose another -o."
        )
    if not request.overwrite:
        raise OutputError(
            f"{request.output}: holds a site already. Choose another -o, or say --overwrite."
        )
    for source in (request.scores, Path(request.frame)):
        if source.resolve().is_relative_to(output):
            raise OutputError(
                f"{source}: lies in the site that would be replaced. Choose another -o."
            )
    return output


@contextmanager
def _made(output: Path) -> Iterator[Path]:
    """Yield a folder that stands at `output` once it is whole, or vanishes."""
    with (
        told(output),
        tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as waiting,
    ):
        folder, before = Path(waiting, "new"), Path(waiting, "before")
        folder.mkdir()
        yield folder
        if output.exists():
            output.replace(before)
        try:
            folder.replace(output)
        except OSError:
            if before.exists():
                before.replace(output)
            raise
