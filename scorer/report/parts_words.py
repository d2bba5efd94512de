"""Scores taken apart, in words: the rows under each score, in the terminal and as HTML alike."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from scorer.report.language import Texts
from scorer.student.contributions import Contribution, Explanation, ScoreParts
from scorer.targets import Label

_TEXT_CHANNEL: Final = re.compile(r"(?P<field>\w+)\.(?P<kind>word|bigram|begin)\d*")


@dataclass(frozen=True, slots=True)
class PartRow:
    """A line of the sum: bias, n-gram, what is left, or the sum itself."""

    ngram: str
    where: str
    units: str
    is_sum: bool = False


class ExplanationWords:
    """An explanation in the words of one language."""

    def __init__(self, explanation: Explanation, labels: Mapping[str, Label], texts: Texts) -> None:
        """`labels`: target -> what people read for it."""
        self.explanation = explanation
        self._labels = labels
        self._t = texts

    def intro(self) -> list[str]:
        """Return what the numbers are, and what they are not."""
        t, explanation = self._t, self.explanation
        unit = str(Fraction(explanation.logit_unit))
        return [t.counted("explain.intro", explanation.ngrams, unit=unit), t("explain.association")]

    def title(self, parts: ScoreParts) -> str:
        """Return whose score of what it is."""
        label, score = self._t.label(self._labels[parts.target]), self._t.score(parts.score)
        return self._t("explain.target", label=label, head=parts.head, score=score)

    def rows(self, parts: ScoreParts) -> Iterator[PartRow]:
        """Yield the lines of a sum, in the order in which they add up."""
        t = self._t
        yield PartRow(t("explain.bias"), "", t.signed(parts.bias))
        for one in (*parts.up, *parts.down):
            yield PartRow(self._ngram(one), self._where(one), t.signed(one.units))
        if parts.other_count:
            rest = t.counted("explain.rest", parts.other_count)
            yield PartRow(rest, "", t.signed(parts.other_units))
        yield PartRow(t("explain.total"), "", t.signed(parts.total), is_sum=True)
        if parts.logit != parts.total:
            yield PartRow(t("explain.clipped"), "", t.signed(parts.logit), is_sum=True)
        method = self.explanation.calibration
        if method is not None and parts.uncalibrated is not None:
            yield PartRow(t("explain.uncalibrated"), "", t.score(parts.uncalibrated))
            yield PartRow(t("explain.calibrated", method=method), "", t.score(parts.score))

    def _ngram(self, one: Contribution) -> str:
        """Return an n-gram as people read it."""
        if one.channel == "title.capitals":
            return self._t("page.yes" if one.ngram == "1" else "page.no")
        if one.channel == "decade" and one.ngram:
            return f"{one.ngram}0–{one.ngram}9"
        return one.ngram or self._t("explain.empty_value")

    def _where(self, one: Contribution) -> str:
        """Return the kind of n-gram that a channel's name stands for."""
        t = self._t
        text = _TEXT_CHANNEL.fullmatch(one.channel)
        if text is not None:
            return t(f"channel.{text['kind']}", field=t(f"record.{text['field']}"))
        own = f"channel.{one.channel.replace('.', '_')}"
        return t(own) if t.has(own) else t("channel.whole", field=t(f"record.{one.channel}"))
