"""The frames that benchmarks score: real texts of ../shared repeated to size, or made ones.

Each is written once to benchmarks/.work and used again. Repeated works get fresh ids; their texts
are real, and a shard of `scorer run` still holds mostly distinct ones (26,660 titles, 19,934
abstracts, against shards of 32,768 and 8,192).
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
from _measure import ROOT, console, shared, work_folder

_FIRST_ID = 4_000_000_001
_ROW_GROUP = 1 << 17


def repeated_titles(rows: int) -> Path:
    """Return a frame of real OpenAlex titles: id, title, year."""
    source = shared("frames/openalex_titles.parquet")
    return _once(f"titles-{rows}", lambda path: _repeat(source, rows, path))


def repeated_abstracts(rows: int) -> Path:
    """Return a frame of real titles and abstracts (89 % have one): id, title, abstract."""
    source = shared("frames/screening_abstracts.parquet")
    return _once(f"abstracts-{rows}", lambda path: _repeat(source, rows, path))


def made_frame(rows: int, *, abstracts: bool = False) -> Path:
    """Return a frame of sample_frames/make_frames.py: composed texts, no work twice, metadata."""
    words = ["--abstracts"] if abstracts else []
    name = f"made-{'abstracts' if abstracts else 'titles'}-{rows}"
    return _once(name, lambda path: _make(rows, words, path))


def _once(name: str, write: Callable[[Path], None]) -> Path:
    path = work_folder() / f"{name}.parquet"
    if not path.exists():
        console.print(f"writing {path.name} once", style="dim")
        waiting = path.with_suffix(".tmp")
        write(waiting)
        waiting.rename(path)
    return path


def _repeat(source: Path, rows: int, path: Path) -> None:
    """Write the works of `source` again and again up to `rows`, each with an id of its own."""
    works = pl.read_parquet(source)
    times = -(-rows // works.height)
    ids = pl.int_range(_FIRST_ID, _FIRST_ID + rows, eager=True).cast(pl.String)
    frame = pl.concat([works] * times).head(rows)
    frame = frame.with_columns(id="https://openalex.org/W" + ids)
    frame.write_parquet(path, compression="zstd", row_group_size=_ROW_GROUP)


def _make(rows: int, words: list[str], path: Path) -> None:
    script = ROOT / "sample_frames" / "make_frames.py"
    command = [sys.executable, script, "--rows", str(rows), "--output", path, *words]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
