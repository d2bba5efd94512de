"""What the tests of decisions share: the labelled works scored as a frame, and copies to change."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from scorer.decide.inputs import FitRequest
from scorer.decide.sample import LabelFiles
from scorer.engine.manifest import Output, RunManifest, manifest_path, read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run


@pytest.fixture(scope="session")
def scored_sample(
    tiny_labels: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The 300 labelled works, scored as a frame; tests leave the file as it is."""
    output = tmp_path_factory.mktemp("sample") / "sample.scored.parquet"
    run(RunRequest(frame=tiny_labels, output=output, model=str(tiny_bundle)))
    return output


def sealed(scores: Path, manifest: RunManifest) -> Path:
    """Write a manifest beside a scored file that speaks of it as it is now."""
    true = manifest.model_copy(update={"output": Output.of(scores)})
    manifest_path(scores).write_text(true.model_dump_json())
    return scores


@pytest.fixture
def changed(scored_sample: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write the scored works with other columns, or in another order: `changed(change, name)`."""

    def write(
        change: Callable[[pl.DataFrame], pl.DataFrame], name: str = "c.parquet", rows: int = 1 << 20
    ) -> Path:
        table = pq.read_table(scored_sample)
        rows_then = change(pl.from_arrow(table)).to_arrow().cast(table.schema)
        pq.write_table(rows_then, tmp_path / name, row_group_size=rows)
        return sealed(tmp_path / name, read_manifest(scored_sample))

    return write


@pytest.fixture
def request_for(tiny_labels: Path, scored_sample: Path) -> Callable[..., FitRequest]:
    """Make a request to fit the tiny labels on their scores, with changes."""

    def make(**changes: object) -> FitRequest:
        settings = {"labels": LabelFiles(tiny_labels), "scores": scored_sample}
        return FitRequest(**(settings | changes))

    return make
