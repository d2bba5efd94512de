"""Training end to end: folds, metrics, policy, bundle, card; the same inputs, the same bytes."""

import inspect
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, fbeta_score, roc_auc_score

import scorer.train.learner
from scorer.cli.train import train as train_command
from scorer.engine.batch import score_batch
from scorer.engine.job import default_policy
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError, OutputError, ScorerError
from scorer.labels.sample import Labels, read_label_table
from scorer.policy.policy import Policy
from scorer.student.bundle import Student, load_student
from scorer.student.folder import load_manifest, read_card
from scorer.student.manifest import Manifest
from scorer.train.crossfit import out_of_fold
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.folds import venue_folds
from scorer.train.learner import NgramLearner, Predicted
from scorer.train.metrics import counted_pairs, mean_over_pairs, pair_metrics
from scorer.train.quantise import score_table
from scorer.train.trained import SearchRequest, TrainRequest

MakeLabels = Callable[..., pl.DataFrame]
OUTPUTS = 2 * (6 + 2 + 2)


@pytest.fixture
def trained(tmp_path: Path) -> Callable[..., Manifest]:
    """Train from a table to `tmp_path/student`: `trained(table, name=..., recipe=...)`."""

    def make(table: pl.DataFrame, **settings: Any) -> Manifest:
        table.write_parquet(tmp_path / "labels.parquet")
        request = {"output": tmp_path / "student", "labels": tmp_path / "labels.parquet"}
        return train(TrainRequest(**(request | settings)))

    return make


@pytest.fixture(scope="module")
def labels(tiny_labels: Path) -> Labels:
    return read_label_table(tiny_labels)


@pytest.fixture(scope="module")
def unseen(labels: Labels) -> Predicted:
    return out_of_fold(labels, NgramLearner(Recipe()))


def test_the_same_labels_give_the_same_bytes(
    tiny_bundle: Path, tiny_labels: Path, tmp_path: Path
) -> None:
    again = tmp_path / "tiny"
    with joblib.parallel_config(backend="loky"):
        manifest = train(
            TrainRequest(output=again, labels=tiny_labels, licence="CC0", attribution="nobody")
        )
    assert manifest.version == load_manifest(tiny_bundle).version
    assert sorted(path.name for path in again.iterdir()) == [
        *("README.md", "bundle.json", "model.onnx", "policy.json", "vocabulary.parquet"),
    ]
    for path in again.iterdir():
        assert path.read_bytes() == (tiny_bundle / path.name).read_bytes(), path.name


