"""Commands with bundles that read texts through a transformer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from encoders import Drawn

Run = Callable[..., Any]


@pytest.fixture
def scored(scorer: Run, tiny_frame: Path, mixed_bundle: Drawn, tmp_path: Path) -> Path:
    output = tmp_path / "scored.parquet"
    options = ("--model", mixed_bundle.folder, "--provider", "cpu", "-o", output, "-q")
    ended = scorer("run", tiny_frame, *options)
    assert (ended.code, ended.err) == (0, "")
    return output


def test_a_provider_that_is_not_there_is_told(
    scorer: Run, tiny_frame: Path, mixed_bundle: Drawn
) -> None:
    options = ("--model", mixed_bundle.folder, "--provider", "tpu")
    ended = scorer("run", tiny_frame, *options)
    assert ended.code == 2
    assert ended.err == (
        "Error: --provider tpu: onnxruntime has none of that name here; it has cpu.\n"
        "Name one of these, or install a build of onnxruntime that has it.\n"
    )


@pytest.mark.parametrize("kind", ["token", "mixed"])
def test_scores_of_a_transformer_are_not_taken_apart(
    scorer: Run, tiny_frame: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    folder = request.getfixturevalue(f"{kind}_bundle").folder
    ended = scorer("explain", "W21", "--frame", tiny_frame, "--model", folder)
    assert ended.code == 4
    name = {"token": "tokenizer", "mixed": "mixed"}[kind]
    assert ended.err == (
        f"Error: {folder}: its encoder is {name}; only the scores of n-gram bundles can be taken "
        "apart.\n"
    )


def test_a_work_is_shown_without_its_scores_taken_apart(
    scorer: Run, scored: Path, tiny_frame: Path, mixed_bundle: Drawn
) -> None:
    options = ("--frame", tiny_frame, "--model", mixed_bundle.folder, "--json")
    ended = scorer("show", "W21", "--scores", scored, *options)
    assert (ended.code, ended.err) == (0, "")
    page = json.loads(ended.out)
    assert page["explanation"] is None
    assert page["notes"] == []


def test_a_bundle_tells_its_encoder(scorer: Run, mixed_bundle: Drawn) -> None:
    ended = scorer("models", mixed_bundle.folder)
    assert "\nEncoder: mixed\n" in ended.out
    manifest = json.loads(scorer("models", mixed_bundle.folder, "--json").out)
    assert manifest["encoder"]["kind"] == "mixed"
