"""Makes models/metacan-v0-baseline: seven rounds on growing slices of a label table.

A student that has not settled, as a living example of the maturity gate. The slices are drawn by
seed, each within the next; the works held out are in all of them. Nothing is set to fail: the gate
judges what seven rounds come to.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import polars as pl
import typer
from _measure import ROOT, SCORER, console, measure, shared

from scorer.labels.sample import read_label_table
from scorer.student.folder import load_manifest
from scorer.train.fit import Recipe
from scorer.train.holdout import held_out_venues
from scorer.train.maturity import Criteria

NAME: Final = "metacan-v0-baseline"
LEARNED_FROM: Final = (150, 250, 400, 550, 750, 1000, 1300)
"""Works that each round learns from; those held out come on top of them."""
DRAWN: Final = 1_800
"""Works of the sample that are drawn at all: a fifth of the venues is held out, the rest feeds the
last round."""
NGRAMS: Final = 1_500
SEED: Final = 20260131

SOURCE: Final = (
    "MétaCan teacher sample, a small slice of it, drawn by benchmarks/baseline_rounds.py and "
    "learned from in seven growing rounds; labelled by codex and gemma; work metadata from "
    "OpenAlex (CC0)"
)
ATTRIBUTION: Final = "MétaCan, Ahmad Sofi-Mahmudi, 2026; OpenAlex"


def slices(labels: Path) -> list[pl.DataFrame]:
    """Return the label table of each round, in the order of the sample."""
    works = read_label_table(labels).works
    drawn = np.random.default_rng(SEED).permutation(works.height)[:DRAWN]
    away = held_out_venues(works[drawn], Recipe().seed, Criteria().holdout_share)
    held_out, others = drawn[away], drawn[~away]
    if len(others) < LEARNED_FROM[-1]:
        raise SystemExit(f"{labels}: {len(others):,} works are left to learn from; draw more.")
    table = pl.read_parquet(labels)
    return [table[np.sort(np.concatenate([held_out, others[:size]]))] for size in LEARNED_FROM]


def main(
    labels: Annotated[
        Path | None, typer.Argument(help="A label table; by default ../shared's.")
    ] = None,
    output: Annotated[Path, typer.Option("-o", help="Where the last bundle goes.")] = (
        ROOT / "models" / NAME
    ),
) -> None:
    """Train the seven rounds in a temporary folder; leave the last bundle at the output."""
    labels = (labels or shared("labels/teacher_sample.parquet")).resolve()
    if output.exists() and load_manifest(output).name != NAME:
        raise SystemExit(f"{output}: holds another bundle, so it is not replaced.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle, state = folder / NAME, folder / "rounds.json"
        for number, table in enumerate(slices(labels), start=1):
            path = folder / f"slice-{number}.parquet"
            table.write_parquet(path)
            console.print(f"round {number}: {table.height:,} works", style="dim")
            words = ["--rounds-state", state, "--ngrams", str(NGRAMS), "--source", SOURCE]
            words += ["--licence", "CC BY 4.0", "--attribution", ATTRIBUTION, "--overwrite"]
            measure([SCORER, "train", path, "-o", bundle, *words])
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(bundle, output)
    made = load_manifest(output)
    for done in made.maturity.history:
        console.print(
            f"round {done.number}: average precision {done.average_precision:.4f}, "
            f"churn {done.churn}, rank correlation {done.spearman}"
        )
    console.print(f"{made.version}: {made.maturity.note}")


if __name__ == "__main__":
    typer.run(main)
