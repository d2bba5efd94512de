import pytest

from scorer.policy.policy import Policy, Quota, Silent, Support, Threshold
from scorer.policy.words import decision, rules
from scorer.targets import Binary, Head, Label, Targets

SUPPORT = Support(n_pos=1274, ess_pos=20.93, top_share=0.1, rate=0.006)
LOW = Threshold(value=0.1234567, found_by="F-2", support=SUPPORT)
BEST = Quota(k=25_957, value=0.189, boundary_id="W1", found_by="rate")
SILENT = Silent(reason="support", support=SUPPORT)


def rule_of(codex, gemma, mode: str | None):
    label = Label(en="Metaresearch", fr="Métarecherche")
    targets = Targets(
        heads=(Head(name="codex"), Head(name="gemma")),
        binary=(Binary(name="metaresearch", kind="category", label=label),),
    )
    policy = Policy(entries={"metaresearch": {"gemma": gemma, "codex": codex}})
    (rule,) = rules(policy, targets, mode)
    return rule


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (LOW, "≥ 0.123"),
        (BEST, "best 25,957 (≥ 0.189)"),
        (SILENT, "none: support"),
        (Silent(reason="unavailable"), "none: unavailable"),
        (Silent(reason="off"), "none: off"),
    ],
)
def test_a_decision_is_said_in_few_words(entry, words: str) -> None:
    assert decision(entry) == words


def test_a_rule_holds_each_heads_decision_in_manifest_order() -> None:
    rule = rule_of(LOW, SILENT, None)
    assert (rule.target, rule.label, rule.words) == ("metaresearch", "Metaresearch", "")
    assert list(rule.decisions.items()) == [("codex", "≥ 0.123"), ("gemma", "none: support")]


@pytest.mark.parametrize(
    ("codex", "gemma", "mode", "words"),
    [
        (LOW, BEST, "candidate", "codex ≥ 0.123 or gemma best 25,957 (≥ 0.189)"),
        (LOW, BEST, "consensus", "codex ≥ 0.123 and gemma best 25,957 (≥ 0.189)"),
        (LOW, SILENT, "candidate", "codex ≥ 0.123"),
        (LOW, SILENT, "consensus", "never: gemma is silent"),
        (SILENT, SILENT, "candidate", "never: every head is silent"),
        (SILENT, SILENT, "consensus", "never: codex and gemma are silent"),
    ],
)
def test_a_rule_in_words_says_how_the_heads_combine(codex, gemma, mode: str, words: str) -> None:
    assert rule_of(codex, gemma, mode).words == words


def majority_of(target: str, *entries) -> str:
    label = Label(en="x", fr="x")
    heads = ("codex", "gemma", "llama", "qwen")[: len(entries)]
    targets = Targets(
        heads=tuple(Head(name=name) for name in heads),
        binary=(Binary(name=target, kind="category", label=label),),
    )
    policy = Policy(entries={target: dict(zip(heads, entries, strict=True))})
    (rule,) = rules(policy, targets, "majority")
    return rule.words


def test_a_majority_needs_more_than_half_of_the_heads() -> None:
    at = "≥ 0.123"
    three = f"codex {at}, gemma {at}, llama {at}"
    assert majority_of("sts", LOW, LOW, LOW) == f"two or more of: {three}"
    assert majority_of("sts", LOW, LOW, SILENT) == f"two or more of: codex {at}, gemma {at}"
    assert majority_of("sts", LOW, LOW, LOW, LOW) == f"three or more of: {three}, qwen {at}"
    assert majority_of("sts", LOW, SILENT, SILENT) == "never: gemma and llama are silent"
    assert majority_of("sts", SILENT, SILENT, SILENT) == "never: every head is silent"


def test_an_empty_title_is_called_by_rule_in_every_mode() -> None:
    rule = "without a usable title"
    called = majority_of("insufficient_payload", LOW, LOW, SILENT)
    assert called == f"two or more of: codex ≥ 0.123, gemma ≥ 0.123, or by rule {rule}"
    assert majority_of("insufficient_payload", LOW, SILENT, SILENT) == f"only by rule, {rule}"
