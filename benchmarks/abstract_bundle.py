"""Trains a second bundle, for speed alone: it reads title and abstract, its labels are rule-made.

Keywords on the texts of ../shared/frames/screening_abstracts.parquet stand in for teachers, with a
little seeded noise. The real `scorer train` makes the bundle; its scores mean nothing.
"""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import polars as pl
import typer
from _measure import SCORER, console, measure, shared, work_folder

ROWS: Final = 3_800
"""Works to learn from, spread evenly over all 19,934: training time grows with rows."""
NGRAMS: Final = 66_000
LEAST_WORDS: Final = 12_000
LEAST_BIGRAMS: Final = 8_000
NOISE: Final = 0.02
"""Share of a head's labels that are flipped, so that the heads differ."""
SEED: Final = 20260131

CATEGORIES: Final = {
    "metaresearch": r"\b(systematic review|bias|evidence|meta-analy)",
    "metaepi_narrow": r"\b(meta-analy|pooled)",
    "metaepi_broad": r"\b(heterogeneity|publication bias|trials)\b",
    "bibliometrics": r"\b(citation|publications|literature)\b",
    "sts": r"\b(policy|social|ethic)",
    "scholarly_communication": r"\b(journal|report|article)s?\b",
    "open_science": r"\b(database|open|registry|shared)\b",
    "research_integrity": r"\b(error|misconduct|quality|conflict)",
}
FLAGS: Final = {
    "about_ca_system": r"\b(health care|healthcare|guideline)",
    "about_ca_topic": r"\b(canad|american|north)",
}
DOMAINS: Final = {
    "reporting": r"report|registry",
    "reproducibility": r"reproducib|reliab|replic",
    "evaluation": r"evaluat|assess",
    "incentives": r"cost|fund|reward",
    "methods": "",
}
DESIGNS: Final = {
    "meta_analysis": r"meta-analy",
    "systematic_review": r"systematic|review",
    "randomized_trial": r"randomi[sz]ed|placebo",
    "nonrandomized_trial": r"trial|intervention",
    "observational": r"cohort|survey|cross-sectional|retrospective",
    "case_report": r"case report|a case of|patient with",
    "qualitative": r"interview|qualitative|focus group",
    "simulation_or_modeling": r"simulat|model",
    "bench_or_experimental": r"rats?\b|mice|cells?\b|in vitro",
    "theoretical_or_conceptual": r"theor|concept",
    "design_other": r"design",
    "not_applicable": "",
}
GENRES: Final = {
    "protocol": r"protocol",
    "review": r"review|overview",
    "methods": r"method|algorithm|technique",
    "dataset": r"database|data set|dataset",
    "software": r"software|tool\b",
    "commentary": r"comment|opinion|perspective",
    "editorial": r"editorial|letter",
    "other": r"erratum|abstracts",
    "empirical": "",
}


def texts(rows: int) -> pl.DataFrame:
    """Return `rows` works spread evenly over the screening texts: id, title, abstract."""
    works = pl.read_parquet(shared("frames/screening_abstracts.parquet"))
    return works[np.linspace(0, works.height - 1, min(rows, works.height)).astype(int)]


def label_table(works: pl.DataFrame) -> pl.DataFrame:
    """Add both heads' labels in the columns of ../shared/README.md, made by keyword rules."""
    text = pl.concat_str("title", "abstract", separator=" ", ignore_nulls=True).str.to_lowercase()
    works = works.with_columns(text=text)
    random = np.random.default_rng(SEED)
    for head in ("codex", "gemma"):
        works = works.hstack(_head_labels(works, head, random))
    return works.drop("text")


