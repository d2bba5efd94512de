"""What the site says of itself: the method and its limits, and the manifest, in one language."""

from collections.abc import Iterator
from typing import Any, Final

from scorer.engine.manifest import manifest_path
from scorer.policy.policy import Direct, Entry, Quota, Threshold
from scorer.report.language import Texts
from scorer.report.overview_page import DataTable
from scorer.report.site_facts import SiteFacts
from scorer.report.words import Said

_LIMITS: Final = ("teachers", "rank", "counts", "record", "listed")
_READING: Final = ("score", "disagreement", "uncertainty", "validate")


def method_values(facts: SiteFacts, t: Texts) -> dict[str, Any]:
    """Return what the page on method and limits is made from."""
    origin = facts.origin
    limits = [t(f"site.limits.{key}") for key in _LIMITS]
    if origin.not_found:
        limits.append(t("site.limits.columns", columns=t.listed(list(origin.not_found))))
    source = [t("how.file", file=origin.file, day=t.day(origin.started))]
    if not facts.score_only:
        source.append(t("how.policy", policy=origin.policy_version))
    heads = [t("heads.gates", min_pos=origin.min_pos, min_ess=origin.min_ess)]
    if origin.gate_scope == "all_heads":
        heads.append(t("heads.gates_all_heads"))
    if facts.score_only:
        heads = [t("heads.score_only")]
    return {
        "how": list(_how(facts, t)),
        "source": source,
        "policy": _policy(facts, t),
        "heads": heads,
        "limits": limits,
        "reading": [t(f"site.reading.{key}") for key in _READING],
    }


def manifest_values(facts: SiteFacts, t: Texts) -> dict[str, Any]:
    """Return what the page of the manifest is made from."""
    manifest = facts.manifest
    sources = dict.fromkeys([*manifest.frame, *manifest.sources])
    files = [
        [
            source.name,
            t("site.manifest.bytes", count=source.size),
            t("page.no_value") if source.rows is None else t.number(source.rows),
            source.sha256,
        ]
        for source in sources
    ]
    columns = [t(f"site.manifest.{name}") for name in ("file", "size", "rows", "sha256")]
    software = [[name, version] for name, version in manifest.software.items()]
    versions = [t("site.manifest.software"), t("site.manifest.version")]
    return {
        "facts": list(_facts(facts, t)),
        "files": DataTable(t("site.manifest.files"), columns, files, numbers=False),
        "software": DataTable(t("site.manifest.software"), versions, software, numbers=False),
        "json": manifest_path(facts.scores.path).read_text(encoding="utf-8"),
    }


def refined_words(facts: SiteFacts, t: Texts) -> list[str]:
    """Return what is to be said of a second student that scored some works again."""
    if (second := facts.manifest.refined) is None or not second.works:
        return []
    names = {"model": second.model_version, "policy": second.policy_version}
    return [t("site.note.refined", works=second.works, **names)]


def _how(facts: SiteFacts, t: Texts) -> Iterator[Said]:
    origin = facts.origin
    heads = t.listed(list(origin.heads))
    yield Said(t("site.method.imitation", model=origin.model_version, heads=heads))
    if origin.student is None:
        yield Said(t("how.learned_unknown"))
    else:
        labels, source = origin.student.labels, origin.student.source
        yield Said(t.counted("how.learned", labels, source=source))
        attribution, licence = origin.student.attribution, origin.student.licence
        yield Said(t("how.attribution", attribution=attribution, licence=licence))
    yield from map(Said, refined_words(facts, t))
    for key in ("not_truth", "not_prevalence", "pending", "meaning"):
        yield Said(t(f"how.{key}"))
    yield Said(t("how.status"), facts.manifest.prediction_status)
    yield Said(t("how.score_status"), origin.score_status)


def _policy(facts: SiteFacts, t: Texts) -> DataTable:
    """Return what decides each head's calls of each target."""
    manifest = facts.manifest
    heads = manifest.targets.head_names
    rows = [
        [
            t.label(target.label),
            *(_decided(manifest.policy.entry(head, target.name), t) for head in heads),
        ]
        for target in manifest.targets.binary
    ]
    columns = [t("site.calls.target"), *heads]
    return DataTable(t("site.policy.caption"), columns, rows, numbers=False)


def _decided(entry: Entry, t: Texts) -> str:
    match entry:
        case Threshold():
            decided = t("scores.at_least", value=t.score(entry.value))
        case Quota():
            decided = t("scores.quota", value=t.score(entry.value))
        case Direct():
            return t("site.policy.direct")
        case silent:
            decided = t(f"scores.{silent.reason}")
    if entry.support is None:
        return decided
    ess_pos = t.number(entry.support.ess_pos, decimals=1)
    return t("site.policy.support", decided=decided, n_pos=entry.support.n_pos, ess_pos=ess_pos)


def _facts(facts: SiteFacts, t: Texts) -> Iterator[tuple[str, str]]:
    manifest = facts.manifest
    yield t("site.manifest.file"), manifest.output.name
    yield t("site.manifest.size"), t("site.manifest.bytes", count=manifest.output.size)
    yield t("site.manifest.rows"), t.number(manifest.counts.rows)
    yield t("site.manifest.sha256"), manifest.output.sha256
    yield t("site.facts.prediction_status"), manifest.prediction_status
    yield t("site.facts.score_status"), t.listed(manifest.words("score_status"))
    yield t("site.facts.model"), t.listed(manifest.words("model_version"))
    yield t("site.facts.policy"), t.listed(manifest.words("policy_version"))
    yield t("site.manifest.licence"), manifest.model_licence
    yield t("site.manifest.attribution"), manifest.attribution
    yield t("site.manifest.made_by"), f"scorer {manifest.made_by}"
    yield t("site.facts.made"), t.day(manifest.started)
