"""`scorer show`: terminal, HTML and JSON; each kind of bad input as plain lines."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.engine.manifest import manifest_path

Run = Callable[..., Any]


@pytest.fixture
def show(scorer: Run, scored: Path, tiny_bundle: Path) -> Run:
    """`scorer show W21` on the tiny frame's scores, with what else is given."""

    def run(*options: object, work: str = "W21") -> Any:
        where = () if "--scores" in options else ("--scores", scored)
        return scorer("show", work, *where, "--model", tiny_bundle, *options)

    return run


def test_the_terminal_shows_the_page_in_both_languages(show: Run, tiny_frame: Path) -> None:
    english = show("--frame", tiny_frame)
    french = show("--frame", tiny_frame, "--lang", "fr")
    assert (english.code, english.err, french.code, french.err) == (0, "", 0, "")
    assert "How this classification was reached" in english.out
    assert "Comment cette classification a été obtenue" in french.out
    for ended in (english, french):
        assert ended.out.count("machine_predicted_unvalidated") == 2


def test_json_is_the_same_in_both_languages(show: Run, tiny_frame: Path) -> None:
    english = show("--frame", tiny_frame, "--json")
    facts = json.loads(english.out)
    assert (facts["id"], facts["prediction_status"]) == ("W21", "machine_predicted_unvalidated")
    assert facts["origin"]["student"]["labels"] == 300
    assert facts["explanation"]["scores"]
    assert show("--frame", tiny_frame, "--json", "--lang", "fr").out == english.out


def test_html_is_written_whole_and_not_over_another(
    show: Run, tiny_frame: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    ended = show("--frame", tiny_frame, "--html", page, "--lang", "fr")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"Written to {page}. Status: machine_predicted_unvalidated.\n"
    html = page.read_text(encoding="utf-8")
    assert html.startswith('<!doctype html>\n<html lang="fr">')
    assert html.endswith("</html>\n")
    again = show("--html", page)
    assert (again.code, again.out) == (6, "")
    assert again.err == (
        f"Error: {page}: exists already. Choose another --html, or say --overwrite.\n"
    )
    assert page.read_text(encoding="utf-8") == html
    assert show("--html", page, "--overwrite", "-q").out == ""
    assert page.read_text(encoding="utf-8") != html


def test_html_and_json_come_together(show: Run, tmp_path: Path) -> None:
    ended = show("--html", tmp_path / "page.html", "--json")
    assert json.loads(ended.out)["id"] == "W21"
    assert (tmp_path / "page.html").is_file()


def test_the_scores_themselves_are_not_written_over(show: Run, scored: Path) -> None:
    before = scored.read_bytes()
    ended = show("--html", scored, "--overwrite")
    assert ended.code == 2
    assert "the input itself cannot be the output" in ended.err
    assert scored.read_bytes() == before


def test_an_id_that_is_not_there_suggests_near_ones(show: Run, scored: Path) -> None:
    ended = show(work="W2l")
    assert ended.code == 3
    assert ended.err == (
        f"Error: {scored}: no work 'W2l' among 200.\nDid you mean W2 or W20 or W21?\n"
    )
    far = show(work="10.1234/none")
    assert far.err == (
        f"Error: {scored}: no work '10.1234/none' among 200.\nCheck the id, or name another file.\n"
    )


def test_a_file_without_manifest_is_told(show: Run, scored: Path) -> None:
    manifest = manifest_path(scored)
    manifest.unlink()
    ended = show()
    assert ended.code == 3
    assert ended.err == (
        f"Error: {manifest}: no manifest, so {scored.name} is not known to be complete.\n"
        "Copy the manifest along with the file, or score again with scorer run --overwrite.\n"
    )


def test_a_file_of_another_size_is_told(show: Run, scored: Path) -> None:
    size = scored.stat().st_size
    scored.write_bytes(b"PAR1" + scored.read_bytes())
    ended = show()
    assert ended.code == 3
    assert ended.err.startswith(
        f"Error: {scored}: {size + 4:,} bytes, its manifest says {size:,}: changed after scoring"
    )


def test_a_file_of_another_content_is_told(show: Run, scored: Path) -> None:
    content = bytearray(scored.read_bytes())
    content[100] ^= 1
    scored.write_bytes(bytes(content))
    ended = show()
    assert ended.code == 3
    assert ended.err.startswith(f"Error: {scored}: sha256 ")
    assert "changed after scoring" in ended.err


def test_a_frame_that_lacks_the_work_is_told(show: Run, tiny_frame: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pl.read_parquet(tiny_frame).filter(~pl.col("id").str.ends_with("W21")).write_parquet(other)
    ended = show("--frame", other)
    assert ended.code == 3
    assert ended.err == (
        f"Error: {other}: has no work W21.\nName the frame that was scored: --frame\n"
    )


def test_another_frame_with_the_work_is_noted(show: Run, tiny_frame: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    pl.read_parquet(tiny_frame).head(30).write_csv(other)
    ended = show("--frame", other)
    assert ended.code == 0
    assert "other.csv is not the file that was scored" in ended.out


def test_columns_of_other_names_are_mapped(show: Run, tiny_frame: Path, tmp_path: Path) -> None:
    other = tmp_path / "titre.parquet"
    pl.read_parquet(tiny_frame).rename({"title": "Titre"}).write_parquet(other)
    assert show("--frame", other).code == 3
    ended = show("--frame", other, "--map", "title=Titre", "--json")
    assert json.loads(ended.out)["explanation"]["scores"]


def test_a_baseline_that_makes_calls_is_refused(show: Run, scored: Path) -> None:
    ended = show("--baseline-scores", scored)
    assert ended.code == 2
    assert ended.err == (
        f"Error: --baseline-scores {scored}: its student makes calls; a file of scores alone is "
        "meant.\nShow that file by itself: --scores\n"
    )


def test_a_bundle_that_gave_other_scores_is_refused(
    scorer: Run, scored: Path, abstract_bundle: Path
) -> None:
    ended = scorer("show", "W21", "--scores", scored, "--model", abstract_bundle)
    assert ended.code == 2
    assert ended.err.startswith(f"Error: --model {abstract_bundle}: is reads@")
    assert "the scores come from tiny@" in ended.err


def test_the_scores_must_be_named(scorer: Run) -> None:
    assert scorer("show", "W21").code == 2


def test_a_file_that_is_no_scored_file_is_told(show: Run, tiny_frame: Path, tmp_path: Path) -> None:
    shutil.copy(tiny_frame, tmp_path / "frame.parquet")
    ended = show("--scores", tmp_path / "frame.parquet")
    assert ended.code == 3
    assert "a frame, not a scored file" in ended.err
