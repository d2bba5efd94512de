"""Cases that the policy's tests share: works, scores, labels and a policy, and plain Python of it.

What the contract says is written here a second time, a work at a time and with Python's own sets,
for the columns to be compared with.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

from scorer.policy.axes import choose_axes
from scorer.policy.calls import SEGMENT, Given, Mode
from scorer.policy.columns import call_columns
from scorer.policy.policy import Direct, Entry, Policy, Quota, Silent, Threshold
from scorer.targets import INSUFFICIENT_PAYLOAD, Axis, Binary, Head, Label, Targets

checked = settings(max_examples=30)

LABEL = Label(en="x", fr="x")
CATEGORIES = ("metaresearch", "sts", INSUFFICIENT_PAYLOAD)
FLAGS = ("about_ca_system", "about_ca_topic")
AXES = {"domain": ("methods", "reporting", "incentives"), "genre": ("empirical", "review")}
OFF = Silent(reason="off")
DIRECT = Direct(sha256="0" * 64)
NOTHING = dict.fromkeys((*CATEGORIES, *FLAGS), False)
MODES = ("both", "candidate", "consensus", "majority")


def targets_of(
    *heads: str,
    categories: tuple[str, ...] = CATEGORIES,
    flags: tuple[str, ...] = FLAGS,
    unavailable: dict[str, tuple[str, ...]] | None = None,
) -> Targets:
    return Targets(
        heads=tuple(Head(name=h, unavailable=(unavailable or {}).get(h, ())) for h in heads),
        binary=(
            *(Binary(name=name, kind="category", label=LABEL) for name in categories),
            *(Binary(name=name, kind="flag", label=LABEL) for name in flags),
        ),
        axes=tuple(
            Axis(
                name=name,
                label=LABEL,
                values=values,
                value_labels=(LABEL,) * len(values),
                only_with="metaresearch" if name == "domain" else None,
            )
            for name, values in AXES.items()
        ),
    )


def at(value: float) -> Threshold:
    return Threshold(value=value, found_by="test")


def best(value: float, boundary: str) -> Quota:
    return Quota(k=1, value=value, boundary_id=boundary, found_by="test")


@dataclass(frozen=True)
class Said:
    """The label of one work: target -> yes or no, None where nothing was said; axis -> value."""

    binary: dict[str, bool | None]
    axes: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """Works with their scores [head][target][work] and axis scores [head][axis][work][value].

    `segments`: of each work; `usable`: its title; `labels`: direct head -> label of each work.
    """

    targets: Targets
    policy: Policy
    ids: list[str]
    segments: list[str]
    usable: list[bool]
    scores: dict[str, dict[str, list[float]]]
    axes: dict[str, dict[str, np.ndarray]]
    labels: dict[str, list[Said | None]]

    @property
    def heads(self) -> list[str]:
        return self.targets.head_names

    def frame(self) -> pl.DataFrame:
        columns = {
            "id": pl.Series(self.ids, dtype=pl.String),
            "segment": pl.Series(self.segments, dtype=SEGMENT),
            "usable_title": pl.Series(self.usable, dtype=pl.Boolean),
        }
        for head in self.heads:
            for target in self.targets.binary_names:
                columns[f"score_{head}_{target}"] = pl.Series(
                    self.scores[head][target], dtype=pl.Float32
                )
        return pl.DataFrame(columns)

    def given(self) -> dict[str, Given]:
        """The labels as the columns take them."""
        return {head: given_of(labels, self.targets) for head, labels in self.labels.items()}

    def calls(self, mode: Mode = "both", policy: Policy | None = None) -> pl.DataFrame:
        choices = choose_axes(self.axes, self.targets)
        return call_columns(
            self.frame(),
            choices,
            self.targets,
            policy or self.policy,
            mode=mode,
            given=self.given(),
        )

    def labels_of(self, row: int) -> list[Said | None]:
        """What the direct heads say of a work, in the order of the heads."""
        return [self.labels[head][row] for head in self.heads if head in self.labels]

    def said_of(self, row: int, axis: str) -> dict[str, str | None]:
        """What the direct heads say of an axis."""
        return {h: of[row] and of[row].axes[axis] for h, of in self.labels.items()}

    def with_entry(self, target: str, entries: dict[str, Entry]) -> Policy:
        """The policy with other entries for a target, but for the heads that are direct."""
        changed = self.policy.entries[target] | {
            head: entry for head, entry in entries.items() if head not in self.labels
        }
        return Policy(entries=self.policy.entries | {target: changed})

    def reordered(self, order: list[str]) -> "Case":
        return replace(
            self,
            targets=self.targets.model_copy(update={"heads": tuple(Head(name=h) for h in order)}),
        )

    def of_rows(self, rows: list[int]) -> "Case":
        """The case of some of the works, in another order."""

        def some(values: list) -> list:
            return [values[row] for row in rows]

        return replace(
            self,
            ids=some(self.ids),
            segments=some(self.segments),
            usable=some(self.usable),
            scores={h: {t: some(v) for t, v in of.items()} for h, of in self.scores.items()},
            axes={h: {a: v[rows] for a, v in of.items()} for h, of in self.axes.items()},
            labels={head: some(labels) for head, labels in self.labels.items()},
        )


def given_of(labels: list[Said | None], targets: Targets) -> Given:
    def bits(counts: Callable[[bool | None], bool]) -> pl.Series:
        return pl.Series(
            [
                label and sum(counts(label.binary.get(n)) << i for i, n in places)
                for label in labels
            ],
            dtype=pl.UInt64,
        )

    places = list(enumerate(targets.binary_names))
    return Given(
        said=bits(bool),
        known=bits(lambda said: said is not None),
        axes={
            axis.name: pl.Series(
                [label and label.axes.get(axis.name) for label in labels], dtype=pl.String
            )
            for axis in targets.axes
        },
    )


def case_of(
    targets: Targets,
    entries: dict[str, dict[str, Entry]],
    scores: dict[str, dict[str, list[float]]],
    *,
    ids: list[str] | None = None,
    segments: list[str] | None = None,
    usable: list[bool] | None = None,
    axes: dict[str, dict[str, np.ndarray]] | None = None,
    labels: dict[str, list[Said | None]] | None = None,
) -> Case:
    """A case in which entries that are not named are silent, scores 0, and axes undecided.

    Heads with labels are direct; titles are usable where the segment does not say otherwise.
    """
    rows = len(next(iter(next(iter(scores.values())).values())))
    heads, names = targets.head_names, targets.binary_names
    segments = ["covered"] * rows if segments is None else segments
    labels = labels or {}

    def entry(target: str, head: str) -> Entry:
        return DIRECT if head in labels else entries.get(target, {}).get(head, OFF)

    return Case(
        targets=targets,
        policy=Policy(entries={t: {h: entry(t, h) for h in heads} for t in names}),
        ids=ids or [f"W{row}" for row in range(rows)],
        segments=segments,
        usable=[word != INSUFFICIENT_PAYLOAD for word in segments] if usable is None else usable,
        scores={h: {t: scores.get(h, {}).get(t, [0.0] * rows) for t in names} for h in heads},
        axes=axes
        or {
            h: {a.name: np.zeros((rows, len(a.values)), np.float32) for a in targets.axes}
            for h in heads
        },
        labels=labels,
    )


# Scores on both sides of every threshold, at it, and at what float64 makes of it.
SCORES = [0.0, 0.1, 0.25, 0.3, float(np.float32(0.3)), 0.5, 0.7, 1.0]
ENTRY = st.one_of(
    st.sampled_from([at(value) for value in SCORES]),
    st.sampled_from([best(value, work) for value in SCORES for work in ("W10", "W2", "W99", "")]),
    st.sampled_from([OFF, Silent(reason="support"), Silent(reason="unavailable")]),
)
TARGETS = {number: targets_of(*["codex", "gemma", "third"][:number]) for number in (1, 2, 3)}


def some_label(rng: np.random.Generator) -> Said | None:
    """A label as one draws it: none at all, or with anything in it left unsaid."""
    if rng.random() < 0.25:
        return None
    judged = rng.random() < 0.75  # the categories stand together, flags each alone
    binary = {name: bool(rng.random() < 0.5) if judged else None for name in CATEGORIES}
    binary |= {name: (True, False, None)[rng.integers(3)] for name in FLAGS}
    axes = {name: (*values, None)[rng.integers(len(values) + 1)] for name, values in AXES.items()}
    return Said(binary, axes)


@st.composite
def cases(draw: st.DrawFn, heads: tuple[int, ...] = (1, 2, 3), most_direct: int = 3) -> Case:
    """Draw a case of up to four works; scores come from a drawn seed, which is much faster."""
    targets = TARGETS[draw(st.sampled_from(heads))]
    names, rows = targets.head_names, draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    direct = draw(st.lists(st.sampled_from(names), unique=True, max_size=most_direct))
    titles = st.sampled_from(
        [
            ("covered", True),
            (INSUFFICIENT_PAYLOAD, False),
            ("excluded", True),
            ("excluded", False),
        ]
    )
    works = draw(st.lists(titles, min_size=rows, max_size=rows))
    return case_of(
        targets,
        {t: {h: draw(ENTRY) for h in names} for t in targets.binary_names},
        {h: {t: rng.choice(SCORES, rows).tolist() for t in targets.binary_names} for h in names},
        ids=rng.permutation(["W1", "W2", "W10", "W3", "W9", "V"])[:rows].tolist(),
        segments=[segment for segment, _ in works],
        usable=[usable for _, usable in works],
        axes={
            h: {
                name: rng.choice(np.float32([0.0, 0.2, 0.4, 0.5]), (rows, len(values)))
                for name, values in AXES.items()
            }
            for h in names
        },
        labels={h: [some_label(rng) for _ in range(rows)] for h in names if h in direct},
    )


def decides(entry: Entry, score: float, work: str) -> bool:
    """What the contract says of one score, in plain Python."""
    score = np.float32(score)
    match entry:
        case Threshold():
            return bool(score >= np.float32(entry.value))
        case Quota():
            value = np.float32(entry.value)
            return bool(score > value) or bool(score == value and work <= entry.boundary_id)
        case Silent():
            return False
        case Direct():
            raise AssertionError("a direct head's scores decide nothing")


def plain_calls(case: Case, head: str, names: list[str]) -> list[list[str]]:
    """Whom a head calls, a work at a time."""

    def says(name: str, row: int) -> bool:
        if head in case.labels:
            label = case.labels[head][row]
            return label is not None and label.binary[name] is True
        return decides(case.policy.entry(head, name), case.scores[head][name][row], case.ids[row])

    found = []
    for row, segment in enumerate(case.segments):
        by_rule = [INSUFFICIENT_PAYLOAD] if INSUFFICIENT_PAYLOAD in names else []
        found.append(
            {
                "covered": [name for name in names if says(name, row)],
                INSUFFICIENT_PAYLOAD: by_rule,
                "excluded": [],
            }[segment]
        )
    return found


def combined(case: Case, what: str, votes_needed: int) -> list[list[str]]:
    """The names that so many heads call."""
    names = case.targets.categories if what == "categories" else case.targets.flags
    heads = [plain_calls(case, head, names) for head in case.heads]
    return [
        [name for name in names if sum(name in calls for calls in row) >= votes_needed]
        for row in zip(*heads, strict=True)
    ]


def plain_distance(case: Case, row: int) -> float:
    """The largest distance between the heads, over the targets on which two have a say."""
    distances = [0.0]
    for target in case.targets.binary_names:
        stands = []
        for head in case.targets.heads:
            if head.name in case.labels:
                label = case.labels[head.name][row]
                if label is not None and label.binary[target] is not None:
                    stands.append(np.float32(label.binary[target]))
            elif target not in head.unavailable:
                stands.append(np.float32(case.scores[head.name][target][row]))
        if stands:
            distances.append(float(max(stands) - min(stands)))
    return max(distances)
