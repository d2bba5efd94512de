"""Want of memory, told in one or two plain lines whatever part of the program meets it.

Under a limit of the system (`ulimit -v`) some libraries raise, some panic, and some end the process
where it stands. So the work is then done by a child, and the parent tells how it ended.
"""

import json
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any, Final, NoReturn

import typer

from scorer import errors
from scorer.errors import INTERRUPTED, ScorerError

if sys.platform != "win32":
    import resource

_MEGABYTE: Final = 1_000_000
# With fewer addresses libraries cannot begin their threads, and some then wait for ever.
_LEAST: Final = 2_000 * _MEGABYTE
_FORWARDED: Final = ("SIGINT", "SIGTERM", "SIGHUP")
# What libraries say where there is no memory, or no thread for want of it, and raise as any error.
_SAID: Final = re.compile(r"(?i)alloc|memory|\bthreads?\b|map segment")
_KEPT: Final = "Finished parts are kept: give the same command again"


@contextmanager
def want_of_memory_told() -> Iterator[None]:
    """Run a block that may run out of memory; raise `ScorerError` in plain words where it does.

    Under a limit the block runs in a child process, and this one ends as the child did.
    """
    limit = _limit()
    if limit is None:
        try:
            yield
        except MemoryError as error:
            raise ScorerError(
                f"memory ran out ({_first_line(str(error)) or 'no more is given'}).\n"
                f"{_KEPT}, with --memory or with fewer --threads."
            ) from error
        return
    if limit < _LEAST:
        raise ScorerError(
            f"memory would run out under the limit of {limit / _MEGABYTE:,.0f} MB (ulimit -v): "
            f"scorer run needs {_LEAST / _MEGABYTE:,.0f} MB.\n"
            "Raise the limit, and give the same command again."
        )
    tell = _continue_in_child(limit)
    try:
        yield
        said = {"exit": 0}
    except BaseException as error:
        if os.environ.get("SCORER_DEBUG"):
            traceback.print_exc()
        said = _told(error, limit)
    _end(tell, said)


def _limit() -> int | None:
    """Return how many bytes of addresses this process may have; None: no end of them."""
    if sys.platform == "win32":
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _continue_in_child(limit: int) -> int:
    """Return in a child process: the end of a pipe, to tell how the work ended.

    The parent never returns: it ends as it is told. Where it is told nothing the child was ended,
    and it raises `ScorerError`. What libraries write to standard error before that helps nobody.
    """
    told, tell = os.pipe()
    here, ends_with_parent = os.pipe()
    with tempfile.TemporaryFile() as noise:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)  # so that Ctrl-C reaches the parent alone, which passes it on
            os.close(told)
            os.close(ends_with_parent)
            sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="replace")
            os.dup2(noise.fileno(), 2)
            sys.unraisablehook = threading.excepthook = _say_nothing
            threading.Thread(target=_end_with, args=(here,), daemon=True).start()
            return tell
        os.close(tell)
        os.close(here)
        code = _ended(child)
        with os.fdopen(told) as pipe:
            match json.loads(pipe.read() or "{}"):
                case {"exit": int(wanted)}:
                    sys.exit(wanted)
                case {"failed": str(kind), "text": str(text)}:
                    raise getattr(errors, kind, ScorerError)(text)
        raise ScorerError(_denied(limit, _last_words(noise, code)))


def _say_nothing(_: object) -> None:
    """Take the place of what tells on standard error that a thread failed."""


def _ended(child: int) -> int:
    """Wait for a child, to which signals are passed on; return its exit code."""

    def pass_on(number: int, _: FrameType | None) -> None:
        os.kill(child, number)

    for name in _FORWARDED:
        signal.signal(getattr(signal, name), pass_on)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _told(error: BaseException, limit: int) -> dict[str, Any]:
    """Return what the parent is told of an error."""
    if isinstance(error, typer.Exit):
        return {"exit": error.exit_code}
    if isinstance(error, KeyboardInterrupt):
        return {"exit": INTERRUPTED}
    if isinstance(error, ScorerError) and not (error.__cause__ and _SAID.search(str(error))):
        return {"failed": type(error).__name__, "text": str(error)}
    text = str(error) if isinstance(error, ScorerError) else f"{type(error).__name__}: {error}"
    return {"failed": ScorerError.__name__, "text": _denied(limit, text)}


def _end(tell: int, said: dict[str, Any]) -> NoReturn:
    """Tell the parent, and end at once: other threads may still ask for memory."""
    try:
        os.write(tell, json.dumps(said).encode())
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _end_with(parent: int) -> None:
    """End this process when the other end of a pipe is closed."""
    os.read(parent, 1)
    os._exit(1)


def _last_words(noise: IO[bytes], code: int) -> str:
    noise.seek(0)
    lines = noise.read(1 << 16).decode(errors="replace").splitlines()
    said = [line for line in lines if _SAID.search(line)]
    return said[0] if said else f"the process was ended ({code})"


def _denied(limit: int, reason: str) -> str:
    return (
        f"memory ran out under the limit of {limit / _MEGABYTE:,.0f} MB (ulimit -v): "
        f"{_first_line(reason).rstrip(': ')}.\n{_KEPT} under a higher limit."
    )


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:200].rstrip(".")
