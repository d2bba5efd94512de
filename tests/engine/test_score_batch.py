"""The heart: the same work gets the same bits whatever stands beside it, and always the stamp."""

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command

import scorer
from scorer.cli.app import app
from scorer.engine.batch import score_batch
from scorer.engine.call import CallRequest, call
from scorer.engine.job import default_policy
from scorer.engine.request import RunRequest
from scorer.engine.rows import row_schema, to_table
from scorer.policy.policy import Policy
from scorer.student.bundle import Student, load_student

STAMP = "machine_predicted_unvalidated"
PACKAGE = Path(scorer.__file__).parent


@pytest.fixture(scope="module")
def best(tiny_bundle: Path) -> Student:
    """The shipped student, or the tiny one where none is shipped."""
    shipped = PACKAGE.parent / "models" / "metacan-ngram"
    return load_student(shipped if (shipped / "bundle.json").is_file() else tiny_bundle)


@pytest.fixture(scope="module")
def works(
    best: Student, sample_frame: Path, read_frame: Callable[..., pl.DataFrame]
) -> pl.DataFrame:
    return read_frame(sample_frame, best)


@pytest.fixture(scope="module")
def reference(best: Student, works: pl.DataFrame) -> pl.DataFrame:
    """Every work scored in one batch."""
    return score_batch(works, best, default_policy(best))


def in_batches(works: pl.DataFrame, size: int, student: Student) -> pl.DataFrame:
    policy = default_policy(student)
    return pl.concat([score_batch(part, student, policy) for part in works.iter_slices(size)])


def bits(rows: pl.DataFrame) -> np.ndarray:
    """Return the bits of all scores, uint32 [works, scores]."""
    columns = [name for name in rows.columns if re.match("score_(?!status)", name)]
    return rows.select(columns).to_numpy().view(np.uint32)


MOST_WORKS = {1: 8, 7: 70, 1000: 1500, 2000: 2000}


