"""Measures the peak memory of `scorer run`: on frames of different sizes, and within `--memory`."""

import statistics
from typing import Annotated, Final

import typer
from _frames import made_frame
from _measure import Measured, console, measure, report, scorer_run, work_folder
from abstract_bundle import abstract_bundle

MOST_BYTES: Final = 1_000_000_000
MOST_GROWTH: Final = 0.10
"""From the smallest frame to the largest: memory must not follow the frame (issues 2 and 6)."""
BOUND: Final = "500MB"
_BOUND_BYTES: Final = 500_000_000
_LARGE: Final = 20_000_000


def runs(works: int, rounds: int, *options: str, abstracts: bool) -> list[Measured]:
    """Return what some runs on one made frame took."""
    frame = made_frame(works, abstracts=abstracts)
    command = scorer_run(frame, work_folder() / "memory.scored.parquet", *options)
    if abstracts:
        command += ["--model", abstract_bundle()]
    return [measure(command, memory=True) for _ in range(rounds)]


def median_peak(found: list[Measured]) -> float:
    """Return the median of the peaks, in bytes."""
    return statistics.median(run.peak_bytes for run in found)


def main(
    rows: Annotated[int, typer.Option(min=1, help="Works of the smallest frame.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is run.")] = 3,
    abstracts: Annotated[
        bool, typer.Option("--abstracts", help="Also with abstracts, at a tenth of the works.")
    ] = False,
    large: Annotated[
        bool, typer.Option("--large", help=f"Also {_LARGE:,} titles, once (1 GB, 20 min).")
    ] = False,
) -> None:
    """Measure peak memory at growing numbers of works, without a bound and with one."""
    kinds = [("titles", [rows, 2 * rows, *([_LARGE] * large)], False)]
    if abstracts:
        kinds.append(("title + abstract", [rows // 10, rows // 5], True))
    shown, low, flat, kept = [], True, True, True
    for name, sizes, with_abstracts in kinds:
        for options in ((), ("--memory", BOUND)):
            smallest = None
            for works in sizes:
                times = 1 if works == _LARGE else rounds
                found = runs(works, times, *options, abstracts=with_abstracts)
                growth = median_peak(found) / (smallest or median_peak(found)) - 1
                smallest = smallest or median_peak(found)
                most = max(run.peak_bytes for run in found)
                low &= most < MOST_BYTES
                flat &= bool(options) or growth <= MOST_GROWTH
                kept &= not options or most <= _BOUND_BYTES
                shown.append(_row(name, works, found, options, growth))
                console.print(shown[-1], style="dim")
    notes = [
        "Peak: VmHWM of the process, sampled every 10 ms from exec to exit; scorer run starts no "
        "other process.",
        f"Always under {MOST_BYTES / 1e9:.1f} GB: {'yes' if low else 'NO'}. Without --memory, "
        f"medians of larger frames at most {MOST_GROWTH:.0%} over the smallest: "
        f"{'yes' if flat else 'NO'}. --memory {BOUND} kept: {'yes' if kept else 'NO'}.",
        "Growth: over the frame of the same kind with the fewest works.",
    ]
    report("memory", "Peak memory of scorer run", shown, notes, rounds=rounds)
    raise typer.Exit(0 if low and flat and kept else 1)


def _row(
    name: str, works: int, found: list[Measured], options: tuple[str, ...], growth: float
) -> dict[str, str]:
    return {
        "frame": f"made {name}",
        "works": f"{works:,}",
        "--memory": options[-1] if options else "-",
        "runs": f"{len(found)}",
        "median peak MB": f"{median_peak(found) / 1e6:,.0f}",
        "highest peak MB": f"{max(run.peak_bytes for run in found) / 1e6:,.0f}",
        "growth": f"{growth:+.1%}" if growth else "-",
        "median wall s": f"{statistics.median(run.seconds for run in found):.1f}",
        "median processor s": f"{statistics.median(run.processor_seconds for run in found):.1f}",
    }


if __name__ == "__main__":
    typer.run(main)
