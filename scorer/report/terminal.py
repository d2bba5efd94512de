"""The work page and the explanation in a terminal, 80 columns wide or more."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scorer.report.explain import ExplainedWork
from scorer.report.language import Texts
from scorer.report.page import HeadScore, TargetScores, WorkPage
from scorer.report.parts_words import ExplanationWords
from scorer.report.words import PageWords, Said

# Marks that turn the direction of what follows; a terminal would carry them past the title.
_DIRECTIONS: Final = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_INDENT: Final = (0, 0, 0, 2)


def work_view(page: WorkPage, texts: Texts) -> RenderableType:
    """Return a work's page for a rich console."""
    say, t = PageWords(page, texts), texts
    parts: list[RenderableType] = [_text(say.heading(), "bold"), *map(_note, say.notes())]
    parts += _section(t("record.heading"), _record(page, say, t))
    source = Padding(_text(" ".join(say.source()), "dim"), _INDENT)
    parts += _section(t("how.heading"), [*map(_said, say.how()), source])
    calls = page.classification is not None
    tables: list[RenderableType] = [_text(say.scores_caption(), "dim")]
    heads = page.origin.heads
    tables.append(_scores(page.categories, heads, say, t, t("scores.category"), calls=calls))
    if page.flags:
        tables.append(_scores(page.flags, heads, say, t, t("scores.flag"), calls=calls))
    parts += _section(t("scores.heading"), tables)
    parts += _section(t("heads.heading"), [_point(" ".join(words)) for _, words in say.heads()])
    if page.baseline is not None:
        below: list[RenderableType] = [*map(_said, say.baseline(page.baseline))]
        if page.baseline.targets is not None:
            heads = page.baseline.origin.heads
            name = t("scores.target")
            below.append(_scores(page.baseline.targets, heads, say, t, name, calls=False))
        parts += _section(t("baseline.heading"), below)
    parts += _section(t("axes.heading"), _axes(page, say, t))
    outcome = [_pointed(_text(sentence, "bold")) for sentence in say.outcome()]
    outcome += [_point(sentence) for sentence in say.outcome_end()]
    status = _said(Said(t("how.status"), page.prediction_status))
    return Group(*parts, *_section(t("classification.heading"), [*outcome, status]))


def explanation_view(work: ExplainedWork, texts: Texts) -> RenderableType:
    """Return a work's scores taken apart, for a rich console."""
    t, words = texts, ExplanationWords(work.explanation, work.labels, texts)
    title = work.title or t("record.no_title")
    parts: list[RenderableType] = [_text(title, "bold"), _text(work.id, "dim"), Text()]
    parts += [_point(sentence) for sentence in words.intro()]
    if work.same_as is not None:
        parts.append(_point(t("explain.same")))
    for head, target in work.not_learned:
        label = t.label(work.labels[target])
        parts.append(_point(t("explain.not_learned", head=head, label=label)))
    for score in work.explanation.scores:
        made = _table(t("explain.ngram"), t("explain.where"))
        made.add_column(t("explain.units"), justify="right")
        for row in words.rows(score):
            style = "bold" if row.is_sum else ""
            made.add_row(*(_text(cell, style) for cell in (row.ngram, row.where, row.units)))
        parts += [Text(), _text(words.title(score), "bold"), made]
    return Group(*parts, _said(Said(t("how.status"), work.prediction_status)))


def _record(page: WorkPage, say: PageWords, t: Texts) -> list[RenderableType]:
    facts = Table.grid(padding=_INDENT)
    for name, value in say.record():
        absent = value is None
        shown = _text(t("record.absent") if value is None else value, "dim" if absent else "")
        facts.add_row(_text(name, "dim"), shown)
    record: list[RenderableType] = [Padding(facts, (0, 0, 1, 0))]
    if page.record is not None and page.record.abstract is not None:
        abstract = _text(page.record.abstract)
        record += [_text(t("record.abstract"), "bold"), Padding(abstract, (0, 0, 1, 0))]
    return [*record, _text(" ".join(say.record_end()), "dim")]


def _scores(
    targets: Sequence[TargetScores],
    heads: Iterable[str],
    say: PageWords,
    t: Texts,
    name: str,
    *,
    calls: bool,
) -> Table:
    made = _table(name)
    for head in heads:
        made.add_column(head, justify="right")
    if calls:
        made.add_column(t("scores.call"))
    for target in targets:
        cells = [_score(one, say, t) for one in target.heads]
        made.add_row(_text(t.label(target.label)), *cells, *([say.call(target)] if calls else []))
    return made


def _score(one: HeadScore, say: PageWords, t: Texts) -> Text:
    """Return a score, and below it what decides there."""
    mark = "✓ " if one.called else ""
    score = Text(mark + t.score(one.score), "bold" if one.called else "")
    if one.called is None and one.decided_by != "unavailable":
        return score
    return Text("\n").join([score, Text(say.decided(one), "dim")])


def _axes(page: WorkPage, say: PageWords, t: Texts) -> list[RenderableType]:
    below: list[RenderableType] = [_text(sentence, "dim") for sentence in say.axes_end()]
    if not page.axes or page.classification is None:
        return below
    made = _table(t("axes.axis"), *page.origin.heads, t("axes.candidate"), t("axes.consensus"))
    for axis in page.axes:
        values = [axis.heads[head] for head in page.origin.heads]
        cells = [say.axis_value(v) for v in (*values, axis.candidate, axis.consensus)]
        made.add_row(t.label(axis.label), *cells)
    return [_text(t("axes.caption"), "dim"), made, *below]


def _table(*columns: str) -> Table:
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        made.add_column(name, overflow="fold")
    return made


def _section(heading: str, content: Iterable[RenderableType]) -> list[RenderableType]:
    return [Text(), _text(heading, "bold underline"), Text(), *content]


def _said(said: Said) -> RenderableType:
    sentence = _text(said.text)
    if said.verbatim is not None:
        sentence.append(" ").append(_text(said.verbatim, "bold"))
    return _pointed(sentence)


def _note(sentence: str) -> RenderableType:
    return _text(sentence, "yellow")


def _point(sentence: str) -> RenderableType:
    return _pointed(_text(sentence))


def _pointed(sentence: Text) -> RenderableType:
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_row("•", sentence)
    return made


def _text(content: str, style: str = "") -> Text:
    return Text(content.translate(_DIRECTIONS), style=style)
