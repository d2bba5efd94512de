"""Evaluation against teachers' labels: scikit-learn's figures by design weights, and its words."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    cohen_kappa_score,
    jaccard_score,
    precision_recall_fscore_support,
    roc_auc_score,
)

from scorer.decide.sample import LabelFiles
from scorer.engine.manifest import read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError, UsageError
from scorer.policy.calls import COVERED
from scorer.review.evaluate import EvaluateRequest, evaluate
from scorer.review.evaluate_json import content
from scorer.review.evaluate_results import Compared, Evaluation
from scorer.status import STAMP
from scorer.train.distil import train
from scorer.train.trained import TrainRequest

SAME = 1e-9
HEADS = ["codex", "gemma"]
KINDS = [*HEADS, "candidate", "consensus"]
PLAIN = "https://openalex.org/"
Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def labelled(
    tiny_labels: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The 300 labelled works, scored."""
    output = tmp_path_factory.mktemp("labelled") / "labelled.scored.parquet"
    run(RunRequest(frame=tiny_labels, output=output, model=str(tiny_bundle)))
    return output


@pytest.fixture(scope="module")
def found(labelled: Path, tiny_labels: Path) -> Evaluation:
    """The evaluation of the labelled works, split by language and decade."""
    request = EvaluateRequest(
        labelled, labels=LabelFiles(tiny_labels), by=("lang", "year"), replicates=200
    )
    return evaluate(request)


def joined(labels: Path, scores: Path) -> pl.DataFrame:
    """Return labels and scores of covered works, by Polars' own join."""
    said = pl.read_parquet(labels).with_columns(pl.col("id").str.replace(PLAIN, ""))
    said = said.select(
        "id", "weight", "year", pl.col("^.*_categories$").name.replace("_categories", "_said")
    )
    rows = pl.read_parquet(scores).filter(pl.col("segment") == COVERED)
    return said.join(rows, on="id", maintain_order="left")


def expected(rows: pl.DataFrame, kind: str, target: str, heads: Sequence[str] = HEADS) -> Columns:
    """Return score, truth, call and weight of the works that all the kind's teachers judged."""
    heads = [kind] if kind in heads else heads
    for head in heads:
        rows = rows.filter(~pl.col(f"{head}_said").list.contains("insufficient_payload"))
    says = np.array([rows[f"{head}_said"].list.contains(target).to_numpy() for head in heads])
    yes = {"consensus": says.all(axis=0), "majority": says.mean(axis=0) > 0.5}
    score = np.array([rows[f"score_{head}_{target}"].to_numpy() for head in heads])
    together = {"consensus": np.min, "majority": np.median}.get(kind, np.max)
    called = rows[f"{kind}_categories"].list.contains(target).to_numpy()
    said = yes.get(kind, says.any(axis=0))
    return together(score, axis=0), said, called, rows["weight"].to_numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["metaresearch", "bibliometrics"])
def test_figures_are_those_of_scikit_learn(
    found: Evaluation, tiny_labels: Path, labelled: Path, kind: str, target: str
):
    score, yes, called, weight = expected(joined(tiny_labels, labelled), kind, target)
    check(found.whole.compared[target][kind], score, yes, called, weight)


def check(
    compared: Compared, score: np.ndarray, yes: np.ndarray, called: np.ndarray, weight: np.ndarray
) -> None:
    assert (compared.works, compared.positives) == (len(yes), yes.sum())
    assert compared.called == called.sum()
    by = {"sample_weight": weight}
    average = average_precision_score(yes, score, **by)
    assert compared.average_precision.value == pytest.approx(average, abs=SAME)
    assert compared.auroc.value == pytest.approx(roc_auc_score(yes, score, **by), abs=SAME)
    figures = precision_recall_fscore_support(yes, called, beta=2, average="binary", **by)
    told = (compared.precision.value, compared.recall.value, compared.fbeta.value)
    assert told == pytest.approx(figures[:3], abs=SAME)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_the_sample_has_the_figures_of_its_works(
    found: Evaluation, tiny_labels: Path, labelled: Path, kind: str
):
    rows = joined(tiny_labels, labelled).filter(pl.col("year").is_between(2000, 2009))
    section = found.groups["year"]["2000s"]
    check(section.compared["metaresearch"][kind], *expected(rows, kind, "metaresearch"))


def test_levels_take_all_works_apart(found: Evaluation):
    assert list(found.groups["lang"]) == ["en"]
    assert sorted(found.groups["year"]) == ["1990s", "2000s", "2010s", "2020s"]
    assert sum(section.works for section in found.groups["year"].values()) == 300
    whole = found.whole.compared["metaresearch"]["codex"]
    assert found.groups["lang"]["en"].compared["metaresearch"]["codex"] == whole


