"""What the engine's tests share: a request to change, and the tiny frame scored once."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import scorer.engine.job
from scorer.engine.call import CallRequest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.trained import TrainRequest


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


@pytest.fixture
def call_for(parted: Path, tmp_path: Path) -> Callable[..., CallRequest]:
    """Make a request to call the tiny frame's scores anew, to `called.parquet`, with changes."""

    def make(**changes: object) -> CallRequest:
        settings = {"scores": parted, "output": tmp_path / "called.parquet"}
        return CallRequest(**(settings | changes))

    return make


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts of 64 works, so that a tiny frame has several."""
    monkeypatch.setattr(scorer.engine.job, "TITLES_A_BATCH", 64)


@pytest.fixture(scope="session")
def scored(tiny_frame: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny frame scored once, its manifest beside it; tests leave both as they are."""
    output = tmp_path_factory.mktemp("scored") / "out.parquet"
    run(RunRequest(frame=tiny_frame, output=output, model=str(tiny_bundle)))
    return output


@pytest.fixture(scope="session")
def undisturbed(
    tiny_frame: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The sha256 of a run that nothing disturbed."""
    output = tmp_path_factory.mktemp("undisturbed") / "out.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorer.engine.job, "TITLES_A_BATCH", 64)
        return run(
            RunRequest(frame=tiny_frame, output=output, model=str(tiny_bundle))
        ).output.sha256


@pytest.fixture(scope="session")
def parted(tiny_frame: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny frame scored once in row groups of 64 works, `doi` and `year` kept."""
    output = tmp_path_factory.mktemp("parted") / "tiny.scored.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorer.engine.job, "TITLES_A_BATCH", 64)
        keep = ("doi", "year")
        run(RunRequest(frame=tiny_frame, output=output, model=str(tiny_bundle), keep=keep))
    return output


@pytest.fixture(scope="session")
def three_heads(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Folder of a bundle with three heads; the third is often of another mind."""
    folder = tmp_path_factory.mktemp("three")
    labels, other = make_labels(180), make_labels(180, seed=3)
    labels.drop("codex_domain", "gemma_domain").with_columns(
        third_categories=pl.when(pl.int_range(pl.len()) % 3 == 0)
        .then(other["gemma_categories"])
        .otherwise("codex_categories"),
        third_genre=pl.lit("review"),
        third_about_ca_topic=pl.col("gemma_about_ca_topic"),
    ).write_parquet(folder / "labels.parquet")
    train(
        TrainRequest(
            output=folder / "three", labels=folder / "labels.parquet", recipe=Recipe(ngrams=60)
        )
    )
    return folder / "three"


@pytest.fixture(scope="session")
def label_files(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Head -> labels of the tiny frame's works, every fifth left out, and of three strangers."""
    folder = tmp_path_factory.mktemp("direct")
    table = make_labels(203, seed=1).with_row_index("row").filter(pl.col("row") % 5 != 4)
    files = {}
    for head in ("codex", "gemma"):
        path = files[head] = folder / f"{head}.parquet"
        names = ("categories", "domain", "genre", "about_ca_topic")
        table.select("id", *(pl.col(f"{head}_{name}").alias(name) for name in names)).write_parquet(
            path
        )
    return files


@pytest.fixture(scope="session")
def excluded_ids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every fourth work of the tiny frame, the first (without a title) too, and a stranger."""
    path = tmp_path_factory.mktemp("excluded") / "labelled.txt"
    path.write_text("\n".join(["id", *(f"W{n}" for n in range(1, 201, 4)), "W9999"]))
    return path
