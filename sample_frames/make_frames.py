"""Makes the frames in this folder: works.parquet, and benchmark frames of any size.

Without arguments it writes the small sample, the same bytes each time; `--rows` writes a benchmark
frame instead (benchmark_frame.py). The texts are put together by grammar.py from our own phrases.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Annotated

import benchmark_frame
import grammar
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from oddities import FAMOUS, NON_LATIN, ODD
from phrases import ENGLISH, FRENCH, META, ORDINARY, Language, Subject

Row = dict[str, str | int | None]

EAGLE_2_ID = "https://openalex.org/W9000000002"
"""A title in `scorer`'s documentation; its row always stands second and holds nothing else."""

SAMPLE = Path(__file__).with_name("works.parquet")
SAMPLE_SEED = 20260131  # any number does; changing it changes every row
FIRST_ID = 9_000_000_001  # OpenAlex is far from W9000000000, so no real work is meant

GRAMMAR_ROWS: tuple[tuple[tuple[Subject, ...], Language, int], ...] = (
    (ORDINARY, ENGLISH, 1008),
    (ORDINARY, FRENCH, 430),
    (META, ENGLISH, 210),
    (META, FRENCH, 144),
)
"""Rows a grammar writes: most ordinary, about a fifth research on research, 29 % French."""

TYPES = {
    "article": 60,
    "review": 8,
    "preprint": 8,
    "book-chapter": 8,
    "dataset": 4,
    "editorial": 3,
    "letter": 3,
    "dissertation": 3,
    "erratum": 2,
    "peer-review": 1,
}
ABSTRACT_SHARE = {"editorial": 0.05, "letter": 0.05, "erratum": 0.0, "peer-review": 0.0}
USUAL_ABSTRACT_SHARE = 0.7
STRUCTURED_SHARE = 0.15  # of the empirical abstracts carry JATS sections
INVERTED_SHARE = 0.5  # of the abstracts come as an inverted index,
UNTIDY_SHARE = 0.2  # some of those with words out of order and a position missing,
DOUBLED_SHARE = 0.05  # a few with the plain text beside them
BARE_ID_EVERY = 3  # one id in three comes without the address before it
MESS_SHARE = 0.2  # far more than real frames have (1 %), so that a small sample holds every case
ABSTRACT_MESS_SHARE = 0.05
NULL_SHARE = 0.04  # of each metadata column
METADATA = ("venue", "topic", "field", "lang", "type", "year")

SCHEMA = pa.schema(
    [
        (name, pa.int64() if name == "year" else pa.string())
        for name in ("id", "title", "abstract", "abstract_inverted_index", *METADATA)
    ]
)


def with_abstract(row: Row, text: str, rng: Random) -> Row:
    """Store an abstract, plain or as an inverted index."""
    if rng.random() >= INVERTED_SHARE:
        return row | {"abstract": text}
    index = grammar.inverted(text, rng.random() < UNTIDY_SHARE, rng)
    both = text if rng.random() < DOUBLED_SHARE else None
    return row | {"abstract": both, "abstract_inverted_index": index}


def written(subject: Subject, language: Language, rng: Random) -> Row:
    """Write one work by the grammar, clean and complete."""
    kind = grammar.weighted(rng, TYPES)
    year = 2025 - min(int(rng.expovariate(0.12)), 60)
    about = grammar.context(subject, language, year, rng)
    words = subject.fr if language is FRENCH else subject.en
    row: Row = {
        "title": grammar.title(about, language, kind, subject.interpretive, rng),
        "venue": grammar.pick(rng, words.venues),
        "topic": grammar.pick(rng, subject.topics),
        "field": subject.field,
        "lang": language.code,
        "type": kind,
        "year": year,
    }
    if rng.random() >= ABSTRACT_SHARE.get(kind, USUAL_ABSTRACT_SHARE):
        return row
    sections = language.interpretive if subject.interpretive else language.empirical
    texts = grammar.abstract_sections(about, language, sections, rng)
    structured = not subject.interpretive and rng.random() < STRUCTURED_SHARE
    text = (
        grammar.jats_abstract(texts, language.section_names)
        if structured
        else grammar.plain_abstract(texts)
    )
    if rng.random() < ABSTRACT_MESS_SHARE:
        text, _ = grammar.mess(text, rng)
    return with_abstract(row, text, rng)