def _head_labels(works: pl.DataFrame, head: str, random: np.random.Generator) -> pl.DataFrame:
    said = {
        name: _with_noise(works["text"].str.contains(rule), random)
        for name, rule in {**CATEGORIES, **FLAGS}.items()
    }
    declined = _with_noise(works["text"].str.len_chars() < 60, random)
    categories = {name: said[name] & ~declined for name in CATEGORIES}
    named = [
        pl.when(yes).then(pl.lit(name))
        for name, yes in {**categories, "insufficient_payload": declined}.items()
    ]
    values = {
        axis: _first_rule(works["text"], rules, random)
        for axis, rules in {"domain": DOMAINS, "study_design": DESIGNS, "genre": GENRES}.items()
    }
    values["domain"] = values["domain"].zip_with(
        categories["metaresearch"], pl.Series([None], dtype=pl.String)
    )
    return works.select(
        pl.concat_list(named).list.drop_nulls().alias(f"{head}_categories"),
        *(value.alias(f"{head}_{axis}") for axis, value in values.items()),
        *(said[flag].alias(f"{head}_{flag}") for flag in FLAGS),
    )


def _with_noise(labels: pl.Series, random: np.random.Generator) -> pl.Series:
    return labels ^ pl.Series(random.random(len(labels)) < NOISE)


def _first_rule(text: pl.Series, rules: dict[str, str], random: np.random.Generator) -> pl.Series:
    """Return the value of the first rule that a text fits; noise draws from all the values."""
    values = list(rules)
    fits = np.stack([text.str.contains(rule).to_numpy() for rule in rules.values()])
    noise = random.random(len(text)) < NOISE
    chosen = np.where(noise, random.integers(len(values), size=len(text)), fits.argmax(axis=0))
    return pl.Series(values).gather(chosen)


def vocabulary_counts(bundle: Path) -> dict[str, int]:
    """Return how many n-grams the bundle lists a channel of its title and abstract."""
    counts = pl.read_parquet(bundle / "vocabulary.parquet").group_by("channel").len()
    channels = ("title.word", "abstract.word", "title.bigram", "abstract.bigram")
    found = {str(name): int(count) for name, count in counts.iter_rows()}
    return {channel: found.get(channel, 0) for channel in channels}


def abstract_bundle(*, rows: int = ROWS, ngrams: int = NGRAMS, again: bool = False) -> Path:
    """Return the bundle's folder, trained if it is not there; end the program if it is small."""
    bundle = work_folder() / "abstract-ngram"
    if again:
        shutil.rmtree(bundle, ignore_errors=True)
    if not bundle.exists():
        with tempfile.TemporaryDirectory() as folder:
            labels = Path(folder) / "labels.parquet"
            label_table(texts(rows)).write_parquet(labels)
            console.print(f"training {bundle.name} on {rows:,} texts", style="dim")
            started = time.perf_counter()
            source = "keyword rules on screening texts; for speed alone"
            words = ["--ngrams", str(ngrams), "--source", source]
            measure([SCORER, "train", labels, "-o", bundle, *words])
            console.print(f"trained in {time.perf_counter() - started:,.0f} s", style="dim")
    counts = vocabulary_counts(bundle)
    words = counts["title.word"] + counts["abstract.word"]
    bigrams = counts["title.bigram"] + counts["abstract.bigram"]
    listed = ", ".join(f"{channel} {count:,}" for channel, count in counts.items())
    console.print(f"{bundle.name}: {words:,} words, {bigrams:,} bigrams ({listed})", style="dim")
    if words < LEAST_WORDS or bigrams < LEAST_BIGRAMS:
        raise SystemExit(
            f"{bundle}: needs {LEAST_WORDS:,} words and {LEAST_BIGRAMS:,} bigrams. Raise --ngrams."
        )
    return bundle


def main(
    rows: Annotated[int, typer.Option(help="Texts to learn from.")] = ROWS,
    ngrams: Annotated[int, typer.Option(help="Most n-grams to keep.")] = NGRAMS,
    again: Annotated[bool, typer.Option("--again", help="Train even if it is there.")] = False,
) -> None:
    """Train the bundle that reads title and abstract, or say what the one that is there holds."""
    console.print(abstract_bundle(rows=rows, ngrams=ngrams, again=again))


if __name__ == "__main__":
    typer.run(main)
