"""Which works the site lists, which have a page, and the list as data."""

import json
import string
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.report.queue import Rankings, page_name, queue_data, review_queue
from scorer.review.rank import RankRequest, rank
from scorer.review.scores import Scores
from scorer.status import STAMP

CATEGORIES = ("metaresearch", "bibliometrics", "open_science", "sts", "insufficient_payload")


@pytest.fixture(scope="module")
def scores(odd_scores: Path) -> Scores:
    return Scores.open(odd_scores)


def ranked(scores: Scores, top: int, rows: int = 1 << 20) -> dict[str, pl.Series]:
    rankings = Rankings(scores, top)
    for batch in scores.batches(rankings.columns()):
        for start in range(0, batch.height, rows):
            rankings.add(batch[start : start + rows])
    return rankings.best()


@pytest.mark.parametrize(("top", "rows"), [(1, 7), (20, 50), (20, 1000), (500, 13)])
def test_the_best_works_are_those_of_scorer_rank(scores: Scores, top: int, rows: int) -> None:
    best = ranked(scores, top, rows)
    there = [name for name in scores.targets.categories if name in CATEGORIES]
    assert list(best) == there
    for category in there:
        wanted = rank(RankRequest(scores.path, category, top=top)).works["id"]
        assert best[category].to_list() == wanted.to_list()


def test_the_list_takes_from_each_category_in_turn(scores: Scores, odd_frame: Path) -> None:
    best = ranked(scores, 30)
    queue = review_queue(scores, best, odd_frame, top=4, limit=30)
    wanted: dict[str, None] = {}
    for place in range(30):
        for works in best.values():
            wanted.setdefault(works[place])
    assert queue.rows["id"].to_list() == list(wanted)[:30]
    with_page = {work for works in best.values() for work in works.head(4)}
    assert set(queue.rows["id"].head(queue.pages)) == with_page
    assert queue.records.works["id"].to_list() == queue.rows["id"].to_list()
    assert [len(works) for works in queue.best.values()] == [4] * len(best)


def test_works_with_a_page_are_listed_whatever_the_limit(scores: Scores, odd_frame: Path) -> None:
    queue = review_queue(scores, ranked(scores, 10), odd_frame, top=10, limit=1)
    assert queue.rows.height == queue.pages > 10


def test_the_data_say_what_the_files_say(scores: Scores, odd_frame: Path) -> None:
    queue = review_queue(scores, ranked(scores, 300), odd_frame, top=2, limit=300)
    data = json.loads(queue_data(queue, scores))
    assert data["prediction_status"] == STAMP
    assert data["score_status"] == scores.manifest.score_status
    assert data["works"] == len(data["id"]) == 199
    assert len(data["page"]) == data["pages"] == queue.pages
    rows = pl.read_parquet(scores.path)
    order = pl.DataFrame({"id": data["id"]}).join(rows, on="id", maintain_order="left")
    for head, targets in data["scores"].items():
        for target, values in targets.items():
            exact = order[f"score_{head}_{target}"].to_numpy()
            assert (np.array(values, np.float32) == exact).all()
    assert "sts" not in data["scores"]["codex"]
    for target, digits in data["calls"].items():
        what = "flags" if target.startswith("about") else "categories"
        said = [
            2 * (target in both) or int(target in some)
            for both, some in order.select(f"consensus_{what}", f"candidate_{what}").iter_rows()
        ]
        assert [int(digit) for digit in digits] == said
    place = data["id"].index("W9005")
    assert len(data["title"][place]) == 501
    assert data["title"][place].endswith("x…")
    assert data["venue"]["words"][data["venue"]["at"][place]] == 'Venue "of" <b'
    assert data["year"][place] == 2020
    assert -1 in data["lang"]["at"]


@pytest.mark.parametrize("work", ["W2741809807", "12345", "W1"])
def test_plain_ids_name_their_page(work: str) -> None:
    assert page_name(work) == f"{work}.html"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=30, unique=True))
def test_page_names_are_safe_and_no_two_works_share_one(works: list[str]) -> None:
    names = [page_name(work) for work in works]
    safe = set(string.ascii_letters + string.digits + ".")
    assert all(set(name) <= safe and len(name) < 40 for name in names)
    assert len({name.lower() for name in names}) == len(works)


@pytest.mark.parametrize("work", ["../../etc/passwd", "con", "CON", "w1", "a/b", "W1.html", "."])
def test_an_id_that_a_file_system_would_take_amiss_is_hashed(work: str) -> None:
    assert len(page_name(work)) == len("0123456789abcdef0123.html")
