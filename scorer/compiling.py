"""How loops are compiled: for this processor, without a lock, kept on disk. Extra `fast`."""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Without numba's runtime no array is made, and none is counted at every use of it: counting is
# atomic, takes most of the time of short steps, and makes threads wait for one another.
_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy", "_nrt": False}

_njit: Final[Any] = numba.njit  # its stubs do not know all options


def compiled(function: Function) -> Function:
    """Compile a function at its first call; the machine code is kept for the next program."""
    return cast(Function, _njit(cache=True, **_OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Make a short function part of the loops that call it."""
    return cast(Function, _njit(inline="always", **_OPTIONS)(function))
