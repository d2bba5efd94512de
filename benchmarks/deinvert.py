"""Times de-inversion: abstracts kept as word -> positions, back into running text.

Indexes are made of real abstracts of 150 to 260 words, as the JSON strings that OpenAlex's users
store, as Arrow maps, and in MAG's wrapper. Two threads show what the interpreter lock costs.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Final

import polars as pl
import pyarrow as pa
import typer
from _measure import report, shared

from scorer.frame.abstract import deinvert

GOAL: Final = 40_000
"""Abstracts a second on two cores, from JSON strings (issue 4)."""

_SHORTEST, _LONGEST = 150, 260  # words; the mean is about 200
_TIMES: Final = 5

Index = dict[str, list[int]]


def inverted(words: list[str]) -> Index:
    """Return word -> positions."""
    index: Index = {}
    for position, word in enumerate(words):
        index.setdefault(word, []).append(position)
    return index


def abstracts(rows: int) -> list[list[str]]:
    """Return the words of real abstracts, repeated to `rows`."""
    frame = pl.read_parquet(shared("frames/screening_abstracts.parquet"), columns=["abstract"])
    words = [text.split() for text in frame["abstract"].drop_nulls()]
    some = [text for text in words if _SHORTEST <= len(text) <= _LONGEST]
    return (some * -(-rows // len(some)))[:rows]


def seconds(indexes: pl.Series, ids: pl.Series, threads: int) -> float:
    """Return the shortest of some times in which each thread de-inverts all indexes."""
    shortest = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_TIMES):
            started = time.perf_counter()
            list(pool.map(lambda _: deinvert(indexes, ids), range(threads)))
            shortest = min(shortest, time.perf_counter() - started)
    return shortest


def main(
    rows: Annotated[int, typer.Option(min=1, help="Abstracts.")] = 16_384,
) -> None:
    """Time de-inversion in one thread and in two."""
    words = abstracts(rows)
    indexes = [inverted(text) for text in words]
    expected = [" ".join(text) for text in words]
    forms: dict[str, Callable[[], pl.Series]] = {
        "JSON": lambda: pl.Series([json.dumps(i, ensure_ascii=False) for i in indexes]),
        "JSON, letters escaped": lambda: pl.Series([json.dumps(i) for i in indexes]),
        "JSON, no spaces": lambda: pl.Series(
            [json.dumps(i, separators=(",", ":")) for i in indexes]
        ),
        "JSON, MAG's wrapper": lambda: pl.Series(
            [json.dumps({"IndexLength": 200, "InvertedIndex": i}) for i in indexes]
        ),
        "JSON, positions as strings": lambda: pl.Series(
            [json.dumps({word: list(map(str, at)) for word, at in i.items()}) for i in indexes]
        ),
        "Arrow map": lambda: pl.Series(
            pa.array([list(i.items()) for i in indexes], pa.map_(pa.string(), pa.list_(pa.int32())))
        ),
    }
    ids = pl.Series([f"W{row}" for row in range(rows)])
    table, rates = [], {}
    for name, make in forms.items():
        column = make()
        if deinvert(column, ids).to_list() != expected:
            raise SystemExit(f"{name}: other texts came back than went in")
        one, two = rows / seconds(column, ids, 1), 2 * rows / seconds(column, ids, 2)
        rates[name] = two
        table.append(
            {
                "form": name,
                "one thread, a second": f"{one:,.0f}",
                "two threads, a second": f"{two:,.0f}",
            }
        )
    mean = sum(map(len, words)) / rows
    kept = rates["JSON"] >= GOAL
    notes = [
        f"{rows:,} real abstracts of {_SHORTEST} to {_LONGEST} words, {mean:.0f} in the mean; "
        f"fastest of {_TIMES}; of two threads each does all of them. Every text is compared first.",
        f"Goal: {GOAL:,} a second from JSON in two threads: {'kept' if kept else 'MISSED'}.",
    ]
    report("deinvert", "De-inverted abstracts", table, notes)
    raise typer.Exit(0 if kept else 1)


if __name__ == "__main__":
    typer.run(main)
