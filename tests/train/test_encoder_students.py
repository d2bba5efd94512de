"""Students that an encoder helps to make: heads on it, mixed ones, n-grams distilled from both."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from scorer.errors import BundleError, InputError, UsageError
from scorer.labels.sample import Labels, read_label_table
from scorer.student.bundle import load_student
from scorer.student.folder import read_card
from scorer.student.manifest import Manifest, TrainingData
from scorer.student.transformer.encoder_folder import EncoderFolder
from scorer.train.crossfit import out_of_fold
from scorer.train.distil import train
from scorer.train.distilled import DistilledLearner, EmbeddedFrame, balanced
from scorer.train.embedded import Embedded, embed
from scorer.train.encoder_heads import EncoderLearner
from scorer.train.fit import Recipe
from scorer.train.folds import venue_folds
from scorer.train.learner import Learner
from scorer.train.search_table import table_path
from scorer.train.trained import EncoderRequest, SearchRequest, TrainRequest

RECIPE = Recipe(ngrams=80, folds=2)
WORKS = 150
Make = Callable[..., tuple[Path, Manifest]]


@pytest.fixture(scope="module")
def labels_file(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("encoded") / "labels.parquet"
    make_labels(WORKS).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def labels(labels_file: Path) -> Labels:
    return read_label_table(labels_file)


@pytest.fixture(scope="module")
def unlabelled_file(
    make_labels: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("unlabelled") / "titles.parquet"
    works = make_labels(200, seed=5).select("id", "title")
    works.with_columns(id=pl.lit("U") + pl.col("id").str.slice(21)).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def embedded(labels: Labels, tiny_encoder: Path) -> Embedded:
    return Embedded.of(EncoderFolder.open(tiny_encoder), labels.works)


@pytest.fixture(scope="module")
def distilled(labels: Labels, embedded: Embedded, unlabelled_file: Path) -> DistilledLearner:
    works = pl.read_parquet(unlabelled_file)
    return DistilledLearner(
        RECIPE, embedded, [EmbeddedFrame(works, embed(embedded.encoder, works))]
    )


@pytest.fixture
def make(labels_file: Path, tiny_encoder: Path, unlabelled_file: Path, tmp_path: Path) -> Make:
    """Train a student: `make("mixed")`, `make("ensemble", folder=..., name=...)`."""

    def made(use: Any, name: str = "student", **changes: Any) -> tuple[Path, Manifest]:
        frames = (unlabelled_file,) if use == "ensemble" else ()
        asked = replace(EncoderRequest(tiny_encoder, use, frames), **changes)
        request = TrainRequest(
            output=tmp_path / name, labels=labels_file, name="made", recipe=RECIPE, encoder=asked
        )
        return request.output, train(request)

    return made


@pytest.mark.parametrize("use", ["heads", "mixed"])
def test_the_bundle_gives_the_scores_that_training_reckons_with(
    use: Any, make: Make, labels: Labels, embedded: Embedded
) -> None:
    folder, manifest = make(use)
    learned = EncoderLearner(RECIPE, embedded, use == "mixed").learn(labels, np.arange(WORKS))
    expected = learned.predict(labels.works).scores
    width = expected.shape[1] // 2
    scored = load_student(folder).score(labels.works)
    for number, head in enumerate(("codex", "gemma")):
        found = scored.binary[head]
        start = number * width
        assert found == pytest.approx(expected[:, start : start + found.shape[1]], abs=1e-5)
    assert scored.binary["codex"].max() > 0.7
    assert manifest.encoder.kind == ("tokenizer" if use == "heads" else "mixed")
    assert manifest.training.encoder_sha256 == embedded.encoder.sha256
    assert manifest.training.distillation is None
    card = " ".join(read_card(folder).split())
    assert f"sha256 `{embedded.encoder.sha256}`" in card
    option = "--mixed --encoder tiny" if use == "mixed" else "--encoder tiny"
    assert f"{option} ```" in card


@pytest.mark.parametrize("use", ["heads", "mixed", "ensemble"])
def test_the_same_inputs_give_the_same_bytes(use: Any, make: Make) -> None:
    first, one = make(use, name="first")
    second, two = make(use, name="second")
    assert one.version == two.version
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_a_distilled_student_is_an_ngram_bundle_that_names_its_teachers(
    make: Make, embedded: Embedded, unlabelled_file: Path
) -> None:
    folder, manifest = make("ensemble", soft_weight=0.5)
    assert manifest.encoder.kind == "ngram"
    assert 0 < manifest.encoder.ngrams <= 80
    assert sorted(path.name for path in folder.iterdir()) == [
        *("README.md", "bundle.json", "model.onnx", "policy.json", "vocabulary.parquet")
    ]
    learned = manifest.training.distillation
    assert learned is not None
    assert (learned.soft_weight, learned.own_share) == (0.5, 0.5)
    (data,) = learned.unlabelled
    assert (data.file, data.rows) == ("titles.parquet", 200)
    assert data.learned_from == 200 - data.repeated - data.untitled - data.labelled
    assert manifest.training.encoder_sha256 == embedded.encoder.sha256
    card = " ".join(read_card(folder).split())
    for said in (
        "--ensemble tiny --unlabelled titles.parquet --soft-weight 0.5",
        f"sha256 `{embedded.encoder.sha256}`",
        "All unlabelled works together count 0.5 times as much as all labelled ones",
        f"| titles.parquet | 200 | {data.learned_from} |",
        f"`{data.sha256}`",
    ):
        assert said in card, said
    scores = load_student(folder).score(pl.read_parquet(unlabelled_file)).binary["codex"]
    assert len(np.unique(scores[:, 0])) > 50


def test_no_label_of_a_fold_reaches_the_heads_that_score_it(
    labels: Labels,
    distilled: DistilledLearner,
    embedded: Embedded,
    labels_file: Path,
    tmp_path: Path,
) -> None:
    """Turned round, a fold's labels change nothing in what is learned from the others."""
    train_rows, test_rows = venue_folds(labels.works, RECIPE.folds, RECIPE.seed)[0]
    mine = pl.Series(np.isin(np.arange(WORKS), test_rows))
    table = pl.read_parquet(labels_file)
    other = pl.when(pl.col("codex_categories").list.len() > 0).then(pl.lit([], pl.List(pl.String)))
    turned = other.otherwise(pl.lit(["metaresearch", "bibliometrics"]))
    table.with_columns(
        codex_categories=pl.when(mine).then(turned).otherwise("codex_categories"),
        gemma_about_ca_topic=pl.when(mine)
        .then(~pl.col("gemma_about_ca_topic"))
        .otherwise("gemma_about_ca_topic"),
    ).write_parquet(tmp_path / "turned.parquet")
    changed = read_label_table(tmp_path / "turned.parquet")
    assert changed.targets == labels.targets
    learners: list[Learner] = [distilled, EncoderLearner(RECIPE, embedded, mixed=True)]
    for learner in learners:
        one = learner.learn(labels, train_rows).predict(labels.works[test_rows])
        two = learner.learn(changed, train_rows).predict(labels.works[test_rows])
        assert np.array_equal(one.logits, two.logits, equal_nan=True)


