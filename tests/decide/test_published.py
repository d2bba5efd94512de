"""The arithmetic of quotas and gates against what the reference team published."""

import json
from pathlib import Path
from typing import Any

import pytest
from fit_cases import PAIR

from scorer.decide.fit import passed
from scorer.decide.sample import Teachers
from scorer.labels.sample import read_label_table
from scorer.policy.fit import quota_size
from scorer.policy.policy import Gates, Support


def published(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "reference" / "published_policy.json").read_text())


def test_published_quotas_follow_from_the_published_rates(shared: Path) -> None:
    content = published(shared)
    figures = [f[h] for f in content["policy"].values() for h in ("codex", "gemma")]
    found = [quota_size(f["rate"], content["universe"]["covered"]) for f in figures]
    assert len(found) == 22
    assert found == [f["k"] for f in figures]


def test_gates_of_all_heads_pass_the_targets_that_were_published_with_calls(shared: Path) -> None:
    content = published(shared)
    backings = {
        (head, target): Support(**{n: figures[head][n] for n in Support.model_fields})
        for target, figures in content["policy"].items()
        for head in ("codex", "gemma")
    }
    found = passed(backings, Gates(min_pos=20, min_ess=10.0, scope="all_heads"))
    calling = {target for target, f in content["policy"].items() if f["candidate"] > 0}
    assert set(found) == {(head, target) for target in calling for head in ("codex", "gemma")}
    assert len(passed(backings, Gates())) > len(found)


def test_published_rates_are_shares_of_all_labelled_works(shared: Path) -> None:
    """The heaviest positive has the same weight for both heads, though they declined other works.

    So rates are not shares of the works that a head judged: those differ by several per cent.
    """
    content = published(shared)
    total = content["universe"]["covered"]
    heaviest = [
        f[head]["top_share"] * f[head]["rate"] * total
        for target, f in content["policy"].items()
        for head in ("codex", "gemma")
        if not (target == "metaepi_narrow" or (target, head) == ("metaepi_broad", "codex"))
    ]
    assert len(heaviest) == 19
    assert heaviest == pytest.approx([2481.3] * 19, rel=2e-3)
    labels = read_label_table(shared / "labels" / "teacher_sample.parquet")
    teachers = Teachers(labels, labels.weight)
    yes = labels.positive(*PAIR) & labels.judged(*PAIR)
    assert teachers.support(*PAIR).rate == pytest.approx(
        labels.weight[yes].sum() / labels.weight.sum()
    )
