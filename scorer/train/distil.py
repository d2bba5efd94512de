"""`scorer train`: from labels to a whole bundle, the same inputs to the same bytes."""

import hashlib
import io
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.files import sha256, told
from scorer.errors import OutputError, ScorerError, UsageError
from scorer.labels.sample import Labels, read_label_files, read_label_table
from scorer.policy.fit import best_fbeta
from scorer.policy.policy import Entry, Gates, Policy, Silent, Support, Threshold
from scorer.student.manifest import (
    CARD_FILE,
    MANIFEST_FILE,
    MODEL_FILE,
    POLICY_FILE,
    VOCABULARY_FILE,
    Manifest,
    TrainingData,
)
from scorer.student.ngrams import NgramEncoder
from scorer.targets import INSUFFICIENT_PAYLOAD, NAME_PATTERN, Head, Targets
from scorer.train.card import write_card
from scorer.train.crossfit import OutOfFold, out_of_fold
from scorer.train.fit import Heads, Recipe, features, fit_heads, settings_for
from scorer.train.graph import build_graph
from scorer.train.metrics import axis_metrics, counted_pairs, mean_over_pairs, pair_metrics
from scorer.train.quantise import Table, quantise
from scorer.train.rounds import write_state
from scorer.train.trained import Trained, TrainRequest
from scorer.train.turn import Turn
from scorer.train.unseen import check_unseen_place, unseen_table, write_unseen

MOST_QUANTISATION_COST: Final = 0.005
"""Rounding weights to integers may cost that much mean average precision, no more."""


def train(request: TrainRequest, say: Callable[[str], None] = lambda _: None) -> Manifest:
    """Train a bundle and put it at `request.output`; return its manifest.

    With `request.rounds` this is one round: works held out teach nothing, they measure the student.
    """
    _check_place(request)
    turn = None
    if request.rounds is not None:
        turn = Turn.open(request.rounds, request.recipe)
        request = replace(request, recipe=turn.recipe(request.recipe))
    labels = _read(request)
    say(f"{labels.works.height:,} labelled works, heads: {', '.join(labels.targets.head_names)}")
    for column in labels.left_out:
        say(f"{column}: free text, not an axis; left out")
    if turn is None:
        manifest = _write(request, _learn(request, labels, say))
    else:
        manifest = _train_round(request, turn, labels, say)
    say(f"{manifest.version}: {request.output}")
    return manifest


def _train_round(
    request: TrainRequest, turn: Turn, labels: Labels, say: Callable[[str], None]
) -> Manifest:
    """Train on the works that are not held out, measure on those that are; then keep the state."""
    named = request.labels or request.sample
    assert named is not None
    assert request.rounds is not None
    split = turn.split(labels, named.name, _hash_of_inputs(request))
    say(f"round {turn.number}: {len(split.learning):,} works to learn from, {split.told()}")
    trained = _learn(request, labels.only(split.learning), say)
    encoder = NgramEncoder(trained.settings, trained.vocabulary)
    found = features(encoder, labels.works[split.held_out], trained.vocabulary)
    measured = turn.measure(split, trained.targets, trained.table.scores(found))
    trained = replace(trained, maturity=measured.maturity())
    manifest = _write(request, trained)
    write_state(request.rounds.state, measured.state(manifest.version))
    say(f"maturity gate {'' if trained.maturity.passed else 'not '}passed: {trained.maturity.note}")
    return manifest


def _learn(request: TrainRequest, labels: Labels, say: Callable[[str], None]) -> Trained:
    """Fit the heads, the policy on out-of-fold scores, and the integer table."""
    recipe = request.recipe
    outputs = len(labels.targets.heads) * (
        len(labels.targets.binary) + sum(len(axis.values) for axis in labels.targets.axes)
    )
    say(f"scoring each work by heads that saw neither it nor its venue ({recipe.folds} folds)")
    unseen = out_of_fold(labels, outputs, recipe)
    say(f"fitting the heads on all {labels.works.height:,} works")
    heads = fit_heads(labels, np.arange(labels.works.height), recipe)
    targets = _with_unavailable(labels.targets, heads)
    policy, metrics = _decide(labels, targets, unseen, recipe)
    table = quantise(heads.weights, heads.bias)
    vocabulary, table = _without_zeros(heads.vocabulary, table)
    return Trained(
        targets=targets,
        settings=settings_for(labels, vocabulary.height, table.unit),
        vocabulary=vocabulary,
        table=table,
        policy=policy,
        metrics=metrics,
        training=_provenance(request, labels),
        unseen=unseen_table(labels.works["id"], unseen, targets),
        weighted=labels.weighted,
    )


def _read(request: TrainRequest) -> Labels:
    if request.labels is not None:
        return read_label_table(request.labels)
    assert request.sample is not None
    return read_label_files(request.sample, request.heads)


def _with_unavailable(targets: Targets, heads: Heads) -> Targets:
    """Mark the targets that no head could be fitted for."""
    width = len(targets.binary) + sum(len(axis.values) for axis in targets.axes)
    marked = []
    for number, head in enumerate(targets.heads):
        bias = heads.bias[number * width : (number + 1) * width]
        missing = [
            target.name for place, target in enumerate(targets.binary) if np.isnan(bias[place])
        ]
        start = len(targets.binary)
        for axis in targets.axes:
            if np.isnan(bias[start : start + len(axis.values)]).all():
                missing.append(axis.name)
            start += len(axis.values)
        marked.append(Head(name=head.name, unavailable=tuple(missing)))
    return targets.model_copy(update={"heads": tuple(marked)})