def test_unlabelled_works_teach_words_that_no_label_holds(
    labels: Labels, distilled: DistilledLearner
) -> None:
    """A word that stands beside the words of a category wherever it stands."""
    told = pl.DataFrame(
        {
            "id": [f"N{n}" for n in range(40)],
            "title": [
                "The zyzzogeton of peer review replication trials"
                if n % 2
                else "The quokka of bees taxes enzymes orbit"
                for n in range(40)
            ],
        }
    )
    encoder = distilled.embedded.encoder
    frame = EmbeddedFrame(told, embed(encoder, told))
    learner = replace(distilled, recipe=replace(RECIPE, ngrams=2000), unlabelled=[frame])
    learned = learner.learn(labels, np.arange(WORKS))
    words = pl.DataFrame(
        {"id": ["a", "b"], "title": ["A zyzzogeton and nothing", "A quokka and nothing"]}
    )
    column = labels.targets.binary_names.index("metaresearch")
    first, second = learned.predict(words).logits[:, column]
    assert first > second + 0.1


def test_every_kind_learns(labels: Labels, distilled: DistilledLearner, embedded: Embedded) -> None:
    column = labels.targets.binary_names.index("metaresearch")
    positive = labels.positive("codex", "metaresearch")
    for learner in (distilled, EncoderLearner(RECIPE, embedded, mixed=False)):
        scores = out_of_fold(labels, learner).scores[:, column]
        assert roc_auc_score(positive, scores) > 0.8