def test_folds_keep_venues_whole_and_score_every_work_once(
    labels: Labels, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_heads, seen = scorer.train.learner.fit_heads, []

    def spy(labels: Labels, rows: np.ndarray, recipe: Recipe) -> Any:
        seen.append(rows)
        return fit_heads(labels, rows, recipe)

    monkeypatch.setattr(scorer.train.learner, "fit_heads", spy)
    out_of_fold(labels, NgramLearner(Recipe(ngrams=50)))
    everyone = set(range(300))
    held_out = [everyone - set(rows.tolist()) for rows in seen]
    assert len(seen) == 5
    assert sorted(row for rows in held_out for row in rows) == sorted(everyone)
    venues = labels.works["venue"]
    for rows, out in zip(seen, held_out, strict=True):
        assert set(venues.gather(rows.tolist())).isdisjoint(venues.gather(sorted(out)))


def test_works_without_a_venue_share_no_group(make_labels: MakeLabels, tmp_path: Path) -> None:
    """Were they one group, one fold would hold all of them, and four would hold nobody."""
    make_labels(60).drop("venue").write_parquet(tmp_path / "a.parquet")
    make_labels(60).with_columns(venue=pl.lit(None, pl.String)).write_parquet(
        tmp_path / "b.parquet"
    )
    for name in ("a.parquet", "b.parquet"):
        folds = venue_folds(read_label_table(tmp_path / name).works, 5, 0)
        assert [len(test) for _, test in folds] == [12] * 5


def test_works_with_an_empty_venue_share_no_group(make_labels: MakeLabels, tmp_path: Path) -> None:
    make_labels(60).with_columns(venue=pl.lit("")).write_parquet(tmp_path / "a.parquet")
    folds = venue_folds(read_label_table(tmp_path / "a.parquet").works, 5, 0)
    assert [len(test) for _, test in folds] == [12] * 5


def test_too_few_venues_are_told(trained: Callable[..., Manifest], make_labels: MakeLabels) -> None:
    with pytest.raises(InputError) as refused:
        trained(make_labels(60).with_columns(venue=pl.lit("Journal 1")))
    assert str(refused.value) == (
        "60 works in 1 venue are too few for 5 folds.\nLabel works of more venues."
    )


def test_out_of_fold_scores_are_those_of_the_score_table(unseen: Predicted) -> None:
    assert unseen.scores.dtype == np.float32
    assert unseen.scores.shape == unseen.logits.shape == (300, OUTPUTS)
    assert np.isin(unseen.scores, score_table(1 / 1024)).all()
    fitted = unseen.scores > 0
    assert not fitted[:, 2].any(), "codex/sts has one class"
    exact = 1 / (1 + np.exp(-unseen.logits[fitted]))
    assert np.abs(unseen.scores[fitted] - exact).max() < 0.005


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("head", "start"), [("codex", 0), ("gemma", 10)])
def test_metrics_in_the_bundle_are_scikit_learns(
    labels: Labels,
    unseen: Predicted,
    student: Student,
    policy: Policy,
    *,
    head: str,
    start: int,
    weighted: bool,
) -> None:
    suffix = "_weighted" if weighted else ""
    for place, target in enumerate(labels.targets.binary_names):
        if (head, target) == ("codex", "sts"):
            assert "codex/sts" not in student.manifest.metrics["out_of_fold"]
            continue
        found = student.manifest.metrics["out_of_fold"][f"{head}/{target}"]
        rows = labels.judged(head, target)
        truth, score = labels.positive(head, target)[rows], unseen.scores[rows, start + place]
        weight = labels.weight[rows] if weighted else None
        assert found["n_pos"] == truth.sum()
        assert found["n_judged"] == rows.sum()
        assert found[f"average_precision{suffix}"] == pytest.approx(
            average_precision_score(truth, score, sample_weight=weight), abs=1e-6
        )
        assert found[f"auroc{suffix}"] == pytest.approx(
            roc_auc_score(truth, score, sample_weight=weight), abs=1e-6
        )
        entry = policy.entry(head, target)
        if entry.kind == "threshold":
            called = score >= np.float32(entry.value)
            assert found[f"fbeta{suffix}"] == pytest.approx(
                fbeta_score(truth, called, beta=2, sample_weight=weight), abs=1e-6
            )


def test_declined_works_teach_nothing_else(student: Student) -> None:
    """Fifteen works of the tiny labels: each is judged for `insufficient_payload` alone."""
    found = student.manifest.metrics["out_of_fold"]
    assert found["codex/metaresearch"]["n_judged"] == 285
    assert found["codex/about_ca_topic"]["n_judged"] == 285
    assert found["codex/insufficient_payload"]["n_judged"] == 300
    assert found["codex/insufficient_payload"]["n_pos"] == 15


def test_thresholds_maximise_the_weighted_fbeta(
    labels: Labels, unseen: Predicted, policy: Policy
) -> None:
    rows = labels.judged("gemma", "metaresearch")
    truth = labels.positive("gemma", "metaresearch")[rows]
    score, weight = unseen.scores[rows, 10], labels.weight[rows]
    value = {
        float(t): fbeta_score(truth, score >= t, beta=2, sample_weight=weight)
        for t in np.unique(score)
    }
    best = max(value.values())
    chosen = policy.entry("gemma", "metaresearch").value
    assert value[chosen] == pytest.approx(best, abs=1e-12)
    assert chosen == max(t for t, found in value.items() if found >= best - 1e-12)


