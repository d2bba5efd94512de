"""The picture of an evaluation: the same bytes every time, figures and status in it."""

from pathlib import Path

import pytest

from scorer.decide.sample import LabelFiles
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.review.evaluate import EvaluateRequest, evaluate
from scorer.review.evaluate_results import Evaluation
from scorer.review.plot import FIGURES, draw
from scorer.status import STAMP


@pytest.fixture(scope="module")
def found(
    tiny_labels: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Evaluation:
    """An evaluation of two targets, the second of them with too little support."""
    output = tmp_path_factory.mktemp("plot") / "scored.parquet"
    run(RunRequest(frame=tiny_labels, output=output, model=str(tiny_bundle)))
    targets = ("metaresearch", "sts")
    request = EvaluateRequest(output, targets, labels=LabelFiles(tiny_labels), min_positives=60)
    return evaluate(request)


def test_the_picture_names_targets_figures_and_status(found: Evaluation):
    picture = draw(found, "svg").decode()
    for words in ("Metaresearch", "Science and technology studies", *FIGURES.values(), STAMP):
        assert words in picture
    assert "machine labels, not the truth" in picture
    assert "too little support" in picture


@pytest.mark.parametrize(("kind", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_same_evaluation_makes_the_same_bytes(found: Evaluation, kind: str, begins: bytes):
    picture = draw(found, kind)
    assert picture.startswith(begins)
    assert picture == draw(found, kind)
    assert STAMP.encode() in picture
