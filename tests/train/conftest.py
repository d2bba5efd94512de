"""Fixtures of rounds: a label table that grows, and the rounds that were trained on it.

Two folds and short labels, so that a round takes a second.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from scorer.errors import ScorerError
from scorer.student.manifest import Manifest
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.maturity import Criteria
from scorer.train.trained import RoundsRequest, TrainRequest

SIZES = (120, 150, 180)
RECIPE = Recipe(ngrams=60, folds=2)
CRITERIA = Criteria(window=2, running=2, holdout_share=0.3)


@dataclass(frozen=True)
class Rounds:
    """A folder with `labels.parquet`, `student` and `rounds.json`, and what was made and said."""

    folder: Path
    table: pl.DataFrame
    """220 made works: more than the three rounds have seen."""
    manifests: list[Manifest] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    sizes = SIZES
    recipe = RECIPE
    criteria = CRITERIA

    @property
    def state(self) -> Path:
        return self.folder / "rounds.json"

    @property
    def student(self) -> Path:
        return self.folder / "student"

    def request(self, table: pl.DataFrame, **changes: object) -> TrainRequest:
        """Return the request of one more round, on this table."""
        table.write_parquet(self.folder / "labels.parquet")
        usual = {
            "output": self.student,
            "labels": self.folder / "labels.parquet",
            "recipe": RECIPE,
            "overwrite": True,
            "rounds": RoundsRequest(self.state, CRITERIA),
        }
        return TrainRequest(**(usual | changes))

    def train(self, table: pl.DataFrame, **changes: object) -> Manifest:
        """Train one more round."""
        self.said.clear()
        self.manifests.append(train(self.request(table, **changes), self.said.append))
        return self.manifests[-1]

    def refusal(self, request: TrainRequest, kind: type[ScorerError]) -> str:
        """Return why a round was refused; bundle and state must be as they were."""
        files = [self.state, self.student / "bundle.json"]
        before = [path.read_bytes() for path in files]
        with pytest.raises(kind) as found:
            train(request)
        assert before == [path.read_bytes() for path in files]
        return str(found.value)


@pytest.fixture(scope="session")
def begin(make_labels: Callable[..., pl.DataFrame]) -> Callable[[Path], Rounds]:
    """Make a folder ready for a first round; its labels have no axes, which take time to fit."""
    table = make_labels(220)
    axes = [name for name in table.columns if name.endswith(("_domain", "_genre"))]
    return lambda folder: Rounds(folder, table.drop(axes))


@pytest.fixture(scope="session")
def three_rounds(
    begin: Callable[[Path], Rounds], tmp_path_factory: pytest.TempPathFactory
) -> Rounds:
    """Three rounds on a table that grows; a test must not change them."""
    made = begin(tmp_path_factory.mktemp("rounds"))
    for size in SIZES:
        made.train(made.table[:size])
    return made


@pytest.fixture
def rounds(three_rounds: Rounds, tmp_path: Path) -> Rounds:
    """A copy of three rounds, to go on from."""
    folder = Path(shutil.copytree(three_rounds.folder, tmp_path / "rounds"))
    return Rounds(folder, three_rounds.table)


@pytest.fixture(scope="session")
def searchable(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Path of a label table that a search can part; its labels have no axes."""
    table = make_labels(200)
    axes = [name for name in table.columns if name.endswith(("_domain", "_genre"))]
    path = tmp_path_factory.mktemp("searchable") / "labels.parquet"
    table.drop(axes).write_parquet(path)
    return path
