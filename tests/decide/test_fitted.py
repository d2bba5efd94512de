"""From labels and scores to a policy: what is fitted, what is silent, and what is noted."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fit_cases import PAIR, named, refused
from sklearn.metrics import fbeta_score, precision_score, recall_score

from scorer.decide.fit import Fitted, fit
from scorer.decide.inputs import FitRequest
from scorer.decide.sample import LabelFiles, learned_from
from scorer.decide.sources import (
    AtPrecision,
    AtRecall,
    BestFBeta,
    BestWorks,
    ByHand,
    Off,
)
from scorer.policy.calls import SEGMENT, call_sets
from scorer.policy.policy import Gates, Policy, Quota, Silent, Threshold
from scorer.student.folder import load_manifest
from scorer.targets import Targets

Request = Callable[..., FitRequest]
Change = Callable[..., Path]


def examples(
    labels: Path, scores: Path, head: str, target: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return score, label and weight of the works that the head judged, by Polars' own join."""
    rows = pl.read_parquet(scores).filter(pl.col("segment") == "covered")
    said = pl.read_parquet(labels).with_columns(
        pl.col("id").str.replace("https://openalex.org/", "")
    )
    both = said.select("id", "weight", f"{head}_categories").join(
        rows.select("id", f"score_{head}_{target}"), on="id"
    )
    both = both.filter(~pl.col(f"{head}_categories").list.contains("insufficient_payload"))
    return (
        both[f"score_{head}_{target}"].to_numpy(),
        both[f"{head}_categories"].list.contains(target).to_numpy(),
        both["weight"].to_numpy(),
    )


def called(policy: Policy, targets: Targets, scores: Path, kind: str, target: str) -> list[str]:
    rows = pl.read_parquet(scores)
    rows = rows.with_columns(pl.col("segment").cast(pl.String).cast(SEGMENT))
    sets = call_sets(rows, targets, policy)
    bit = 1 << targets.categories.index(target)
    return sorted(rows["id"].filter((sets[f"{kind}_categories"] & bit) != 0))


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_a_threshold_maximises_fbeta_of_the_joined_scores(
    request_for: Request, tiny_labels: Path, scored_sample: Path, beta: float
) -> None:
    fitted = fit(request_for(default=BestFBeta(beta)))
    entry = fitted.policy.entry(*PAIR)
    score, positive, weight = examples(tiny_labels, scored_sample, *PAIR)
    best = max(
        fbeta_score(positive, score >= value, beta=beta, sample_weight=weight)
        for value in np.unique(score)
    )
    now = fbeta_score(positive, score >= entry.value, beta=beta, sample_weight=weight)
    assert now == pytest.approx(best)
    assert fitted.figures[PAIR].value == pytest.approx(best)
    assert fitted.figures[PAIR].name == f"F-{beta:g}"
    assert entry.found_by == f"design-weighted F-{beta:g}"


def test_a_recall_and_a_precision_are_reached(
    request_for: Request, tiny_labels: Path, scored_sample: Path
) -> None:
    fitted = fit(request_for(default=AtRecall(0.9), exceptions=named(gemma=AtPrecision(0.8))))
    score, positive, weight = examples(tiny_labels, scored_sample, *PAIR)
    entry = fitted.policy.entry(*PAIR)
    assert entry.found_by == "recall 0.9"
    assert recall_score(positive, score >= entry.value, sample_weight=weight) >= 0.9
    higher = score[score > entry.value].min()
    assert recall_score(positive, score >= higher, sample_weight=weight) < 0.9
    other = fitted.policy.entry("gemma", "metaresearch")
    score, positive, weight = examples(tiny_labels, scored_sample, "gemma", "metaresearch")
    assert other.found_by == "precision 0.8"
    assert precision_score(positive, score >= other.value, sample_weight=weight) >= 0.8


