"""`scorer train`: from labels to a whole bundle, the same inputs to the same bytes."""

import hashlib
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from scorer.counted import counted
from scorer.engine.files import sha256, told
from scorer.engine.progress import Progress
from scorer.errors import OutputError, UsageError
from scorer.labels.sample import Labels, read_label_files, read_label_table
from scorer.policy.fit import ENOUGH_POSITIVES
from scorer.student.calibration import CALIBRATION_FILE
from scorer.student.manifest import (
    CARD_FILE,
    MANIFEST_FILE,
    MODEL_FILE,
    POLICY_FILE,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    Encoding,
    Manifest,
    TrainingData,
)
from scorer.targets import NAME_PATTERN
from scorer.train.calibrate import calibrate
from scorer.train.card import write_card
from scorer.train.crossfit import out_of_fold
from scorer.train.decided import decide, with_unavailable
from scorer.train.fit import Recipe, has_abstracts
from scorer.train.folds import venue_folds
from scorer.train.rounds import write_state
from scorer.train.search import check_search, search
from scorer.train.search_table import table_path, write_trials
from scorer.train.trained import Trained, TrainRequest
from scorer.train.turn import Split, Turn
from scorer.train.unseen import check_unseen_place, unseen_table, write_unseen
from scorer.train.ways import Way, check_encoder, check_folds, choose_way

_GRAPH_FILES: Final = frozenset({MODEL_FILE, VOCABULARY_FILE, TOKENIZER_FILE})


def train(
    request: TrainRequest,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
) -> Manifest:
    """Train a bundle and put it at `request.output`; return its manifest.

    `progress` counts the fits of a search, or else the works that an encoder reads. With
    `request.rounds` this is one round: works held out teach nothing, they measure the student.
    """
    check_search(request)
    check_encoder(request)
    _check_place(request)
    turn = None
    if request.rounds is not None:
        use = None if request.encoder is None else request.encoder.use
        turn = Turn.open(request.rounds, request.recipe, use)
        request = replace(request, recipe=turn.recipe(request.recipe))
    labels = _read(request)
    say(f"{labels.works.height:,} labelled works, heads: {', '.join(labels.targets.head_names)}")
    for column in labels.left_out:
        say(f"{column}: free text, not an axis; left out")
    split = None if turn is None else _split(request, turn, labels)
    check_folds(request, labels if split is None else labels.only(split.learning))
    _warn_of_few(labels if split is None else labels.only(split.learning), request.recipe, say)
    way = choose_way(request, labels, say, progress if request.search is None else None)
    if turn is None or split is None:
        manifest = _write(request, _learn(request, labels, way, say, progress))
    else:
        manifest = _train_round(request, turn, split, labels, way=way, say=say)
    if request.search is not None:
        say(f"trials: {table_path(request.output)}")
    say(f"{manifest.version}: {request.output}")
    return manifest


def _warn_of_few(labels: Labels, recipe: Recipe, say: Callable[[str], None]) -> None:
    """Say so where there are fewer works than a fold needs to measure a single target."""
    works, needed = labels.works.height, ENOUGH_POSITIVES * recipe.folds
    if works < needed:
        say(
            f"Note: {counted(works, 'work')} in {recipe.folds} folds are too few to learn much or "
            f"to measure it; figures begin at {ENOUGH_POSITIVES} positives. Label {needed} or more."
        )


def _split(request: TrainRequest, turn: Turn, labels: Labels) -> Split:
    named = request.labels or request.sample
    assert named is not None
    return turn.split(labels, named.name, _hash_of_inputs(request))


def _train_round(
    request: TrainRequest,
    turn: Turn,
    split: Split,
    labels: Labels,
    *,
    way: Way,
    say: Callable[[str], None],
) -> Manifest:
    """Train on the works that are not held out, measure on those that are; then keep the state."""
    assert request.rounds is not None
    say(f"round {turn.number}: {len(split.learning):,} works to learn from, {split.told()}")
    trained = _learn(request, labels.only(split.learning), way, say)
    scores = trained.learned.predict(labels.works[split.held_out]).scores
    measured = turn.measure(split, trained.targets, scores)
    trained = replace(trained, maturity=measured.maturity())
    manifest = _write(request, trained)
    write_state(request.rounds.state, measured.state(manifest.version))
    say(f"maturity gate {'' if trained.maturity.passed else 'not '}passed: {trained.maturity.note}")
    return manifest


