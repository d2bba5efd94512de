"""Samples drawn and evaluated again and again: limits hold the truth as often as they say.

A small version of benchmarks/audit_coverage.py.
"""

from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import binomtest
from sklearn.metrics import average_precision_score, precision_score, recall_score

from scorer.decide.sample import scored_examples
from scorer.policy.calls import COVERED
from scorer.review.bootstrap import Design
from scorer.review.bootstrap_interval import Figure
from scorer.review.evaluate import EvaluateRequest, sections
from scorer.review.evaluate_coders import CoderJudges
from scorer.review.evaluate_questions import questions
from scorer.review.sample import SampleRequest, sample
from scorer.review.scores import Scores

TARGET = "metaresearch"
CODER = "coder 1"
SEEDS = 40


def audited(scores: Scores, answers: pl.DataFrame, seed: int) -> tuple[Figure, ...]:
    """Draw 200 works and return prevalence and the consensus's figures."""
    key = sample(SampleRequest(scores.path, 200, target=TARGET, seed=seed)).key
    said = key.join(answers, on="id", maintain_order="left")["yes"]
    judges = CoderJudges(
        works=key,
        design=Design.of(key["weight"].to_numpy(), key["stratum"], finite=True),
        names=(CODER,),
        asked=(TARGET,),
        drawn_from={},
        said={(CODER, TARGET): said.cast(pl.Int8).to_numpy()},
    )
    asked = questions(scores, judges, scored_examples(scores.scored, key["id"]), [TARGET])
    request = EvaluateRequest(scores.path, sheets=(scores.path,), replicates=200, seed=seed)
    (section,) = sections(asked, judges, [np.ones(key.height, bool)], request)
    compared = section.compared[TARGET]["consensus"]
    rate = section.prevalence[TARGET][CODER].share
    return rate, compared.precision, compared.recall, compared.average_precision


def test_limits_hold_the_truth_as_often_as_they_should(made_scored: Path):
    rows = pl.read_parquet(made_scored).filter(pl.col("segment") == COVERED)
    scored = f"^score_.*_{TARGET}$"
    mean, lowest = (
        rows.select(over(scored)).to_series().to_numpy()
        for over in (pl.mean_horizontal, pl.min_horizontal)
    )
    yes = np.random.default_rng(1).random(rows.height) < 0.05 + 0.9 * mean
    called = rows["consensus_categories"].list.contains(TARGET).to_numpy()
    truth = (
        yes.mean(),
        precision_score(yes, called),
        recall_score(yes, called),
        average_precision_score(yes, lowest),
    )
    scores = Scores.open(made_scored)
    answers = rows.select("id", yes=pl.Series(yes))
    found = [audited(scores, answers, seed) for seed in range(SEEDS)]
    values = np.array([[figure.value for figure in figures] for figures in found])
    limits = np.array([[(figure.low, figure.high) for figure in figures] for figures in found])
    held = ((limits[..., 0] <= truth) & (truth <= limits[..., 1])).sum(axis=0)
    assert all(binomtest(int(times), SEEDS, 0.95).pvalue > 0.01 for times in held), held
    assert held.sum() < held.size * SEEDS, "limits that always hold are too wide"
    error = values.std(axis=0) / np.sqrt(SEEDS)
    assert (np.abs(values.mean(axis=0) - truth) < 4 * error + 0.01).all()