def spoiled(row: Row, rng: Random) -> Row:
    """Spoil a work as careless sources do: some titles messed up, some metadata gone."""
    title = row["title"]
    if isinstance(title, str) and rng.random() < MESS_SHARE:
        row = row | {"title": grammar.mess(title, rng)[0]}
    return row | {name: None for name in METADATA if rng.random() < NULL_SHARE}


def grammar_rows(rng: Random) -> list[Row]:
    """Write the works of the grammar, no title twice."""
    rows: dict[object, Row] = {}
    due = 0
    for subjects, language, count in GRAMMAR_ROWS:
        due += count
        while len(rows) < due:
            row = written(subjects[len(rows) % len(subjects)], language, rng)
            rows.setdefault(row["title"], row)
    return [spoiled(row, rng) for row in rows.values()]


def famous_rows() -> list[Row]:
    """List the well-known works, as catalogued, without abstracts."""
    return [{**known._asdict(), "type": "article"} for known in FAMOUS]


def odd_rows(rng: Random) -> list[Row]:
    """Write works whose title is missing, empty, a file name, an identifier."""
    rows: list[Row] = []
    for count, titles in ODD.values():
        for place in range(count):
            host = written(grammar.pick(rng, ORDINARY), grammar.pick(rng, (ENGLISH, FRENCH)), rng)
            title = titles[place % len(titles)]
            own = title and title.replace("{n}", str(grammar.whole(rng, 1000, 9999)))
            rows.append(spoiled(host, rng) | {"title": own})
    rows[0] |= {"abstract": "", "abstract_inverted_index": None}
    rows[1] |= {"abstract": None, "abstract_inverted_index": "{}"}
    return rows


def non_latin_rows(rng: Random) -> list[Row]:
    """Write works in Chinese, Arabic and Russian, without abstracts."""
    rows: list[Row] = []
    for lang, (count, templates, topics) in NON_LATIN.items():
        for place in range(count):
            host = written(ORDINARY[place % len(ORDINARY)], ENGLISH, rng)
            template = templates[place % len(templates)]
            title = template.replace("{topic}", topics[place // len(templates) % len(topics)])
            keep: Row = {name: host[name] for name in ("field", "topic", "year")}
            rows.append(keep | {"title": title, "lang": lang, "type": "article"})
    return rows


def sample_table(seed: int = SAMPLE_SEED) -> pa.Table:
    """Build the sample frame: every kind of row, shuffled, with ids in both forms."""
    rng = Random(seed)
    rows = grammar_rows(rng) + famous_rows() + odd_rows(rng) + non_latin_rows(rng)
    rows = grammar.shuffled(rng, rows)
    eagle: Row = {
        "title": "EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees",
        "field": "Computer Science",
        "lang": "en",
        "type": "article",
        "year": 2024,
    }
    rows.insert(1, eagle)
    for place, row in enumerate(rows):
        bare = f"W{FIRST_ID + place}"
        row["id"] = bare if (place + 1) % BARE_ID_EVERY == 0 else f"https://openalex.org/{bare}"
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def main(
    rows: Annotated[
        int | None, typer.Option(min=1, help="Write a benchmark frame with this many rows.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Parquet file to write; needed with --rows.")
    ] = None,
    abstracts: Annotated[
        bool, typer.Option("--abstracts", help="Give 85 % of the benchmark works an abstract.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the benchmark frame.")] = 1,
) -> None:
    """Write works.parquet, or a benchmark frame of any size."""
    if rows is None:
        target = output or SAMPLE
        pq.write_table(sample_table(), target, compression="zstd")
    elif output is None:
        raise typer.BadParameter("--rows needs --output, outside this folder")
    else:
        target = output
        benchmark_frame.write(target, rows, abstracts, seed)
    typer.echo(f"{target}: {pq.read_metadata(target).num_rows:,} rows")


if __name__ == "__main__":
    typer.run(main)