def _learn(
    request: TrainRequest,
    labels: Labels,
    way: Way,
    say: Callable[[str], None],
    progress: Progress | None = None,
) -> Trained:
    """Fit the heads, and the policy on out-of-fold scores."""
    recipe, learner = request.recipe, way.learner
    training = _provenance(request, labels).model_copy(update=way.provenance)
    of_folds = trials = None
    if request.search is not None:
        if request.encoder is not None:
            recipe = replace(recipe, soft_weight=request.encoder.soft_weight)
        found = search(labels, recipe, request.search, say=say, learner=learner, progress=progress)
        recipe, of_folds, trials = found.recipe, found.of_folds, found.trials
        learner = learner.with_recipe(recipe)
        training = found.noted(training)
    say(f"scoring each work by heads that saw neither it nor its venue ({recipe.folds} folds)")
    unseen = out_of_fold(
        labels,
        learner,
        None if of_folds is None else [learner.with_recipe(chosen) for chosen in of_folds],
    )
    say(f"fitting the heads on all {labels.works.height:,} works")
    learned = learner.learn(labels, np.arange(labels.works.height))
    targets = with_unavailable(labels.targets, learned.bias)
    folds = venue_folds(labels.works, recipe.folds, recipe.seed)
    calibrated = calibrate(labels, targets, unseen, request.calibrate, folds)
    decided = decide(labels, targets, calibrated.unseen, recipe)
    for line in decided.unmeasured:
        say(line)
    made = learned.made(targets)
    return Trained(
        targets=targets,
        settings=made.settings,
        files=made.files,
        learned=learned,
        policy=decided.policy,
        metrics=decided.metrics | calibrated.metrics,
        training=training,
        unseen=unseen_table(labels.works["id"], calibrated.unseen, targets),
        weighted=labels.weighted,
        calibration=calibrated.calibration,
        recipe=recipe,
        lacking=_lacking(made.settings, labels),
        trials=trials,
    )


def _lacking(settings: Encoding, labels: Labels) -> tuple[str, ...]:
    works = labels.works
    known = {name for name in works.columns if not works[name].is_null().all()}
    if has_abstracts(labels):
        known.add("abstract")
    return tuple(name for name in settings.fields() if name not in known)


def _read(request: TrainRequest) -> Labels:
    if request.labels is not None:
        return read_label_table(request.labels)
    assert request.sample is not None
    return read_label_files(request.sample, request.heads)


def _provenance(request: TrainRequest, labels: Labels) -> TrainingData:
    return TrainingData(
        rows=labels.works.height,
        heads=tuple(labels.targets.head_names),
        source=request.source,
        licence=request.licence,
        attribution=request.attribution,
        sha256=_hash_of_inputs(request),
    )


def _write(request: TrainRequest, trained: Trained) -> Manifest:
    """Write all files beside the output folder, then put the folder in place."""
    files = {
        **trained.files,
        POLICY_FILE: trained.policy.to_json().encode(),
        CARD_FILE: write_card(request, trained).encode(),
    }
    if trained.calibration is not None:
        files[CALIBRATION_FILE] = trained.calibration.to_json().encode()
    manifest = Manifest(
        schema_version=1,
        name=request.bundle_name(),
        licence=request.licence,
        targets=trained.targets,
        encoder=trained.settings,
        maturity=trained.maturity,
        training=trained.training,
        metrics=trained.metrics,
        files={name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    )
    files[MANIFEST_FILE] = manifest.to_json().encode()
    output = request.output
    with told(output), tempfile.TemporaryDirectory(prefix=".scorer.", dir=output.parent) as folder:
        waiting, before = Path(folder, "new"), Path(folder, "before")
        waiting.mkdir()
        for name, content in files.items():
            (waiting / name).write_bytes(content)
        if output.exists():
            output.replace(before)
        waiting.replace(output)
    if request.out_of_fold is not None:
        write_unseen(request.out_of_fold, trained, manifest.version)
    if trained.trials is not None:
        write_trials(table_path(output), trained.trials, manifest.version)
    return manifest


def _check_place(request: TrainRequest) -> None:
    """Raise before the work, not after it, where the bundle cannot be named or written so."""
    name, output = request.bundle_name(), request.output
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise UsageError(
            f"{name!r} is no name for a bundle: ASCII letters, digits, _ . and - only.\n"
            "Give it one with --name."
        )
    if request.rounds is not None and request.rounds.state.resolve().is_relative_to(
        output.resolve()
    ):
        raise UsageError(
            f"{request.rounds.state}: lies in the bundle's folder, which each round replaces.\n"
            "Keep the state of the rounds elsewhere: --rounds-state."
        )
    if request.out_of_fold is not None:
        check_unseen_place(request.out_of_fold, request)
    if output.exists():
        if not request.overwrite:
            raise OutputError(f"{output}: exists already. Choose another -o, or say --overwrite.")
        if output.is_symlink() or not (output / MANIFEST_FILE).is_file():
            raise OutputError(f"{output}: not a bundle, so it is not replaced. Choose another -o.")
        own = {MANIFEST_FILE, POLICY_FILE, CARD_FILE, CALIBRATION_FILE, *_GRAPH_FILES}
        others = sorted({path.name for path in output.iterdir()} - own)
        if others:
            raise OutputError(
                f"{output}: holds {others[0]} beside the bundle, so it is not replaced.\n"
                "Move it away, or choose another -o."
            )
    with told(output), tempfile.TemporaryDirectory(prefix=".scorer.", dir=output.parent):
        pass  # the folder can be written


def _hash_of_inputs(request: TrainRequest) -> str:
    if request.labels is not None:
        return sha256(request.labels)
    paths = [request.sample, *request.heads.values()]
    return " ".join(sha256(path) for path in paths if path is not None)
