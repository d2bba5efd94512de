"""How often the limits of `scorer evaluate` hold the truth, on a frame whose truth is known.

Answers are drawn for every work of a frame of 60,000, by a known relation to its scores. Then an
audit sample is drawn and evaluated, again and again with other seeds, by the functions behind
`scorer sample` and `scorer evaluate`; the limits are held against what all answers come to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import typer
from _frames import made_frame
from _measure import SHIPPED, console, measure, report, scorer_run, work_folder
from rich.progress import track
from scipy.special import expit, logit
from scipy.stats import binomtest

from scorer.decide.sample import scored_examples
from scorer.engine.progress import Silence
from scorer.review.allocation import Allocation
from scorer.review.alongside import rows_with_records
from scorer.review.bootstrap import Design
from scorer.review.bootstrap_interval import METHOD, Figure
from scorer.review.evaluate import EvaluateRequest, sections
from scorer.review.evaluate_coders import CoderJudges
from scorer.review.evaluate_questions import questions
from scorer.review.sample import SampleRequest, sample
from scorer.review.sample_keys import seeded_keys
from scorer.review.sample_strata import Strata, default_strata, grouped, stratum_names
from scorer.review.scores import REVIEWED, Scores
from scorer.targets import score_column

WORKS: Final = 60_000
SEEDS: Final = 500
WANTED: Final = (0.93, 0.97)
KINDS: Final = ("consensus", "candidate")
_CODER: Final = "coder 1"
_COMPARED: Final = 10
"""Samples of each audit that are drawn by `sample` itself, to compare."""
_SEED_OF_TRUTH: Final = 20261130
_FRENCH: Final = -0.7
"""Logits by which a yes is rarer in French: strata differ by more than their scores."""


@dataclass(frozen=True, slots=True)
class Audit:
    """A target, how its answers follow from scores, and how works are drawn to audit it.

    P(yes) = expit(slope x logit(mean score) + shift), in French `_FRENCH` logits lower.
    """

    target: str
    slope: float
    shift: float
    works: int
    allocation: Allocation

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.target}, {self.works:,}, {self.allocation}"

    def answers(self, frame: pl.DataFrame, heads: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Draw the answer of each work, bool [works]; the same ones each time."""
        scores = [pl.col(score_column(head, self.target)).cast(pl.Float64) for head in heads]
        mean = frame.select(pl.mean_horizontal(scores).clip(1e-4, 1 - 1e-4)).to_series().to_numpy()
        french = (frame["lang"] == "fr").fill_null(False).to_numpy()
        chance = expit(self.slope * logit(mean) + self.shift + _FRENCH * french)
        return np.random.default_rng(_SEED_OF_TRUTH).random(frame.height) < chance


COMMON: Final = ("about_ca_topic", 1.0, -0.6)
RARE: Final = ("metaresearch", 1.2, 0.2)
AUDITS: Final = (
    Audit(*COMMON, 400, "neyman"),
    Audit(*COMMON, 400, "proportional"),
    Audit(*COMMON, 400, "fixed"),
    Audit(*RARE, 400, "neyman"),
    Audit(*RARE, 1000, "neyman"),
)


@dataclass(slots=True)
class Tally:
    """How the limits of one figure of one audit stood to the truth, over all samples."""

    audit: str
    figure: str
    truth: float
    given: int = 0
    under: int = 0
    """Limits under the truth."""
    over: int = 0
    values: float = 0.0
    widths: float = 0.0

    def add(self, found: Figure) -> None:
        """Take note of one sample; a figure that was not given counts nowhere."""
        if found.value is None or found.low is None or found.high is None:
            return
        self.given += 1
        self.under += found.high < self.truth
        self.over += found.low > self.truth
        self.values += found.value
        self.widths += found.high - found.low

    @property
    def held(self) -> int:
        """Samples whose limits hold the truth."""
        return self.given - self.under - self.over

    def row(self) -> dict[str, str]:
        """Return a row of the table."""
        names = ("held", "its 95 % limits", "under / over", "bias", "width")
        shown = ["never given", "", "", "", ""]
        if self.given:
            limits = binomtest(self.held, self.given).proportion_ci()
            shown = [
                f"{self.held / self.given:.1%}",
                f"{limits.low:.1%} to {limits.high:.1%}",
                f"{self.under} / {self.over}",
                f"{self.values / self.given - self.truth:+.4f}",
                f"{self.widths / self.given:.3f}",
            ]
        about = {"audit": self.audit, "figure": self.figure, "truth": f"{self.truth:.4f}"}
        return about | {"given": f"{self.given:,}"} | dict(zip(names, shown, strict=True))


