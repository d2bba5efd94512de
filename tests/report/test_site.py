"""The site as files: whole or absent, the same bytes, links that lead somewhere, plain errors."""

import gzip
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from site_cases import ODD, Made

from scorer.engine.manifest import manifest_path
from scorer.errors import InputError, OutputError, ScorerError, UsageError
from scorer.report import site as site_module
from scorer.report.queue import page_name
from scorer.report.site import build
from scorer.report.site_facts import SiteRequest
from scorer.status import STAMP


class Parsed(HTMLParser):
    """What a page links to, its ids, its tags and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: Counter[str] = Counter()
        self.headings: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        for name, value in attrs:
            if name in ("href", "src", "xlink:href") and value is not None:
                self.links.append(value)
            if name == "id" and value is not None:
                self.ids.append(value)


def pages(folder: Path) -> Iterator[tuple[Path, Parsed]]:
    for path in sorted(folder.rglob("*.html")):
        yield path, Parsed(path.read_text(encoding="utf-8"))


def content(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_every_link_leads_to_a_file_of_the_site(site: Made) -> None:
    linked = set()
    for path, parsed in pages(site.folder):
        for link in parsed.links:
            target, _, fragment = link.partition("#")
            assert ":" not in target, f"{path}: {link} leads out of the site"
            there = (path.parent / target).resolve() if target else path
            assert there.is_file(), f"{path}: {link}"
            assert there.is_relative_to(site.folder)
            if fragment:
                assert fragment in Parsed(there.read_text(encoding="utf-8")).ids, f"{path}: {link}"
            if target:
                linked.add(there)
    left = {path for path, _ in pages(site.folder)} - linked
    assert left == {site.folder / "index.html"}


def test_both_languages_have_the_same_pages(site: Made) -> None:
    en, fr = (
        sorted(str(path.relative_to(site.folder / lang)) for path, _ in pages(site.folder / lang))
        for lang in ("en", "fr")
    )
    assert en == fr
    assert f"works/{page_name('../../up')}" in en
    assert {"index.html", "top.html", "queue.html", "method.html", "manifest.html"} <= set(en)


def test_every_page_and_the_data_carry_the_status(site: Made) -> None:
    meta = f'<meta name="prediction-status" content="{STAMP}">'
    for path, parsed in pages(site.folder):
        text = path.read_text(encoding="utf-8")
        assert meta in text, path
        assert text.count(STAMP) > 2, path
        assert "default-src 'none'" in text, path
        assert parsed.tags["h1"] == 1, path
        repeated = [name for name, count in Counter(parsed.ids).items() if count > 1]
        assert repeated == [], path
    assert STAMP.encode() in (site.folder / "assets" / "queue-data.js").read_bytes()
    assert json.loads((site.folder / "site.json").read_text())["prediction_status"] == STAMP


def test_headings_go_down_one_step_at_a_time(site: Made) -> None:
    for path, parsed in pages(site.folder):
        steps = pairwise(parsed.headings)
        assert all(after <= before + 1 for before, after in steps), path


def test_the_manifest_goes_along_byte_for_byte(site: Made) -> None:
    copied = (site.folder / "manifest.json").read_bytes()
    assert copied == manifest_path(site.scores).read_bytes()


def test_numbers_are_written_as_each_language_does(site: Made) -> None:
    scores = pl.read_parquet(site.scores)
    value = scores.filter(pl.col("id") == "W9003")["score_codex_metaresearch"].item()
    en, fr = (
        (site.folder / lang / "works" / "W9003.html").read_text(encoding="utf-8")
        for lang in ("en", "fr")
    )
    assert f"{value:.3f}" in en
    assert f"{value:.3f}".replace(".", ",") in fr


def test_a_title_of_5000_characters_is_cut_in_lists_and_whole_on_its_page(site: Made) -> None:
    page = (site.folder / "en" / "works" / "W9005.html").read_text(encoding="utf-8")
    assert "x" * 4900 in page
    for name in ("en/top.html", "assets/queue-data.js"):
        assert "x" * 600 not in (site.folder / name).read_text(encoding="utf-8")


def test_the_same_inputs_give_the_same_bytes(site: Made, tmp_path: Path) -> None:
    build(replace(site.request, output=tmp_path / "again"))
    assert content(tmp_path / "again") == content(site.folder)


def test_a_frame_of_another_format_and_order_gives_the_same_facts(
    site: Made, tmp_path: Path
) -> None:
    works = pl.read_parquet(site.frame)
    with gzip.open(tmp_path / "works.jsonl.gz", "wb") as file:
        file.write(works[::-1].write_ndjson().encode())
    frame = str(tmp_path / "works.jsonl.gz")
    made = build(replace(site.request, frame=frame, output=tmp_path / "site"))
    assert (made.missing, made.listed) == (0, 199)
    ours, theirs = content(tmp_path / "site"), content(site.folder)
    assert ours["assets/queue-data.js"] == theirs["assets/queue-data.js"]
    assert ours["en/top.html"] == theirs["en/top.html"]
    assert "is not the file that was scored" in ours["en/index.html"].decode()


def test_works_that_the_frame_lacks_are_told(site: Made, tmp_path: Path) -> None:
    pl.read_parquet(site.frame)[30:].write_parquet(tmp_path / "part.parquet")
    frame = str(tmp_path / "part.parquet")
    made = build(replace(site.request, frame=frame, output=tmp_path / "site"))
    assert made.missing == 30
    page = (tmp_path / "site" / "en" / "index.html").read_text(encoding="utf-8")
    assert "part.parquet lacks 30 works of the scored file" in page
    lacking = (tmp_path / "site" / "en" / "works" / "W9003.html").read_text(encoding="utf-8")
    assert "Quoted" not in lacking
    assert list(ODD)[2] in lacking


def test_a_frame_with_none_of_the_works_is_refused(site: Made, tmp_path: Path) -> None:
    pl.DataFrame({"id": ["W1"] * 1, "title": ["Another work"]}).head(1).with_columns(
        id=pl.lit("X1")
    ).write_parquet(tmp_path / "other.parquet")
    request = replace(site.request, frame=str(tmp_path / "other.parquet"), output=tmp_path / "s")
    with pytest.raises(
        InputError, match=r"other\.parquet: has none of the 209 works, for instance"
    ):
        build(request)
    assert list(tmp_path.iterdir()) == [tmp_path / "other.parquet"]


def test_a_scored_file_that_was_changed_is_refused(site: Made, tmp_path: Path) -> None:
    for path in (site.scores, manifest_path(site.scores)):
        shutil.copyfile(path, tmp_path / path.name)
    copied = tmp_path / site.scores.name
    data = bytearray(copied.read_bytes())
    data[len(data) // 2] ^= 1
    copied.write_bytes(data)
    with pytest.raises(InputError, match="changed after scoring"):
        build(replace(site.request, scores=copied, output=tmp_path / "site"))
    assert not (tmp_path / "site").exists()


def test_an_empty_folder_becomes_the_site(site: Made, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    build(replace(site.request, output=tmp_path / "site"))
    assert content(tmp_path / "site") == content(site.folder)


def refused(request: SiteRequest, text: str) -> None:
    with pytest.raises(OutputError) as error:
        build(request)
    assert str(error.value) == text


def test_a_folder_that_is_not_empty_is_left_alone(site: Made, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "letter.txt").write_text("mine")
    for overwrite in (False, True):
        refused(
            replace(site.request, output=tmp_path / "site", overwrite=overwrite),
            f"{tmp_path / 'site'}: not empty, and no site of this program. Choose another -o.",
        )
    assert content(tmp_path / "site") == {"letter.txt": b"mine"}


def test_a_site_is_replaced_only_where_that_is_asked_for(site: Made, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    shutil.copytree(site.folder, folder)
    (folder / "en" / "old.html").write_text("old")
    request = replace(site.request, output=folder)
    refused(request, f"{folder}: holds a site already. Choose another -o, or say --overwrite.")
    build(replace(request, overwrite=True))
    assert content(folder) == content(site.folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_site_is_made_from_is_not_replaced_with_it(site: Made, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    shutil.copytree(site.folder, folder)
    frame = shutil.copyfile(site.frame, folder / "frame.parquet")
    refused(
        replace(site.request, frame=str(frame), output=folder, overwrite=True),
        f"{frame}: lies in the site that would be replaced. Choose another -o.",
    )


def test_a_place_that_is_none_is_refused(site: Made, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(
        replace(site.request, output=tmp_path / "file"),
        f"{tmp_path / 'file'}: a file. A site is a folder: choose another -o.",
    )
    refused(
        replace(site.request, output=tmp_path / "no" / "site"),
        f"{tmp_path / 'no'}: no such folder. Make it first, or choose -o elsewhere.",
    )


def test_a_failure_in_the_middle_leaves_what_was_there(
    site: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(site.folder, folder)

    def fails(*_: object) -> bytes:
        raise InputError("broken off")

    monkeypatch.setattr(site_module, "_about", fails)
    with pytest.raises(ScorerError, match="broken off"):
        build(replace(site.request, output=folder, overwrite=True))
    assert content(folder) == content(site.folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_without_matplotlib_the_extra_is_named(
    site: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'scorer\[plot\]'"):
        build(replace(site.request, output=tmp_path / "site"))


@pytest.mark.parametrize("change", [{"top": 0}, {"listed": 0}])
def test_no_work_is_too_few(site: Made, tmp_path: Path, change: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="--top and --list: expected at least 1"):
        build(replace(site.request, output=tmp_path / "site", **change))


def test_pages_tell_what_moved_the_scores_where_that_is_asked_for(
    site: Made, tmp_path: Path
) -> None:
    build(replace(site.request, top=1, listed=5, explain=True, output=tmp_path / "site"))
    page = next((tmp_path / "site" / "en" / "works").iterdir()).read_text(encoding="utf-8")
    assert "What moved the scores" in page
    plain = next((site.folder / "en" / "works").iterdir()).read_text(encoding="utf-8")
    assert "What moved the scores" not in plain


def test_explaining_needs_the_bundle(site: Made, tmp_path: Path) -> None:
    request = replace(site.request, explain=True, models=(), output=tmp_path / "site")
    with pytest.raises(UsageError, match=r"--explain: the bundle tiny@\w+ is not at hand"):
        build(request)
