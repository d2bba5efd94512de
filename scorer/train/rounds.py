"""The state that rounds of training share: a JSON file that holds what they froze and measured.

Read before a round begins, written whole after its bundle is in place; `turn.py` takes it further.
"""

import json
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from scorer.engine.files import told, write_atomically
from scorer.errors import InputError
from scorer.student.manifest import Maturity, Round
from scorer.targets import Name, Strict
from scorer.train.holdout import measured_targets
from scorer.train.maturity import Criteria, judge

SCHEMA_VERSION: Final = 1
ANEW: Final = "or begin anew with another --rounds-state."
"""How a message ends: the way out that is always open."""

Use = Literal["heads", "mixed", "ensemble"]
"""What an encoder is for: heads on it; n-grams beside it; n-grams alone, that learn from both."""


class Options(Strict):
    """The choices of a recipe that the command offers: the same in every round."""

    ngrams: int
    beta: float
    min_pos: int
    min_ess: float
    seed: int


class RoundsState(Strict):
    """The whole of a state file."""

    schema_version: Literal[1] = SCHEMA_VERSION
    heads: tuple[Name, ...]
    options: Options
    use: Use | None = None
    """What an encoder is for, in every round; None: n-grams alone learn."""
    criteria: Criteria
    holdout: tuple[str, ...]
    """Ids of the works held out since the first round, in ascending order."""
    answers: dict[Name, Annotated[str, Field(pattern=r"^[01-]*$")]]
    """Target -> the heads' majority on the works held out, a character each."""
    rounds: Annotated[tuple[Round, ...], Field(min_length=1)]
    scores: dict[Name, tuple[Annotated[float, Field(ge=0, le=1)], ...]]
    """Measured target -> mean scores of the works held out, by the last round's student."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if [done.number for done in self.rounds] != list(range(1, len(self.rounds) + 1)):
            raise ValueError("rounds must be numbered 1, 2, 3, ...")
        if any(done.bundle is None for done in self.rounds):
            raise ValueError("every round needs the version of its bundle")
        if any(done.churn is None or done.spearman is None for done in self.rounds[1:]):
            raise ValueError("every round after the first needs churn and spearman")
        if set(self.scores) != set(measured_targets(self.answers)):
            raise ValueError("scores are needed for exactly the targets that are measured")
        if list(self.holdout) != sorted(set(self.holdout)):
            raise ValueError("ids of the holdout must be distinct and in ascending order")
        parts = [*self.answers.values(), *self.scores.values()]
        if any(len(part) != len(self.holdout) for part in parts):
            raise ValueError("answers and scores must be as many as works held out")
        return self

    def maturity(self) -> Maturity:
        """Return what the rounds come to."""
        return judge(self.rounds, self.criteria)


def read_state(path: Path) -> RoundsState:
    """Read a state file; raise `InputError` that names what does not fit."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or "schema_version" not in content:
            raise TypeError("it holds something else")
        version = content["schema_version"]
        if version == SCHEMA_VERSION:
            return RoundsState.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "as a whole"
        reason = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}: {place}: {reason}.\nRestore the file, {ANEW}") from error
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. Check the path.") from error
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: not a state of rounds ({reason}).\nRestore the file, {ANEW}"
        ) from error
    raise InputError(
        f"{path}: schema version {version}, this program reads {SCHEMA_VERSION}.\n"
        f"Use the program that wrote it, {ANEW}"
    )


def write_state(path: Path, state: RoundsState) -> None:
    """Write a state file whole or not at all."""
    with told(path):
        write_atomically(path, (state.model_dump_json() + "\n").encode())