def test_agreement_is_that_of_scikit_learn(found: Evaluation, tiny_labels: Path, labelled: Path):
    rows = joined(tiny_labels, labelled)
    said = pl.read_parquet(tiny_labels)
    for head in HEADS:
        said = said.filter(~pl.col(f"{head}_categories").list.contains("insufficient_payload"))
    target = "bibliometrics"
    pairs = {
        "calls": [rows[f"{head}_categories"].list.contains(target) for head in HEADS],
        "labels": [said[f"{head}_categories"].list.contains(target) for head in HEADS],
    }
    weights = {"calls": rows["weight"], "labels": said["weight"]}
    assert [agreed.what for agreed in found.whole.agreement[target]] == ["calls", "labels"]
    for agreed in found.whole.agreement[target]:
        one, other = (column.to_numpy() for column in pairs[agreed.what])
        by = {"sample_weight": weights[agreed.what].to_numpy()}
        assert agreed.between == ("codex", "gemma")
        assert agreed.works == len(one)
        assert agreed.raw.value == pytest.approx(accuracy_score(one, other, **by), abs=SAME)
        assert agreed.kappa.value == pytest.approx(cohen_kappa_score(one, other, **by), abs=SAME)
        assert agreed.jaccard.value == pytest.approx(jaccard_score(one, other, **by), abs=SAME)


def test_prevalence_is_of_labels_by_design_weights_and_not_of_calls(
    found: Evaluation, tiny_labels: Path
):
    said = pl.read_parquet(tiny_labels)
    weight = said["weight"].to_numpy()
    yes = [said[f"{h}_categories"].list.contains("metaresearch").to_numpy() for h in HEADS]
    rates = found.whole.prevalence["metaresearch"]
    truths = [*yes, yes[0] | yes[1], yes[0] & yes[1]]
    for (who, rate), truth in zip(rates.items(), truths, strict=True):
        # Works that a teacher declined count among those asked about, as in the published rates.
        assert rate.works == 300, who
        assert rate.share.value == pytest.approx(weight[truth].sum() / weight.sum())
        assert rate.count.value == pytest.approx(weight[truth].sum())
        assert rate.count.low == pytest.approx(rate.share.low * weight.sum())
    assert list(rates) == ["codex", "gemma", "any teacher", "all teachers"]


def test_reliability_steps_hold_all_works_and_their_yes(found: Evaluation):
    compared = found.whole.compared["metaresearch"]["gemma"]
    assert sum(step.works for step in compared.reliability) == compared.works
    for step in compared.reliability:
        assert step.low - 1e-6 <= step.mean_score <= step.high + 1e-6
        assert 0 <= step.yes.low <= step.yes.value <= step.yes.high <= 1
    assert 0 < compared.calibration_error < 1


def test_what_has_too_little_support_is_told_and_not_given(found: Evaluation):
    # `codex` never says sts; open_science has fewer positives than the policy's gate asks for.
    sts = found.whole.compared["sts"]
    assert sts["codex"].average_precision.why == "no work judged"
    assert sts["codex"].silent == "none: unavailable"
    science = found.whole.compared["open_science"]["codex"]
    assert science.silent == "none: support"
    assert science.precision.value is None
    few = found.groups["year"]["2020s"].compared["open_science"]["gemma"].average_precision
    assert few.why.startswith("too few positives: ")
    assert few.why.endswith("; needed 10")


def test_a_figure_needs_its_positives_by_weight(labelled: Path, tiny_labels: Path, tmp_path: Path):
    table = pl.read_parquet(tiny_labels)
    yes = pl.col("codex_categories").list.contains("metaresearch")
    heavy = pl.when(yes & (yes.cum_sum() == 1)).then(1e6).otherwise(pl.col("weight"))
    table.with_columns(heavy.alias("weight")).write_parquet(tmp_path / "heavy.parquet")
    request = EvaluateRequest(labelled, labels=LabelFiles(tmp_path / "heavy.parquet"))
    compared = evaluate(request).whole.compared["metaresearch"]["codex"]
    assert compared.positives > 50
    assert compared.average_precision.why == (
        f"too few positives: {compared.positives}, by weight as 1.0; needed 10"
    )


def test_the_same_seed_makes_the_same_limits_and_another_one_others(
    labelled: Path, tiny_labels: Path
):
    def told(seed: int, targets: tuple[str, ...] = ("metaresearch",)) -> dict[str, object]:
        request = EvaluateRequest(
            labelled, targets, labels=LabelFiles(tiny_labels), replicates=100, seed=seed
        )
        return content(evaluate(request))["targets"]["metaresearch"]

    assert told(1) == told(1)
    assert told(1) == told(1, ("bibliometrics", "metaresearch"))
    assert told(1) != told(2)


