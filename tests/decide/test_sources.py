"""Choosing how each entry is found: the words for it, and which of them wins."""

import pytest

from scorer.decide.sources import (
    AtPrecision,
    AtRecall,
    BestFBeta,
    BestWorks,
    ByHand,
    Choice,
    How,
    Kept,
    Off,
    choices,
    parse_how,
    parse_value,
)
from scorer.errors import UsageError
from scorer.targets import Binary, Head, Label, Targets

LABEL = Label(en="x", fr="x")


def targets_of(heads: dict[str, tuple[str, ...]], names: tuple[str, ...]) -> Targets:
    return Targets(
        heads=tuple(Head(name=name, unavailable=missing) for name, missing in heads.items()),
        binary=tuple(Binary(name=name, kind="category", label=LABEL) for name in names),
    )


TARGETS = targets_of({"codex": (), "gemma": ("sts",)}, ("metaresearch", "sts"))


def chosen(exceptions: dict[str, How], default: How | None = None) -> dict[str, How]:
    named = {where: Choice(how, f"--for {where}=HOW") for where, how in exceptions.items()}
    found = choices(TARGETS, default, named)
    return {".".join(pair): choice.how for pair, choice in found.items()}


def refused(exceptions: dict[str, How], targets: Targets = TARGETS) -> str:
    named = {where: Choice(how, f"--for {where}=HOW") for where, how in exceptions.items()}
    with pytest.raises(UsageError) as caught:
        choices(targets, None, named)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("fbeta:2", BestFBeta(2.0)),
        ("fbeta:0.5", BestFBeta(0.5)),
        ("quota", BestWorks()),
        ("quota:25957", BestWorks(25_957)),
        ("recall:0.9", AtRecall(0.9)),
        ("recall:1", AtRecall(1.0)),
        ("precision:0.8", AtPrecision(0.8)),
        ("off", Off()),
    ],
)
def test_a_source_is_read_from_a_word(text: str, how: How) -> None:
    assert parse_how(text, "--for x") == how


@pytest.mark.parametrize(
    "text",
    [
        *("", "best", "off:1", "fbeta", "fbeta:", "fbeta:0", "fbeta:nan", "fbeta:inf"),
        *("quota:0", "quota:-1", "quota:1.5", "quota:²"),
        *("recall:0", "recall:1.1", "precision:x", "precision:-1"),
    ],
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_how(text, f"--for sts={text}")
    assert str(caught.value) == (
        f"--for sts={text}: expected fbeta:B, quota, quota:K, recall:R, precision:P or off.\n"
        "B over 0; K a number of works; R and P over 0, at most 1."
    )


def test_a_threshold_by_hand_is_a_score() -> None:
    assert parse_value("0.19", "--set x") == ByHand(0.19)
    for text in ("-0.1", "1.01", "nan", "high"):
        with pytest.raises(UsageError) as caught:
            parse_value(text, f"--set sts={text}")
        assert str(caught.value) == f"--set sts={text}: a threshold is a score, from 0 to 1."


def test_without_a_default_all_entries_are_kept() -> None:
    assert set(chosen({}).values()) == {Kept()}


def test_the_closest_name_wins_whatever_the_order() -> None:
    exceptions = {"codex.sts": Off(), "sts": AtRecall(0.9), "codex": BestWorks()}
    expected = {
        "codex.metaresearch": BestWorks(),
        "codex.sts": Off(),
        "gemma.metaresearch": BestFBeta(2),
        "gemma.sts": AtRecall(0.9),
    }
    assert chosen(exceptions, BestFBeta(2)) == expected
    assert chosen(dict(reversed(exceptions.items())), BestFBeta(2)) == expected


def test_an_unknown_name_lists_what_there_is() -> None:
    assert refused({"codex.st": Off()}) == (
        "--for codex.st=HOW: codex.st: no such head, target or HEAD.TARGET.\n"
        "Heads: codex, gemma. Targets: metaresearch, sts."
    )


def test_names_may_hold_dots() -> None:
    targets = targets_of({"gpt-4.1": ()}, ("open.science", "sts"))
    named = {"gpt-4.1.open.science": Choice(Off(), "x"), "open.science": Choice(BestWorks(), "y")}
    found = choices(targets, BestFBeta(1), named)
    assert found["gpt-4.1", "open.science"].how == Off()
    assert found["gpt-4.1", "sts"].how == BestFBeta(1)


def test_a_name_of_two_meanings_is_refused() -> None:
    targets = targets_of({"a": (), "a.b": ()}, ("c", "b.c"))
    assert refused({"a.b.c": Off()}, targets) == (
        "--for a.b.c=HOW: a.b.c: means more than one thing.\nHeads: a, a.b. Targets: c, b.c."
    )


def test_what_a_head_has_not_learned_cannot_be_asked_for_by_name() -> None:
    assert refused({"gemma.sts": BestFBeta(2)}) == (
        "--for gemma.sts=HOW: gemma has not learned sts, so it makes no calls there."
    )
    assert chosen({"gemma.sts": Off(), "sts": BestFBeta(2)})["gemma.sts"] == Off()
