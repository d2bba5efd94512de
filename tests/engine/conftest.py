"""What the engine's tests share: a request to change, and the tiny frame scored once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.engine.job import RunRequest
from scorer.engine.run import run


@pytest.fixture
def request_for(tiny_frame: Path, tiny_bundle: Path, tmp_path: Path) -> Callable[..., RunRequest]:
    """Make a request for the tiny frame and bundle, to `out.parquet`, with changes."""

    def make(**changes: object) -> RunRequest:
        settings = {
            "frame": tiny_frame,
            "output": tmp_path / "out.parquet",
            "model": str(tiny_bundle),
        }
        return RunRequest(**(settings | changes))

    return make


@pytest.fixture(scope="session")
def scored(tiny_frame: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny frame scored once, its manifest beside it; tests leave both as they are."""
    output = tmp_path_factory.mktemp("scored") / "out.parquet"
    run(RunRequest(frame=tiny_frame, output=output, model=str(tiny_bundle)))
    return output
