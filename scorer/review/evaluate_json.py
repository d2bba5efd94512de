"""An evaluation as JSON content, for scripts: every figure with its limits or its reason."""

from dataclasses import asdict
from typing import Any

from scorer.review.bootstrap_interval import METHOD
from scorer.review.evaluate_questions import RANKED_BY
from scorer.review.evaluate_results import Evaluation, Section
from scorer.status import STAMP


def content(found: Evaluation) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "model_version": found.model_version,
        "policy_version": found.policy_version,
        "score_status": found.score_status,
        "prediction_status": STAMP,
        "compared_with": found.who,
        "rule": found.rule,
        "sample": {
            "works": found.works,
            "strata": found.strata,
            "stands_for": found.frame_works,
        },
        "limits": {"method": METHOD, "replicates": found.replicates, "seed": found.seed},
        "beta": found.beta,
        "min_positives": found.min_positives,
        "ranked_by": {kind: RANKED_BY[kind] for kind in RANKED_BY if kind in _kinds(found)},
        "notes": found.notes,
        **_section(found.whole),
        "by": {
            name: {level: _section(section) for level, section in levels.items()}
            for name, levels in found.groups.items()
        },
    }


def _kinds(found: Evaluation) -> set[str]:
    return {kind for kinds in found.whole.compared.values() for kind in kinds}


def _section(section: Section) -> dict[str, Any]:
    whole = asdict(section, dict_factory=fields)
    return {
        "works": whole["works"],
        "targets": whole["compared"],
        "prevalence": whole["prevalence"],
        "agreement": whole["agreement"],
    }


def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a result; of a figure, either its limits or why there are none."""
    found = dict(pairs)
    if "why" in found and "value" in found:
        absent = found["value"] is None
        return {name: found[name] for name in ("value", *(["why"] if absent else ["low", "high"]))}
    return found