def test_pair_metrics_by_hand() -> None:
    found = pair_metrics(
        np.array([0.9, 0.8, 0.7, 0.1], np.float32),
        np.array([True, False, True, False]),
        np.array([1.0, 3.0, 1.0, 5.0]),
        0.7,
        2.0,
    )
    assert found["average_precision"] == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 3, abs=1e-6)
    assert found["average_precision_weighted"] == pytest.approx((1 + 2 / 5) / 2, abs=1e-6)
    assert found["auroc"] == 0.75
    assert found["auroc_weighted"] == pytest.approx((8 + 5) / 16, abs=1e-6)
    assert (found["precision"], found["recall"]) == (pytest.approx(2 / 3, abs=1e-6), 1.0)
    assert found["precision_weighted"] == 0.4
    assert found["fbeta"] == pytest.approx(5 * 2 / (4 * 2 + 3), abs=1e-6)
    assert (found["n_pos"], found["ess_pos"], found["n_judged"]) == (2, 2.0, 4)
    assert (found["top_share"], found["rate"]) == (0.5, 0.2)


def test_the_mean_leaves_out_pairs_with_few_positives() -> None:
    pairs = {
        "a/x": {"n_pos": 20, "average_precision": 0.5},
        "a/y": {"n_pos": 19, "average_precision": 0.9},
        "b/x": {"n_pos": 50, "average_precision": 0.7},
    }
    assert mean_over_pairs(pairs, "average_precision") == 0.6
    assert mean_over_pairs(pairs, "average_precision", without=frozenset({"x"})) is None
    assert counted_pairs(pairs) == 2


def test_gates_silence_what_has_little_support(policy: Policy, student: Student) -> None:
    assert (policy.gates.min_pos, policy.gates.min_ess) == (20, 10.0)
    kinds = {
        target: [
            getattr(policy.entry(head, target), "reason", "calls") for head in ("codex", "gemma")
        ]
        for target in policy.entries
    }
    assert kinds == {
        "metaresearch": ["calls", "calls"],
        "bibliometrics": ["calls", "calls"],
        "sts": ["unavailable", "calls"],
        "open_science": ["support", "support"],
        "insufficient_payload": ["support", "support"],
        "about_ca_topic": ["calls", "calls"],
    }
    codex, gemma = student.manifest.targets.heads
    assert (codex.unavailable, gemma.unavailable) == (("sts",), ())
    assert policy.entry("codex", "open_science").support.n_pos == 16


def test_one_head_trains_and_runs(
    trained: Callable[..., Manifest], make_labels: MakeLabels, tiny_frame: Path, tmp_path: Path
) -> None:
    table = make_labels(150)
    trained(table.drop(name for name in table.columns if name.startswith("gemma")))
    output = tmp_path / "out.parquet"
    manifest = run(RunRequest(frame=tiny_frame, output=output, model=str(tmp_path / "student")))
    assert manifest.targets.head_names == ["codex"]
    rows = pl.read_parquet(output)
    assert rows["candidate_categories"].to_list() == rows["codex_categories"].to_list()
    assert rows["consensus_categories"].to_list() == rows["codex_categories"].to_list()
    assert rows["teacher_disagreement"].unique().to_list() == [0.0]
    assert rows["codex_categories"].list.len().sum() > 20


def test_three_heads_train_and_run(
    trained: Callable[..., Manifest], make_labels: MakeLabels, tiny_frame: Path, tmp_path: Path
) -> None:
    """`codex_b` begins with the name of another head, and never says bibliometrics."""
    never = pl.col("codex_categories").list.set_difference(["bibliometrics"])
    trained(make_labels(150).with_columns(never.alias("codex_b_categories")))
    output = tmp_path / "out.parquet"
    manifest = run(RunRequest(frame=tiny_frame, output=output, model=str(tmp_path / "student")))
    assert manifest.targets.head_names == ["codex", "gemma", "codex_b"]
    called = manifest.counts.calls["bibliometrics"]
    assert called["codex_b"] == called["consensus"] == 0
    assert called["candidate"] >= called["codex"] > 0
    rows = pl.read_parquet(output)
    assert rows["score_codex_b_bibliometrics"].unique().to_list() == [0.0]
    assert rows["codex_b_genre"].null_count() == rows.height
    for row in rows.iter_rows(named=True):
        heads = [set(row[f"{head}_categories"]) for head in manifest.targets.head_names]
        assert set(row["candidate_categories"]) == set.union(*heads)
        assert set(row["consensus_categories"]) == set.intersection(*heads)


def test_ids_titles_and_categories_suffice(
    trained: Callable[..., Manifest], make_labels: MakeLabels
) -> None:
    manifest = trained(make_labels(120).select("id", "title", "codex_categories"))
    assert manifest.targets.flags == []
    assert manifest.targets.axes == ()
    assert manifest.metrics["out_of_fold"]["codex/metaresearch"]["average_precision"] > 0.8


