"""Reading a frame's files in worker processes, one for each processor.

Python decodes JSON in one thread at a time; processes do not share that lock. A worker is this very
module, started anew: `multiprocessing` would run the user's own script once more in each worker,
and fork would copy locks that other threads hold. Parent and worker speak JSON, one message a line.
"""

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Final

import msgspec
import pyarrow as pa

from scorer import errors
from scorer.errors import ScorerError
from scorer.frame.files import LocalFile
from scorer.frame.reading import Order, Outcome, Task, read

_SECONDS: Final = 0.2  # between two looks at how far the reading is


class _Message(msgspec.Struct, tag=True):
    """What a worker says."""


class _Progress(_Message):
    rows: int


class _Done(_Message):
    outcome: Outcome


class _Failed(_Message):
    kind: str
    """The name of a class in errors.py, "OSError", or "" for what nobody expected."""
    text: str
    number: int | None = None
    """The operating system's, of an `OSError`."""


def _path(kind: type, value: str) -> Any:  # noqa: ANN401 - msgspec's hook
    return kind(value)


_ENCODE: Final = msgspec.json.Encoder(enc_hook=str).encode
_ORDER: Final = msgspec.json.Decoder(tuple[Task, list[LocalFile]], dec_hook=_path)
_MESSAGE: Final = msgspec.json.Decoder(_Progress | _Done | _Failed)


def read_aside(
    orders: Sequence[Order], processes: int, say: Callable[[int], None]
) -> Iterator[Outcome]:
    """Yield what came of each task, in order, while worker processes do them.

    The files lie on a disk. `say` is told how many works there are so far, in all. The error of the
    first task that fails is raised in its place. No worker is left where the caller stops, or is
    stopped.
    """
    counts = [0] * len(orders)
    workers = [_Worker() for _ in range(min(processes, len(orders)))]
    idle: SimpleQueue[_Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def done(number: int) -> Outcome:
        worker = idle.get()
        try:
            return worker.read(orders[number], lambda rows: counts.__setitem__(number, rows))
        finally:
            idle.put(worker)

    waiting: list[Future[Outcome]] = []
    with ThreadPoolExecutor(len(workers), thread_name_prefix="reading") as pool:
        try:
            waiting += [pool.submit(done, number) for number in range(len(orders))]
            for number, future in enumerate(waiting):
                while not wait([future], _SECONDS).done:
                    say(sum(counts))
                outcome = future.result()
                counts[number] = outcome.rows
                yield outcome
        finally:
            for future in waiting:
                future.cancel()
            for worker in workers:
                worker.end()


class _Worker:
    """A process that does one task after the other."""

    def __init__(self) -> None:
        known = {"PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)}
        one = {"POLARS_MAX_THREADS": "1"}  # there is a process for each processor
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | known | one,
        )

    def read(self, order: Order, progress: Callable[[int], None]) -> Outcome:
        """Have a task done; raise what it raised."""
        to, out = self._process.stdin, self._process.stdout
        assert to is not None
        assert out is not None
        try:
            to.write(_ENCODE(order) + b"\n")
            to.flush()
        except BrokenPipeError:
            raise self._gone() from None
        for line in out:
            match _MESSAGE.decode(line):
                case _Progress(rows):
                    progress(rows)
                case _Done(outcome):
                    return outcome
                case failed:
                    raise _raised(failed)
        raise self._gone()

    def end(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        self._process.wait()

    def _gone(self) -> ScorerError:
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return ScorerError(
            f"a process that read the frame ended by itself ({how}); memory may have run out.\n"
            "Give the command again with --threads 1."
        )


def _raised(failed: _Failed) -> Exception:
    if failed.kind == OSError.__name__:
        return OSError(failed.number, failed.text)
    kind = getattr(errors, failed.kind, RuntimeError)
    assert issubclass(kind, Exception)
    return kind(failed.text)


def main() -> None:
    """Do the tasks that come through standard input, until it ends."""
    # The parent decides on Ctrl-C, which a terminal sends to this process too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pa.set_memory_pool(pa.system_memory_pool())  # it peaks lower
    # What a library may print must not come between the messages.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, lines), daemon=True).start()
    while True:
        task, files = _ORDER.decode(lines.get())
        _tell(out, _answer(task, files, lambda rows: _tell(out, _Progress(rows))))


def _receive(stdin: IO[bytes], lines: "SimpleQueue[bytes]") -> None:
    """Take in tasks; end the process at once when the parent is gone, however it went."""
    for line in stdin:
        lines.put(line)
    os._exit(0)


def _answer(task: Task, files: Sequence[LocalFile], say: Callable[[int], None]) -> _Message:
    try:
        return _Done(read(task, files, say))
    except ScorerError as error:
        return _Failed(type(error).__name__, str(error))
    except OSError as error:
        return _Failed(OSError.__name__, error.strerror or str(error), error.errno)
    except Exception:
        return _Failed("", traceback.format_exc())


def _tell(out: IO[bytes], message: _Message) -> None:
    out.write(_ENCODE(message) + b"\n")
    out.flush()


if __name__ == "__main__":
    main()