class Known:
    """A scored frame with a true answer for each work, audited by one design."""

    def __init__(self, scores: Path, frame: Path, audit: Audit) -> None:
        self._audit = audit
        self._frame = frame
        self._scores = Scores.open(scores)
        self._works = self._with_strata()
        self._drawn = sample(self._request(seed=0)).strata.select("stratum", "works", "sample")
        # A scored file has the works in the order of its frame.
        rows = pl.read_parquet(scores).hstack(pl.read_parquet(frame, columns=["lang"]))
        rows = rows.filter(pl.col("segment").cast(pl.String).is_in(REVIEWED))
        yes = pl.Series("yes", audit.answers(rows, self._scores.heads))
        self._answers = rows.select("id", yes)
        everyone = Design.of(np.ones(rows.height), None)
        self.truth = self._figures(rows["id"], everyone, replicates=1, seed=0)

    def audited(self, seed: int, replicates: int) -> dict[str, Figure]:
        """Draw a sample and evaluate it."""
        drawn = self._sample(seed)
        design = Design.of(drawn["weight"].to_numpy(), drawn["stratum"], finite=True)
        return self._figures(drawn["id"], design, replicates=replicates, seed=seed)

    def _request(self, seed: int) -> SampleRequest:
        return SampleRequest(
            scores=self._scores.path,
            works=self._audit.works,
            allocation=self._audit.allocation,
            target=self._audit.target,
            frame=self._frame,
            seed=seed,
        )

    def _with_strata(self) -> pl.DataFrame:
        """Return `id` and `stratum` of every work that can be drawn."""
        names = default_strata(frame=True, segments=len(REVIEWED))
        strata = Strata.of(self._scores, names, self._audit.target, frame=True)
        wanted = ["id", "segment", *strata.columns]
        ids, levels = [], []
        with rows_with_records(
            self._scores, wanted, self._frame, strata.of_record, mapping={}, progress=Silence()
        ) as batches:
            for rows in batches:
                there = rows.filter(pl.col("segment").is_in(REVIEWED))
                ids.append(there["id"])
                levels.append(strata.levels(there))
        every = pl.concat(levels)
        one = pl.repeat(1, every.height, eager=True)
        return pl.DataFrame([pl.concat(ids), stratum_names(grouped(every, one))])

    def _sample(self, seed: int) -> pl.DataFrame:
        """Return `id`, `stratum` and `weight` of the sample that `sample` draws by a seed.

        By itself, since 500 times the frame would be read again; the first ones are compared.
        """
        keys = pl.Series("key", seeded_keys(self._works["id"], seed))
        place = pl.int_range(pl.len()).over("stratum")
        drawn = (
            self._works.with_columns(keys)
            .sort("stratum", "key", "id")
            .join(self._drawn, on="stratum", maintain_order="left")
            .filter(place < pl.col("sample"))
            .select("id", "stratum", weight=pl.col("works") / pl.col("sample"))
            .sort("id")
        )
        if seed < _COMPARED:
            key = sample(self._request(seed)).key.select("id", "stratum", "weight")
            if not drawn.equals(key):
                raise SystemExit(f"{self._audit.name}, seed {seed}: not the works of scorer sample")
        return drawn

    def _figures(
        self, ids: pl.Series, design: Design, *, replicates: int, seed: int
    ) -> dict[str, Figure]:
        target = self._audit.target
        works = ids.to_frame("id")
        said = works.join(self._answers, on="id", how="left", maintain_order="left")["yes"]
        judges = CoderJudges(
            works=works,
            design=design,
            names=(_CODER,),
            asked=(target,),
            drawn_from={},
            said={(_CODER, target): said.cast(pl.Int8).to_numpy()},
        )
        examples = scored_examples(self._scores.scored, ids)
        asked = questions(self._scores, judges, examples, [target])
        asked = [question for question in asked if question.kind in KINDS]
        request = EvaluateRequest(
            self._scores.path, sheets=(self._scores.path,), replicates=replicates, seed=seed
        )
        (section,) = sections(asked, judges, [np.ones(len(ids), bool)], request)
        figures = {"prevalence": section.prevalence[target][_CODER].share}
        for kind in KINDS:
            compared = section.compared[target][kind]
            figures |= {
                f"{kind}: precision": compared.precision,
                f"{kind}: recall": compared.recall,
                f"{kind}: average precision": compared.average_precision,
                f"{kind}: AUROC": compared.auroc,
            }
        return figures


