"""`train --encoder`, `--mixed`, `--ensemble` as a shell sees them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.student.folder import load_manifest

Run = Callable[..., Any]


def test_an_ensemble_trains_a_bundle_that_runs(
    scorer: Run, labels_without_axes: Path, tiny_encoder: Path, tiny_frame: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "mine"
    words = ("train", labels_without_axes, "-o", bundle, "--ngrams", "60")
    ended = scorer(*words, "--ensemble", tiny_encoder, "--unlabelled", tiny_frame)
    assert ended.code == 0, ended.err
    lines = ended.err.splitlines()
    learned = load_manifest(bundle).training.distillation
    assert learned is not None
    (data,) = learned.unlabelled
    assert any(
        line.startswith(f"tiny.parquet: {data.learned_from} unlabelled works") for line in lines
    )
    assert "embedding 150 labelled works" in lines
    assert f"embedding {data.learned_from} unlabelled works" in lines
    assert ended.out.endswith(f"Next: scorer run FRAME --model {bundle}\n")
    scored = tmp_path / "scored.parquet"
    assert scorer("run", tiny_frame, "--model", bundle, "-o", scored).code == 0
    assert pl.read_parquet(scored)["score_codex_metaresearch"].n_unique() > 10


def test_a_mixed_bundle_runs(
    scorer: Run, labels_without_axes: Path, tiny_encoder: Path, tiny_frame: Path, tmp_path: Path
) -> None:
    bundle, scored = tmp_path / "mine", tmp_path / "scored.parquet"
    words = (
        "train",
        labels_without_axes,
        "-o",
        bundle,
        "--ngrams",
        "60",
        "--encoder",
        tiny_encoder,
        "--mixed",
    )
    ended = scorer(*words)
    assert ended.code == 0, ended.err
    assert load_manifest(bundle).encoder.kind == "mixed"
    assert scorer("run", tiny_frame, "--model", bundle, "-o", scored).code == 0
    assert pl.read_parquet(scored)["score_codex_metaresearch"].n_unique() > 10


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--encoder", "here", "--ensemble", "here"),
            "Give either --encoder or --ensemble: one bundle is made at a time.",
        ),
        (("--mixed",), "--mixed needs --encoder DIR."),
        (
            ("--encoder", "here", "--search"),
            "--search varies what a student of n-grams reads; heads on an encoder have one "
            "recipe.\nLeave --search out, or distil: --ensemble DIR --unlabelled FRAME.",
        ),
        (
            ("--encoder", "here", "--ngrams", "60"),
            "--ngrams: heads on an encoder alone read none.\nLeave it out, or add --mixed.",
        ),
        (("--unlabelled", "frame.parquet"), "--unlabelled needs --ensemble DIR."),
        (("--encoder", "here", "--soft-weight", "2"), "--soft-weight needs --ensemble DIR."),
        (
            ("--ensemble", "here"),
            "--ensemble needs --unlabelled FRAME: works that the ensemble scores, for the n-grams "
            "to learn from.",
        ),
    ],
)
def test_options_that_do_not_fit_together_are_told(
    scorer: Run, labels_without_axes: Path, tmp_path: Path, options: tuple[str, ...], told: str
) -> None:
    ended = scorer("train", labels_without_axes, "-o", tmp_path / "mine", *options)
    assert (ended.code, ended.err) == (2, f"Error: {told}\n")
    assert not (tmp_path / "mine").exists()


def test_a_folder_without_an_encoder_is_told(
    scorer: Run, labels_without_axes: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    ended = scorer(
        "train", labels_without_axes, "-o", tmp_path / "mine", "--encoder", tmp_path / "empty"
    )
    assert ended.code == 4
    assert ended.err.endswith(
        f"Error: {tmp_path}/empty/model.onnx: missing. An encoder's folder holds model.onnx and "
        "tokenizer.json.\n"
    )


def test_a_file_of_the_folder_is_not_the_folder(
    scorer: Run, labels_without_axes: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"graph")
    ended = scorer("train", labels_without_axes, "-o", tmp_path / "mine", "--encoder", model)
    assert ended.code == 4
    assert ended.err.endswith(
        f"Error: {model}: a file, expected the folder with model.onnx and tokenizer.json.\n"
        f"Name the folder: {tmp_path}\n"
    )


@pytest.mark.parametrize(
    ("venues", "options", "told"),
    [
        (1, ("--encoder",), "60 works in 1 venue are too few for 5 folds."),
        (
            5,
            ("--unlabelled", "frame", "--ensemble"),
            "60 works in 5 venues are too few for --ensemble, which parts them into 5 folds, and "
            "the rest of each again.",
        ),
        (
            3,
            ("--search", "--unlabelled", "frame", "--ensemble"),
            "60 works in 3 venues are too few for --search, which parts them into 5 folds, and "
            "the rest of each into 3.",
        ),
    ],
)
def test_too_few_venues_are_told_before_anything_is_embedded(
    *,
    scorer: Run,
    make_labels: Callable[..., pl.DataFrame],
    tiny_encoder: Path,
    tiny_frame: Path,
    tmp_path: Path,
    venues: int,
    options: tuple[str, ...],
    told: str,
) -> None:
    labels = tmp_path / "labels.parquet"
    venue = pl.int_range(pl.len()).mod(venues).cast(pl.String)
    make_labels(60).with_columns(venue=venue).write_parquet(labels)
    words = [tiny_frame if word == "frame" else word for word in options]
    ended = scorer("train", labels, "-o", tmp_path / "mine", *words, tiny_encoder)
    assert ended.code == 3
    assert f"Error: {told}\nLabel works of more venues" in ended.err
    assert "embedding" not in ended.err
    assert not (tmp_path / "mine").exists()


def test_labels_that_make_no_new_round_are_told_before_anything_is_embedded(
    scorer: Run, labels_without_axes: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    words = ("train", labels_without_axes, "-o", tmp_path / "mine")
    words += ("--overwrite", "--rounds-state", tmp_path / "rounds.json", "--encoder", tiny_encoder)
    assert scorer(*words).code == 0
    ended = scorer(*words)
    assert ended.code == 3
    assert "the labels of round 1, unchanged" in ended.err
    assert "embedding" not in ended.err


@pytest.mark.parametrize("place", ["frame.parquet", "encoder/tokenizer.json"])
def test_out_of_fold_scores_are_written_over_no_input(
    scorer: Run, labels_without_axes: Path, tiny_encoder: Path, tmp_path: Path, place: str
) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "encoder")
    pl.DataFrame({"id": ["X"], "title": ["A title to learn from"]}).write_parquet(
        tmp_path / "frame.parquet"
    )
    path = tmp_path / place
    before = path.read_bytes()
    words = ("--ensemble", tmp_path / "encoder", "--unlabelled", tmp_path / "frame.parquet")
    words += ("--out-of-fold", path, "--overwrite")
    ended = scorer("train", labels_without_axes, "-o", tmp_path / "mine", *words)
    assert (ended.code, ended.err) == (
        2,
        f"Error: {path}: the input itself cannot be the output. Choose another -o.\n",
    )
    assert path.read_bytes() == before
