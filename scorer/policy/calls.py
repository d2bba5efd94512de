"""From scores to calls: operations on columns, the same for `run`, `call` and `verify`.

A set of calls is held as an integer, one bit a target, so that union and intersection are `|` and
`&`; lists of names are made from the bits at the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from scorer.policy.policy import Entry, Policy, Quota, Silent, Threshold
from scorer.targets import INSUFFICIENT_PAYLOAD, Targets, score_column

Bits = npt.NDArray[np.uint16 | np.uint64]
Mode = Literal["candidate", "consensus", "majority", "both"]
COVERED: Final = "covered"
EXCLUDED: Final = "excluded"
"""The segment of works that are scored, but never called: they carry labels already."""
CANDIDATE: Final = "candidate"
CONSENSUS: Final = "consensus"
MAJORITY: Final = "majority"
WHATS: Final = ("categories", "flags")
"""The two lists of calls that every kind has."""

SEGMENT = pl.Enum([COVERED, INSUFFICIENT_PAYLOAD, EXCLUDED])
CLASSIFICATION = pl.Enum([CONSENSUS, MAJORITY, CANDIDATE, "none", "score_only"])


@dataclass(frozen=True, slots=True)
class Given:
    """What a direct head's labels say of a batch of works.

    `said` and `known`: UInt64 [works], bit `i` for the binary target `i`: whether the label says
    yes, and whether there is one. `axes`: axis -> text
    or an Enum of its values [works], null where nothing is said.
    """

    said: pl.Series
    known: pl.Series
    axes: Mapping[str, pl.Series] = field(default_factory=dict)


def kinds(targets: Targets, mode: Mode) -> list[str]:
    """Return whose calls there are columns of: each head, candidate, consensus, or majority too."""
    return [*targets.head_names, CANDIDATE, CONSENSUS, *([MAJORITY] if mode == MAJORITY else [])]


def fewest(kind: str, heads: int) -> int:
    """Return how many of so many heads must call a target for a combination of them to call it."""
    return {CANDIDATE: 1, CONSENSUS: heads, MAJORITY: heads // 2 + 1}[kind]


def segments(usable: pl.Series, excluded: npt.NDArray[np.bool_] | None) -> pl.Series:
    """Return each work's segment; what is excluded is so whatever its title.

    `usable`: whether the cleaned title is long enough; `excluded`: bool [works].
    """
    codes = np.where(usable.to_numpy(), _segment(COVERED), _segment(INSUFFICIENT_PAYLOAD))
    if excluded is not None:
        codes[excluded] = _segment(EXCLUDED)
    return pl.Series("segment", SEGMENT.categories.to_list(), SEGMENT).gather(codes)


def _segment(name: str) -> int:
    return SEGMENT.categories.to_list().index(name)


def call_sets(
    scores: pl.DataFrame,
    targets: Targets,
    policy: Policy,
    mode: Mode = "both",
    given: Mapping[str, Given] | None = None,
) -> pl.DataFrame:
    """Return columns `<kind>_categories` and `<kind>_flags`, bit `i` for target `i`.

    UInt16, or UInt64 for students with more than 16 categories or flags.

    `scores`: `id` where a quota decides, `segment` (Enum) and the score columns of what calls,
    float32. `kind`: each head, `candidate` (union), `consensus` (intersection), and `majority`
    (more than half of the heads) where `mode` asks for it. `given`: head -> labels of these works,
    for the heads whose entries are direct.
    """
    segment = scores["segment"].to_physical().to_numpy()
    width = _width(targets)
    covered = segment == _segment(COVERED)
    no_title = segment == _segment(INSUFFICIENT_PAYLOAD)
    by_rule = no_title * width(1 << category_names(targets).index(INSUFFICIENT_PAYLOAD))
    sets: dict[str, Bits] = {}
    for head in targets.head_names:
        if given and head in given:
            said = given[head].said.fill_null(0).to_numpy()
            categories = (said & ((1 << len(targets.categories)) - 1)).astype(width)
            flags = (said >> len(targets.categories)).astype(width)
        else:
            categories = _bits(head, policy, scores, targets, "categories")
            flags = _bits(head, policy, scores, targets, "flags")
        sets[f"{head}_categories"] = categories * covered | by_rule
        sets[f"{head}_flags"] = flags * covered
    for combination in kinds(targets, mode)[len(targets.heads) :]:
        for what in WHATS:
            heads = [sets[f"{head}_{what}"] for head in targets.head_names]
            sets[f"{combination}_{what}"] = _combined(heads, combination)
    return pl.DataFrame(sets)


def list_columns(sets: pl.DataFrame, targets: Targets) -> dict[str, pa.ListArray]:
    """Return the lists of names behind the columns of `call_sets`, in manifest order."""
    return {
        name: name_lists(bits, members(targets, name.rsplit("_", 1)[1]))
        for name, bits in zip(sets.columns, sets.iter_columns(), strict=True)
    }


def name_lists(sets: pl.Series, names: Sequence[str]) -> pa.ListArray:
    """Return the names of the bits that are set, in order: list<string>, never null."""
    bits = sets.to_numpy()
    rows = np.flatnonzero(bits != 0)  # most works are called nothing
    after = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(np.bitwise_count(bits[rows]), out=after[1:])
    # Where each list ends: all rows from one that is called to the next end alike.
    ends = np.repeat(after, np.diff(rows, prepend=-1, append=len(bits)))
    codes = np.empty(after[-1], np.int32)
    at = after[:-1].copy()
    left = bits[rows]
    for place in range(len(names)):
        has = (left >> place) & 1 != 0
        codes[at[has]] = place
        at += has
    values = pa.array(names, pa.string()).take(pa.array(codes))
    return pa.ListArray.from_arrays(pa.array(ends), values)


def sets_of_lists(lists: pl.Series, names: Sequence[str]) -> pl.Series:
    """Return the bits of lists of names, UInt64: the way back from `name_lists`."""
    places = {name: 1 << place for place, name in enumerate(names)}
    numbered = (
        pl.DataFrame({"row": np.arange(len(lists)), "name": lists})
        .explode("name")
        .filter(pl.col("name").is_not_null())
        .with_columns(
            pl.col("name").replace_strict(places, default=None, return_dtype=pl.UInt64).alias("bit")
        )
    )
    bits = np.zeros(len(lists), np.uint64)
    np.bitwise_or.at(bits, numbered["row"].to_numpy(), numbered["bit"].to_numpy())
    return pl.Series(bits)


def classification(sets: pl.DataFrame, mode: Mode) -> pl.Series:
    """Return `consensus`, `majority`, `candidate` or `none`, from the sets of categories."""
    words = CLASSIFICATION.categories.to_list()
    codes = np.full(sets.height, words.index("none"), np.uint8)
    for kind in (CANDIDATE, CONSENSUS) if mode == "both" else (mode,):  # the stricter comes last
        codes[sets[f"{kind}_categories"].to_numpy() != 0] = words.index(kind)
    return pl.Series("classification", words, CLASSIFICATION).gather(codes)


def members(targets: Targets, what: str) -> list[str]:
    """Return the names behind the bits of `categories` or `flags`."""
    return category_names(targets) if what == "categories" else targets.flags


def category_names(targets: Targets) -> list[str]:
    """Return the names behind the bits; the rule on empty titles holds for every bundle."""
    names = targets.categories
    return names if INSUFFICIENT_PAYLOAD in names else [*names, INSUFFICIENT_PAYLOAD]


def _width(targets: Targets) -> type[np.uint16 | np.uint64]:
    """Return what holds a set: few bytes, since most students have nine categories, two flags."""
    most = max(len(category_names(targets)), len(targets.flags))
    return np.uint16 if most <= np.iinfo(np.uint16).bits else np.uint64


def _bits(head: str, policy: Policy, scores: pl.DataFrame, targets: Targets, what: str) -> Bits:
    width = _width(targets)
    bits = np.zeros(scores.height, width)
    for place, target in enumerate(getattr(targets, what)):
        entry = policy.entry(head, target)
        if not isinstance(entry, Silent):
            called = _decided(entry, scores, score_column(head, target))
            bits |= np.left_shift(called, place, dtype=width)
    return bits


def _decided(entry: Entry, scores: pl.DataFrame, column: str) -> npt.NDArray[np.bool_]:
    score = scores[column].to_numpy()
    match entry:
        case Threshold():
            called: npt.NDArray[np.bool_] = score >= np.float32(entry.value)
        case Quota():
            called = score > np.float32(entry.value)
            tied = np.flatnonzero(score == np.float32(entry.value))
            called[tied] = (scores["id"].gather(tied) <= entry.boundary_id).to_numpy()
        case _:
            raise ValueError(f"{column}: a {entry.kind} entry does not decide by scores")
    return called


def _combined(heads: Sequence[Bits], combination: str) -> Bits:
    if combination == CANDIDATE:
        return reduce(np.bitwise_or, heads)
    if combination == CONSENSUS:
        return reduce(np.bitwise_and, heads)
    # More than half agree on a bit where some group of just that many heads does.
    groups = combinations(heads, fewest(MAJORITY, len(heads)))
    return reduce(np.bitwise_or, (reduce(np.bitwise_and, group) for group in groups))