def test_equal_weights_count_every_work_once(labelled: Path, tiny_labels: Path):
    request = EvaluateRequest(labelled, labels=LabelFiles(tiny_labels), equal_weights=True)
    found = evaluate(request)
    score, yes, called, _ = expected(joined(tiny_labels, labelled), "gemma", "metaresearch")
    compared = found.whole.compared["metaresearch"]["gemma"]
    check(compared, score, yes, called, np.ones(len(yes)))
    assert found.strata == 1
    assert compared.average_precision.low < compared.average_precision.high


def test_one_class_is_an_error_where_no_target_has_two(
    labelled: Path, tiny_labels: Path, tmp_path: Path
):
    same = [pl.lit(["metaresearch"]).alias(f"{head}_categories") for head in HEADS]
    table = (
        pl.read_parquet(tiny_labels)
        .with_columns(same)
        .drop("codex_about_ca_topic", "gemma_about_ca_topic")
    )
    table.write_parquet(tmp_path / "one.parquet")
    with pytest.raises(InputError) as error:
        evaluate(EvaluateRequest(labelled, labels=LabelFiles(tmp_path / "one.parquet")))
    assert str(error.value) == (
        f"{tmp_path / 'one.parquet'}: one class: for each target the scored works are all a yes or "
        "all a no, so nothing can be ranked or found.\nEvaluate on works of both kinds."
    )


def test_one_class_of_one_head_is_told_beside_the_others(
    labelled: Path, tiny_labels: Path, tmp_path: Path
):
    without = pl.col("codex_categories").list.set_difference(["metaresearch"])
    table = pl.read_parquet(tiny_labels).with_columns(without)
    table.write_parquet(tmp_path / "one.parquet")
    found = evaluate(EvaluateRequest(labelled, labels=LabelFiles(tmp_path / "one.parquet")))
    compared = found.whole.compared["metaresearch"]
    assert compared["codex"].auroc.why == "one class: no work is a yes"
    assert compared["consensus"].recall.why == "one class: no work is a yes"
    assert compared["gemma"].auroc.value > 0.5


def test_labels_of_other_works_are_an_error(labelled: Path, tiny_labels: Path, tmp_path: Path):
    table = pl.read_parquet(tiny_labels).with_columns(pl.format("X{}", "id").alias("id"))
    table.write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="has none of the 300 labelled works; their ids begin X"):
        evaluate(EvaluateRequest(labelled, labels=LabelFiles(tmp_path / "other.parquet")))


def test_works_without_a_score_count_for_prevalence_alone_and_are_told(
    labelled: Path, tiny_labels: Path, remade: Callable[..., Path]
):
    fewer = remade(labelled, lambda table: table.slice(20))
    found = evaluate(EvaluateRequest(fewer, labels=LabelFiles(tiny_labels)))
    assert any("has no score of 20 labelled works, first W1;" in note for note in found.notes)
    assert found.whole.prevalence["metaresearch"]["codex"].works == 300
    assert found.whole.compared["metaresearch"]["codex"].works < 285


def test_a_file_of_scores_alone_is_ranked_and_calls_nothing(
    tiny_labels: Path, immature_bundle: Path, tmp_path: Path
):
    output = tmp_path / "alone.parquet"
    run(RunRequest(tiny_labels, output=output, model=str(immature_bundle), baseline=True))
    found = evaluate(EvaluateRequest(output, labels=LabelFiles(tiny_labels)))
    compared = found.whole.compared["metaresearch"]["consensus"]
    assert found.score_status.startswith("score_only:")
    assert compared.average_precision.value > 0.3
    assert (compared.called, compared.precision.why) == (None, "none: scores only")


def test_excluded_works_are_called_as_all_others(
    tiny_labels: Path, tiny_bundle: Path, labelled: Path, found: Evaluation, tmp_path: Path
):
    # A run leaves out the works that carry labels already; evaluating it needs their calls.
    run(
        RunRequest(
            tiny_labels,
            output=tmp_path / "out.parquet",
            model=str(tiny_bundle),
            exclude_ids=tiny_labels,
        )
    )
    other = evaluate(
        EvaluateRequest(tmp_path / "out.parquet", labels=LabelFiles(tiny_labels), replicates=200)
    )
    assert other.whole.compared == found.whole.compared


def test_a_split_by_what_labels_lack_needs_a_frame(
    labelled: Path, tiny_labels: Path, tmp_path: Path
):
    request = EvaluateRequest(labelled, labels=LabelFiles(tiny_labels), by=("abstract",))
    with pytest.raises(InputError, match="no column 'abstract', so works cannot be split by it"):
        evaluate(request)
    table = pl.read_parquet(tiny_labels).select("id", "title")
    there = pl.when(pl.int_range(pl.len()) < 200).then(pl.lit("An abstract"))
    table.with_columns(there.alias("abstract")).write_parquet(tmp_path / "frame.parquet")
    request = EvaluateRequest(
        labelled,
        labels=LabelFiles(tiny_labels),
        by=("abstract",),
        frame=tmp_path / "frame.parquet",
        replicates=100,
    )
    levels = evaluate(request).groups["abstract"]
    assert {name: section.works for name, section in levels.items()} == {
        "abstract": 200,
        "no abstract": 100,
    }


