"""The works that the site lists, the few that get a page, and the list as data for its script."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from scorer.policy.calls import CANDIDATE, CONSENSUS
from scorer.review.cells import one_line
from scorer.review.rank_order import CALL, DERIVED, MEAN, Best, Order
from scorer.review.records import Records, find_records
from scorer.review.scores import REVIEWED, Scores
from scorer.targets import Binary, score_column

Scored = npt.NDArray[np.float64]

_LONGEST: Final = 500
"""Characters of a title or venue in the list; a work's page has them whole."""
# A name that no file system folds together with another's, or keeps for itself.
_PLAIN_ID: Final = re.compile(r"[A-Z]?[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The works of the list, best first; the first of them have a page."""

    rows: pl.DataFrame
    """All columns of the scored file, in the list's order."""
    records: Records
    """What the frame says of the same works."""
    best: Mapping[str, pl.Series]
    """Category -> ids of its best works, in the order of `scorer rank`; each has a page."""
    pages: int
    """So many of the first works have a page."""


class Rankings:
    """The best works of each category, in the order of `scorer rank`, from one pass over a file.

    A category that no head has learned has no order.
    """

    def __init__(self, scores: Scores, top: int) -> None:
        """Look for the `top` first of each category."""
        self._top = top
        self._scores = scores
        self._best: dict[str, Best] = {}
        self._orders: dict[str, Order] = {}
        self._means: dict[str, Scored] = {}
        for name in scores.targets.categories:
            if any(name not in head.unavailable for head in scores.targets.heads):
                order = Order.of(scores, name, None)
                empty = order.derived(scores.lazy().head(0).collect()).select("id", *DERIVED)
                self._orders[name] = order
                self._best[name] = Best(order, top, empty)
                self._means[name] = np.empty(0)

    def columns(self) -> list[str]:
        """Return the columns of the scored file that the orders follow from."""
        return list(dict.fromkeys(c for order in self._orders.values() for c in order.columns()))

    def add(self, rows: pl.DataFrame) -> None:
        """See a batch; what cannot be among the best is let go at once."""
        reviewed = rows.filter(pl.col("segment").is_in(REVIEWED))
        for name, order in self._orders.items():
            seen = order.derived(reviewed).select("id", *DERIVED)
            means = np.concatenate([self._means[name], seen[MEAN].to_numpy()])
            if len(means) > self._top:
                means = np.partition(means, len(means) - self._top)[-self._top :]
            self._means[name] = means
            least = means.min() if len(means) == self._top else 0.0
            called = pl.col(CALL).is_in([CANDIDATE, CONSENSUS])
            self._best[name].add(seen.filter(called | (pl.col(MEAN) >= least)))

    def best(self) -> dict[str, pl.Series]:
        """Return the ids of each category's best works, best first."""
        return {name: best.works()["id"] for name, best in self._best.items()}


def review_queue(
    scores: Scores,
    ranked: Mapping[str, pl.Series],
    frame: str | Path,
    *,
    top: int,
    limit: int,
    mapping: Mapping[str, str] | None = None,
) -> ReviewQueue:
    """Choose the works: of each category the first, then of each the second, until `limit`.

    The `top` first of each category get a page, and are listed whatever `limit` says.
    """
    chosen = _chosen(list(ranked.values()))
    pages = int((chosen["place"] < top).sum())
    listed = chosen["id"].head(max(limit, pages))
    return ReviewQueue(
        rows=scores.of_works(listed, scores.columns),
        records=find_records(listed, frame, mapping=mapping),
        best={category: works.head(top) for category, works in ranked.items()},
        pages=pages,
    )


def queue_data(queue: ReviewQueue, scores: Scores) -> bytes:
    """Return the list as JSON; scores are written as float32, exactly."""
    rows, records = queue.rows, queue.records.works
    targets = scores.targets
    learned = {
        head.name: [name for name in targets.binary_names if name not in head.unavailable]
        for head in targets.heads
    }
    calls = None if scores.score_only else {t.name: _calls(rows, t) for t in targets.binary}
    data = {
        **scores.statuses,
        "policy_version": scores.manifest.in_words("policy_version"),
        "works": rows.height,
        "pages": queue.pages,
        "id": rows["id"].to_list(),
        "page": [page_name(work) for work in rows["id"].head(queue.pages)],
        "title": _short(one_line(records["title"])),
        "venue": _coded(_short(one_line(records["venue"]))),
        "year": records["year"].to_list(),
        "lang": _coded(records["lang"].to_list()),
        "field": _coded(records["field"].to_list()),
        "scores": {
            head: {name: _numbers(rows[score_column(head, name)]) for name in names}
            for head, names in learned.items()
        },
        "calls": calls,
        "disagreement": _numbers(rows["teacher_disagreement"]),
        "uncertainty": _numbers(rows["threshold_uncertainty"]),
    }
    return msgspec.json.encode(data)


def page_name(work: str) -> str:
    """Return the file name of a work's page: its id where that is safe, otherwise a hash of it."""
    safe = _PLAIN_ID.fullmatch(work)
    return f"{work if safe else sha256(work.encode()).hexdigest()[:20]}.html"


def _chosen(ranked: Sequence[pl.Series]) -> pl.DataFrame:
    """Return each work once (`id`, `place`: its best one, from 0), in the order of the list."""
    places = [
        pl.DataFrame({"id": works}).with_columns(
            pl.int_range(pl.len()).alias("place"), pl.lit(number).alias("category")
        )
        for number, works in enumerate(ranked)
    ]
    empty = pl.DataFrame(schema={"id": pl.String, "place": pl.Int64, "category": pl.Int32})
    in_order = pl.concat([empty, *places]).sort("place", "category")
    return in_order.unique("id", keep="first", maintain_order=True)


def _calls(rows: pl.DataFrame, target: Binary) -> str:
    """Return a digit a work: 0 no head calls the target, 1 some do, 2 all do."""
    what = "categories" if target.kind == "category" else "flags"
    sets = [rows[f"{kind}_{what}"].list.contains(target.name) for kind in (CANDIDATE, CONSENSUS)]
    return "".join((sets[0].cast(pl.Int8) + sets[1].cast(pl.Int8)).cast(pl.String))


def _numbers(values: pl.Series) -> msgspec.Raw:
    """Return float32 numbers as JSON, in the fewest digits that tell each from all others."""
    return msgspec.Raw(f"[{','.join(values.cast(pl.String).fill_null('null'))}]".encode())


def _coded(words: list[str | None]) -> dict[str, list[str] | list[int]]:
    """Return words that repeat: the list of them, and for each work its place there, -1 if none."""
    known = sorted({word for word in words if word})
    places = {word: place for place, word in enumerate(known)}
    return {"words": known, "at": [places.get(word or "", -1) for word in words]}


def _short(texts: pl.Series) -> list[str | None]:
    cut = texts.str.strip_chars()
    long = cut.str.len_chars() > _LONGEST
    return (
        pl.select(
            pl.when(pl.lit(long))
            .then(pl.lit(cut.str.slice(0, _LONGEST) + "…"))
            .otherwise(pl.lit(cut))
        )
        .to_series()
        .to_list()
    )
