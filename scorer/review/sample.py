"""The audit sample: a stratified probability sample of a scored file, for people to judge.

One pass over narrow columns counts strata and keeps the works that may be drawn; the rest of what
coders and the key need is then looked up for the works drawn alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from scorer.engine.progress import Progress, Silence
from scorer.errors import UsageError
from scorer.policy.fit import Floats
from scorer.review.allocation import (
    Allocation,
    Counts,
    apportion,
    expected_spread,
    given_numbers,
)
from scorer.review.alongside import rows_with_records
from scorer.review.records import find_records
from scorer.review.sample_draw import Drawing
from scorer.review.sample_strata import Strata, default_strata, grouped, stratum_names
from scorer.review.scores import REVIEWED, Scores, check_segments
from scorer.targets import INSUFFICIENT_PAYLOAD, score_column

IN: Final = "in_"
"""Before the name of a stratifier: the key's column of its levels."""


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """What to draw from what."""

    scores: Path
    works: int | None = None
    """Of the sample; None where `numbers` say how many."""
    strata: tuple[str, ...] = ()
    """Names of `STRATIFIERS`; by default `default_strata`."""
    allocation: Allocation = "neyman"
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Level of `calls` -> works, with fixed allocation; by default every stratum the same."""
    target: str | None = None
    """The category or flag that the sample is for; None: for all."""
    ask: tuple[str, ...] = ()
    """What coders are asked; by default `target`, or all but insufficient_payload."""
    segments: tuple[str, ...] = REVIEWED
    seed: int = 0
    frame: str | Path | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """An audit sample and its design."""

    key: pl.DataFrame
    """A row a work, by id: the columns of the key, see `scorer.review.sheet`."""
    records: pl.DataFrame | None
    """`id` and what the frame has of the works, in the key's order; None without a frame."""
    strata: pl.DataFrame
    """A row a stratum: `stratum`, `works`, `sample`, `pi`, `expected_sd` (null unless Neyman's)."""
    asked: tuple[str, ...]
    request: SampleRequest
    stratifiers: tuple[str, ...]
    scores: Scores
    missing: int
    """Works of the sample that the frame lacks."""


def sample(request: SampleRequest, progress: Progress | None = None) -> Sample:
    """Draw an audit sample: every work of the segments can be drawn, with a known probability.

    Raises `UsageError` where the request does not fit the file, `InputError` for a file that is
    not as its manifest says, or a frame with none of its works.
    """
    progress = progress or Silence()
    _check(request)
    scores = Scores.open(request.scores)
    asked = _asked(request, scores)
    strata = _strata(request, scores)
    if request.numbers and "calls" not in strata.names:
        raise UsageError("--works needs the strata by calls: add --strata calls.")
    guessed = [name for name in asked if scores.learned(name)]
    guessed = guessed if request.allocation == "neyman" else []
    works = request.works if request.works is not None else sum(request.numbers.values())
    drawing = Drawing(strata.names, works, request.seed, len(guessed))
    progress.start(scores.rows, 0)
    own = [score_column(head, name) for name in guessed for head in scores.learned(name)]
    with rows_with_records(
        scores,
        ["id", "segment", *strata.columns, *own],
        request.frame,
        strata.of_record,
        mapping=request.mapping,
        progress=progress,
    ) as batches:
        for rows in batches:
            there = rows.filter(pl.col("segment").is_in(request.segments))
            drawing.add(there["id"], strata.levels(there), _mean_scores(there, scores, guessed))
            progress.advance(rows.height)
    cells, sizes, sums = drawing.cells()
    if not len(sizes):
        raise UsageError(f"{request.scores}: no work in {', '.join(request.segments)} to draw.")
    levels, of_cell = _merged(grouped(cells, pl.Series(sizes)))
    totals = np.bincount(of_cell, sizes).astype(np.int64)
    spread = _guessed(sums, of_cell, totals) if guessed else None
    given = _allocated(request, works, levels, totals, spread)
    drawn = drawing.drawn(of_cell, given)
    design = _design(levels, totals, given, spread)
    key = _key(drawn, levels, design, scores)
    records, missing = _records(key["id"], request, progress)
    return Sample(key, records, design, asked, request, strata.names, scores, missing)


def _check(request: SampleRequest) -> None:
    check_segments(request.segments)
    if request.works is None and not request.numbers:
        raise UsageError("Say how many works to draw: -n N.")
    if request.numbers and request.allocation != "fixed":
        raise UsageError("--works says how many of each: that is --allocation fixed.")
    if request.works is not None and request.numbers:
        raise UsageError("-n and --works both say how many works to draw: give one of them.")
    if request.works is not None and request.works < 1:
        raise UsageError(f"-n {request.works}: expected at least 1.")


