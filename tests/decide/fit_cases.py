"""What tests of fitting share: choices by name, and how a request is refused."""

import pytest

from scorer.decide.fit import fit
from scorer.decide.inputs import FitRequest
from scorer.decide.sources import Choice, How
from scorer.errors import InputError, ScorerError

PAIR = ("codex", "metaresearch")


def named(**exceptions: How) -> dict[str, Choice]:
    """Return choices by name, `__` for the dot between head and target."""
    words = {where.replace("__", "."): how for where, how in exceptions.items()}
    return {where: Choice(how, f"--for {where}=HOW") for where, how in words.items()}


def refused(request: FitRequest, kind: type[ScorerError] = InputError) -> str:
    with pytest.raises(kind) as caught:
        fit(request)
    return str(caught.value)