def test_a_target_whose_positives_share_one_venue_trains(
    trained: Callable[..., Manifest], make_labels: MakeLabels, tmp_path: Path
) -> None:
    """In the fold that holds this venue out no head can be fitted; that must end no training."""
    rare = pl.when(pl.col("id").str.ends_with("/W5")).then(pl.lit(["research_integrity"]))
    table = make_labels(120).with_columns(
        codex_categories=rare.otherwise(pl.col("codex_categories"))
    )
    trained(table)
    entry = default_policy(load_student(tmp_path / "student")).entry("codex", "research_integrity")
    assert entry.kind == "none"


def test_a_target_whose_positives_share_one_venue_is_said_and_not_measured(
    make_labels: MakeLabels, tmp_path: Path
) -> None:
    rare = pl.when(pl.col("id").str.ends_with("/W5")).then(pl.lit(["research_integrity"]))
    table = make_labels(120).with_columns(
        codex_categories=rare.otherwise(pl.col("codex_categories"))
    )
    table.write_parquet(tmp_path / "labels.parquet")
    said: list[str] = []
    request = TrainRequest(output=tmp_path / "student", labels=tmp_path / "labels.parquet")
    manifest = train(request, said.append)
    assert (
        "codex/research_integrity: all positives (1) lie in one venue, so no fold can measure it; "
        "it makes no calls"
    ) in said
    assert "codex/research_integrity" not in manifest.metrics["out_of_fold"]
    assert "codex/metaresearch" in manifest.metrics["out_of_fold"]


def test_labels_without_abstracts_make_a_bundle_that_does_not_touch_them(
    student: Student, tiny_bundle: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    """Not even an inverted index that cannot be read matters."""
    assert student.manifest.encoder.fields() == [
        *("title", "venue", "topic", "field", "lang", "type", "year"),
    ]
    frame = tmp_path / "frame.parquet"
    make_labels(20).select("id", "title").with_columns(
        abstract_inverted_index=pl.lit('{"broken": '), abstract=pl.lit("replication")
    ).write_parquet(frame)
    run(RunRequest(frame=frame, output=tmp_path / "with.parquet", model=str(tiny_bundle)))
    pl.read_parquet(frame).select("id", "title").write_parquet(frame)
    run(RunRequest(frame=frame, output=tmp_path / "without.parquet", model=str(tiny_bundle)))
    assert (tmp_path / "with.parquet").read_bytes() == (tmp_path / "without.parquet").read_bytes()


def test_labels_with_abstracts_make_a_bundle_that_reads_them(
    abstract_bundle: Path, tmp_path: Path
) -> None:
    reads = load_student(abstract_bundle)
    assert "abstract" in reads.manifest.encoder.fields()
    frame = tmp_path / "frame.parquet"
    pl.DataFrame(
        {
            "id": ["W1", "W2", "W3", "W4"],
            "title": ["A title that tells nothing"] * 4,
            "abstract": ["We audit replication here", "We grow wheat", None, None],
            "abstract_inverted_index": [
                None,
                None,
                '{"here": [3], "We": [0], "replication": [2], "audit": [1]}',
                None,
            ],
        }
    ).write_parquet(frame)
    output = tmp_path / "out.parquet"
    run(RunRequest(frame=frame, output=output, model=str(abstract_bundle)))
    first, second, third, fourth = pl.read_parquet(output)["score_codex_metaresearch"]
    assert first == third > 0.8
    assert second < 0.2
    assert second < fourth < first


def test_a_broken_inverted_index_is_told_where_abstracts_are_read(
    abstract_bundle: Path, tmp_path: Path
) -> None:
    frame = tmp_path / "frame.parquet"
    pl.DataFrame(
        {"id": ["W1"], "title": ["Citation"], "abstract_inverted_index": ['{"broken": ']}
    ).write_parquet(frame)
    with pytest.raises(InputError, match="work W1: its abstract_inverted_index is not of the"):
        run(RunRequest(frame=frame, output=tmp_path / "out.parquet", model=str(abstract_bundle)))


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"\d+\.\d+", text)]


