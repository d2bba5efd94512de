"""The overview in one language: its tables, and its plots with the words that stand for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import polars as pl
from babel import Locale
from markupsafe import Markup

from scorer.engine.manifest import Counts as Called
from scorer.policy.calls import CANDIDATE, CONSENSUS
from scorer.policy.policy import Policy, Quota, Silent, Threshold
from scorer.report.language import Texts
from scorer.report.overview import BINS, CELLS, Agreement, Counts, Overview
from scorer.report.overview_groups import ANY, BY
from scorer.report.plots import DENSITY_LEVELS, Bar, bars, density, distribution, years
from scorer.report.plots_svg import picture
from scorer.targets import Binary, Targets

_BARS: Final = 12
"""Fields or languages that a plot shows; tables have more."""
_ROWS: Final = 60
"""Rows of a table by field or language."""
_YEARS: Final = 60
"""The last so many years are drawn; the table has all."""
_BANDS: Final = 10
_FIFTHS: Final = 5


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table of text; the first column names the rows."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = True
    """Whether the other columns hold numbers."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture, and the numbers behind it."""

    heading: str
    picture: Markup
    table: DataTable


@dataclass(frozen=True, slots=True)
class Level:
    """A step of the density's legend."""

    opacity: float
    words: str


class OverviewWords:
    """The counts of an overview, told and drawn in one language."""

    def __init__(self, overview: Overview, called: Called, policy: Policy, texts: Texts) -> None:
        """Take the counts, those of the manifest, and the policy that made the calls."""
        self._overview = overview
        self._called = called
        self._policy = policy
        self._t = texts

    @property
    def _targets(self) -> Targets:
        return self._overview.targets

    def calls(self) -> Plot:
        """Return works called, by target: each head, and the heads together."""
        t = self._t
        kinds = [*self._targets.head_names, CANDIDATE, CONSENSUS]
        columns = [
            *self._targets.head_names,
            t("site.groups.candidate"),
            t("site.groups.consensus"),
        ]
        rows, shown = [], []
        for target in self._targets.binary:
            counts = self._called.calls[target.name]
            if counts[CANDIDATE]:
                shown.append(Bar(t.label(target.label), counts[CANDIDATE], counts[CONSENSUS]))
            cells = [self._count(target, kind, counts[kind]) for kind in kinds]
            rows.append([t.label(target.label), *cells])
        caption = t("site.calls.caption")
        table = DataTable(caption, [t("site.calls.target"), *columns], rows)
        drawn = picture(bars(shown, t), "calls-plot", caption, t("site.calls.description"))
        return Plot("", drawn, table)

    def agreement(self) -> Iterator[DataTable]:
        """Yield a table for each two heads: where their calls meet."""
        t = self._t
        for pair in self._pairs():
            one, two = pair
            rows = []
            for target in self._targets.binary:
                met = self._overview.agreements[target.name].get(pair, Agreement())
                counts = [t.number(count) for count in (met.both, met.first, met.second)]
                overlap = t("page.no_value") if met.overlap is None else t.percent(met.overlap)
                rows.append([t.label(target.label), *counts, overlap])
            columns = [
                t("site.calls.target"),
                t("site.heads.both"),
                *(t("site.heads.only", head=head) for head in pair),
                t("site.heads.overlap"),
            ]
            yield DataTable(t("site.heads.caption", one=one, two=two), columns, rows)

    def densities(self) -> Iterator[Plot]:
        """Yield works by the scores of two heads, a picture a target and pair."""
        for place, target in enumerate(self._targets.binary):
            for number, (pair, cells) in enumerate(self._overview.densities[target.name].items()):
                yield self._density(target, pair, cells, f"density-{place}-{number}")

    def levels(self) -> list[Level]:
        """Return the legend of the densities."""
        t, found = self._t, []
        for power, opacity in enumerate(DENSITY_LEVELS):
            low, high = 10**power, 10 ** (power + 1) - 1
            last = power == len(DENSITY_LEVELS) - 1
            words = (
                t("site.density.last", low=low)
                if last
                else t("site.density.level", low=low, high=high)
            )
            found.append(Level(opacity, words))
        return found

    def distributions(self) -> Iterator[Plot]:
        """Yield works by score, a picture a target; a line a head that has learned it."""
        t = self._t
        for place, target in enumerate(self._targets.binary):
            by_head = self._overview.distributions[target.name]
            if not by_head:
                continue
            label = t.label(target.label)
            drawn = distribution(by_head, self._begins(target), self._targets.head_names, t)
            high = [
                t("site.scores.high", head=head, count=int(counts[BINS // 2 :].sum()))
                for head, counts in by_head.items()
            ]
            title = t("site.scores.picture", label=label)
            told = t("site.scores.description", heads=t.listed(high))
            yield Plot(
                label, picture(drawn, f"scores-{place}", title, told), self._bands(label, by_head)
            )

    def groups(self) -> Iterator[Plot]:
        """Yield calls by year, field and language."""
        t = self._t
        for by in BY:
            counted = self._overview.groups.of(by)
            if counted.is_empty():
                continue
            drawn = years(self._years(counted), t) if by == "year" else bars(self._bars(counted), t)
            name = t(f"site.groups.by_{by}")
            title, told = t("site.groups.picture", by=name), t("site.groups.description")
            made = picture(drawn, f"{by}-plot", title, told)
            yield Plot(t(f"site.groups.{by}"), made, self._grouped(counted, name))

    def _count(self, target: Binary, kind: str, count: int) -> str:
        """Return a count; of a head that makes no calls of the target, that it does not."""
        if kind in self._targets.head_names and count == 0:
            entry = self._policy.entries.get(target.name, {}).get(kind)
            if isinstance(entry, Silent):
                return self._t("site.calls.never")
        return self._t.number(count)

    def _pairs(self) -> list[tuple[str, str]]:
        first = next(iter(self._overview.agreements.values()), {})
        return list(first)

    def _density(self, target: Binary, pair: tuple[str, str], cells: Counts, name: str) -> Plot:
        t, (one, two) = self._t, pair
        label = t.label(target.label)
        half = CELLS // 2
        quarters = {
            "high": cells[half:, half:],
            "first": cells[half:, :half],
            "second": cells[:half, half:],
            "low": cells[:half, :half],
        }
        counts = {key: int(part.sum()) for key, part in quarters.items()}
        fifths = cells.reshape(_FIFTHS, CELLS // _FIFTHS, _FIFTHS, CELLS // _FIFTHS).sum((1, 3))
        bands = self._band_names(_FIFTHS)
        rows = [
            [band, *(t.number(int(count)) for count in row)]
            for band, row in zip(bands, fifths, strict=True)
        ]
        corner = t("site.density.corner", one=one, two=two)
        caption = t("site.density.caption", label=label, one=one, two=two)
        drawn = density(cells, pair, self._begins(target), t)
        title = t("site.density.picture", label=label, one=one, two=two)
        told = t("site.density.description", one=one, two=two, **counts)
        heading = label if len(self._pairs()) == 1 else title
        return Plot(
            heading, picture(drawn, name, title, told), DataTable(caption, [corner, *bands], rows)
        )

    def _begins(self, target: Binary) -> dict[str, float]:
        """Return the score at which each head's calls of a target begin."""
        entries = self._policy.entries.get(target.name, {})
        return {
            head: entry.value
            for head, entry in entries.items()
            if isinstance(entry, Threshold | Quota)
        }

    def _band_names(self, bands: int) -> list[str]:
        t = self._t
        edges = [t.number(place / bands, decimals=1) for place in range(bands + 1)]
        return [t("site.scores.band", low=low, high=high) for low, high in pairwise(edges)]

    def _bands(self, label: str, by_head: dict[str, Counts]) -> DataTable:
        t = self._t
        sums = [counts.reshape(_BANDS, -1).sum(axis=1) for counts in by_head.values()]
        rows = [
            [band, *(t.number(int(counts[place])) for counts in sums)]
            for place, band in enumerate(self._band_names(_BANDS))
        ]
        caption = t("site.scores.caption", label=label)
        return DataTable(caption, [t("site.scores.column"), *by_head], rows)

    def _years(self, counted: pl.DataFrame) -> dict[int, Bar]:
        called = counted.filter(pl.col(f"{CANDIDATE} {ANY}") > 0).drop_nulls("year")
        last = pl.col("year").max() - _YEARS
        return {
            row["year"]: Bar("", row[f"{CANDIDATE} {ANY}"], row[f"{CONSENSUS} {ANY}"])
            for row in called.filter(pl.col("year") > last).iter_rows(named=True)
        }

    def _bars(self, counted: pl.DataFrame) -> list[Bar]:
        by = counted.columns[0]
        called = counted.filter(pl.col(f"{CANDIDATE} {ANY}") > 0)
        most = called.sort(f"{CANDIDATE} {ANY}", by, descending=[True, False], nulls_last=True)
        return [
            Bar(self._named(by, row[by]), row[f"{CANDIDATE} {ANY}"], row[f"{CONSENSUS} {ANY}"])
            for row in most.head(_BARS).iter_rows(named=True)
        ]

    def _grouped(self, counted: pl.DataFrame, name: str) -> DataTable:
        t, by = self._t, counted.columns[0]
        rows = counted
        labels = [self._named(by, value) for value in counted[by]]
        if by != "year" and counted.height > _ROWS:
            rest = counted.slice(_ROWS)
            rows = pl.concat([counted.head(_ROWS), rest.sum().with_columns(rest[by].head(1))])
            labels = [*labels[:_ROWS], t.counted("site.others", rest.height)]
        columns = [name, t("site.works"), t("site.groups.candidate"), t("site.groups.consensus")]
        columns += [t.label(target.label) for target in self._targets.binary]
        cells = []
        for label, row in zip(labels, rows.iter_rows(named=True), strict=True):
            own = [row["works"], row[f"{CANDIDATE} {ANY}"], row[f"{CONSENSUS} {ANY}"]]
            each = [
                " / ".join(
                    t.number(row[f"{kind} {target.name}"]) for kind in (CANDIDATE, CONSENSUS)
                )
                for target in self._targets.binary
            ]
            cells.append([label, *map(t.number, own), *each])
        return DataTable(t("site.groups.caption", by=name), columns, cells)

    def _named(self, by: str, value: str | int | None) -> str:
        """Return what people read for a year, a field or a language."""
        if value is None:
            return self._t("site.unknown")
        known = Locale.parse(self._t.language.value).languages.get(str(value).lower())
        return f"{known} ({value})" if by == "lang" and known else str(value)
