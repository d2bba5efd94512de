"""Ctrl-C and SIGTERM while parts are made: the one in work is finished first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Final

from scorer.engine.progress import Progress

_STOPS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Interrupt:
    """Whether the user asked to stop."""

    asked: bool = False


@contextmanager
def deferred(progress: Progress) -> Iterator[Interrupt]:
    """Let the first signal to stop only be noted; the second raises `KeyboardInterrupt` at once.

    Only in the main thread, and only for signals that would raise it: what else a program does with
    its signals stays as it is.
    """
    interrupt = Interrupt()

    def note(number: int, frame: FrameType | None) -> None:
        if interrupt.asked:
            signal.default_int_handler(number, frame)
        interrupt.asked = True
        with suppress(RuntimeError):  # the signal came while a line was being printed
            progress.note("Stopping when the part in work is finished; once more stops at once.")

    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    taken = [stop for stop in _STOPS if signal.getsignal(stop) is signal.default_int_handler]
    for stop in taken:
        signal.signal(stop, note)
    try:
        yield interrupt
    finally:
        for stop in taken:
            signal.signal(stop, signal.default_int_handler)
