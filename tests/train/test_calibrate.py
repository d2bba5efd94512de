"""Calibration: scikit-learn's values, ranks that stay, and what a calibrated bundle tells."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from scorer.engine.job import default_policy
from scorer.labels.sample import Labels, read_label_table
from scorer.policy.policy import Threshold
from scorer.policy.reliability import STEPS, rates, step_of, step_sums
from scorer.student.bundle import Student, load_student
from scorer.student.calibration import CALIBRATION_FILE
from scorer.student.folder import read_card
from scorer.train.calibrate import calibrate, fit_map
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.folds import venue_folds
from scorer.train.learner import Predicted
from scorer.train.quantise import score_table
from scorer.train.trained import TrainRequest

METHODS = ("isotonic", "platt")
ROUNDED = 1e-6
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(seed: int, works: int = 400, *, weighted: bool = True) -> Drawn:
    """Scores, yes and weights: a yes is likelier the higher the score, and rarer than it says."""
    chance = np.random.default_rng(seed)
    at = chance.normal(-1, 2, works)
    positive = chance.random(works) < expit(0.7 * at - 1)
    weight = chance.integers(1, 40, works).astype(float) if weighted else np.ones(works)
    return expit(at).astype(np.float32), positive, weight


def made_unseen(labels: Labels) -> Predicted:
    """Scores that tell a yes now and then, as if heads had made them."""
    logits = np.random.default_rng(0).normal(-1, 1, (labels.works.height, 20))
    names = [(head, target) for head in labels.targets.head_names for target in range(10)]
    for column, (head, place) in enumerate(names):
        if place < len(labels.targets.binary):
            logits[:, column] += labels.positive(head, labels.targets.binary_names[place])
    return Predicted(expit(logits).astype(np.float32), logits)


@pytest.mark.parametrize("seed", range(3))
def test_at_the_centre_of_a_block_stands_the_value_of_isotonic_regression(seed: int) -> None:
    score, positive, weight = drawn(seed)
    found = fit_map("isotonic", score, positive, weight)
    at = logit(score.astype(float))
    expected = IsotonicRegression().fit(at, positive, sample_weight=weight).predict(at)
    seen = 0
    for value in np.unique(expected.round(12)):
        block = np.isclose(expected, value, atol=1e-11)
        if 0 < value < 1:
            centre = expit(np.average(at[block], weights=weight[block])).astype(np.float32)
            assert found.of(np.array([centre]))[0] == pytest.approx(value, abs=1e-3)
            seen += 1
    assert seen > 5


def test_a_block_without_a_yes_stands_at_half_a_work() -> None:
    at = np.array([-3.0, -3.0, -3.0, 1.0, 1.0, 1.0, 1.0])
    positive = np.array([0, 0, 0, 1, 0, 1, 1], bool)
    found = fit_map("isotonic", expit(at).astype(np.float32), positive, np.ones(7))
    ends = found.of(expit(np.array([-3.0, 1.0])).astype(np.float32))
    assert ends.tolist() == pytest.approx([0.5 / 4, 0.75], abs=ROUNDED)


class _Itself(LogisticRegression):
    """A classifier whose decision is its input."""

    def fit(self, x: np.ndarray, y: np.ndarray, **_: object) -> "_Itself":
        self.classes_, self.n_features_in_ = np.unique(y), x.shape[1]
        self.coef_, self.intercept_ = np.ones((1, 1)), np.zeros(1)
        return self


def test_platt_is_scikit_learns_sigmoid_on_the_logit() -> None:
    score, positive, weight = drawn(1, weighted=False)
    at = logit(score.astype(float))[:, np.newaxis]
    sigmoid = CalibratedClassifierCV(_Itself(), method="sigmoid", ensemble=False, cv=2)
    expected = sigmoid.fit(at, positive).predict_proba(at)[:, 1]
    assert fit_map("platt", score, positive, weight).of(score) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_weights_count_as_works_that_are_there_so_many_times(method: str) -> None:
    score, positive, _ = drawn(2, 300)
    times = np.random.default_rng(9).integers(1, 5, 300)
    weighted = fit_map(method, score, positive, times.astype(float))
    rows = np.repeat(np.arange(300), times)
    repeated = fit_map(method, score[rows], positive[rows], np.ones(len(rows)))
    # Kish's number of works differs, and with it what blocks of one kind and Platt's answers are.
    middle = expit(np.linspace(-3, 1, 30)).astype(np.float32)
    assert weighted.of(middle) == pytest.approx(repeated.of(middle), abs=0.02)


@settings(max_examples=40)
@given(st.sampled_from(METHODS), st.integers(0, 10**6), st.integers(2, 120))
def test_works_that_the_head_tells_apart_stay_apart(method: str, seed: int, works: int) -> None:
    score, positive, weight = drawn(seed, works)
    chance = np.random.default_rng(seed)
    if seed % 3 == 0:
        positive = chance.random(works) < 0.5  # a head that knows nothing
    if seed % 7 == 0:
        score = np.where(chance.random(works) < 0.3, 0, score).astype(np.float32)
    found = fit_map(method, score, positive, weight)
    scores = score_table(1 / 1024)
    calibrated = found.of(scores)
    assert (np.diff(calibrated) >= 0).all()
    told = (calibrated > 1e-6) & (calibrated < 0.99) & (scores > 1e-6) & (scores < 0.99)
    assert (np.diff(calibrated[told]) > 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("yes", [False, True])
def test_works_of_one_class_and_heads_that_rank_backwards_make_a_map_that_rises(
    method: str, yes: bool
) -> None:
    score, positive, weight = drawn(4)
    one = fit_map(method, score, np.full(400, yes), weight).of(score)
    assert (one > 0.95).all() if yes else (one < 0.05).all()
    backwards = fit_map(method, score[::-1][np.argsort(np.argsort(score))], positive, weight)
    low, high = backwards.of(np.array([0.05, 0.95], np.float32))
    assert low < high


def test_steps_have_the_error_of_their_sums() -> None:
    score, positive, weight = drawn(5)
    works, scores, yes = step_sums(score, positive, weight)
    rate, mean, error = rates(works, scores, yes)
    expected = 0.0
    for step in range(STEPS):
        there = step_of(score) == step
        assert rate[step] == pytest.approx(np.average(positive[there], weights=weight[there]))
        assert mean[step] == pytest.approx(np.average(score[there], weights=weight[there]))
        expected += weight[there].sum() / weight.sum() * abs(rate[step] - mean[step])
    assert error == pytest.approx(expected)


def test_figures_after_calibration_come_from_maps_that_never_saw_the_work(
    tiny_labels: Path, student: Student
) -> None:
    labels = read_label_table(tiny_labels)
    unseen, folds = made_unseen(labels), venue_folds(labels.works, 5, 0)
    found = calibrate(labels, student.manifest.targets, unseen, "platt", folds)
    judged = labels.judged("gemma", "metaresearch")
    positive, score = labels.positive("gemma", "metaresearch"), unseen.scores[:, 10]
    crossed = np.full(300, np.nan, np.float32)
    for train_rows, test in folds:
        rows = train_rows[judged[train_rows]]
        one = fit_map("platt", score[rows], positive[rows], labels.weight[rows])
        crossed[test] = one.of(score[test])
    pair = found.metrics["calibration"]["pairs"]["gemma/metaresearch"]
    for name, scores in (("error_before", score), ("error_after", crossed)):
        sums = step_sums(scores[judged], positive[judged], labels.weight[judged])
        error = rates(*sums[:, sums[0] > 0])[2]
        assert pair[name] == pytest.approx(float(error), abs=ROUNDED)
    assert np.array_equal(
        found.unseen.scores[:, 10],
        found.calibration.maps["gemma", "metaresearch"].of(score),
    )


def test_without_calibration_nothing_changes(tiny_labels: Path, student: Student) -> None:
    labels = read_label_table(tiny_labels)
    unseen = made_unseen(labels)
    found = calibrate(labels, student.manifest.targets, unseen, None, [])
    assert (found.unseen, found.calibration, found.metrics) == (unseen, None, {})
    assert student.calibration is None
    assert "Calibration" not in read_card(student.folder)


def test_a_calibrated_bundle_ranks_and_calls_as_the_plain_one(
    calibrated_bundle: Path, student: Student, tiny_labels: Path
) -> None:
    calibrated = load_student(calibrated_bundle)
    maps = calibrated.calibration
    assert maps.method == "isotonic"
    assert ("codex", "sts") not in maps.maps, "codex never says sts"
    works = read_label_table(tiny_labels).works
    plain, found = student.score(works).binary, calibrated.score(works).binary
    names = student.manifest.targets.binary_names
    for head in ("codex", "gemma"):
        for place, target in enumerate(names):
            expected = maps.of_pair(head, target, plain[head][:, place])
            assert np.array_equal(found[head][:, place], expected)
    ours, theirs = default_policy(calibrated), default_policy(student)
    seen = 0
    for target in names:
        for head in ("codex", "gemma"):
            one, other = ours.entry(head, target), theirs.entry(head, target)
            assert type(one) is type(other)
            if isinstance(one, Threshold) and isinstance(other, Threshold):
                at = maps.of_pair(head, target, np.array([other.value], np.float32))
                assert np.float32(one.value) == at[0]
                seen += 1
    assert seen > 2
    metrics, before = calibrated.manifest.metrics, student.manifest.metrics
    assert metrics["mean_average_precision"] == before["mean_average_precision"]
    assert metrics["mean_auroc_weighted"] == before["mean_auroc_weighted"]


def test_out_of_fold_scores_are_kept_calibrated(calibrated_bundle: Path, tiny_labels: Path) -> None:
    kept = pl.read_parquet(calibrated_bundle.with_name("unseen.parquet"))
    labels = read_label_table(tiny_labels)
    judged = labels.judged("gemma", "metaresearch")
    weight = labels.weight[judged]
    score = kept["score_gemma_metaresearch"].to_numpy()[judged]
    positive = labels.positive("gemma", "metaresearch")[judged]
    # What a map is fitted on, it meets on the whole.
    share = np.average(positive, weights=weight)
    assert np.average(score, weights=weight) == pytest.approx(share, abs=0.03)


def test_the_bundle_keeps_its_maps_and_says_how_they_were_made(calibrated_bundle: Path) -> None:
    manifest = load_student(calibrated_bundle).manifest
    assert CALIBRATION_FILE in manifest.files
    said = manifest.metrics["calibration"]
    assert said["method"] == "isotonic"
    assert said["mean_error_after"] < said["mean_error_before"]
    assert set(said["pairs"]) == set(manifest.metrics["out_of_fold"])
    for of_when in said["steps"].values():
        assert sum(step["works"] for step in of_when) == pytest.approx(1, abs=1e-4)
    content = json.loads((calibrated_bundle / CALIBRATION_FILE).read_text())
    assert set(content) == {"schema_version", "method", "maps"}


def test_the_card_tells_reliability_and_claims_no_truth(calibrated_bundle: Path) -> None:
    card = read_card(calibrated_bundle)
    section = card[card.index("## Calibration") : card.index("## Who makes calls")]
    words = " ".join(section.split())
    assert "Scores are calibrated to the teachers' labels (`isotonic`)" in words
    assert "centred isotonic regression (Oron and Flournoy, 2017), fitted on the" in words
    assert "with design weights" in words
    assert "how often that is true, no score says" in words
    assert "probability" not in section
    metrics = load_student(calibrated_bundle).manifest.metrics["calibration"]
    mean = f"from **{metrics['mean_error_before']:.4f}** to **{metrics['mean_error_after']:.4f}**"
    assert mean in words
    pair = metrics["pairs"]["gemma/metaresearch"]
    assert (
        f"| gemma | metaresearch | {pair['n_pos']} | {pair['error_before']:.4f} "
        f"| {pair['error_after']:.4f} |"
    ) in section
    assert len(re.findall(r"^\| (?:before|after) \|", section, re.MULTILINE)) > 10
    command = shlex.split(card.split("```sh\n")[1].split("\n```")[0])
    assert command[command.index("--calibrate") + 1] == "isotonic"


def test_a_calibrated_bundle_is_made_anew_in_its_place_to_the_same_bytes(
    make_labels: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    table = make_labels(120).drop("codex_domain", "codex_genre", "gemma_domain", "gemma_genre")
    table.write_parquet(tmp_path / "labels.parquet")
    usual = {"output": tmp_path / "student", "labels": tmp_path / "labels.parquet"}
    recipe = Recipe(ngrams=40, folds=2)
    first = train(TrainRequest(**usual, recipe=recipe, calibrate="platt"))
    assert load_student(tmp_path / "student").calibration.method == "platt"
    assert train(TrainRequest(**usual, recipe=recipe, calibrate="platt", overwrite=True)) == first
