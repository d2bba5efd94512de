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
from pathlib import Path
from typing import Annotated, Any, Final

import polars as pl
import typer
from _measure import SCORER, Measured, measure, report, shared, work_folder
from abstract_bundle import abstract_bundle

from scorer.frame.contract import text
from scorer.frame.readers.base import Asked
from scorer.frame.readers.registry import READERS
from scorer.frame.source import FrameSource
from scorer.student.bundle import load_student

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
    read: list[pl.DataFrame] = []

    def reading() -> None:
        for one in source.found[: _STAGE_WORKS // _WORKS_A_FILE]:
            for piece in READERS["openalex"](one.file, "gz", asked):
                read.append(piece.works)

    found = [_stage("read: gunzip, JSON to columns", reading)]
    works = pl.concat(read)
    abstracts: list[pl.Series] = []
    found.append(_stage("de-invert", lambda: abstracts.append(text(works, "abstract"))))
    plain = works.drop("abstract_inverted_index").with_columns(abstracts[0].alias("abstract"))
    batches = [plain[at : at + 8_192] for at in range(0, plain.height, 8_192)]
    encoded: list[Any] = []
    found.append(
        _stage("encode", lambda: encoded.extend(student.encoder.encode(b) for b in batches))
    )
    found.append(_stage("score", lambda: [student.session.score(works) for works in encoded]))
    return found


def _stage(name: str, work: Callable[[], object]) -> dict[str, str]:
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    return {
        "what": f"{name} (one thread)",
        "works/s": f"{_STAGE_WORKS / seconds:,.0f}",
        "us a work": f"{seconds / _STAGE_WORKS * 1e6:.0f}",
        "peak MB": "",
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
    shown = stages(folder, bundle)
    shown.append(
        {
            "what": "scorer run, whole command",
            "works/s": f"{rows / seconds:,.0f}",
            "us a work": f"{seconds / rows * 1e6:.0f}",
            "peak MB": f"{peak / 1e6:,.0f}",
        }
    )
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
