"""The program as a shell sees it: arguments in; exit code, output and error text out."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from scorer.cli.app import main


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def scorer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Run `scorer ARGUMENTS...` in this process, on a wide screen that is no terminal."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SCORER_DEBUG", "")  # so that what --debug sets is undone
    monkeypatch.setenv("POLARS_MAX_THREADS", "2")  # as is what --threads sets

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["scorer", *(str(word) for word in arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Ended(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def scored(
    scorer: Callable[..., Ended], tiny_frame: Path, tiny_bundle: Path, tmp_path: Path
) -> Path:
    """The tiny frame, scored by the command."""
    output = tmp_path / "scored.parquet"
    assert scorer("run", tiny_frame, "--model", tiny_bundle, "-o", output, "-q").code == 0
    return output


@pytest.fixture(scope="session")
def labels_without_axes(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A label table of 150 works without axes, which take time to fit."""
    table = make_labels(150)
    path = tmp_path_factory.mktemp("cli") / "labels.parquet"
    table.drop(n for n in table.columns if n.endswith(("_domain", "_genre"))).write_parquet(path)
    return path
