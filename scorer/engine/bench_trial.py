"""One timed run of the engine in a process of its own, as a command would be.

So neither what was loaded before nor what was measured before counts, in time or in memory. The
process is this very module, started anew; it tells how far it is and, at its end, what it took.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

import pyarrow as pa

from scorer import errors
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import ScorerError


@dataclass(frozen=True, slots=True)
class Trial:
    """What a run took."""

    works: int
    seconds: float
    processor_seconds: float
    """Of all its threads."""
    peak_bytes: int | None
    """The most memory that it held; None where the system does not tell."""
    output_bytes: int

    @classmethod
    def of(cls, request: RunRequest, say: Callable[[int], None]) -> Self:
        """Run a request in a process of its own; `say` is told how many works are done so far.

        Raises what the run raised. No process is left where the caller is stopped.
        """
        assert request.output is not None
        order = {
            "frame": str(request.frame),
            "output": str(request.output),
            "model": request.model,
            "baseline": request.baseline,
            "threads": request.threads,
            "overwrite": request.overwrite,
        }
        known = {"PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)}
        if request.threads is not None:
            known["POLARS_MAX_THREADS"] = str(request.threads)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | known,
        )
        assert process.stdout is not None
        with process:
            try:
                for line in process.stdout:
                    match json.loads(line):
                        case {"done": int(works)}:
                            say(works)
                        case {"failed": str(kind), "text": str(text)}:
                            raise getattr(errors, kind, ScorerError)(text)
                        case found:
                            return cls(**found)
            finally:
                process.kill()
        raise ScorerError(
            f"the run that was timed ended by itself (exit code {process.returncode}); memory may "
            "have run out.\nGive the command again with --threads 1."
        )


class _Told(Silence):
    """Tells the parent how far the run is."""

    def __init__(self) -> None:
        self._done = 0

    def advance(self, works: int) -> None:
        """Say how many works are done."""
        self._done += works
        _tell({"done": self._done})


def main() -> None:
    """Do the run that the command line describes."""
    # The parent's end, however it comes about, is the end of this process too.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    order = json.loads(sys.argv[1])
    try:
        _tell(asdict(_timed(RunRequest(**order | {"output": Path(order["output"])}))))
    except ScorerError as error:
        _tell({"failed": type(error).__name__, "text": str(error)})


def _timed(request: RunRequest) -> Trial:
    pa.set_memory_pool(pa.system_memory_pool())  # as scorer run does
    began = time.process_time()
    manifest = run(request, _Told())
    return Trial(
        works=manifest.counts.rows,
        seconds=manifest.wall_seconds,
        processor_seconds=time.process_time() - began,
        peak_bytes=_peak(),
        output_bytes=manifest.output.size,
    )


_STATUS: Final = Path("/proc/self/status")


def _peak() -> int | None:
    """Return the most memory that this process has held, in bytes."""
    if _STATUS.exists():  # Linux: unlike ru_maxrss, this owes nothing to the parent
        found = [line.split() for line in _STATUS.read_text().splitlines() if "VmHWM" in line]
        return int(found[0][1]) * 1024 if found else None
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _tell(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
