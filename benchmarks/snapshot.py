"""Measures `scorer run` on an OpenAlex snapshot: read, de-invert, score with abstracts, write.

The works are the real titles and abstracts of ../shared, repeated with fresh ids, inverted into the
shape of the snapshot: `data/works/updated_date=*/part_*.gz`, one JSON object a line.
"""

import gzip
import json
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import polars as pl
import typer
from _measure import SCORER, Measured, measure, report, shared, work_folder
from abstract_bundle import abstract_bundle

from scorer.frame.contract import text
from scorer.frame.parquet import ParquetFrame
from scorer.frame.readers.base import Asked, Piece
from scorer.frame.readers.registry import READERS
from scorer.frame.source import FrameSource
from scorer.frame.spool import Spool
from scorer.student.bundle import Student, load_student

LEAST_A_SECOND: Final = 15_000
MOST_BYTES: Final = 1_200_000_000
"""Goals of issue 4, on two cores."""
_WORKS_A_FILE: Final = 10_000
_STAGE_WORKS: Final = 20_000


def snapshot(rows: int) -> Path:
    """Return a folder in the snapshot's layout, made when it is not there."""
    folder = work_folder() / f"openalex-{rows}"
    if folder.exists():
        return folder
    waiting = folder.with_suffix(".tmp")
    shutil.rmtree(waiting, ignore_errors=True)
    works = pl.read_parquet(shared("frames/screening_abstracts.parquet"))
    lines = [_work(title, abstract) for title, abstract in works.select("title", "abstract").rows()]
    for number, first in enumerate(range(0, rows, _WORKS_A_FILE)):
        part = waiting / "data" / "works" / f"updated_date=2026-{number // 28 + 1:02}-01"
        part.mkdir(parents=True, exist_ok=True)
        with gzip.open(
            part / f"part_{number:03}.gz", "wt", encoding="utf-8", compresslevel=6
        ) as out:
            for row in range(first, min(first + _WORKS_A_FILE, rows)):
                out.write(f'{{"id":"https://openalex.org/W{4_000_000_000 + row}",')
                out.write(lines[row % len(lines)] + "\n")
    waiting.rename(folder)
    return folder


def _work(title: str | None, abstract: str | None) -> str:
    """Return a work's JSON after its id, with what a real one holds besides."""
    index: dict[str, list[int]] = {}
    for place, word in enumerate((abstract or "").split()):
        index.setdefault(word, []).append(place)
    work = {
        "doi": "https://doi.org/10.5555/12345678",
        "title": title,
        "display_name": title,
        "publication_year": 2015,
        "publication_date": "2015-03-01",
        "language": "en",
        "primary_location": {
            "is_oa": False,
            "landing_page_url": "https://doi.org/10.5555/12345678",
            "source": {"id": "https://openalex.org/S1", "display_name": "A journal"},
        },
        "type": "article",
        "authorships": [
            {"author": {"id": f"https://openalex.org/A{n}", "display_name": "An author"}}
            for n in range(4)
        ],
        "primary_topic": {
            "id": "https://openalex.org/T1",
            "display_name": "A topic",
            "field": {"id": "https://openalex.org/fields/27", "display_name": "Medicine"},
        },
        "referenced_works": [f"https://openalex.org/W{n}" for n in range(30)],
        "abstract_inverted_index": index or None,
        "updated_date": "2026-01-01T00:00:00",
    }
    return json.dumps(work, ensure_ascii=False)[1:]


