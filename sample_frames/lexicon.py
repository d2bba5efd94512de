"""The words of the benchmark frames, class by class, the most frequent first.

Each class opens with words of the phrase tables and goes on with terms composed of prefixes and
endings, so that there are as many word forms as in real frames while every text stays our own.
"""

from __future__ import annotations

import itertools
import re
from random import Random

from grammar import VOWELS, contract, shuffled
from phrases import ENGLISH, FRENCH, META, ORDINARY, Phrases, Subject

NOUNS = 65_520  # 2^16 - 16, as the others fill whole octaves of the draw in benchmark_frame.py
ADJECTIVES = 16_368
FRENCH_NOUNS = 32_752
FRENCH_ADJECTIVES = 8_176
VENUES = 4_080
TOPICS = 496
LEXICON_SEED = 7  # the lexicon is the same for every frame; a frame's own seed draws from it

FIELDS = (
    *("Medicine", "Social Sciences", "Engineering", "Computer Science", "Arts and Humanities"),
    *("Psychology", "Environmental Science", "Agricultural and Biological Sciences"),
    *("Physics and Astronomy", "Materials Science", "Chemistry", "Mathematics", "Neuroscience"),
    *("Biochemistry, Genetics and Molecular Biology", "Business, Management and Accounting"),
    *("Health Professions", "Economics, Econometrics and Finance", "Decision Sciences", "Energy"),
    *("Earth and Planetary Sciences", "Immunology and Microbiology", "Nursing", "Veterinary"),
    *("Chemical Engineering", "Pharmacology, Toxicology and Pharmaceutics", "Dentistry"),
)


def listed(text: str) -> Phrases:
    """Split a list of words at white space."""
    return tuple(text.split())


PREFIXES = listed("""
    neuro cardio immuno photo thermo electro bio geo micro nano hydro physio psycho socio techno
    agro angio broncho cyto dermo endo entero ferro gastro glyco hemo hepato histo hyper hypo iso
    kineto lipo macro magneto mono multi myo nephro opto osteo para patho pharmaco phyto piezo poly
    pseudo pyro radio rheo seismo spectro sub thrombo topo trans ultra uro vaso xeno zoo
""")
OUTER_PREFIXES = listed("""
    anti inter co- non- pre post de re over semi- cross- intra auto- self- extra
""")
NOUN_ENDINGS = listed("""
    networks imaging therapy structure systems diversity transport sensors dynamics model models
    process regulation activation inhibition diffusion stimulation transmission formation markers
    degradation toxicity plasticity stability variability chemistry mechanics synthesis particles
    receptors signals fluids climate graphy graphs gram grams meter metry logy logists pathy
    pathies plasty scopy lysis genesis phoresis tropism morphism section sections surface surfaces
    chambers phase phases flux density densities texture polymer polymers protein proteins enzyme
    enzymes fibre fibres membrane membranes policy policies economy cultures lesion lesions
    infection infections function functions responses scale scales deposit deposits adaptation
    detection
""")
ADJECTIVE_ENDINGS = listed("""
    active structural systemic dynamic mechanical sensory reactive resistant tolerant sensitive
    specific positive negative chemical physical electric magnetic graphic metric logical pathic
    plastic scopic therapeutic synthetic tropic genic toxic phobic philic lytic morphic static
    regulated induced mediated functional cultural economic spatial temporal regional
""")
FRENCH_ENDINGS = listed("""
    graphie métrie logie pathie plastie scopie lyse genèse phorèse tropie chimie physique mécanique
    dynamique synthèse thérapie structure section surface texture diversité stabilité régulation
    activation inhibition diffusion stimulation formation dégradation toxicité plasticité densité
""")
FRENCH_ADJECTIVE_ENDINGS = listed("""
    graphique métrique logique pathique plastique scopique lytique génique tropique chimique
    mécanique dynamique thérapeutique systémique active magnétique
""")
ADVERBS = listed("""
    significantly markedly only slightly broadly largely mostly rarely strongly weakly generally
    consistently partly clearly steadily jointly
""")
VERBS = listed("""
    increased reduced predicted explained shaped improved altered preceded followed modified
    exceeded matched reflected limited supported delayed
""")
GIVEN_ACRONYMS = listed("DNA RNA MRI COVID-19 GDP HIV PCR CT EEG NMR AI ICU BMI CO2 LED UV")
NAME_STARTS = listed("""
    Al Bel Bran Car Dal Fen Gar Hal Jan Kar Lam Mar Mon Nor Ost Pel Ran Sal Tor Val Wes Yar Zel
""")
NAME_ENDS = listed("""
    ton ville berg dorf field stad ley wick ford mont rive court ova ski sen son ez ini ier ard au
    eau oux ami aki ura wa moto ang ong
""")
BINOMIAL_ENDINGS = listed("phora cystis mys")
BINOMIAL_KINDS = listed("borealis minor vulgaris lacustris alba americana robusta gracilis")
SHORTEST_WORD = 6  # shorter endings ("metry", "lysis") are no words of their own


def plain(phrase: str) -> str:
    """Drop tags: how often benchmark texts hold markup is set by the patterns alone."""
    return re.sub(r"<[^>]*>", "", phrase)


def table(subjects: tuple[Subject, ...], code: str, *columns: str) -> list[str]:
    """Collect some columns of the subjects' phrase tables in one language."""
    return [
        plain(phrase)
        for subject in subjects
        for column in columns
        for phrase in getattr(subject.en if code == "en" else subject.fr, column)
    ]


