import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from scorer.errors import PolicyError
from scorer.policy.policy import (
    Gates,
    Policy,
    Quota,
    Silent,
    Support,
    Threshold,
    check_policy,
    parse_policy,
)
from scorer.targets import Binary, Head, Label, Targets

PUBLISHED = Path(__file__).parents[3] / "shared" / "reference" / "published_policy.json"
SUPPORT = Support(n_pos=30, ess_pos=12.5, top_share=0.25, rate=0.125)
LABEL = Label(en="x", fr="x")
TARGETS = Targets(
    heads=(Head(name="codex"), Head(name="gemma")),
    binary=(
        Binary(name="metaresearch", kind="category", label=LABEL),
        Binary(name="about_ca", kind="flag", label=LABEL),
    ),
)


def policy_of(**changes: Any) -> Policy:
    entries = {
        "metaresearch": {
            "codex": Threshold(value=0.3, found_by="F-2", support=SUPPORT),
            "gemma": Quota(k=3, value=0.25, boundary_id="W7", found_by="rate", support=SUPPORT),
        },
        "about_ca": {
            "codex": Silent(reason="support", support=SUPPORT),
            "gemma": Silent(reason="off"),
        },
    }
    return Policy(**{"entries": entries, **changes})


def with_entry(target: str, head: str, entry: Threshold | Quota | Silent) -> Policy:
    entries = {name: dict(heads) for name, heads in policy_of().entries.items()}
    entries[target][head] = entry
    return policy_of(entries=entries)


def refused_text(text: str) -> str:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p.json")
    assert caught.value.exit_code == 4
    return str(caught.value)


def refused_check(policy: Policy) -> str:
    with pytest.raises(PolicyError) as caught:
        check_policy(policy, TARGETS, "p.json")
    return str(caught.value)


def changed(change: Any) -> str:
    content = json.loads(policy_of().to_json())
    change(content)
    return json.dumps(content)


def test_a_policy_survives_a_round_trip_through_json() -> None:
    policy = policy_of(gates=Gates(min_pos=5, min_ess=2.5, scope="all_heads"))
    read = parse_policy(policy.to_json(), "p.json")
    assert read == policy
    assert read.to_json() == policy.to_json()
    assert json.loads(policy.to_json())["policy_version"] == policy.version


def test_entries_are_found_by_head_and_target() -> None:
    policy = policy_of()
    assert policy.entry("gemma", "about_ca") == Silent(reason="off")
    assert [(target, entry.kind) for target, entry in policy.of_head("codex")] == [
        ("metaresearch", "threshold"),
        ("about_ca", "none"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        policy_of(gates=Gates(min_pos=21)),
        policy_of(gates=Gates(scope="all_heads")),
        with_entry("metaresearch", "codex", Threshold(value=0.3000001, found_by="F-2")),
        with_entry("metaresearch", "gemma", Quota(k=3, value=0.25, boundary_id="W8", found_by="r")),
        with_entry("about_ca", "gemma", Silent(reason="unavailable")),
    ],
)
def test_the_version_changes_with_the_content(other: Policy) -> None:
    assert other.version != policy_of().version


def test_the_version_does_not_change_with_the_order_of_entries() -> None:
    entries = {
        target: dict(reversed(heads.items())) for target, heads in policy_of().entries.items()
    }
    other = policy_of(entries=dict(reversed(entries.items())))
    assert other.version == policy_of().version


def test_an_edited_policy_under_its_old_version_is_refused() -> None:
    text = changed(lambda c: c["entries"]["metaresearch"]["codex"].update(value=0.4))
    edited = policy_of().version
    first, second = refused_text(text).splitlines()
    assert first.startswith(f"p.json: says version {edited}, its content makes ")
    assert second == 'If the edit is meant, take the line "policy_version" out.'


def test_an_edited_policy_without_its_version_is_a_new_policy() -> None:
    def edit(content: dict[str, Any]) -> None:
        content.pop("policy_version")
        content["entries"]["metaresearch"]["codex"]["value"] = 0.4

    policy = parse_policy(changed(edit), "p.json")
    assert policy.entry("codex", "metaresearch").value == 0.4
    assert policy.version != policy_of().version


@pytest.mark.parametrize("text", ["", "{", "3", "null", '"text"', "[]", '["policy_version"]'])
def test_text_that_is_no_policy_is_told(text: str) -> None:
    assert refused_text(text).startswith("p.json: not a policy in JSON (")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kind": "threshold", "value": 1.5, "found_by": ""}, "value: Input should be less"),
        ({"kind": "threshold", "value": -0.1, "found_by": ""}, "value: Input should be greater"),
        ({"kind": "threshold", "value": float("nan"), "found_by": ""}, "value: Input should be"),
        ({"kind": "threshold", "found_by": ""}, "value: Field required"),
        ({"kind": "threshold", "value": 0.5, "found_by": "", "k": 1}, "k: Extra inputs"),
        ({"kind": "quota", "k": 0, "value": 0.5, "boundary_id": "", "found_by": ""}, "k: Input"),
        ({"kind": "none", "reason": "because"}, "reason: Input should be 'support'"),
        ({"kind": "guess"}, "codex: Input tag 'guess' found"),
        ({}, "codex: Unable to extract tag"),
    ],
)
def test_an_entry_that_does_not_fit_is_named(entry: dict[str, object], said: str) -> None:
    text = refused_text(changed(lambda c: c["entries"]["metaresearch"].update(codex=entry)))
    assert text.startswith("p.json: entries.metaresearch.codex")
    assert said in text