def test_a_quota_calls_as_many_works_as_the_prevalence_makes(
    request_for: Request, tiny_labels: Path, scored_sample: Path
) -> None:
    fitted = fit(request_for(exceptions=named(codex__metaresearch=BestWorks())))
    entry = fitted.policy.entry(*PAIR)
    assert isinstance(entry, Quota)
    said = pl.read_parquet(tiny_labels)
    yes = said["codex_categories"].list.contains("metaresearch")
    rate = said["weight"].filter(yes).sum() / said["weight"].sum()
    covered = (pl.read_parquet(scored_sample)["segment"] == "covered").sum()
    assert entry.support.rate == pytest.approx(rate)
    assert entry.k == round(rate * covered)
    assert entry.found_by == f"quota: prevalence {rate:.4g} of {covered} covered works"
    assert len(called(fitted.policy, fitted.targets, scored_sample, *PAIR)) == entry.k


def test_ties_are_settled_alike_whatever_the_row_order_and_the_split(
    request_for: Request, changed: Change
) -> None:
    def tied(rows: pl.DataFrame) -> pl.DataFrame:
        scores = [name for name in rows.columns if name.startswith("score_c")]
        return rows.with_columns((pl.col(scores) * 2).round() / 2)

    files = [
        changed(tied, "a.parquet"),
        changed(lambda rows: tied(rows).sample(fraction=1, shuffle=True, seed=3), "b.parquet", 7),
        changed(lambda rows: tied(rows).reverse(), "c.parquet", 100),
    ]
    choice = named(codex=BestWorks(), codex__bibliometrics=BestWorks(41))
    found = [fit(request_for(scores=file, exceptions=choice)) for file in files]
    assert found[0].policy == found[1].policy == found[2].policy
    entry = found[0].policy.entry("codex", "bibliometrics")
    assert (entry.k, entry.found_by) == (41, "quota: by hand of 285 covered works")
    for fitted, file in zip(found, files, strict=True):
        for target in ("metaresearch", "bibliometrics"):
            k = fitted.policy.entry("codex", target).k
            assert len(called(fitted.policy, fitted.targets, file, "codex", target)) == k


def test_quotas_are_of_the_covered_works_alone(request_for: Request, changed: Change) -> None:
    def mostly_uncovered(rows: pl.DataFrame) -> pl.DataFrame:
        segment = pl.when(pl.int_range(pl.len()) < 30).then(pl.col("segment").cast(pl.String))
        return rows.with_columns(segment=segment.otherwise(pl.lit("excluded")).cast(pl.Categorical))

    scores = changed(mostly_uncovered)
    request = request_for(scores=scores, exceptions=named(codex__metaresearch=BestWorks(30)))
    assert refused(request) == (
        f"{scores}: codex.metaresearch: the best 30 works are asked for, 28 are covered.\n"
        "Ask for fewer (--for codex.metaresearch=HOW), or score a larger frame."
    )
    # Works that a run left out because they are labelled have scores to learn from all the same.
    assert (
        fit(request_for(scores=scores, default=BestFBeta(2))).figures
        == fit(request_for(default=BestFBeta(2))).figures
    )


def test_entries_that_nothing_names_are_kept_with_new_support(
    request_for: Request, policy: Policy
) -> None:
    fitted = fit(
        request_for(exceptions=named(codex__metaresearch=ByHand(0.19), bibliometrics=Off()))
    )
    by_hand, kept = fitted.policy.entry(*PAIR), fitted.policy.entry("gemma", "metaresearch")
    assert (by_hand.value, by_hand.found_by) == (0.19, "hand")
    before = policy.entry("gemma", "metaresearch")
    assert (kept.value, kept.found_by) == (before.value, before.found_by)
    assert kept.support.n_pos == before.support.n_pos
    assert fitted.policy.entry("codex", "bibliometrics") == Silent(
        reason="off", support=fitted.policy.entry("codex", "bibliometrics").support
    )
    assert fitted.policy.entry("codex", "sts") == Silent(reason="unavailable")
    assert fitted.policy.entry("codex", "open_science").reason == "support"
    assert fitted.figures == {}


def test_what_is_asked_for_by_name_and_fails_a_gate_is_noted(request_for: Request) -> None:
    request = request_for(
        default=BestFBeta(2), exceptions=named(codex__open_science=ByHand(0.5), gemma=BestWorks())
    )
    fitted = fit(request)
    assert fitted.policy.entry("codex", "open_science").reason == "support"
    assert fitted.notes == (
        "--for codex.open_science=HOW: no calls, for want of support: codex.open_science",
        "--for gemma=HOW: no calls, for want of support: "
        "gemma.open_science, gemma.insufficient_payload",
    )