def test_the_card_names_data_licence_gates_and_metrics(
    student: Student, policy: Policy, tiny_bundle: Path
) -> None:
    card, manifest = read_card(tiny_bundle), student.manifest
    assert card.startswith("# tiny\n")
    for said in (
        *("300 works", "CC0", "nobody", manifest.training.sha256, "`codex`", "`gemma`"),
        *("`machine_predicted_unvalidated`", "insufficient_payload", "none: unavailable"),
        "20 positives and an effective sample size (ESS) of\n10 or more",
    ):
        assert said in card, said
    for name in ("mean_average_precision", "mean_average_precision_weighted", "mean_auroc"):
        assert any(abs(n - manifest.metrics[name]) <= 0.0005 for n in numbers(card)), name
    rows = {
        (cells[1], cells[2]): cells
        for line in card.splitlines()
        if (cells := [cell.strip() for cell in line.split("|")])[1:2] in (["codex"], ["gemma"])
    }
    for head in ("codex", "gemma"):
        for target in manifest.targets.binary_names:
            shown, entry = rows[head, target], policy.entry(head, target)
            found = manifest.metrics["out_of_fold"].get(f"{head}/{target}")
            if found is None:
                assert "none: unavailable" in shown
                continue
            assert shown[3:8] == [
                str(found["n_pos"]),
                f"{found['ess_pos']:.1f}",
                f"{found['average_precision']:.3f}",
                f"{found['average_precision_weighted']:.3f}",
                f"{found['auroc']:.3f}",
            ]
            said = f"{entry.value:.3f}" if entry.kind == "threshold" else "none: support"
            assert said in " ".join(shown)


def card_command(folder: Path) -> list[str]:
    line = next(
        line for line in read_card(folder).splitlines() if line.strip().startswith("scorer train ")
    )
    return shlex.split(line.strip().removeprefix("$ "))


def test_choices_reach_the_bundle_and_the_command_of_its_card(
    trained: Callable[..., Manifest], make_labels: MakeLabels, tmp_path: Path
) -> None:
    recipe = Recipe(ngrams=77, beta=1.5, min_pos=5, min_ess=2.0, seed=20_261_130)
    manifest = trained(make_labels(100), name="mine", source='the "good" labels', recipe=recipe)
    vocabulary = pl.read_parquet(tmp_path / "student" / "vocabulary.parquet")
    assert vocabulary.columns == ["channel", "ngram"]
    assert vocabulary.height == manifest.encoder.ngrams <= 77
    policy = default_policy(load_student(tmp_path / "student"))
    assert (policy.gates.min_pos, policy.gates.min_ess) == (5, 2.0)
    assert policy.entry("codex", "metaresearch").found_by == "design-weighted F-1.5"
    words = card_command(tmp_path / "student")
    assert words[:3] == ["scorer", "train", "labels.parquet"]
    assert dict(zip(words[3::2], words[4::2], strict=True)) == {
        "-o": "mine",
        "--source": 'the "good" labels',
        "--licence": "not stated",
        "--attribution": "not stated",
        "--ngrams": "77",
        "--beta": "1.5",
        "--min-pos": "5",
        "--min-ess": "2",
        "--seed": "20261130",
    }


@pytest.mark.parametrize("option", ["ngrams", "beta", "min_pos", "min_ess", "seed"])
def test_the_command_has_the_defaults_of_the_recipe(option: str) -> None:
    assert inspect.signature(train_command).parameters[option].default == getattr(Recipe(), option)


@pytest.mark.parametrize("option", ["trials", "criterion", "budget"])
def test_the_command_has_the_defaults_of_a_search(option: str) -> None:
    usual = getattr(SearchRequest(), option)
    assert inspect.signature(train_command).parameters[option].default == usual


def test_the_manifest_says_what_it_learned_from(student: Student) -> None:
    training = student.manifest.training
    assert (training.rows, training.heads) == (300, ("codex", "gemma"))
    assert (training.licence, training.attribution) == ("CC0", "nobody")
    assert student.manifest.metrics["quantisation_cost"] < 0.005
    assert student.manifest.maturity.passed


