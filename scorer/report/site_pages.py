"""The pages of the site but the overview's plots: what each template is given, in one language."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scorer.policy.calls import CANDIDATE, CONSENSUS, SEGMENT
from scorer.report.facts import Row
from scorer.report.html import filled, work_html
from scorer.report.language import Language, Texts, sentences
from scorer.report.overview_page import OverviewWords
from scorer.report.page import WorkPage
from scorer.report.queue import page_name
from scorer.report.site_about import manifest_values, method_values, refined_words
from scorer.report.site_facts import SiteFacts
from scorer.review.cells import one_line
from scorer.targets import Binary, score_column

_LONGEST_TITLE: Final = 200
"""Characters of a title in the list of best-ranked works."""
_QUEUE_WORDS: Final = (
    *("place", "work", "year", "call", "mean", "disagreement", "uncertainty"),
    *("no_title", "found.one", "found.other", "shown", "page", "nothing", "chip"),
)


class Pages:
    """The site's pages in one language."""

    def __init__(self, facts: SiteFacts, texts: Texts) -> None:
        """Take what there is to tell, and the language."""
        self._facts = facts
        self._t = texts

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield (path below the language's folder, page), works apart."""
        yield "index.html", self._overview()
        yield "top.html", self._top()
        yield "queue.html", self._queue()
        yield "method.html", self._named("method", **method_values(self._facts, self._t))
        yield "manifest.html", self._named("manifest", **manifest_values(self._facts, self._t))

    def work(self, page: WorkPage) -> tuple[str, str]:
        """Return (path below the language's folder, page) of a work."""
        path = f"works/{page_name(page.id)}"
        return path, work_html(page, self._t, "site/work.html", **self._place(path))

    def _place(self, path: str) -> dict[str, str]:
        """Return what a page needs to know of where it lies."""
        other = next(language for language in Language if language is not self._t.language)
        return {"here": path, "up": "../" * path.count("/"), "other": other.value}

    def _named(self, name: str, **values: Any) -> str:  # noqa: ANN401
        title = self._t(f"site.nav.{name}")
        place = self._place(f"{name}.html")
        return filled(f"site/{name}.html", self._t, short_title=title, **place, **values)

    def _overview(self) -> str:
        facts = self._facts
        say = OverviewWords(facts.overview, facts.manifest.counts, facts.manifest.policy, self._t)
        return self._named(
            "index",
            notes=self._notes(),
            facts=self._counts(),
            heads=facts.origin.heads,
            calls=None if facts.score_only else say.calls(),
            agreement=[] if facts.score_only else list(say.agreement()),
            densities=list(say.densities()),
            levels=say.levels(),
            distributions=list(say.distributions()),
            groups=list(say.groups()),
        )

    def _notes(self) -> list[str]:
        t, facts = self._t, self._facts
        said = [t(f"note.{note.key}", **note.values) for note in facts.notes]
        said += refined_words(facts, t)
        if facts.missing:
            said.append(t.counted("site.note.missing", facts.missing, frame=facts.frame))
        return said

    def _counts(self) -> list[tuple[str, str]]:
        t, manifest = self._t, self._facts.manifest
        segments = manifest.counts.segments
        return [
            (t("site.facts.works"), t.number(manifest.counts.rows)),
            *(
                (t(f"site.facts.{name}"), t.number(segments[name]))
                for name in SEGMENT.categories
                if segments.get(name)
            ),
            (t("site.facts.made"), t.day(manifest.started)),
            (t("site.facts.model"), t.listed(manifest.words("model_version"))),
            (t("site.facts.policy"), t.listed(manifest.words("policy_version"))),
            (t("site.facts.score_status"), t.listed(manifest.words("score_status"))),
            (t("site.facts.prediction_status"), manifest.prediction_status),
        ]

    def _top(self) -> str:
        t, queue = self._t, self._facts.queue
        records = queue.records.works.head(queue.pages)
        records = records.with_columns(one_line(records[name]) for name in ("title", "venue"))
        rows = {row["id"]: row for row in queue.rows.head(queue.pages).iter_rows(named=True)}
        told = {row["id"]: row for row in records.iter_rows(named=True)}
        categories = []
        for target in self._facts.manifest.targets.binary:
            if target.kind == "category":
                ids = queue.best.get(target.name, ())
                works = [self._listed(target, rows[work], told[work]) for work in ids]
                categories.append(
                    {"name": target.name, "label": t.label(target.label), "works": works}
                )
        return self._named("top", categories=categories)

    def _listed(self, target: Binary, row: Row, record: Mapping[str, Any]) -> dict[str, str]:
        """Return what the list of best-ranked works says of one."""
        t = self._t
        kinds = [k for k in (CONSENSUS, CANDIDATE) if target.name in (row[f"{k}_categories"] or ())]
        call = kinds[0] if kinds else ""
        learned = [
            head.name
            for head in self._facts.manifest.targets.heads
            if target.name not in head.unavailable
        ]
        scores = [f"{head} {t.score(row[score_column(head, target.name)])}" for head in learned]
        facts = [str(record[name]) for name in ("venue", "year") if record[name] is not None]
        return {
            "page": page_name(row["id"]),
            "title": textwrap.shorten(record["title"] or "", _LONGEST_TITLE, placeholder="…")
            or t("site.queue.no_title"),
            "facts": " · ".join(facts),
            "scores": ", ".join(scores),
            "call": call,
            "words": t(f"site.top.call.{call}") if call else "",
        }

    def _queue(self) -> str:
        t, manifest = self._t, self._facts.manifest
        binary = manifest.targets.binary
        # As they are, with their braces: the script fills them.
        words = {name: sentences(t.language)[f"site.queue.{name}"] for name in _QUEUE_WORDS}
        words |= {kind: t(f"site.top.call.{kind}") for kind in (CONSENSUS, CANDIDATE)}
        labels = [
            {"name": target.name, "kind": target.kind, "label": t.label(target.label)}
            for target in binary
        ]
        return self._named(
            "queue",
            works=manifest.counts.rows,
            listed=self._facts.queue.rows.height,
            targets=binary,
            calls=not self._facts.score_only,
            words={**words, "targets": labels},
        )
