"""Which targets a label table holds, in which order, and what people call them."""

from collections.abc import Mapping, Sequence
from typing import Final

from scorer.targets import INSUFFICIENT_PAYLOAD, Axis, Binary, Head, Label, Targets

CATEGORIES: Final[Mapping[str, Label]] = {
    "metaresearch": Label(en="Metaresearch", fr="Métarecherche"),
    "metaepi_narrow": Label(en="Meta-epidemiology (narrow)", fr="Méta-épidémiologie (sens strict)"),
    "metaepi_broad": Label(en="Meta-epidemiology (broad)", fr="Méta-épidémiologie (sens large)"),
    "bibliometrics": Label(en="Bibliometrics", fr="Bibliométrie"),
    "sts": Label(en="Science and technology studies", fr="Études des sciences et des technologies"),
    "scholarly_communication": Label(en="Scholarly communication", fr="Communication savante"),
    "open_science": Label(en="Open science", fr="Science ouverte"),
    "research_integrity": Label(en="Research integrity", fr="Intégrité de la recherche"),
    INSUFFICIENT_PAYLOAD: Label(en="Insufficient payload", fr="Charge utile insuffisante"),
}

FLAGS: Final[Mapping[str, Label]] = {
    "about_ca_system": Label(
        en="About Canada's research system", fr="Sur le système de recherche canadien"
    ),
    "about_ca_topic": Label(en="About a Canadian topic", fr="Sur un sujet canadien"),
}

AXES: Final[Mapping[str, Label]] = {
    "domain": Label(en="Domain", fr="Domaine"),
    "study_design": Label(en="Study design", fr="Devis d'étude"),
    "genre": Label(en="Genre", fr="Genre"),
}

_AXIS_VALUES: Final[Mapping[str, Mapping[str, Label]]] = {
    "domain": {
        "methods": Label(en="Methods", fr="Méthodes"),
        "reporting": Label(en="Reporting", fr="Présentation des résultats"),
        "reproducibility": Label(en="Reproducibility", fr="Reproductibilité"),
        "evaluation": Label(en="Evaluation", fr="Évaluation"),
        "incentives": Label(en="Incentives", fr="Incitations"),
    },
    "study_design": {
        "randomized_trial": Label(en="Randomized trial", fr="Essai randomisé"),
        "nonrandomized_trial": Label(en="Non-randomized trial", fr="Essai non randomisé"),
        "observational": Label(en="Observational", fr="Observationnelle"),
        "systematic_review": Label(en="Systematic review", fr="Revue systématique"),
        "meta_analysis": Label(en="Meta-analysis", fr="Méta-analyse"),
        "case_report": Label(en="Case report", fr="Étude de cas"),
        "qualitative": Label(en="Qualitative", fr="Qualitative"),
        "simulation_or_modeling": Label(
            en="Simulation or modelling", fr="Simulation ou modélisation"
        ),
        "bench_or_experimental": Label(
            en="Bench or experimental", fr="Laboratoire ou expérimentation"
        ),
        "theoretical_or_conceptual": Label(
            en="Theoretical or conceptual", fr="Théorique ou conceptuelle"
        ),
        "not_applicable": Label(en="Not applicable", fr="Sans objet"),
        "design_other": Label(en="Other design", fr="Autre devis"),
    },
    "genre": {
        "empirical": Label(en="Empirical", fr="Empirique"),
        "review": Label(en="Review", fr="Article de synthèse"),
        "methods": Label(en="Methods", fr="Méthodes"),
        "commentary": Label(en="Commentary", fr="Commentaire"),
        "editorial": Label(en="Editorial", fr="Éditorial"),
        "protocol": Label(en="Protocol", fr="Protocole"),
        "dataset": Label(en="Dataset", fr="Jeu de données"),
        "software": Label(en="Software", fr="Logiciel"),
        "other": Label(en="Other", fr="Autre"),
    },
}

_DEPENDS_ON: Final = {"domain": "metaresearch"}


def make_targets(
    heads: Sequence[Head],
    categories: Sequence[str],
    flags: Sequence[str],
    axes: Mapping[str, Sequence[str]],
) -> Targets:
    """Return the targets: known ones first in their known order, then the others by name."""
    names = _ordered(categories, CATEGORIES)
    binary = [Binary(name=n, kind="category", label=_label(n, CATEGORIES)) for n in names]
    binary += [Binary(name=n, kind="flag", label=_label(n, FLAGS)) for n in _ordered(flags, FLAGS)]
    return Targets(
        heads=tuple(heads),
        binary=tuple(binary),
        axes=tuple(_axis(name, axes[name], names) for name in _ordered(list(axes), AXES)),
    )


def _axis(name: str, found: Sequence[str], categories: Sequence[str]) -> Axis:
    known = _AXIS_VALUES.get(name, {})
    values = _ordered(found, known)
    depends_on = _DEPENDS_ON.get(name)
    return Axis(
        name=name,
        label=_label(name, AXES),
        values=tuple(values),
        value_labels=tuple(_label(value, known) for value in values),
        only_with=depends_on if depends_on in categories else None,
    )


def _ordered(names: Sequence[str], known: Mapping[str, Label]) -> list[str]:
    return [name for name in known if name in names] + sorted(set(names) - set(known))


def _label(name: str, known: Mapping[str, Label]) -> Label:
    words = name.replace("_", " ").capitalize()
    return known.get(name, Label(en=words, fr=words))
