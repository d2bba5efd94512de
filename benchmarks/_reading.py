"""Whether other programs find in a scored file what its manifest says: DuckDB, pandas, Spark."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import polars as pl
from _contest import Row, row_of
from _frames import repeated_titles
from _measure import measure, scorer_run, work_folder
from _peers import PACKAGES, Environment, NotInstalledError

from scorer.engine.manifest import read_manifest

_READERS: Final = ("duckdb", "pandas", "spark")
_WORKS: Final = 300_000  # ten row groups
_RELATIVE: Final = 1e-9  # sums of doubles in another order


def reader_rows() -> list[Row]:
    """Return who reads a scored file, and finds in it what the manifest says."""
    output = work_folder() / "run" / "read.scored.parquet"
    limit = ("--limit", str(_WORKS))
    measure(scorer_run(repeated_titles(2 * _WORKS), output, *limit))
    return [{**row_of("output", f"read by {name}"), **_read(name, output)} for name in _READERS]


def _read(name: str, output: Path) -> dict[str, str]:
    goal = "the same"
    if name == "spark" and shutil.which("java") is None:
        return {"figure": "not tried: no Java here", "goal": goal}
    try:
        environment = Environment.of(name)
    except NotInstalledError as error:
        return {"figure": str(error), "goal": goal, "kept": "NO"}
    script = Path(__file__).with_name("readers.py")
    command = [str(environment.python), str(script), name, str(output)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        said = (ran.stderr.strip().splitlines() or ["no word"])[-1][:120]
        return {"figure": f"failed: {said}", "goal": goal, "kept": "NO"}
    found = json.loads(ran.stdout.splitlines()[-1])
    wrong = _wrong(found, output)
    figure = f"differs: {', '.join(wrong)}" if wrong else "the same"
    package = PACKAGES[name][0]
    return {
        "works": f"{found['rows']:,}",
        "program": f"read by {package} {environment.versions[package]}",
        "figure": figure,
        "goal": goal,
        "kept": "NO" if wrong else "yes",
    }


def _wrong(found: dict[str, Any], output: Path) -> list[str]:
    """Return what a reader found otherwise than the manifest, or than Polars."""
    manifest = read_manifest(output)
    called = {
        target.name: manifest.counts.calls[target.name]["candidate"]
        for target in manifest.targets.binary
        if target.kind == "category"
    }
    score = pl.scan_parquet(output).select(pl.col("score_codex_metaresearch").cast(pl.Float64))
    total = score.sum().collect().item()
    expected = {
        "rows": manifest.counts.rows,
        "ids": manifest.counts.rows,
        "status": [manifest.prediction_status],
        "calls": {target: count for target, count in called.items() if count},
    }
    wrong = [name for name, value in expected.items() if found[name] != value]
    return wrong + (["score"] if abs(found["score"] - total) > _RELATIVE * total else [])
