"""Measures `scorer call` on five million scored works: rows a second, and peak memory."""

import json
import statistics
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Way:
    """The runs with one policy: whole commands, the clock of each manifest, peaks of memory."""

    policy: Path
    whole: list[Measured] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)

    def run(self, source: Path, output: Path) -> None:
        """Run once for the time, once for the memory, whose sampling takes time itself."""
        command = [SCORER, "call", source, "--policy", self.policy, "-o", output]
        command += ["--overwrite", "--quiet"]
        self.whole.append(measure(command))
        manifest = json.loads(output.with_name(output.name + ".meta.json").read_text())
        self.own.append(manifest["wall_seconds"])
        self.peaks.append(measure(command, memory=True).peak_bytes)


def main(
    rows: Annotated[int, typer.Option(min=1, help="Works of the scored file.")] = 5_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is run.")] = 5,
) -> None:
    """Call a scored file anew by two policies, in turn."""
    source, output = scored(rows), work_folder() / "call.called.parquet"
    ways = {name: Way(policy) for name, policy in policies().items()}
    for _ in range(rounds):
        for way in ways.values():
            way.run(source, output)
    shown = [_row(name, rows, way) for name, way in ways.items()]
    fast = all(rows / statistics.median(way.own) >= LEAST_A_SECOND for way in ways.values())
    low = all(peak < MOST_BYTES for way in ways.values() for peak in way.peaks)
    notes = [
        "Own clock: from the request to the finished manifest, hashes of input and output among "
        "it; that is the manifest's wall_seconds. Whole command: with the interpreter's start, "
        "imports and exit.",
        f"At least {LEAST_A_SECOND:,} rows/s by its own clock: {'yes' if fast else 'NO'}. "
        f"Always under {MOST_BYTES / 1e9:.0f} GB: {'yes' if low else 'NO'}.",
    ]
    report("call", f"scorer call on {rows:,} scored works", shown, notes, rounds=rounds)
    raise typer.Exit(0 if fast and low else 1)


def _row(name: str, rows: int, way: Way) -> dict[str, str]:
    whole = [run.seconds for run in way.whole]
    cpu = statistics.median(run.processor_seconds for run in way.whole)
    return {
        "policy": name,
        "rows/s, median": f"{rows / statistics.median(way.own):,.0f}",
        "least - most": f"{rows / max(way.own):,.0f} - {rows / min(way.own):,.0f}",
        "whole command": f"{rows / statistics.median(whole):,.0f}",
        "CPU us a row": f"{cpu / rows * 1e6:.2f}",
        "highest peak MB": f"{max(way.peaks) / 1e6:,.0f}",
    }


if __name__ == "__main__":
    typer.run(main)
