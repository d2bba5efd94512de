"""Writes the tables of docs/ray.md: clusters, time and cost, from what ray_bytes.py measured.

`--check` changes nothing and exits with 1 where the page does not follow from the measurement.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from _measure import RESULTS, ROOT, console
from babel.units import format_unit

from scorer.frame.ids import passes

PAGE: Final = ROOT / "docs" / "ray.md"
BEGIN: Final = "<!-- table: made by benchmarks/ray_guide.py -->\n"
END: Final = "<!-- end of table -->"
WORKS: Final = {"4.3 million": 4_299_418, "250 million": 250_000_000, "2 billion": 2_000_000_000}
PROCESSORS: Final = (4, 16, 64)
DOLLARS_AN_HOUR: Final = 0.05
"""For a processor of a rented machine: an assumption, in the range of public price lists."""
_MINUTE: Final = 60
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds a work, and seconds once."""

    worker: float
    driver: float
    ids: float
    start: float

    def seconds(self, works: int, processors: int) -> float:
        """Return how long a run takes: all start, one looks at the ids, all score, one saves."""
        scored = max(works * self.worker / processors, works * self.driver)
        return self.start + passes(works) * works * self.ids + scored


def table(measured: dict[str, Any]) -> str:
    """Return the table, in Markdown."""
    columns = ["works", "texts", "processor hours"]
    columns += [f"on {processors}" for processors in PROCESSORS]
    lines = [f"| {' | '.join(columns)} |", "|---|---|" + "--:|" * (len(columns) - 2)]
    for name, works in WORKS.items():
        for texts, worker in measured["worker"].items():
            costs = Costs(worker, measured["driver"], measured["ids"], measured["start"])
            hours = f"{works * worker / _HOUR:,.2g}"
            cells = [_cell(costs.seconds(works, number), number) for number in PROCESSORS]
            lines.append(f"| {' | '.join([name, texts, hours, *cells])} |")
    return "\n".join(lines) + "\n"


def _cell(seconds: float, processors: int) -> str:
    dollars = seconds * processors / _HOUR * DOLLARS_AN_HOUR
    return f"{_duration(seconds)}, ${max(dollars, 0.01):,.2f}"


def _duration(seconds: float) -> str:
    for length, unit in ((_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds >= 2 * length:
            return _unit(seconds / length, unit)
    return _unit(seconds, "second")


def _unit(value: float, unit: str) -> str:
    return format_unit(round(value), f"duration-{unit}", length="short", locale="en")


def main(
    check: Annotated[bool, typer.Option("--check", help="Change nothing; compare.")] = False,
) -> None:
    """Write the table into the page."""
    measured = json.loads((RESULTS / "ray.json").read_text())["measured"]
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    made = before + BEGIN + table(measured) + END + after
    if check and made != page:
        console.print(f"{PAGE}: its table does not follow from results/ray.json.")
        raise typer.Exit(1)
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