def composed(heads: list[str], endings: Phrases, size: int, rng: Random) -> list[str]:
    """List heads, bare endings, prefix + ending, two prefixes + ending: `size` different words."""
    pairs = [prefix + ending for prefix in PREFIXES for ending in endings]
    triples = [outer + pair for outer in OUTER_PREFIXES for pair in pairs]
    bare = [ending for ending in endings if len(ending) >= SHORTEST_WORD]
    return list(dict.fromkeys([*heads, *bare, *shuffled(rng, pairs), *shuffled(rng, triples)]))[
        :size
    ]


def acronyms(rng: Random) -> list[str]:
    """List well-known acronyms, then made ones of three letters, every fourth with a number."""
    letters = ["".join(three) for three in itertools.product("ACDEHIMNOPRST", repeat=3)]
    return [
        *GIVEN_ACRONYMS,
        *(
            form if place % 4 else f"{form}-{place % 9 + 1}"
            for place, form in enumerate(shuffled(rng, letters))
        ),
    ]


def species(rng: Random) -> list[str]:
    """List invented Latin binomials, two in three in italics."""
    genera = [start.capitalize() + end for start in PREFIXES for end in BINOMIAL_ENDINGS]
    names = shuffled(rng, [f"{genus} {kind}" for genus in genera for kind in BINOMIAL_KINDS])
    return [f"<i>{name}</i>" if place % 3 else name for place, name in enumerate(names)]


def english_classes(rng: Random) -> dict[str, list[str]]:
    """Build the classes of English patterns."""
    things = table(ORDINARY, "en", "things", "factors")
    last = dict.fromkeys(thing.split()[-1] for thing in things)
    heads = shuffled(rng, [word for word in last if word.islower()])
    return {
        "N": composed(heads, NOUN_ENDINGS, NOUNS, rng),
        "A": composed([], ADJECTIVE_ENDINGS, ADJECTIVES, rng),
        "T": shuffled(rng, things),
        "G": shuffled(rng, table(ORDINARY, "en", "among")),
        "D": shuffled(rng, table(ORDINARY, "en", "designs")),
        "U": shuffled(rng, table(ORDINARY, "en", "units")),
        "MT": shuffled(rng, table(META, "en", "things", "factors")),
        "MG": shuffled(rng, table(META, "en", "among")),
        "MD": shuffled(rng, table(META, "en", "designs")),
        "P": list(ENGLISH.places),
        "V": list(VERBS),
        "B": list(ADVERBS),
    }


def french_classes(rng: Random) -> dict[str, list[str]]:
    """Build the classes of French patterns; things and nouns come with and without "de"."""
    things = shuffled(rng, table(ORDINARY, "fr", "things", "factors"))
    nouns = [
        f"l'{word}" if word.startswith(VOWELS) else f"la {word}"
        for word in composed([], FRENCH_ENDINGS, FRENCH_NOUNS, rng)
    ]
    return {
        "FT": things,
        "FDT": [contract("de", phrase) for phrase in things],
        "FN": nouns,
        "FDN": [contract("de", phrase) for phrase in nouns],
        "FA": composed([], FRENCH_ADJECTIVE_ENDINGS, FRENCH_ADJECTIVES, rng),
        "FG": shuffled(rng, table(ORDINARY, "fr", "among")),
        "FD": shuffled(rng, table(ORDINARY, "fr", "designs")),
        "FU": shuffled(rng, table(ORDINARY, "fr", "units")),
        "FP": list(FRENCH.places),
    }


def shared_classes(rng: Random) -> dict[str, list[str]]:
    """Build the classes that both languages use: acronyms, species, names and numbers."""
    return {
        "X": acronyms(rng),
        "S": species(rng),
        "Y": shuffled(rng, [start + end for start in NAME_STARTS for end in NAME_ENDS]),
        "I": shuffled(rng, [str(count) for count in range(2, 2000)]),
        "C": shuffled(rng, [f"{count / 10:.1f}" for count in range(5, 1000)]),
        "Q": shuffled(rng, [f"{count / 1000:.3f}" for count in range(1, 1000)]),
        "R": shuffled(rng, [f"{count / 100:.2f}" for count in range(1, 1000)]),
    }


def classes() -> dict[str, list[str]]:
    """Build every word class: its name in the patterns, and its words by falling frequency."""
    rng = Random(LEXICON_SEED)
    return english_classes(rng) | french_classes(rng) | shared_classes(rng)


def venues() -> list[str]:
    """List journals: those of the phrase tables, then composed ones."""
    known = table(ORDINARY + META, "en", "venues") + table(ORDINARY + META, "fr", "venues")
    nouns = composed([], NOUN_ENDINGS, VENUES, Random(LEXICON_SEED))
    stems = [noun.capitalize() for noun in nouns if "-" not in noun]
    forms = ("Journal of {}", "{} Letters", "International {} Review")
    made = [form.format(stem) for stem in stems for form in forms]
    return list(dict.fromkeys(known + made))[:VENUES]


def topics() -> list[str]:
    """List topics: those of the phrase tables, then composed ones."""
    known = [topic for subject in ORDINARY + META for topic in subject.topics]
    nouns = composed([], NOUN_ENDINGS, 2 * TOPICS, Random(LEXICON_SEED))
    made = [
        f"{first.capitalize()} and {second.capitalize()}"
        for first, second in zip(nouns[::2], nouns[1::2], strict=True)
    ]
    return list(dict.fromkeys(known + made))[:TOPICS]
