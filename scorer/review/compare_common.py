"""What two students and the labels have in common: the heads and targets to compare by."""

from collections.abc import Sequence

from scorer.decide.sample import named
from scorer.errors import UsageError
from scorer.labels.sample import Labels
from scorer.targets import Targets


def learned(targets: Targets) -> set[tuple[str, str]]:
    """Return (head, target) of all that a student has learned."""
    return {
        (head.name, target)
        for head in targets.heads
        for target in targets.binary_names
        if target not in head.unavailable
    }


def in_common(
    a: Targets, b: Targets, labels: Labels, asked: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the heads and targets that both have learned and the labels speak of, in A's order.

    `asked`: of these targets alone, if any. Raises `UsageError` where there is none, or not the one
    that is asked for.
    """
    there = labels.targets
    common = learned(a) & learned(b)
    found = [
        (head, target)
        for head in a.head_names
        for target in a.binary_names
        if (head, target) in common
        and head in there.head_names
        and target in there.binary_names
        and labels.has(head, target)
    ]
    if not found:
        said = [
            f"{what}: {named(of.head_names)} on {named(of.binary_names)}"
            for what, of in (("A", a), ("B", b), ("labels", there))
        ]
        raise UsageError(
            "A, B and the labels have no head and target in common.\n" + "; ".join(said) + "."
        )
    names = list(dict.fromkeys(target for _, target in found))
    for name in asked:
        if name not in names:
            raise UsageError(
                f"--target {name}: not a target that A, B and the labels have in common.\n"
                f"There are {', '.join(names)}."
            )
    return [(head, target) for head, target in found if target in (asked or names)]