def _asked(request: SampleRequest, scores: Scores) -> tuple[str, ...]:
    """Return what coders are asked, in manifest order."""
    for name in request.ask:
        scores.check_target(name, "--ask")
    if request.target is not None:
        scores.check_target(request.target, "--target")
    names = scores.targets.binary_names
    # Whether a work can be judged at all is what "unsure" says.
    default = (
        [request.target] if request.target else [n for n in names if n != INSUFFICIENT_PAYLOAD]
    )
    return tuple(name for name in names if name in (request.ask or default))


def _strata(request: SampleRequest, scores: Scores) -> Strata:
    frame = request.frame is not None
    names = request.strata or default_strata(frame=frame, segments=len(request.segments))
    return Strata.of(scores, names, request.target, frame=frame)


def _mean_scores(rows: pl.DataFrame, scores: Scores, targets: list[str]) -> Floats:
    """Return the mean of the heads' scores, float64 [works, targets]."""
    means = [
        pl.mean_horizontal(
            pl.col(score_column(head, name)).cast(pl.Float64) for head in scores.learned(name)
        ).alias(name)
        for name in targets
    ]
    return rows.select(means).to_numpy() if means else np.zeros((rows.height, 0))


def _merged(levels: pl.DataFrame) -> tuple[pl.DataFrame, Counts]:
    """Return the strata, a row each in order of their names, and that of each cell."""
    strata = levels.unique().sort(pl.all())
    numbered = strata.with_row_index("stratum")
    found = levels.join(numbered, on=levels.columns, how="left", maintain_order="left")
    return strata, found["stratum"].cast(pl.Int64).to_numpy()


def _guessed(sums: Floats, of_cell: Counts, sizes: Counts) -> Floats:
    """Return the expected spread of each stratum from the scores of its cells."""
    of_stratum = np.zeros((len(sizes), sums.shape[1]))
    np.add.at(of_stratum, of_cell, sums)
    return expected_spread(of_stratum, sizes)


def _allocated(
    request: SampleRequest, works: int, levels: pl.DataFrame, sizes: Counts, spread: Floats | None
) -> Counts:
    """Return how many works each stratum gets, int64 [strata]."""
    if request.numbers:
        return given_numbers(levels["calls"].to_list(), sizes, dict(request.numbers))
    match request.allocation:
        case "neyman":
            return apportion(works, sizes, np.ones(len(sizes)) if spread is None else spread)
        case "proportional":
            return apportion(works, sizes, np.ones(len(sizes)))
        case "fixed":
            return apportion(works, sizes, 1 / sizes)


def _design(
    levels: pl.DataFrame, sizes: Counts, given: Counts, spread: Floats | None
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "stratum": stratum_names(levels),
            "works": sizes,
            "sample": given,
            "pi": given / sizes,
            "expected_sd": pl.Series(
                spread if spread is not None else [None] * len(sizes), dtype=pl.Float64
            ),
        }
    )


def _key(
    drawn: pl.DataFrame, levels: pl.DataFrame, design: pl.DataFrame, scores: Scores
) -> pl.DataFrame:
    """Return the key, by id."""
    of_work = drawn["stratum"]
    mine = design[of_work]
    manifest = scores.manifest
    known = scores.of_works(
        drawn["id"],
        [
            *("segment", "classification", "teacher_disagreement", "threshold_uncertainty"),
            *manifest.targets.score_columns,
            *("model_version", "policy_version", "score_status", "prediction_status"),
        ],
    )
    made = pl.DataFrame(
        [
            drawn["id"],
            mine["stratum"],
            *levels[of_work].rename(lambda name: f"{IN}{name}"),
            mine["works"].alias("stratum_works"),
            mine["sample"].alias("stratum_sample"),
            mine["pi"],
            (mine["works"] / mine["sample"]).alias("weight"),
            *known.drop("id"),
        ]
    )
    return made.sort("id")


def _records(
    ids: pl.Series, request: SampleRequest, progress: Progress
) -> tuple[pl.DataFrame | None, int]:
    """Return what the frame has of the works, as people read it, and how many it lacks."""
    if request.frame is None:
        return None, 0
    found = find_records(ids, request.frame, mapping=request.mapping, progress=progress)
    for note in found.notes:
        progress.note(note)
    return found.readable(), len(found.missing)
