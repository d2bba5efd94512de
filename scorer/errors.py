"""The errors that end a command, one class a failure kind, each with its exit code.

A message is one or two plain lines: what is wrong, where (file, column, row), what to do.
"""

from typing import ClassVar


class ScorerError(Exception):
    """A failure that is told to the user in plain words; the base of all of them."""

    exit_code: ClassVar[int] = 1


class UsageError(ScorerError):
    """The command was asked for something that does not fit together."""

    exit_code = 2


class InputError(ScorerError):
    """The input file breaks its contract."""

    exit_code = 3


class BundleError(ScorerError):
    """The bundle breaks its contract."""

    exit_code = 4


class PolicyError(ScorerError):
    """The policy breaks its contract, or belongs to other heads or targets."""

    exit_code = 4


class RefusedError(ScorerError):
    """What was asked for is not allowed: the maturity gate has not passed."""

    exit_code = 5


class OutputError(ScorerError):
    """The output cannot be written, or is locked by another run."""

    exit_code = 6


INTERRUPTED = 130
"""Exit code of a run that the user interrupted."""
