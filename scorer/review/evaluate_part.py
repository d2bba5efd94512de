"""One part of a sample evaluated: first what is to be computed, then what it comes to.

All figures of all parts are computed over the same replicates in one go; so a part is first a plan
of measures by key, and becomes a section once their values are there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from scorer.policy.fit import Booleans, Floats, Weights
from scorer.policy.reliability import STEPS, step_of
from scorer.review.agreement import Agreement
from scorer.review.bootstrap_interval import Figure, effective, share, signed
from scorer.review.calibration import Reliability
from scorer.review.evaluate_judges import Judges
from scorer.review.evaluate_questions import Pair, Question, pairs
from scorer.review.evaluate_results import Agreed, Compared, Rate, Section, Step
from scorer.review.metrics import Calls, Measure, Ranking, Shares

_ROUNDING: Final = 1e-9
"""Ten works of equal weight are as many as ten, though the sum of their weights may not be."""


class Key(NamedTuple):
    """What a measure is of."""

    part: int
    what: str
    target: str
    who: str


@dataclass(frozen=True, slots=True)
class Support:
    """How many works said to be a yes a figure needs; precision and F-beta: works called too.

    Heavy works count for many light ones, so what must reach `least` is their effective number
    (Kish, 1965), as in the gates of a policy.
    """

    least: float
    weight: Weights

    def lacking(self, known: Booleans, yes: Booleans) -> str | None:
        """Return why works tell too little, if they do."""
        count, positives = int(known.sum()), int((yes & known).sum())
        if not count:
            return "no work judged"
        if positives in (0, count):
            return f"one class: {'every' if positives else 'no'} work is a yes"
        return self.few("positives", yes & known)

    def lacking_calls(self, called: Booleans) -> str | None:
        """Return why calls tell too little of their precision, if they do."""
        return self.few("works called", called) if called.any() else "no work called"

    def few(self, what: str, works: Booleans) -> str | None:
        """Return that there are too few of these works, if there are."""
        count, as_many = int(works.sum()), effective(self.weight[works])
        if as_many >= self.least - _ROUNDING:
            return None
        by_weight = f", by weight as {as_many:.1f}" if as_many < count - 0.05 else ""
        return f"too few {what}: {count}{by_weight}; needed {self.least:g}"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the sample, before its figures are computed."""

    number: int
    mask: Booleans
    questions: Sequence[Question]
    judges: Judges
    support: Support
    beta: float

    def plan(self) -> Iterator[tuple[Key, Measure]]:
        """Yield the measures that have support enough, of works and their doubles."""
        again, either = self.judges.design.again, self.judges.design.either
        for asked in self.questions:
            known = asked.known & self.mask
            if self.support.lacking(known, asked.yes):
                continue
            key = self._key("ranking", asked.target, asked.kind)
            score, yes, judged = again(asked.score), either(asked.yes), again(known)
            yield key, Ranking.of(score, yes, judged)
            yield key._replace(what="steps"), Reliability.of(score, yes, judged)
            if asked.called is not None:
                calls = Calls.of(again(asked.called), yes, judged, self.beta)
                yield key._replace(what="calls"), calls
        for target in self._targets():
            for who, (known, yes) in self.judges.prevalence(target).items():
                whole = known & self.mask
                if not self.support.lacking(whole, yes):
                    every = again(whole)
                    shares = Shares.of([either(yes) & every], [every])
                    yield self._key("rate", target, who), shares
        for pair in self._pairs():
            known = pair.known & self.mask
            if known.any():
                agreement = Agreement.of(either(pair.one), again(pair.other), again(known))
                yield self._of_pair(pair), agreement

    def section(self, values: Mapping[Key, Floats]) -> Section:
        """Return the figures from the values of what was planned."""
        compared: dict[str, dict[str, Compared]] = {}
        for asked in self.questions:
            compared.setdefault(asked.target, {})[asked.kind] = self._compared(asked, values)
        agreement: dict[str, tuple[Agreed, ...]] = dict.fromkeys(self._targets(), ())
        for pair in self._pairs():
            agreement[pair.target] += (self._agreed(pair, values),)
        return Section(
            works=int(self.mask.sum()),
            compared=compared,
            prevalence={name: self._prevalence(name, values) for name in self._targets()},
            agreement=agreement,
        )

    def _key(self, what: str, target: str, who: str) -> Key:
        return Key(self.number, what, target, who)

    def _of_pair(self, pair: Pair) -> Key:
        return self._key(pair.what, pair.target, " and ".join(pair.between))

    def _targets(self) -> list[str]:
        return list(dict.fromkeys(asked.target for asked in self.questions))

    def _pairs(self) -> list[Pair]:
        return pairs(self.questions, self.judges)

    def _effective(self, works: Booleans) -> float:
        return effective(self.judges.design.weight[works])

    def _compared(self, asked: Question, values: Mapping[Key, Floats]) -> Compared:
        known = asked.known & self.mask
        yes = asked.yes & known
        called = None if asked.called is None else asked.called & known
        positives = self._effective(yes)
        why = self.support.lacking(known, asked.yes)
        key = self._key("ranking", asked.target, asked.kind)
        average, area = [Figure.absent(why or "")] * 2
        steps: tuple[Step, ...] = ()
        error = None
        if why is None:
            average, area = (share(found, positives) for found in values[key])
            steps, error = self._steps(asked, known, values[key._replace(what="steps")])
        calls = self._calls(
            called, yes, why or asked.silent, values.get(key._replace(what="calls"))
        )
        return Compared(
            works=int(known.sum()),
            positives=int(yes.sum()),
            effective_positives=positives,
            called=None if called is None else int(called.sum()),
            silent=asked.silent,
            average_precision=average,
            auroc=area,
            precision=calls[0],
            recall=calls[1],
            fbeta=calls[2],
            reliability=steps,
            calibration_error=error,
        )

    def _calls(
        self, called: Booleans | None, yes: Booleans, why: str | None, found: Floats | None
    ) -> tuple[Figure, Figure, Figure]:
        """Return precision, recall and F-beta, those that calls and positives suffice for."""
        if why is not None or called is None or found is None:
            nothing = Figure.absent(why or "no calls")
            return nothing, nothing, nothing
        positives = self._effective(yes)
        recall = share(found[1], positives)
        few = self.support.lacking_calls(called)
        if few:
            return Figure.absent(few), recall, Figure.absent(few)
        precision = share(found[0], self._effective(called))
        return precision, recall, share(found[2], positives)

    def _steps(
        self, asked: Question, known: Booleans, found: Floats
    ) -> tuple[tuple[Step, ...], float]:
        step = step_of(asked.score)
        filled = np.unique(step[known]).tolist()
        rates, means, error = found[: len(filled)], found[len(filled) : -1], found[-1]
        steps = []
        for number, rate, mean in zip(filled, rates, means, strict=True):
            works = known & (step == number)
            yes = share(rate, self._effective(works))
            low, high = number / STEPS, (number + 1) / STEPS
            steps.append(Step(low, high, int(works.sum()), float(mean[0]), yes))
        return tuple(steps), float(error[0])

    def _prevalence(self, target: str, values: Mapping[Key, Floats]) -> dict[str, Rate]:
        rates = {}
        for who, (known, yes) in self.judges.prevalence(target).items():
            whole = known & self.mask
            why = self.support.lacking(whole, yes)
            if why is None:
                found = values[self._key("rate", target, who)][0]
                rate = share(found, self._effective(whole))
            else:
                rate = Figure.absent(why)
            size = float(self.judges.design.weight[whole].sum())
            positives = int((yes & whole).sum())
            rates[who] = Rate(int(whole.sum()), positives, rate, rate.times(size))
        return rates

    def _agreed(self, pair: Pair, values: Mapping[Key, Floats]) -> Agreed:
        known = pair.known & self.mask
        if not known.any():
            nothing = Figure.absent("no work that both speak of")
            return Agreed(pair.what, pair.between, 0, nothing, nothing, nothing)
        found = values[self._of_pair(pair)]
        some = (pair.one | pair.other) & known
        of_known = self._effective(known)
        by_chance = jaccard = Figure.absent(self.support.few("works with a yes", some) or "")
        if not by_chance.why:
            jaccard = share(found[2], self._effective(some))
            by_chance = signed(found[1], of_known)
        if np.isnan(found[1, 0]):
            by_chance = Figure.absent("both always say the same")
        return Agreed(
            what=pair.what,
            between=pair.between,
            works=int(known.sum()),
            raw=share(found[0], of_known),
            kappa=by_chance,
            jaccard=jaccard,
        )