@pytest.mark.parametrize("size", MOST_WORKS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=3)
def test_scores_are_the_same_bits_in_any_batch_and_order(
    best: Student, works: pl.DataFrame, reference: pl.DataFrame, size: int, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(works.height)[: MOST_WORKS[size]]
    rows = in_batches(works[order], size, best)
    assert rows["id"].to_list() == reference["id"].gather(order).to_list()
    assert np.array_equal(bits(rows), bits(reference[order]))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_whole_rows_are_the_same_in_any_batch(
    best: Student, works: pl.DataFrame, reference: pl.DataFrame, size: int
) -> None:
    most = 40 if size == 1 else MOST_WORKS[size]
    rows, expected = in_batches(works.head(most), size, best), reference.head(most)
    different = [name for name in rows.columns if rows[name].to_list() != expected[name].to_list()]
    assert different == []


def test_a_column_that_is_not_there_has_no_say(student: Student, policy: Policy) -> None:
    bare = pl.DataFrame({"id": ["W1"], "title": ["Citation impact of journals"]})
    nulls = bare.with_columns(
        *(pl.lit(None, pl.String).alias(n) for n in ("venue", "topic", "field", "lang", "type")),
        year=pl.lit(None, pl.Int32),
    )
    title_alone = student.encoder.encode(bare).ids
    with_missing = student.encoder.encode(nulls).ids
    assert set(title_alone) < set(with_missing), "a null is a missing value: an n-gram of its own"
    empty = bare.with_columns(unread=pl.lit("x"))
    assert score_batch(bare, student, policy).rows() == score_batch(empty, student, policy).rows()


def test_an_empty_batch_gives_no_rows_in_the_full_schema(student: Student, policy: Policy) -> None:
    rows = score_batch(pl.DataFrame(schema={"id": pl.String, "title": pl.String}), student, policy)
    schema = row_schema(student.manifest.targets, policy, "both")
    assert rows.height == 0
    assert sorted(rows.columns) == sorted(schema.names)
    assert to_table(rows.to_dict(), schema).num_rows == 0


def test_the_inputs_are_left_as_they_were(
    student: Student, policy: Policy, tiny_frame: Path, read_frame: Callable[..., pl.DataFrame]
) -> None:
    frame = read_frame(tiny_frame, student)
    before = frame.clone()
    score_batch(frame, student, policy)
    assert frame.equals(before)


def test_a_target_without_a_fitted_head_scores_exactly_zero(
    student: Student, policy: Policy, tiny_frame: Path, read_frame: Callable[..., pl.DataFrame]
) -> None:
    rows = score_batch(read_frame(tiny_frame, student), student, policy)
    assert rows["score_codex_sts"].unique().to_list() == [0.0]
    assert rows["score_gemma_sts"].n_unique() > 100


def test_an_immature_student_makes_no_call(
    immature_bundle: Path, tiny_frame: Path, read_frame: Callable[..., pl.DataFrame]
) -> None:
    student = load_student(immature_bundle)
    frame = read_frame(tiny_frame, student)
    rows = score_batch(frame, student, default_policy(student))
    schema = row_schema(student.manifest.targets, default_policy(student), "both")
    assert sorted(rows.columns) == sorted(schema.names)
    lists = [name for name, kind in rows.schema.items() if kind == pl.List(pl.String)]
    assert len(lists) == 8
    assert [rows[name].null_count() for name in lists] == [rows.height] * 8
    for name in ("codex_genre", "candidate_domain", "threshold_uncertainty"):
        assert rows[name].null_count() == rows.height
    assert rows["score_status"].unique().to_list() == [f"score_only:{student.version}"]
    assert rows["classification"].unique().to_list() == ["score_only"]
    assert rows["prediction_status"].unique().to_list() == [STAMP]
    assert rows["score_gemma_metaresearch"].null_count() == 0
    assert to_table(rows.to_dict(), schema).num_rows == 200


@pytest.mark.parametrize("mode", ["both", "candidate", "consensus"])
def test_every_mode_stamps_every_row(student: Student, policy: Policy, mode: str) -> None:
    frame = pl.DataFrame({"id": ["W1", "W2"], "title": [None, "Citation impact of journals"]})
    rows = score_batch(frame, student, policy, mode)
    assert rows["prediction_status"].to_list() == [STAMP, STAMP]


def test_a_frame_that_says_it_was_validated_is_stamped_all_the_same(
    student: Student, policy: Policy
) -> None:
    frame = pl.DataFrame(
        {"id": ["W1"], "title": ["Citation impact"], "prediction_status": ["human_validated"]}
    )
    assert score_batch(frame, student, policy)["prediction_status"].to_list() == [STAMP]


def test_no_parameter_of_the_library_speaks_of_the_stamp() -> None:
    assert list(inspect.signature(score_batch).parameters) == [
        *("frame", "student", "policy", "mode", "direct", "excluded"),
    ]
    assert list(inspect.signature(scorer.run).parameters) == ["request", "progress"]
    assert list(inspect.signature(call).parameters) == ["request", "progress"]
    assert [field.name for field in fields(RunRequest)] == [
        *("frame", "output", "model", "policy", "mode", "direct", "exclude_ids", "baseline"),
        *("refine", "refine_share", "refine_band", "refine_policy"),
        *("keep", "mapping", "limit", "on_bad_record", "on_bad_shard", "memory", "threads"),
        *("engine", "address", "provider", "overwrite"),
    ]
    assert [field.name for field in fields(CallRequest)] == [
        *("scores", "policy", "output", "mode", "direct", "exclude_ids", "threads", "overwrite"),
    ]


def test_no_option_of_any_command_speaks_of_the_stamp() -> None:
    commands = get_command(app).commands
    assert {"run", "thresholds", "verify", "models", "train"} <= set(commands)
    options = {
        option
        for command in commands.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert "--overwrite" in options
    assert [o for o in options if re.search("stamp|status|valid|human|trust|raw", o)] == []


def test_no_environment_variable_reaches_the_stamp(
    student: Student, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {
        name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\b(environ|getenv)\b", source := path.read_text(encoding="utf-8"))
        for name in re.findall(r"\"([A-Z]+_[A-Z_]+)\"", source) or [path.name]
    }
    of_stores = {name for name in read if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "GCE_"))}
    of_ray = {"RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED"}
    of_libraries = {"POLARS_MAX_THREADS", "TOKENIZERS_PARALLELISM"}
    assert read - of_stores - of_ray - of_libraries == {"SCORER_DEBUG", "SCORER_ALLOW_HTTP"}
    for name in ("SCORER_STAMP", "SCORER_STATUS", "SCORER_VALIDATED", "SCORER_DEBUG"):
        monkeypatch.setitem(os.environ, name, "human_validated")
    frame = pl.DataFrame({"id": ["W1"], "title": ["Citation impact"]})
    assert score_batch(frame, student, policy)["prediction_status"].to_list() == [STAMP]


def test_the_stamp_is_written_once_in_the_code() -> None:
    assigned = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"=\s*[\"']" + STAMP, path.read_text(encoding="utf-8"))
    ]
    assert assigned == ["status.py"]
