"""From what a training is asked for to what learns.

Plain n-grams, heads on an encoder, both together, or n-grams that learn from both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scorer.engine.progress import Progress
from scorer.errors import InputError, UsageError
from scorer.labels.sample import Labels
from scorer.student.manifest import Distillation
from scorer.train.folds import in_venues, venue_folds
from scorer.train.learner import Learner, NgramLearner
from scorer.train.search_fit import answers_of
from scorer.train.search_stage import make_stages
from scorer.train.trained import TrainRequest


@dataclass(frozen=True, slots=True)
class Way:
    """What learns, and what the manifest says of it: fields of `TrainingData`."""

    learner: Learner
    provenance: Mapping[str, Any]


def check_encoder(request: TrainRequest) -> None:
    """Raise `UsageError` where an encoder is asked for what does not fit together."""
    asked = request.encoder
    if asked is None:
        return
    if asked.use == "ensemble" and not asked.unlabelled:
        raise UsageError(
            "--ensemble needs --unlabelled FRAME: works that the ensemble scores, for the n-grams "
            "to learn from."
        )


def check_folds(request: TrainRequest, labels: Labels) -> None:
    """Raise `InputError` where labels are too few for the folds; an encoder would read for minutes.

    `labels`: those that the student may learn from.
    """
    recipe, works = request.recipe, labels.works
    if request.search is not None:
        make_stages(labels, answers_of(labels), recipe)
    folds = venue_folds(works, recipe.folds, recipe.seed)
    if request.encoder is None or request.encoder.use != "ensemble":
        return
    try:
        for learning, _ in folds:
            venue_folds(works[learning], recipe.folds, recipe.seed)
    except InputError as error:
        raise InputError(
            f"{in_venues(works)} are too few "
            f"for --ensemble, which parts them into {recipe.folds} folds, and the rest of each "
            "again.\nLabel works of more venues, or train without --ensemble."
        ) from error


def choose_way(
    request: TrainRequest,
    labels: Labels,
    say: Callable[[str], None],
    progress: Progress | None = None,
) -> Way:
    """Return what learns; read and embed all works that it needs, once for all folds."""
    asked, recipe = request.encoder, request.recipe
    if asked is None:
        return Way(NgramLearner(recipe), {})
    # An encoder needs packages of the extra `transformer`; plain training does without them.
    from scorer.student.transformer.encoder_folder import EncoderFolder  # noqa: PLC0415
    from scorer.train.distilled import (  # noqa: PLC0415
        OWN_SHARE,
        DistilledLearner,
        EmbeddedFrame,
    )
    from scorer.train.embedded import Embedded, embed  # noqa: PLC0415
    from scorer.train.encoder_heads import EncoderLearner  # noqa: PLC0415
    from scorer.train.unlabelled import read_unlabelled  # noqa: PLC0415

    encoder = EncoderFolder.open(asked.folder)
    frames = read_unlabelled(asked.unlabelled, labels, say)
    say(f"embedding {labels.works.height:,} labelled works")
    embedded = Embedded.of(encoder, labels.works, progress)
    provenance: dict[str, Any] = {"encoder_sha256": encoder.sha256}
    if asked.use != "ensemble":
        return Way(EncoderLearner(recipe, embedded, mixed=asked.use == "mixed"), provenance)
    say(f"embedding {sum(frame.works.height for frame in frames):,} unlabelled works")
    unlabelled = [
        EmbeddedFrame(frame.works, embed(encoder, frame.works, progress)) for frame in frames
    ]
    provenance["distillation"] = Distillation(
        soft_weight=asked.soft_weight,
        own_share=OWN_SHARE,
        unlabelled=tuple(frame.data for frame in frames),
    )
    return Way(DistilledLearner(recipe, embedded, unlabelled, asked.soft_weight), provenance)
