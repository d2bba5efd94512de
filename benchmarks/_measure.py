"""What every benchmark needs: commands run and measured, frames of texts, tables written.

Nothing here knows what is measured; the scripts beside it do.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
WORK: Final = ROOT / "benchmarks" / ".work"
RESULTS: Final = ROOT / "benchmarks" / "results"
SCORER: Final = Path(sys.executable).with_name("scorer")
SHIPPED: Final = ROOT / "models" / "metacan-ngram"
PACKAGES: Final = ("scorer", "polars", "pyarrow", "onnxruntime", "numpy", "scikit-learn")

_SHARED: Final = ROOT.parent / "shared"
_LOAD: Final = os.getloadavg()[0]  # before this program adds to it
_SAMPLING_SECONDS: Final = 0.01
_TAIL: Final = 2_000  # characters of a failed command's standard error that are shown

console: Final = Console(width=120)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a command: wall and processor seconds, peak memory in bytes, exit code."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    code: int


def shared(name: str) -> Path:
    """Return a file of ../shared; end the program with a clear line where it is absent."""
    path = _SHARED / name
    if not path.is_file():
        raise SystemExit(f"{path}: not there. The benchmarks read real texts from ../shared.")
    return path


def work_folder() -> Path:
    """Return benchmarks/.work, which git ignores, made if need be."""
    WORK.mkdir(parents=True, exist_ok=True)
    return WORK


def measure(command: Sequence[str | Path], *, memory: bool = False, check: bool = True) -> Measured:
    """Run a command to its end in benchmarks/.work; end the program where it fails.

    `memory` also samples the high-water mark (VmHWM) of each process of its tree, every 10 ms, and
    adds up those that are there at a time: exact for one process, an upper bound for more, which
    share libraries. Unlike `ru_maxrss`, it starts from nothing at exec and owes nothing to the size
    of this process. Processor seconds are those of the whole tree.
    """
    work_folder()
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command], cwd=WORK, stdout=subprocess.DEVNULL, stderr=errors
        )
        peaks = [0]
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(process.pid, peaks, ended))
        if memory:
            watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    process.returncode = os.waitstatus_to_exitcode(status)
    if memory:
        ended.set()
        watcher.join()
    if check and process.returncode:
        raise SystemExit(
            f"{' '.join(map(str, command))}: exit code {process.returncode}\n" + said[-_TAIL:]
        )
    return Measured(seconds, usage.ru_utime + usage.ru_stime, max(peaks), process.returncode)


def scorer_run(frame: Path, output: Path, *options: str | Path) -> list[str | Path]:
    """Return the command that scores `frame` into `output`, without progress or table."""
    return [SCORER, "run", frame, "-o", output, "--overwrite", "--quiet", *options]


def machine() -> dict[str, str]:
    """Describe the machine and the software, as every result must."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
        "system": platform.platform(),
        "load average at start": f"{_LOAD:.2f}",
        "date": time.strftime("%Y-%m-%d"),
        "commit": _commit(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def report(
    name: str, title: str, rows: Sequence[dict[str, str]], notes: Sequence[str], **data: Any
) -> None:
    """Print a table, and store it as results/<name>.md and, with `data`, results/<name>.json."""
    about = machine()
    show(title, rows, notes, about)
    store(RESULTS, name, title, rows, notes, about=about, **data)


def show(
    title: str, rows: Sequence[dict[str, str]], notes: Sequence[str], about: dict[str, str]
) -> None:
    """Print a table."""
    shown = Table(title=title, title_justify="left")
    for place, column in enumerate(rows[0]):
        shown.add_column(column, justify="right" if place else "left")
    for row in rows:
        shown.add_row(*row.values())
    console.print(shown)
    for note in notes:
        console.print(f"- {note}", highlight=False)
    console.print(" | ".join(f"{key} {value}" for key, value in about.items()), style="dim")


def store(
    folder: Path,
    name: str,
    title: str,
    rows: Sequence[dict[str, str]],
    notes: Sequence[str],
    *,
    about: dict[str, str],
    **data: Any,
) -> None:
    """Store a table as <name>.md and, with `data`, as <name>.json."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(_markdown(title, rows, notes, about), encoding="utf-8")
    content = {"machine": about, "rows": list(rows), "notes": list(notes), **data}
    (folder / f"{name}.json").write_text(
        json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def _markdown(
    title: str, rows: Sequence[dict[str, str]], notes: Sequence[str], about: dict[str, str]
) -> str:
    columns = list(rows[0])
    lines = [f"# {title}", "", f"| {' | '.join(columns)} |"]
    lines.append("|---|" + "--:|" * (len(columns) - 1))
    lines += [f"| {' | '.join(row.values())} |" for row in rows]
    lines += ["", *(f"- {note}" for note in notes)] if notes else []
    lines += ["", "Machine: " + ", ".join(f"{key} {value}" for key, value in about.items()) + "."]
    return "\n".join(lines) + "\n"


def _watch(root: int, peaks: list[int], ended: threading.Event) -> None:
    while not ended.wait(_SAMPLING_SECONDS):
        peaks[0] = max(peaks[0], sum(map(_high_water, _tree(root))))


def _tree(root: int) -> list[int]:
    pids = [root]
    for pid in pids:  # grows while it is walked
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                pids += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return pids


def _high_water(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(found[0]) * 1024 if found else 0


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def _commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"