def tallied(known: Known, audit: Audit, seeds: int, replicates: int) -> Iterator[Tally]:
    """Yield, for each figure, how often its limits held the truth."""
    tallies = {
        figure: Tally(audit.name, figure, true.value)
        for figure, true in known.truth.items()
        if true.value is not None
    }
    for seed in track(range(seeds), description=audit.name, console=console, transient=True):
        found = known.audited(seed, replicates)
        for figure, tally in tallies.items():
            tally.add(found[figure])
    yield from tallies.values()


def main(
    seeds: Annotated[int, typer.Option(min=1, help="Samples of each audit.")] = SEEDS,
    replicates: Annotated[int, typer.Option(min=50, help="Of the bootstrap.")] = 400,
) -> None:
    """Draw and evaluate samples for every audit."""
    frame = made_frame(WORKS, abstracts=True)
    scores = work_folder() / "coverage.scored.parquet"
    measure(scorer_run(frame, scores, "--model", SHIPPED))
    strata = _of_strata(frame)
    tallies: list[Tally] = []
    for audit in AUDITS:
        tallies += tallied(Known(scores, strata, audit), audit, seeds, replicates)
    report(
        "coverage",
        f"How often 95 % limits hold the truth of {WORKS:,} works, over {seeds:,} samples an audit",
        [tally.row() for tally in tallies],
        _notes(tallies, replicates),
        tallies=[asdict(tally) for tally in tallies],
    )


def _of_strata(frame: Path) -> Path:
    """Write what strata need of the frame; whole abstracts are most of the time otherwise."""
    path = work_folder() / "coverage.frame.parquet"
    there = pl.col("abstract").str.head(1)
    pl.read_parquet(frame).select("id", "title", "lang", there).write_parquet(path)
    return path


def _notes(tallies: Sequence[Tally], replicates: int) -> list[str]:
    given = [tally for tally in tallies if tally.given]
    low, high = WANTED
    within = sum(low <= tally.held / tally.given <= high for tally in given)
    clearly = [f"{t.audit}: {t.figure} ({t.held / t.given:.1%})" for t in given if _outside(t)]
    return [
        f"Method: {METHOD}; {replicates:,} replicates.",
        "audit: target, works drawn, allocation; strata are calls x language x abstract. given: "
        "samples with support enough for the figure. under / over: limits under, over the truth.",
        f"Wanted: {low:.0%} to {high:.0%}. Within: {within} of {len(given)} figures. Outside "
        f"by more than chance (binomial limits apart from that): {'; '.join(clearly) or 'none'}.",
    ]


def _outside(tally: Tally) -> bool:
    """Tell whether a coverage is outside the wanted range by more than chance."""
    limits = binomtest(tally.held, tally.given).proportion_ci()
    return bool(limits.high < WANTED[0] or limits.low > WANTED[1])


if __name__ == "__main__":
    typer.run(main)