def test_a_policy_without_entries_or_of_another_schema_is_refused() -> None:
    assert refused_text("{}") == "p.json: entries: Field required."
    assert refused_text(changed(lambda c: c.update(schema_version=2))).startswith(
        "p.json: schema_version: "
    )


def test_other_rules_than_union_and_intersection_are_refused() -> None:
    text = refused_text(changed(lambda c: c["rule"].update(candidate="majority")))
    assert text.startswith("p.json: rule.candidate: Input should be 'union'")


def test_support_out_of_range_is_refused() -> None:
    with pytest.raises(ValidationError, match="rate"):
        Support(n_pos=1, ess_pos=1, top_share=1, rate=1.5)


def test_a_policy_for_these_heads_and_targets_passes() -> None:
    check_policy(policy_of(), TARGETS, "p.json")


def test_a_call_without_a_record_of_support_is_refused() -> None:
    bare = with_entry("metaresearch", "gemma", Threshold(value=0.1))
    assert refused_check(bare) == (
        "p.json: metaresearch: head 'gemma' calls without a record of support.\n"
        "Take the support along from the bundle's policy: scorer thresholds -o FILE"
    )


def test_an_unknown_target_is_named() -> None:
    entries = {**policy_of().entries, "sts": policy_of().entries["about_ca"]}
    assert refused_check(policy_of(entries=entries)) == (
        "p.json: unknown target 'sts'; the bundle has metaresearch, about_ca.\n"
        "Use a policy that was made for this bundle."
    )


def test_a_missing_target_is_named() -> None:
    entries = {"metaresearch": policy_of().entries["metaresearch"]}
    assert refused_check(policy_of(entries=entries)) == (
        "p.json: no entry for target 'about_ca', which the bundle has.\n"
        "Use a policy that was made for this bundle."
    )


def test_an_unknown_head_is_named_with_its_target() -> None:
    assert refused_check(with_entry("about_ca", "llama", Silent(reason="off"))) == (
        "p.json: about_ca: unknown head 'llama'; the bundle has codex, gemma.\n"
        "Use a policy that was made for this bundle."
    )


def test_a_missing_head_is_named_with_its_target() -> None:
    entries = {name: dict(heads) for name, heads in policy_of().entries.items()}
    del entries["about_ca"]["gemma"]
    assert refused_check(policy_of(entries=entries)) == (
        "p.json: about_ca: no entry for head 'gemma', which the bundle has.\n"
        "Use a policy that was made for this bundle."
    )


@pytest.mark.parametrize(
    ("n_pos", "ess_pos", "passes"),
    [(20, 10.0, True), (19, 10.0, False), (20, 9.99, False), (0, 0.0, False)],
)
def test_a_gate_is_passed_at_its_least_values(n_pos: int, ess_pos: float, passes: bool) -> None:
    support = Support(n_pos=n_pos, ess_pos=ess_pos, top_share=0, rate=0)
    assert Gates(min_pos=20, min_ess=10.0).passed(support) is passes


def published() -> dict[str, Any]:
    if not PUBLISHED.is_file():
        pytest.skip(f"{PUBLISHED} is absent: this test reads the published figures")
    return json.loads(PUBLISHED.read_text(encoding="utf-8"))


def published_heads(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [target[head] for target in content["policy"].values() for head in ("codex", "gemma")]


def test_the_gates_pass_what_the_reference_team_published_as_passing() -> None:
    content = published()
    gates = Gates(min_pos=content["gates"]["min_pos"], min_ess=content["gates"]["min_ess"])
    figures = published_heads(content)
    found = [
        gates.passed(
            Support(**{name: f[name] for name in ("n_pos", "ess_pos", "top_share", "rate")})
        )
        for f in figures
    ]
    assert len(found) == 22
    assert found == [f["passes"] for f in figures]


def test_quotas_are_the_published_rates_of_the_covered_works() -> None:
    content = published()
    covered = content["universe"]["covered"]
    figures = published_heads(content)
    assert covered == 4_258_728
    assert [round(f["rate"] * covered) for f in figures] == [f["k"] for f in figures]


def test_published_thresholds_and_quotas_make_a_policy() -> None:
    content = published()
    heads = {
        target: {head: figures[head] for head in ("codex", "gemma")}
        for target, figures in content["policy"].items()
    }
    entries = {
        target: {
            head: Quota(k=f["k"], value=f["threshold"], boundary_id="W1", found_by="published")
            if "threshold" in f
            else Silent(reason="support")
            for head, f in figures.items()
        }
        for target, figures in heads.items()
    }
    policy = parse_policy(Policy(entries=entries).to_json(), "p.json")
    speaking = {t for t, h in policy.entries.items() if all(e.kind == "quota" for e in h.values())}
    assert speaking == {t for t, f in content["policy"].items() if f["candidate"] > 0}