def test_json_gives_each_figure_its_limits_or_its_reason(found: Evaluation):
    told = json.loads(json.dumps(content(found)))
    assert told["prediction_status"] == STAMP
    assert told["compared_with"] == "teachers"
    assert "machine labels, not the truth" in told["rule"]
    assert told["limits"]["replicates"] == 200
    figure = told["targets"]["metaresearch"]["codex"]["average_precision"]
    assert sorted(figure) == ["high", "low", "value"]
    assert told["targets"]["sts"]["codex"]["auroc"] == {"value": None, "why": "no work judged"}
    assert told["ranked_by"]["consensus"] == "the lowest of the heads' scores"
    assert told["by"]["year"]["2000s"]["prevalence"]["metaresearch"]["codex"]["works"] > 0


def test_requests_that_do_not_fit_together_are_refused(labelled: Path, tiny_labels: Path):
    with pytest.raises(UsageError, match="Give either teachers' labels or coders' sheets"):
        EvaluateRequest(labelled)
    with pytest.raises(UsageError, match="are for teachers' labels"):
        EvaluateRequest(labelled, sheets=(tiny_labels,), equal_weights=True)
    with pytest.raises(UsageError, match="--target nothing: no category or flag of"):
        evaluate(EvaluateRequest(labelled, ("nothing",), labels=LabelFiles(tiny_labels)))


def test_a_changed_scored_file_is_an_error(
    labelled: Path, tiny_labels: Path, remade: Callable[..., Path]
):
    path = remade(labelled, lambda table: table)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="its manifest says"):
        evaluate(EvaluateRequest(path, labels=LabelFiles(tiny_labels)))


def test_majority_is_ranked_by_the_score_that_most_heads_reach(tiny_labels: Path, tmp_path: Path):
    table = pl.read_parquet(tiny_labels)
    shifted = pl.col("codex_categories").shift(-1).fill_null([])
    table = table.drop("^.*_(domain|genre|about_ca_topic)$").with_columns(third_categories=shifted)
    labels, bundle, scores = (tmp_path / name for name in ("labels.parquet", "three", "s.parquet"))
    table.write_parquet(labels)
    train(TrainRequest(output=bundle, labels=labels))
    run(RunRequest(labels, output=scores, model=str(bundle), mode="majority"))
    request = EvaluateRequest(scores, ("metaresearch",), labels=LabelFiles(labels), replicates=100)
    compared = evaluate(request).whole.compared["metaresearch"]
    assert list(compared) == [*HEADS, "third", "candidate", "consensus", "majority"]
    rows = joined(labels, scores)
    for kind in ("candidate", "consensus", "majority"):
        if compared[kind].called:
            check(compared[kind], *expected(rows, kind, "metaresearch", [*HEADS, "third"]))
    assert compared["majority"].called


def test_out_of_fold_scores_stand_in_for_those_of_works_that_were_learned_from(
    tiny_labels: Path, labelled: Path, found: Evaluation, tmp_path: Path
):
    unseen = tmp_path / "unseen.parquet"
    train(TrainRequest(output=tmp_path / "b", labels=tiny_labels, out_of_fold=unseen))
    scores = tmp_path / "scored.parquet"
    run(RunRequest(tiny_labels, output=scores, model=str(tmp_path / "b")))
    request = EvaluateRequest(
        scores, labels=LabelFiles(tiny_labels), out_of_fold=unseen, replicates=200
    )
    compared = evaluate(request).whole.compared["metaresearch"]["gemma"]
    rows = joined(tiny_labels, labelled).select("id", "gemma_said", "weight")
    rows = rows.join(pl.read_parquet(unseen), on="id", maintain_order="left")
    judged = rows.filter(~pl.col("gemma_said").list.contains("insufficient_payload"))
    yes = judged["gemma_said"].list.contains("metaresearch").to_numpy()
    score, weight = judged["score_gemma_metaresearch"].to_numpy(), judged["weight"].to_numpy()
    average = average_precision_score(yes, score, sample_weight=weight)
    assert compared.average_precision.value == pytest.approx(average, abs=SAME)
    seen = found.whole.compared["metaresearch"]["gemma"].average_precision.value
    assert compared.average_precision.value < seen
    threshold = read_manifest(scores).policy.entry("gemma", "metaresearch").value
    assert compared.called == (score >= np.float32(threshold)).sum()
