"""Measures `scorer call` on five million scored works: rows a second, and peak memory."""

import statistics
from pathlib import Path
from typing import Annotated, Final

import typer
from _frames import repeated_titles
from _measure import SCORER, SHIPPED, Measured, measure, report, scorer_run, work_folder

from scorer.policy.policy import Policy, Quota, Threshold, parse_policy

LEAST_A_SECOND: Final = 1_500_000
MOST_BYTES: Final = 1_000_000_000
"""Goals of issue 3, on two cores."""


def scored(rows: int) -> Path:
    """Return a scored file of so many works, made by `scorer run` when it is not there."""
    path = work_folder() / f"titles-{rows}.scored.parquet"
    if not path.with_name(path.name + ".meta.json").exists():
        measure(scorer_run(repeated_titles(rows), path))
    return path


def policies() -> dict[str, Path]:
    """Write two policies that differ from the shipped one: other thresholds, and quotas."""
    shipped = parse_policy((SHIPPED / "policy.json").read_text(encoding="utf-8"), "shipped")
    found = {}
    for name in ("thresholds", "quotas"):
        entries = {
            target: {head: _other(entry, name) for head, entry in heads.items()}
            for target, heads in shipped.entries.items()
        }
        found[name] = work_folder() / f"call-{name}.policy.json"
        policy = Policy(gates=shipped.gates, entries=entries)
        found[name].write_text(policy.to_json(), encoding="utf-8")
    return found


def _other(entry, kind: str):
    if not isinstance(entry, Threshold):
        return entry
    value = entry.value * 0.9
    if kind == "thresholds":
        return entry.model_copy(update={"value": value})
    return Quota(k=1, value=value, boundary_id="W5", support=entry.support)


def main(
    rows: Annotated[int, typer.Option(min=1, help="Works of the scored file.")] = 5_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is run.")] = 5,
) -> None:
    """Call a scored file anew by two policies, in turn."""
    source, output = scored(rows), work_folder() / "call.called.parquet"
    ways = policies()
    found: dict[str, list[Measured]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, policy in ways.items():
            command = [SCORER, "call", source, "--policy", policy, "-o", output]
            found[name].append(measure([*command, "--overwrite", "--quiet"], memory=True))
    shown = [_row(name, rows, runs) for name, runs in found.items()]
    fast = all(rows / _median(runs) >= LEAST_A_SECOND for runs in found.values())
    low = all(run.peak_bytes < MOST_BYTES for runs in found.values() for run in runs)
    notes = [
        "Wall time of the whole command, process start, hashes of input and output, and manifest "
        "included.",
        f"At least {LEAST_A_SECOND:,} rows/s: {'yes' if fast else 'NO'}. "
        f"Always under {MOST_BYTES / 1e9:.0f} GB: {'yes' if low else 'NO'}.",
    ]
    report("call", f"scorer call on {rows:,} scored works", shown, notes, rounds=rounds)
    raise typer.Exit(0 if fast and low else 1)


def _median(runs: list[Measured]) -> float:
    return statistics.median(run.seconds for run in runs)


def _row(name: str, rows: int, runs: list[Measured]) -> dict[str, str]:
    return {
        "policy": name,
        "rows/s, median": f"{rows / _median(runs):,.0f}",
        "rows/s, least and most": f"{rows / max(r.seconds for r in runs):,.0f} - "
        f"{rows / min(r.seconds for r in runs):,.0f}",
        "CPU us a row": f"{statistics.median(r.processor_seconds for r in runs) / rows * 1e6:.2f}",
        "highest peak MB": f"{max(run.peak_bytes for run in runs) / 1e6:,.0f}",
    }


if __name__ == "__main__":
    typer.run(main)
