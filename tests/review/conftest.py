"""Scored files for review: of the tiny frame, of odd texts, and others made from them."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.manifest import Output, manifest_path, read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run

ODD_TITLES = {
    "=HYPERLINK(1)": "=1+1 is a title that begins as a formula",
    "+4915": "+49 of journals, a title that begins with a sign",
    "-1": "-1 degree of peer review in journals",
    "@peer": "@peer review of bees and of citation impact",
    "'=x": "'=quoted already, a title with an apostrophe",
    "W1": '<script>alert("citation")</script> impact & <i>journals</i>',
    "W2": "“Quotes”, 'single' and \"double\"; semicolons, commas",
    "W3": "مراجعة الأقران في المجلات العلمية",
    "W4": "long " * 1000,
    "W5": "a title\twith a tab\nand TY  - JOUR\r\nER  - in lines of its own\u2028and one more",
}


@pytest.fixture(scope="session")
def scored(tiny_frame: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny frame, scored, with its column `doi`."""
    output = tmp_path_factory.mktemp("scored") / "tiny.scored.parquet"
    run(RunRequest(frame=tiny_frame, output=output, model=str(tiny_bundle), keep=("doi",)))
    return output


@pytest.fixture(scope="session")
def odd_frame(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Works whose ids, titles and abstracts are what spreadsheets and browsers stumble over."""
    path = tmp_path_factory.mktemp("odd") / "odd.parquet"
    titles = pl.DataFrame({"id": list(ODD_TITLES), "title": list(ODD_TITLES.values())})
    titles.with_columns(
        abstract=pl.format("=SUM(A1) of {}", "id"),
        venue=pl.lit("@Journal"),
        year=pl.lit(2020),
        lang=pl.lit("en"),
        type=pl.lit("article"),
    ).write_parquet(path)
    return path


@pytest.fixture(scope="session")
def odd_scored(odd_frame: Path, tiny_bundle: Path) -> Path:
    """Those works, scored."""
    output = odd_frame.with_name("odd.scored.parquet")
    run(RunRequest(frame=odd_frame, output=output, model=str(tiny_bundle)))
    return output


@pytest.fixture(scope="session")
def made_frame(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A frame of 900 made works, to draw samples from."""
    path = tmp_path_factory.mktemp("made") / "made.parquet"
    works = make_labels(900, seed=5)
    works.select("id", "title", "venue", "topic", "field", "lang", "type", "year").write_parquet(
        path
    )
    return path


@pytest.fixture(scope="session")
def made_scored(made_frame: Path, tiny_bundle: Path) -> Path:
    """Those works, scored."""
    output = made_frame.with_name("made.scored.parquet")
    run(RunRequest(frame=made_frame, output=output, model=str(tiny_bundle)))
    return output


@pytest.fixture
def scores_alone(tiny_frame: Path, immature_bundle: Path, tmp_path: Path) -> Path:
    """The tiny frame, scored by a student whose maturity gate has not passed."""
    output = tmp_path / "alone.scored.parquet"
    request = RunRequest(frame=tiny_frame, output=output, model=str(immature_bundle), baseline=True)
    run(request)
    return output


@pytest.fixture
def remade(tmp_path: Path) -> Callable[[Path, Callable[[pa.Table], pa.Table]], Path]:
    """Change a scored file's rows, its manifest true: `remade(path, change)`."""

    def make(path: Path, change: Callable[[pa.Table], pa.Table]) -> Path:
        output = tmp_path / f"remade.{path.name}"
        table = change(pq.read_table(path))
        pq.write_table(table, output, row_group_size=50)
        manifest = read_manifest(path)
        manifest_path(output).write_text(
            manifest.model_copy(update={"output": Output.of(output)}).model_dump_json()
        )
        return output

    return make