def _decide(
    labels: Labels, targets: Targets, unseen: OutOfFold, recipe: Recipe
) -> tuple[Policy, dict[str, Any]]:
    """Fit the default policy on out-of-fold scores; return it and all metrics."""
    gates = Gates(min_pos=recipe.min_pos, min_ess=recipe.min_ess)
    width = unseen.scores.shape[1] // len(targets.heads)
    entries: dict[str, dict[str, Entry]] = {name: {} for name in targets.binary_names}
    pairs: dict[str, Any] = {}
    unrounded: dict[str, Any] = {}
    for number, head in enumerate(targets.heads):
        for place, target in enumerate(targets.binary_names):
            if target in head.unavailable:
                entries[target][head.name] = Silent(reason="unavailable")
                continue
            column = number * width + place
            rows = labels.judged(head.name, target)
            positive, weight = labels.positive(head.name, target)[rows], labels.weight[rows]
            score = unseen.scores[rows, column]
            threshold, _ = best_fbeta(score, positive, weight, recipe.beta)
            metrics = pair_metrics(score, positive, weight, threshold, recipe.beta)
            logits = unseen.logits[rows, column]
            pairs[f"{head.name}/{target}"] = metrics
            unrounded[f"{head.name}/{target}"] = metrics | pair_metrics(
                logits, positive, weight, threshold, recipe.beta
            )
            backing = Support(**{name: metrics[name] for name in Support.model_fields})
            entries[target][head.name] = (
                Threshold(
                    value=threshold, found_by=f"design-weighted F-{recipe.beta:g}", support=backing
                )
                if gates.passed(backing)
                else Silent(reason="support", support=backing)
            )
    metrics = _summary(pairs, unrounded) | {"axes": _axis_metrics(labels, targets, unseen)}
    return Policy(gates=gates, entries=entries), metrics


def _axis_metrics(labels: Labels, targets: Targets, unseen: OutOfFold) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    start = 0
    for head in targets.heads:
        start += len(targets.binary)
        for axis in targets.axes:
            columns = slice(start, start + len(axis.values))
            start = columns.stop
            if axis.name in head.unavailable:
                continue
            said = labels.value(head.name, axis.name)
            rows = labels.judged(head.name, axis.name) & (said >= 0)
            logits = unseen.logits[rows, columns]
            metrics[f"{head.name}/{axis.name}"] = axis_metrics(
                logits.argmax(axis=1), said[rows], labels.weight[rows]
            )
    return metrics


def _summary(pairs: dict[str, Any], unrounded: dict[str, Any]) -> dict[str, Any]:
    mean = mean_over_pairs(pairs, "average_precision")
    cost = (mean_over_pairs(unrounded, "average_precision") or 0.0) - (mean or 0.0)
    if cost >= MOST_QUANTISATION_COST:
        raise ScorerError(
            f"Rounding the weights to integers costs {cost:.4f} of mean average precision, "
            f"{MOST_QUANTISATION_COST} at most is allowed.\nNo bundle was written."
        )
    no_payload = frozenset({INSUFFICIENT_PAYLOAD})
    return {
        "out_of_fold": pairs,
        "pairs_with_enough_positives": counted_pairs(pairs),
        "mean_average_precision": mean,
        "mean_average_precision_weighted": mean_over_pairs(pairs, "average_precision_weighted"),
        "mean_auroc": mean_over_pairs(pairs, "auroc"),
        "mean_auroc_weighted": mean_over_pairs(pairs, "auroc_weighted"),
        "mean_average_precision_without_insufficient_payload": mean_over_pairs(
            pairs, "average_precision", without=no_payload
        ),
        "quantisation_cost": round(cost, 6),
    }


def _without_zeros(vocabulary: pl.DataFrame, table: Table) -> tuple[pl.DataFrame, Table]:
    """Leave out n-grams whose every weight was rounded to zero."""
    used = np.flatnonzero(table.weights.any(axis=1))
    return vocabulary[used], Table(table.weights[used], table.bias, table.unit)


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
        MODEL_FILE: build_graph(trained.table, trained.targets),
        VOCABULARY_FILE: _parquet(trained.vocabulary),
        POLICY_FILE: trained.policy.to_json().encode(),
        CARD_FILE: write_card(request, trained).encode(),
    }
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
        own = {MANIFEST_FILE, MODEL_FILE, VOCABULARY_FILE, POLICY_FILE, CARD_FILE}
        others = sorted({path.name for path in output.iterdir()} - own)
        if others:
            raise OutputError(
                f"{output}: holds {others[0]} beside the bundle, so it is not replaced.\n"
                "Move it away, or choose another -o."
            )
    with told(output), tempfile.TemporaryDirectory(prefix=".scorer.", dir=output.parent):
        pass  # the folder can be written


def _parquet(vocabulary: pl.DataFrame) -> bytes:
    schema = pa.schema([("channel", pa.string()), ("ngram", pa.string())])
    sink = io.BytesIO()
    pq.write_table(vocabulary.to_arrow().cast(schema), sink, compression="zstd")
    return sink.getvalue()


def _hash_of_inputs(request: TrainRequest) -> str:
    if request.labels is not None:
        return sha256(request.labels)
    paths = [request.sample, *request.heads.values()]
    return " ".join(sha256(path) for path in paths if path is not None)
