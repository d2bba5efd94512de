"""Libraries of the extra `review`, loaded where a file of theirs is written."""

import importlib
from types import ModuleType

from scorer.errors import UsageError


def library(name: str, what: str) -> ModuleType:
    """Import a library that `what` needs; raise `UsageError` where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{what} needs {name}, which is not installed.\n"
            "Install it: pip install 'scorer[review]'"
        ) from error