def test_an_output_that_exists_is_refused(
    trained: Callable[..., Manifest], make_labels: MakeLabels, tmp_path: Path
) -> None:
    (tmp_path / "student").mkdir()
    with pytest.raises(OutputError) as refused:
        trained(make_labels(60))
    assert str(refused.value) == (
        f"{tmp_path}/student: exists already. Choose another -o, or say --overwrite."
    )
    assert list((tmp_path / "student").iterdir()) == []


def test_a_bundle_is_replaced_when_asked(
    trained: Callable[..., Manifest], make_labels: MakeLabels, tiny_bundle: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_bundle, tmp_path / "student")
    manifest = trained(make_labels(60), overwrite=True)
    assert manifest.name == "student"
    assert load_student(tmp_path / "student").version == manifest.version
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.parquet", "student"]


def test_a_folder_that_is_no_bundle_is_never_replaced(
    trained: Callable[..., Manifest], make_labels: MakeLabels, tmp_path: Path
) -> None:
    thesis = tmp_path / "student" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("my only copy")
    with pytest.raises(ScorerError):
        trained(make_labels(60), overwrite=True)
    assert thesis.read_text() == "my only copy"


def test_an_output_that_cannot_be_written_is_told_before_training(
    make_labels: MakeLabels, tmp_path: Path
) -> None:
    make_labels(60).write_parquet(tmp_path / "labels.parquet")
    said: list[str] = []
    with pytest.raises(OutputError) as refused:
        train(
            TrainRequest(output=tmp_path / "none" / "student", labels=tmp_path / "labels.parquet"),
            said.append,
        )
    assert str(refused.value) == (
        f"{tmp_path}/none: no such folder. Make it first, or choose -o elsewhere."
    )
    assert said == []


def test_a_score_of_a_target_with_one_class_is_exactly_zero(
    student: Student, make_labels: MakeLabels
) -> None:
    frame = make_labels(50).select("id", "title")
    rows = score_batch(frame, student, default_policy(student))
    assert rows["score_codex_sts"].to_list() == [0.0] * 50


def test_the_shipped_bundle_is_as_good_as_promised(shipped_bundle: Path) -> None:
    manifest = load_student(shipped_bundle).manifest
    assert manifest.name == "metacan-ngram"
    assert manifest.targets.head_names == ["codex", "gemma"]
    mean = manifest.metrics["mean_average_precision"]
    assert mean >= 0.635
    pairs = manifest.metrics["out_of_fold"]
    enough = [pair["average_precision"] for pair in pairs.values() if pair["n_pos"] >= 20]
    assert mean == pytest.approx(np.mean(enough), abs=1e-6)
    assert any(abs(n - mean) <= 0.0005 for n in numbers(read_card(shipped_bundle)))
    assert manifest.licence == "CC BY 4.0"
    assert "Ahmad Sofi-Mahmudi" in manifest.training.attribution
    assert manifest.metrics["quantisation_cost"] < 0.005


def test_the_card_of_the_shipped_bundle_names_its_licence_and_source(shipped_bundle: Path) -> None:
    card = read_card(shipped_bundle)
    for said in ("MétaCan", "Ahmad Sofi-Mahmudi", "CC BY 4.0", "OpenAlex", "7,708 works"):
        assert said in card


def test_the_shipped_bundle_calls_no_category_of_eagle_2_by_consensus(
    shipped_bundle: Path, sample_frame: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.parquet"
    run(RunRequest(frame=sample_frame, output=output, model=str(shipped_bundle)))
    row = pl.read_parquet(output).filter(id="W9000000002")
    title = pl.read_parquet(sample_frame).filter(pl.col("id").str.ends_with("W9000000002"))["title"]
    assert title.item().startswith("EAGLE-2: Faster Inference of Language Models")
    assert row["consensus_categories"].to_list() == [[]]


def test_the_shipped_bundle_is_that_of_the_shared_labels(
    shipped_bundle: Path, shared: Path
) -> None:
    labels = read_label_table(shared / "labels" / "teacher_sample.parquet")
    manifest = load_manifest(shipped_bundle)
    assert manifest.training.rows == labels.works.height
    policy = json.loads((shipped_bundle / "policy.json").read_text())
    for head in labels.targets.head_names:
        for target in labels.targets.binary_names:
            rows = labels.judged(head, target)
            support = policy["entries"][target][head]["support"]
            assert support["n_pos"] == labels.positive(head, target)[rows].sum()