def stages(folder: Path, bundle: Path) -> list[dict[str, str]]:
    """Time each stage alone, in one thread, on the first works."""
    student = load_student(bundle)
    wanted = ["id", *student.manifest.encoder.fields(), "abstract_inverted_index"]
    source = FrameSource.find(folder, wanted=wanted, mapping={}, keep=())
    asked = Asked(tuple(wanted))
    read: list[Piece] = []

    def reading() -> None:
        for one in source.found[: _STAGE_WORKS // _WORKS_A_FILE]:
            read.extend(READERS["openalex"](one.file, "gz", asked))

    found = [_stage("read: gunzip, JSON to columns", reading)]
    abstracts: list[pl.Series] = []

    def deinverting() -> None:
        abstracts.extend(text(piece.works, "abstract").alias("abstract") for piece in read)

    found.append(_stage("de-invert", deinverting))
    plain = [
        piece.works.drop("abstract_inverted_index").with_columns(found)
        for piece, found in zip(read, abstracts, strict=True)
    ]
    spooled = work_folder() / "snapshot.spool.parquet"

    def spooling() -> None:
        with Spool(spooled, wanted, (), deinverted=True) as spool:
            for piece, works in zip(read, plain, strict=True):
                spool.add("part", replace(piece, works=works))
            spool.close()

    found.append(_stage("write aside", spooling))
    batches: list[pl.DataFrame] = []

    def reading_back() -> None:
        frame = ParquetFrame(
            spooled, wanted=[name for name in wanted if name != "abstract_inverted_index"]
        )
        batches.extend(batch.frame for batch in frame.batches(8_192))

    found.append(_stage("read back", reading_back))
    found += _scoring("", student, batches)
    return found + _scoring(", compiled (extra fast)", student.compiled(), batches)


def _scoring(how: str, student: Student, batches: list[pl.DataFrame]) -> list[dict[str, str]]:
    student.score(batches[0][:64])  # the first call warms things up
    encoded: list[Any] = []
    return [
        _stage(f"encode{how}", lambda: encoded.extend(map(student.encoder.encode, batches))),
        _stage(f"score{how}", lambda: list(map(student.session.score, encoded))),
    ]


def _stage(name: str, work: Callable[[], object]) -> dict[str, str]:
    started, used = time.perf_counter(), time.process_time()
    work()
    seconds, used = time.perf_counter() - started, time.process_time() - used
    return _row(f"{name} (one thread)", _STAGE_WORKS, seconds, used)


def _row(
    what: str, works: int, seconds: float, processor: float, peak: int | None = None
) -> dict[str, str]:
    return {
        "what": what,
        "works/s": f"{works / seconds:,.0f}",
        "us a work": f"{seconds / works * 1e6:.0f}",
        "processor us a work": f"{processor / works * 1e6:.0f}",
        "peak MB": "" if peak is None else f"{peak / 1e6:,.0f}",
    }


def main(
    rows: Annotated[int, typer.Option(min=20_000, help="Works of the snapshot.")] = 200_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often it is run.")] = 3,
) -> None:
    """Run on a snapshot, and time each stage."""
    folder, bundle = snapshot(rows), abstract_bundle()
    output = work_folder() / "snapshot.scored.parquet"
    command = [SCORER, "run", folder, "-o", output, "--model", bundle, "--overwrite", "--quiet"]
    runs: list[Measured] = [measure(command, memory=True) for _ in range(rounds)]
    seconds = statistics.median(run.seconds for run in runs)
    peak = max(run.peak_bytes for run in runs)
    processor = statistics.median(run.processor_seconds for run in runs)
    shown = stages(folder, bundle)
    shown.append(_row("scorer run, whole command", rows, seconds, processor, peak))
    fast, low = rows / seconds >= LEAST_A_SECOND, peak < MOST_BYTES
    notes = [
        f"{rows:,} works in {len(list(folder.rglob('*.gz')))} files of the snapshot's layout.",
        f"At least {LEAST_A_SECOND:,} works/s: {'yes' if fast else 'NO'}. "
        f"Under {MOST_BYTES / 1e9:.1f} GB: {'yes' if low else 'NO'}.",
    ]
    report("snapshot", "scorer run on an OpenAlex snapshot", shown, notes, rounds=rounds)
    raise typer.Exit(0 if fast and low else 1)


if __name__ == "__main__":
    typer.run(main)