def test_a_head_learns_nothing_from_what_the_other_teacher_thinks(
    labels_file: Path, labels: Labels, distilled: DistilledLearner, tmp_path: Path
) -> None:
    """Two opinions stay two: whatever gemma says, codex's head is the same."""
    turned = pl.read_parquet(labels_file).with_columns(pl.col("gemma_categories").reverse())
    turned.write_parquet(tmp_path / "turned.parquet")
    learner = replace(distilled, recipe=replace(RECIPE, ngrams=100_000))  # no choice to make
    rows, found = np.arange(WORKS), []
    for one in (labels, read_label_table(tmp_path / "turned.parquet")):
        scores = learner.learn(one, rows).predict(labels.works).scores
        found.append(np.split(scores[:, : 2 * (scores.shape[1] // 2)], 2, axis=1))
    (codex, gemma), (same, other) = found
    assert same == pytest.approx(codex, abs=0.02)
    assert np.abs(other - gemma).max() > 0.2


def test_likely_positives_weigh_as_much_as_likely_negatives() -> None:
    shares = np.array([[0.9], [0.1], [0.1], [0.1]], np.float32)
    weights = balanced(shares)
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > weights[1] == weights[2] == weights[3]


def test_a_plain_manifest_says_nothing_of_encoders() -> None:
    data = TrainingData(
        rows=1, heads=("codex",), source="s", licence="l", attribution="a", sha256="0"
    )
    assert set(data.model_dump()) == {
        *("rows", "heads", "source", "licence", "attribution", "sha256")
    }


def test_an_ensemble_without_unlabelled_works_is_refused(make: Make) -> None:
    with pytest.raises(UsageError) as refused:
        make("ensemble", unlabelled=())
    assert str(refused.value) == (
        "--ensemble needs --unlabelled FRAME: works that the ensemble scores, for the n-grams to "
        "learn from."
    )


def test_too_few_venues_for_the_ensembles_folds_are_told(
    distilled: DistilledLearner, labels: Labels
) -> None:
    rows = np.flatnonzero(labels.works["venue"].is_in(["Journal 1", "Journal 2"]).to_numpy())
    with pytest.raises(InputError, match=rf"{len(rows)} works in 2 venues are too few for 5 folds"):
        distilled.learn(labels, rows)


def test_a_folder_that_is_no_encoder_is_told_before_anything_is_embedded(
    make: Make, tmp_path: Path, tiny_encoder: Path
) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "half")
    (tmp_path / "half" / "tokenizer.json").unlink()
    with pytest.raises(BundleError, match=r"An encoder's folder holds model\.onnx and"):
        make("heads", folder=tmp_path / "half")
    assert not (tmp_path / "student").exists()


def test_a_search_of_a_distilled_student_chooses_its_soft_weight_too(
    searchable: Path, tiny_encoder: Path, unlabelled_file: Path, tmp_path: Path
) -> None:
    manifest = train(
        TrainRequest(
            output=tmp_path / "student",
            labels=searchable,
            recipe=RECIPE,
            encoder=EncoderRequest(tiny_encoder, "ensemble", (unlabelled_file,)),
            search=SearchRequest(trials=2),
        )
    )
    trials = pl.read_parquet(table_path(tmp_path / "student"))
    assert set(trials["trial"]) == {1, 2, 3}
    assert set(trials["soft_weight"]) <= {0.5, 1.0, 2.0}
    chosen = trials.filter(stage="bundle").filter("chosen")["soft_weight"].item()
    assert manifest.training.distillation is not None
    assert manifest.training.distillation.soft_weight == chosen
    assert manifest.training.search is not None
    assert manifest.training.search.chosen.get("soft_weight", 1.0) == chosen


def test_a_recipe_with_a_soft_weight_takes_the_place_of_the_learners(
    distilled: DistilledLearner,
) -> None:
    assert distilled.with_recipe(RECIPE).soft_weight == distilled.soft_weight
    assert distilled.with_recipe(replace(RECIPE, soft_weight=2.0)).soft_weight == 2.0


@pytest.mark.parametrize("use", ["heads", "mixed"])
def test_heads_on_an_encoder_are_not_searched(
    labels_file: Path, tiny_encoder: Path, tmp_path: Path, use: Any
) -> None:
    with pytest.raises(UsageError) as refused:
        train(
            TrainRequest(
                output=tmp_path / "student",
                labels=labels_file,
                encoder=EncoderRequest(tiny_encoder, use),
                search=SearchRequest(),
            )
        )
    assert str(refused.value) == (
        "--search varies what a student of n-grams reads; heads on an encoder have one recipe.\n"
        "Leave --search out, or distil: --ensemble DIR --unlabelled FRAME."
    )
    assert list(tmp_path.iterdir()) == []
