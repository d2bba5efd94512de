"""Policies with labels given: entries of kind `direct`, their version, and what is refused."""

import pytest
from policy_cases import FLAGS, at, targets_of

from scorer.errors import PolicyError
from scorer.policy.policy import (
    Direct,
    Policy,
    Silent,
    Support,
    check_policy,
    parse_policy,
    with_direct,
)

ONE, OTHER = "1" * 64, "2" * 64
TARGETS = targets_of("codex", "gemma")
SUPPORT = Support(n_pos=30, ess_pos=20.0, top_share=0.1, rate=0.1)
ENTRY = at(0.5).model_copy(update={"support": SUPPORT})
LEARNED = Policy(
    entries={name: dict.fromkeys(TARGETS.head_names, ENTRY) for name in TARGETS.binary_names}
)


def direct(sha256: str = ONE, flags: tuple[str, ...] = FLAGS) -> Policy:
    return with_direct(LEARNED, "gemma", sha256, TARGETS, flags)


def test_a_direct_head_decides_every_target_that_its_labels_speak_of() -> None:
    made = direct(flags=("about_ca_topic",))
    check_policy(made, TARGETS, "policy")
    assert made.direct_heads() == {"gemma": ONE}
    for name in TARGETS.binary_names:
        assert made.entry("codex", name) == ENTRY
        expected = Direct(sha256=ONE)
        if name == "about_ca_system":
            expected = Silent(reason="unavailable")
        assert made.entry("gemma", name) == expected


def test_the_version_follows_from_the_files_hash() -> None:
    assert direct(ONE).version == direct(ONE).version
    assert len({LEARNED.version, direct(ONE).version, direct(OTHER).version}) == 3


def test_a_direct_policy_comes_back_from_its_file() -> None:
    assert parse_policy(direct().to_json(), "p.json") == direct()


def test_labels_given_anew_leave_nothing_of_those_before() -> None:
    assert with_direct(direct(OTHER), "gemma", ONE, TARGETS, FLAGS) == direct(ONE)


@pytest.mark.parametrize(
    ("target", "entry"),
    [
        ("sts", ENTRY),
        ("sts", Direct(sha256=OTHER)),
        ("sts", Silent(reason="unavailable")),
        ("sts", Silent(reason="off")),
        ("about_ca_topic", Silent(reason="off")),
        ("about_ca_topic", ENTRY),
    ],
    ids=["learned", "other labels", "unavailable", "off", "flag off", "flag learned"],
)
def test_a_head_that_is_direct_for_some_targets_alone_is_refused(
    target: str, entry: Silent | Direct
) -> None:
    entries = {name: dict(heads) for name, heads in direct().entries.items()}
    entries[target]["gemma"] = entry
    with pytest.raises(PolicyError) as refused:
        check_policy(Policy(entries=entries), TARGETS, "p.json")
    assert refused.value.exit_code == 4
    wrong = refused.value.args[0]
    assert wrong.endswith(
        ": head 'gemma' is direct for other targets, so its labels decide this one too.\n"
        "Make its entries with --direct HEAD=FILE."
    )


def test_a_direct_entry_needs_a_hash() -> None:
    text = direct().to_json().replace(ONE, "no hash")
    with pytest.raises(PolicyError) as refused:
        parse_policy(text, "p.json")
    assert str(refused.value).startswith("p.json: entries.metaresearch.gemma.direct.sha256: ")
