"""Labels and scores that no policy can be fitted to, and what the message says."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from fit_cases import PAIR, named, refused

from scorer.decide.fit import fit
from scorer.decide.inputs import FitRequest
from scorer.decide.sample import LabelFiles, Teachers
from scorer.decide.sources import (
    AtPrecision,
    BestFBeta,
    BestWorks,
)
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import RefusedError, UsageError

Request = Callable[..., FitRequest]
Change = Callable[..., Path]


def test_a_precision_out_of_reach_says_what_is(request_for: Request, changed: Change) -> None:
    same = changed(lambda rows: rows.with_columns(score_codex_metaresearch=pl.lit(0.5, pl.Float32)))
    request = request_for(scores=same, exceptions=named(codex__metaresearch=AtPrecision(0.99)))
    assert refused(request) == (
        f"{same}: codex.metaresearch: no threshold reaches a precision of 0.99; 0.275 is the most."
        "\nAsk for less there, or make no calls: --for codex.metaresearch=off"
    )


def test_a_quota_of_no_work_is_refused(request_for: Request, changed: Change) -> None:
    scores = changed(lambda rows: rows.head(1))
    request = request_for(scores=scores, exceptions=named(codex__metaresearch=BestWorks()))
    rate = Teachers.read(request.labels, equal_weights=False).support(*PAIR).rate
    assert refused(request) == (
        f"{scores}: codex.metaresearch: a prevalence of {rate:.4g} among 1 covered works rounds to "
        "no work at all.\nScore a larger frame, or make no calls: --for codex.metaresearch=off"
    )


def test_labels_need_design_weights_or_the_word_that_all_weigh_the_same(
    request_for: Request, tiny_labels: Path, tmp_path: Path
) -> None:
    path = tmp_path / "plain.parquet"
    pl.read_parquet(tiny_labels).drop("weight").write_parquet(path)
    request = request_for(labels=LabelFiles(path), default=BestFBeta(2))
    assert refused(request) == (
        f"{path}: no column 'weight', so nothing says how many works of the frame each one stands "
        "for.\nAdd weight = population / sample, or say --equal-weights: every work then weighs 1."
    )
    equal = fit(request_for(labels=LabelFiles(path), default=BestFBeta(2), equal_weights=True))
    support = equal.policy.entry(*PAIR).support
    assert support.ess_pos == pytest.approx(support.n_pos)


@pytest.mark.parametrize("weight", [-1.0, 0.0, float("inf"), None])
def test_weights_that_are_none_are_refused(
    request_for: Request, tiny_labels: Path, tmp_path: Path, weight: float | None
) -> None:
    path = tmp_path / "bad.parquet"
    first = pl.int_range(pl.len()) == 0
    pl.read_parquet(tiny_labels).with_columns(
        weight=pl.when(first).then(pl.lit(weight, pl.Float64)).otherwise("weight")
    ).write_parquet(path)
    assert refused(request_for(labels=LabelFiles(path), default=BestFBeta(2))) == (
        f"bad.parquet: 1 weight is missing, infinite or not over 0, first in row 0 (counted from "
        f"0): {weight}.\nA design weight is population / sample."
    )


def test_scores_of_no_labelled_work_are_refused(request_for: Request, changed: Change) -> None:
    scores = changed(lambda rows: rows.with_columns(id=pl.lit("X") + pl.col("id")))
    assert refused(request_for(scores=scores, default=BestFBeta(2))) == (
        f"{scores}: has none of the 300 labelled works; their ids begin W1, W2, W3, W4, W5, ….\n"
        "Score a frame that holds them: scorer run"
    )


def test_positives_without_a_score_are_refused(request_for: Request, changed: Change) -> None:
    scores = changed(lambda rows: rows.filter(pl.col("id") == "W8"))
    assert refused(
        request_for(scores=scores, exceptions=named(codex__metaresearch=BestFBeta(2)))
    ) == (
        f"{scores}: codex.metaresearch: no work that the teacher said yes to has a score and a "
        "usable title there.\n"
        "Score the labelled works, or make no calls: --for codex.metaresearch=off"
    )


def test_a_head_without_labels_is_named(
    request_for: Request, tiny_labels: Path, tmp_path: Path
) -> None:
    path = tmp_path / "one.parquet"
    table = pl.read_parquet(tiny_labels)
    table.drop([name for name in table.columns if name.startswith("gemma_")]).write_parquet(path)
    assert refused(request_for(labels=LabelFiles(path), default=BestFBeta(2))) == (
        f"{path}: no labels of the head 'gemma'; it has labels of codex.\n"
        "A head's threshold is fitted to the labels of its own teacher."
    )


def test_scores_are_needed(request_for: Request) -> None:
    assert refused(request_for(scores=None, default=BestFBeta(2)), UsageError) == (
        "Thresholds need scores: give --scores SCORED, --out-of-fold FILE or both."
    )


def test_scores_of_a_student_that_still_moves_are_refused(
    request_for: Request, immature_bundle: Path, tiny_labels: Path, tmp_path: Path
) -> None:
    scores = tmp_path / "early.parquet"
    run(RunRequest(frame=tiny_labels, output=scores, model=str(immature_bundle), baseline=True))
    message = refused(request_for(scores=scores, default=BestFBeta(2)), RefusedError)
    assert message.startswith(f"{scores}: says score_only:")


def test_a_score_that_is_no_number_is_refused(request_for: Request, changed: Change) -> None:
    first = pl.int_range(pl.len()) == 0
    scores = changed(
        lambda rows: rows.with_columns(
            score_codex_sts=pl.when(first).then(pl.lit(float("nan"), pl.Float32)).otherwise(0.5)
        )
    )
    assert refused(request_for(scores=scores, default=BestFBeta(2))).startswith(
        f"{scores}: column 'score_codex_sts', row 0 (counted from 0): the score is nan, expected 0"
    )
