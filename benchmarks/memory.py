"""Measures the peak memory of `scorer run` on made frames of one and of two million titles."""

import statistics
from typing import Annotated, Final

import typer
from _frames import made_frame
from _measure import Measured, measure, report, scorer_run, work_folder
from abstract_bundle import abstract_bundle

MOST_BYTES: Final = 1_200_000_000
MOST_GROWTH: Final = 0.10
"""From one million titles to two: memory must not follow the frame (issue 2)."""


def runs(rows: int, rounds: int, *, abstracts: bool) -> list[Measured]:
    """Return what some runs on one made frame took."""
    command = scorer_run(
        made_frame(rows, abstracts=abstracts), work_folder() / "memory.scored.parquet"
    )
    if abstracts:
        command += ["--model", abstract_bundle()]
    return [measure(command, memory=True) for _ in range(rounds)]


def median_peak(found: list[Measured]) -> float:
    """Return the median of the peaks, in bytes."""
    return statistics.median(run.peak_bytes for run in found)


def main(
    rows: Annotated[int, typer.Option(min=1, help="Works of the smaller frame.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is run.")] = 3,
    abstracts: Annotated[
        bool, typer.Option("--abstracts", help="Also with abstracts, at a tenth of the works.")
    ] = False,
) -> None:
    """Measure peak memory at a number of titles and at twice as many."""
    kinds = [("titles", rows, False)] + ([("title + abstract", rows // 10, True)] * abstracts)
    shown, low, flat = [], True, True
    for name, works, with_abstracts in kinds:
        small, large = (runs(n, rounds, abstracts=with_abstracts) for n in (works, 2 * works))
        growth = median_peak(large) / median_peak(small) - 1
        low &= max(run.peak_bytes for run in small + large) < MOST_BYTES
        flat &= abs(growth) <= MOST_GROWTH
        shown += [_row(name, works, small, "-"), _row(name, 2 * works, large, f"{growth:+.1%}")]
    notes = [
        "Peak: VmHWM of the process, sampled every 10 ms from exec to exit; scorer run starts no "
        "other process.",
        f"Always under {MOST_BYTES / 1e9:.1f} GB: {'yes' if low else 'NO'}. Medians within "
        f"{MOST_GROWTH:.0%} at twice the works: {'yes' if flat else 'NO'}.",
    ]
    report("memory", "Peak memory of scorer run", shown, notes, rounds=rounds)
    raise typer.Exit(0 if low and flat else 1)


def _row(name: str, works: int, found: list[Measured], growth: str) -> dict[str, str]:
    return {
        "frame": f"made {name}",
        "works": f"{works:,}",
        "median peak MB": f"{median_peak(found) / 1e6:,.0f}",
        "highest peak MB": f"{max(run.peak_bytes for run in found) / 1e6:,.0f}",
        "growth": growth,
        "median wall s": f"{statistics.median(run.seconds for run in found):.1f}",
    }


if __name__ == "__main__":
    typer.run(main)
