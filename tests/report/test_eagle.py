"""EAGLE-2 from the sample frame, in both languages: golden files, and what must be the same."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from eagle import GOLDEN, eagle_page, views

from scorer.report.language import Language, Texts
from scorer.report.page import WorkPage
from scorer.report.words import PageWords

STAMP = "machine_predicted_unvalidated"


@pytest.fixture(scope="module")
def page(shipped_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> WorkPage:
    return eagle_page(tmp_path_factory.mktemp("eagle"))


@pytest.fixture(scope="module")
def made(page: WorkPage) -> dict[str, str]:
    return views(page)


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
def test_every_view_is_as_it_was(made: dict[str, str], name: str) -> None:
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert made[name] == golden, "meant? Then: python tests/report/eagle.py, and look at the diff"


def test_there_is_a_golden_file_for_every_view(made: dict[str, str]) -> None:
    assert sorted(made) == sorted(path.name for path in GOLDEN.iterdir())
    assert len(made) == 7


@pytest.mark.parametrize("kind", ["txt", "html"])
def test_both_languages_show_the_same_scores(made: dict[str, str], kind: str) -> None:
    english = re.findall(r"\d\.\d{3}\b", made[f"eagle-2.en.{kind}"])
    told = re.sub("26,660|7,708", "", made[f"eagle-2.fr.{kind}"])  # of the card's English words
    french = re.findall(r"\d,\d{3}\b", told)
    assert [score.replace(",", ".") for score in french] == english
    assert len(english) > 2 * 2 * 11
    assert re.search(r"\d\.\d{3}\b", made[f"eagle-2.fr.{kind}"]) is None


@pytest.mark.parametrize(
    "name", [f"eagle-2.{code}.{kind}" for code in ("en", "fr") for kind in ("txt", "html")]
)
def test_status_words_stand_verbatim(made: dict[str, str], name: str) -> None:
    text = " ".join(made[name].split())
    assert text.count(STAMP) >= 2
    assert "calls:metacan-ngram@" in text
    assert "score_only:metacan-v0-baseline@" in text


def test_json_holds_the_facts_of_the_file(page: WorkPage) -> None:
    facts = json.loads(page.to_json())
    assert facts["prediction_status"] == STAMP
    assert facts["record"]["title"].startswith("EAGLE-2: Faster Inference")
    assert facts["record"]["year"] == 2024
    assert (facts["record"]["abstract"], facts["record"]["abstract_from"]) == (None, None)
    assert facts["origin"]["student"]["labels"] == 7708
    assert facts["baseline"]["origin"]["student"]["rounds"] == 7
    assert facts["baseline"]["origin"]["student"]["gate_passed"] is False
    assert facts["classification"] == facts["classification_in_file"] == "none"
    first = facts["targets"][0]
    assert first["label"] == {"en": "Metaresearch", "fr": "Métarecherche"}
    assert [head["decided_by"] for head in first["heads"]] == ["threshold", "threshold"]
    silent = [
        (target["name"], head["head"])
        for target in facts["targets"]
        for head in target["heads"]
        if head["decided_by"] == "support"
    ]
    assert len(silent) == 13
    assert len(facts["explanation"]["scores"]) == 22


def test_terminal_and_page_say_the_same_sentences(page: WorkPage, made: dict[str, str]) -> None:
    for language in Language:
        say = PageWords(page, Texts(language))
        said = [one.text for one in (*say.how(), *say.baseline(page.baseline))]
        said += [*say.outcome(), *say.outcome_end(), *say.axes_end(), *say.record_end()]
        said += [" ".join(words) for _, words in say.heads()]
        terminal = _flat(made[f"eagle-2.{language.value}.txt"])
        html = _flat(_text(made[f"eagle-2.{language.value}.html"]))
        for sentence in said:
            assert _flat(sentence) in terminal
            assert _flat(sentence) in html


def test_sections_come_in_the_order_of_the_page(page: WorkPage, made: dict[str, str]) -> None:
    for language in Language:
        t = Texts(language)
        names = ("record", "how", "scores", "heads", "baseline", "axes", "classification")
        headings = [t(f"{name}.heading") for name in names]
        lines = [line.strip() for line in made[f"eagle-2.{language.value}.txt"].splitlines()]
        found = [lines.index(heading) for heading in headings]
        assert found == sorted(found)
        titles = re.findall(r"<h2[^>]*>(.*?)</h2>", made[f"eagle-2.{language.value}.html"])
        assert [_text(title) for title in titles] == [*headings, t("explain.heading")]


@pytest.mark.parametrize("code", ["en", "fr"])
def test_the_page_is_whole_and_asks_for_nothing(made: dict[str, str], code: str) -> None:
    html = made[f"eagle-2.{code}.html"]
    assert f'<html lang="{code}">' in html
    assert "default-src 'none'" in html
    outside = re.findall(r"""(?:src|href|action|data)=["']?(?!#)[^"'>\s]+""", html)
    assert outside == []
    assert "url(" not in html
    assert "<script" not in html
    assert "<details>" in html


class _Words(HTMLParser):
    """Collects what a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_data(self, data: str) -> None:
        self.seen.append(data)


def _text(html: str) -> str:
    words = _Words()
    words.feed(html)
    return "".join(words.seen)


def _flat(text: str) -> str:
    """Return a text on one line; a terminal sets a mark before each sentence."""
    return " ".join(text.replace("•", " ").split())
