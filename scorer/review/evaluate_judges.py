"""Who said what is so: teachers, whose labels are a machine's, or human coders.

Both answer the same questions about the works of a sample whose design they know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

import numpy as np
import polars as pl

from scorer.decide.sample import Teachers
from scorer.policy.fit import Booleans
from scorer.review.bootstrap import Design

Who = Literal["teachers", "coders"]
Answers = tuple[Booleans, Booleans]
"""(known, yes), bool [works]: no work is a yes that is not known."""


class Judges(Protocol):
    """Those whose word scores and calls are compared with."""

    @property
    def who(self) -> Who:
        """What they are."""

    @property
    def rule(self) -> str:
        """What counts as a yes, in words; and that it is no more than their word."""

    @property
    def works(self) -> pl.DataFrame:
        """The sample: `id`, and what its file has of records and strata."""

    @property
    def design(self) -> Design:
        """How the works were drawn."""

    @property
    def names(self) -> Sequence[str]:
        """Each of them."""

    def answers(self, name: str, target: str) -> Answers:
        """Return what one of them says of a target."""

    def truth(self, heads: Sequence[str], needed: int, target: str) -> Answers:
        """Return what calls of at least `needed` of these heads are compared with."""

    def prevalence(self, target: str) -> Mapping[str, Answers]:
        """Return whose yes -> (works that it is a share of, yes)."""


@dataclass(frozen=True, slots=True)
class TeacherJudges:
    """Each head is compared with its own teacher, combinations of heads with as many of them."""

    teachers: Teachers
    design: Design
    names: tuple[str, ...]
    """The heads."""
    who: Who = "teachers"
    rule: str = (
        "each head with its own teacher, candidate with a yes of any teacher, consensus with a yes "
        "of all; these are machine labels, not the truth"
    )

    @classmethod
    def of(cls, teachers: Teachers, heads: Sequence[str], *, equal_weights: bool) -> Self:
        """Take the teachers of the student's heads, whose labels are there."""
        stratum = None if equal_weights else teachers.labels.stratum
        design = Design.of(teachers.weight, stratum, finite=not equal_weights)
        return cls(teachers, design, tuple(heads))

    @property
    def works(self) -> pl.DataFrame:
        """The labelled works."""
        return self.teachers.labels.works

    def answers(self, name: str, target: str) -> Answers:
        """Return a teacher's labels; works that it declined to judge are unknown."""
        known = self.teachers.judged(name, target)
        return known, self.teachers.positive(name, target) & known

    def truth(self, heads: Sequence[str], needed: int, target: str) -> Answers:
        """Return whether so many of the heads' teachers say yes, where all of them judged."""
        said = [self.answers(head, target) for head in heads]
        known = np.logical_and.reduce([judged for judged, _ in said])
        return known, (np.sum([yes for _, yes in said], axis=0) >= needed) & known

    def prevalence(self, target: str) -> Mapping[str, Answers]:
        """Return each teacher's yes, that of any and that of all, among the works asked about."""
        asked = {name: self.teachers.asked(name, target) for name in self.names}
        yes = {name: self.answers(name, target)[1] for name in self.names}
        found = {name: (asked[name], yes[name]) for name in self.names}
        if len(found) > 1:
            everyone = np.logical_and.reduce(list(asked.values()))
            for word, together in (
                ("any teacher", np.logical_or),
                ("all teachers", np.logical_and),
            ):
                found[word] = (everyone, together.reduce(list(yes.values())) & everyone)
        return found