def test_a_silent_entry_that_has_the_support_now_stays_silent_and_is_noted(
    request_for: Request,
) -> None:
    fitted = fit(request_for(gates=Gates(min_pos=1, min_ess=0)))
    assert fitted.policy.entry("codex", "open_science").reason == "off"
    assert (
        "codex.open_science: has the support now, but no threshold; "
        "give it one: --for codex.open_science=HOW"
    ) in fitted.notes


def test_gates_of_all_heads_silence_a_target_of_which_one_fails(request_for: Request) -> None:
    support = fit(request_for(default=BestFBeta(2))).policy
    least = {h: support.entry(h, "metaresearch").support.n_pos for h in ("codex", "gemma")}
    assert least["codex"] != least["gemma"]
    gates = {"min_pos": max(least.values()), "min_ess": 0}
    alone = fit(request_for(default=BestFBeta(2), gates=Gates(**gates))).policy
    together = fit(
        request_for(default=BestFBeta(2), gates=Gates(**gates, scope="all_heads"))
    ).policy
    kinds = [type(alone.entry(head, "metaresearch")) for head in ("codex", "gemma")]
    assert sorted(kind.__name__ for kind in kinds) == ["Silent", "Threshold"]
    assert all(together.entry(h, "metaresearch").reason == "support" for h in least)
    # A head that has not learned a target has no say in it.
    one = Gates(min_pos=1, min_ess=0, scope="all_heads")
    no_payload = named(insufficient_payload=Off())  # in these labels, called by rule alone
    sts = fit(request_for(default=BestFBeta(2), exceptions=no_payload, gates=one)).policy
    assert isinstance(sts.entry("gemma", "sts"), Threshold)


def test_labelled_works_without_a_score_are_counted_and_named(
    request_for: Request, changed: Change
) -> None:
    scores = changed(lambda rows: rows.filter(~pl.col("id").is_in([f"W{n}" for n in range(1, 8)])))
    fitted = fit(request_for(scores=scores, default=BestFBeta(2)))
    assert fitted.notes == (
        f"{scores}: labelled works that it lacks: 7, first: W1, W2, W3, W4, W5, …; "
        "they count as support alone",
    )
    whole = fit(request_for(default=BestFBeta(2)))
    assert fitted.policy.entry(*PAIR).support == whole.policy.entry(*PAIR).support


def test_heads_and_targets_of_one_side_alone_are_noted(
    request_for: Request, tiny_labels: Path, tmp_path: Path
) -> None:
    path = tmp_path / "other.parquet"
    pl.read_parquet(tiny_labels).drop("codex_about_ca_topic", "gemma_about_ca_topic").with_columns(
        llama_categories=pl.lit(["zines"]).cast(pl.List(pl.String))
    ).write_parquet(path)
    fitted = fit(request_for(labels=LabelFiles(path), default=BestFBeta(2)))
    assert fitted.notes == (
        f"{path}: heads that the student does not score: llama",
        f"{path}: targets that the student does not score: zines",
        f"{path}: no label speaks of about_ca_topic: no support there",
    )
    assert fitted.policy.entry("codex", "about_ca_topic").reason == "support"


def test_labels_that_the_shipped_student_learned_are_known(
    shared: Path, shipped_bundle: Path, tiny_labels: Path
) -> None:
    version = load_manifest(shipped_bundle).version
    assert learned_from(version, LabelFiles(shared / "labels" / "teacher_sample.parquet"))
    assert not learned_from(version, LabelFiles(tiny_labels))
    assert not learned_from("other@000000000000", LabelFiles(tiny_labels))


def test_a_fitted_policy_reads_back(request_for: Request) -> None:
    fitted: Fitted = fit(request_for(default=BestFBeta(2), exceptions=named(sts=BestWorks())))
    content = json.loads(fitted.policy.to_json())
    assert content["policy_version"] == fitted.policy.version
