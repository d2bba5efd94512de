"""`scorer compare`: two students side by side on the same labelled works.

Figures of both come from the same replicates, so that their difference has limits of its own: what
moves both alike takes no part in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scorer.decide.sample import LabelFiles, named
from scorer.engine.progress import Progress, Silence
from scorer.errors import InputError
from scorer.labels.sample import Labels
from scorer.policy.fit import Floats
from scorer.review.bootstrap import Design
from scorer.review.bootstrap_interval import Figure, effective, signed
from scorer.review.compare_common import learned
from scorer.review.compare_moved import moved
from scorer.review.compare_pairs import Pair, pairs_of
from scorer.review.compare_results import Beside, Compared, Comparison, Mean, Ranked
from scorer.review.compare_sides import Opened, open_both
from scorer.review.evaluate import MIN_POSITIVES, REPLICATES
from scorer.review.evaluate_part import Support
from scorer.review.metrics import Measure, Ranking, replicated
from scorer.targets import INSUFFICIENT_PAYLOAD

TOP: Final = 10
_SIDES: Final = 2


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """What to compare, and on which labels."""

    a: str
    """A bundle (folder or shipped name), a scored file, or the file of `train --out-of-fold`."""
    b: str
    labels: LabelFiles
    targets: tuple[str, ...] = ()
    """By default all that both score and the labels speak of."""
    top: int = TOP
    """How many of the works that moved most are listed."""
    replicates: int = REPLICATES
    seed: int = 0


def compare(request: CompareRequest, progress: Progress | None = None) -> Comparison:
    """Compare two students by the works that their teachers labelled.

    Raises `UsageError` where both have nothing in common, `InputError` where files are not as they
    should be or the labels cannot tell a ranking from another.
    """
    progress = progress or Silence()
    labels = request.labels.read()
    a, b, common = open_both(
        [request.a, request.b], request.labels, labels, request.targets, progress
    )
    pairs = pairs_of(a, b, labels, common)
    support = Support(0.0, labels.weight)
    why = {pair.name: support.lacking(pair.known, pair.yes) for pair in pairs}
    ranked = [pair for pair in pairs if why[pair.name] is None]
    if not ranked:
        raise InputError(
            f"{request.labels.works}: among the works that both sides scored, no head and target "
            "has a yes and a no, so nothing can be ranked.\nCompare on labels of more works."
        )
    plain = Design.of(np.ones(labels.works.height), labels.stratum, finite=False)
    designs = [plain, Design.of(labels.weight, labels.stratum)] if labels.weighted else [plain]
    figures = [_Figures.of(ranked, design, request, progress) for design in designs]
    compared = tuple(
        Compared(
            head=pair.head,
            target=pair.target,
            works=int(pair.known.sum()),
            positives=int(pair.yes.sum()),
            effective_positives=effective(labels.weight[pair.yes]),
            plain=None if why[pair.name] else figures[0].ranked([pair]),
            weighted=None if why[pair.name] or not labels.weighted else figures[-1].ranked([pair]),
            why=why[pair.name],
        )
        for pair in pairs
    )
    same = all(pair.same() for pair in pairs)
    counted = [pair for pair, found in zip(pairs, compared, strict=True) if found.counts]
    return Comparison(
        a=a.side,
        b=b.side,
        labelled=labels.works.height,
        compared=len(np.intersect1d(a.examples.places, b.examples.places)),
        strata=len(plain.drawn),
        pairs=compared,
        means=tuple(_means(counted, figures)),
        moved=moved(pairs, labels.works, request.top),
        same=same,
        replicates=request.replicates,
        seed=request.seed,
        notes=tuple(_notes(a, b, labels, request, same=same)),
    )


@dataclass(frozen=True, slots=True)
class _Figures:
    """Average precision and AUROC of both sides, by one weighting, of the sample and replicates.

    `values`: (head, target, side) -> float64 [2, 1 + replicates].
    """

    design: Design
    values: Mapping[tuple[str, str, int], Floats]

    @classmethod
    def of(
        cls, pairs: Iterable[Pair], design: Design, request: CompareRequest, progress: Progress
    ) -> "_Figures":
        plan: dict[tuple[str, str, int], Measure] = {
            (*pair.name, side): Ranking.of(
                design.again(pair.scores[side]), design.either(pair.yes), design.again(pair.known)
            )
            for pair in pairs
            for side in range(_SIDES)
        }
        return cls(design, replicated(plan, design, request.replicates, request.seed, progress))

    def ranked(self, pairs: Sequence[Pair]) -> Ranked:
        """Return the figures of a pair, or the mean over several.

        What limits stand on is the works that any of the pairs has as a yes.
        """
        a, b = (
            np.mean([self.values[*pair.name, side] for pair in pairs], axis=0)
            for side in range(_SIDES)
        )
        yes = np.logical_or.reduce([pair.yes for pair in pairs])
        few = Support(MIN_POSITIVES, self.design.weight).few("positives", yes)
        works = effective(self.design.weight[yes])

        def difference(found: Floats) -> Figure:
            return Figure(float(found[0]), why=f"no limits: {few}") if few else signed(found, works)

        return Ranked(
            *(
                Beside(float(of_a[0]), float(of_b[0]), difference(of_b - of_a))
                for of_a, of_b in zip(a, b, strict=True)
            )
        )


def _means(counted: Sequence[Pair], figures: Sequence[_Figures]) -> Iterable[Mean]:
    """Yield the mean over all pairs; then, as it is called by rule, without the payload's."""
    without = [pair for pair in counted if pair.target != INSUFFICIENT_PAYLOAD]
    for left_out, pairs in ((None, counted), (INSUFFICIENT_PAYLOAD, without)):
        if pairs and (left_out is None or len(pairs) < len(counted)):
            weighted = figures[1].ranked(pairs) if len(figures) > 1 else None
            yield Mean(left_out, len(pairs), figures[0].ranked(pairs), weighted)


def _notes(
    a: Opened, b: Opened, labels: Labels, request: CompareRequest, *, same: bool
) -> Iterable[str]:
    where = request.labels.works
    for side in (a, b):
        yield from side.notes(where)
    if a.side.model_version == b.side.model_version and a.side.kind == b.side.kind:
        yield f"A and B are the same student, {a.side.model_version}"
    if same:
        yield "A and B give every compared work the same scores: nothing differs"
    for one, other in ((a, b), (b, a)):
        alone = sorted(learned(one.targets) - learned(other.targets))
        if alone:
            names = named([f"{head}/{target}" for head, target in alone])
            yield f"{one.side.name}: scores alone, not compared: {names}"
    if not labels.weighted:
        yield f"{where}: no column 'weight', so there are plain figures alone"
