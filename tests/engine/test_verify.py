"""Verify passes what run wrote, and catches each kind of damage by the first rows it is in.

Damage is done to a copy of a scored file; its manifest is mended around it (hash, size, counts), so
that only the damage under test can fail.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decisions import nullable

from scorer.engine.counts import Tally
from scorer.engine.files import sha256
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.verify import verify
from scorer.errors import InputError

STAMP = "machine_predicted_unvalidated"
HASH = "sha256 and size are those of the manifest"
METADATA = "the stamp stands in the file's metadata"
SCHEMA = "columns and types are those of the contract"
STAMPED = f"every row says {STAMP}"
VERSIONS = "every row says which model, policy and status"
SCORES = "scores are finite and in [0, 1]"
SEGMENTS = "segments follow from titles, and from exclusion"
UNION = "candidate is the union of the heads"
INTERSECTION = "consensus is the intersection of the heads"
CALLS = "calls follow from scores and policy"
AXES = "axes follow from the calls"
POLICY = "the manifest's policy is the one of its policy_version"
LIMITS = "the manifest names this file and states the limits"
REVIEW = "disagreement and uncertainty follow from scores and policy"
COUNTS = "counts are those of the manifest"
IDS = "ids are there, each once"

Damage = Callable[[pa.Table], pa.Table]


@pytest.fixture
def damaged(scored: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write a copy with a damage: `damaged(table -> table)`; its manifest fits but for that."""

    def write(damage: Damage, *, recount: bool = True, **changes: object) -> Path:
        path = tmp_path / "out.parquet"
        table = damage(nullable(pq.read_table(scored)))
        pq.write_table(table, path, compression="zstd")
        content = json.loads(manifest_path(scored).read_text())
        content["output"] |= {"size": path.stat().st_size, "sha256": sha256(path)}
        if recount:
            said = read_manifest(scored)
            tally = Tally(said.targets, said.mode)
            tally.add(table, table.num_rows)
            content["counts"] = tally.counts().model_dump(mode="json")
        manifest_path(path).write_text(json.dumps(content | changes))
        return path

    return write


def replaced(table: pa.Table, name: str, values: list[object]) -> pa.Table:
    place = table.schema.get_field_index(name)
    field = table.schema.field(name)
    if pa.types.is_dictionary(field.type):
        column = pa.array(values, pa.string()).dictionary_encode()
    else:
        column = pa.array(values, field.type)
    return table.set_column(place, field, column)


def in_rows(name: str, rows: list[int], change: Callable[[object], object]) -> Damage:
    """Change the values of a column in some rows."""

    def damage(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        for row in rows:
            values[row] = change(values[row])
        return replaced(table, name, values)

    return damage


def failing(path: Path) -> dict[str, list[str]]:
    return {check.name: check.offending for check in verify(path) if check.offending}


def row_where(scored: Path, condition: pl.Expr) -> int:
    return int(pl.read_parquet(scored).select(condition.arg_true().first()).item())


def test_a_good_file_passes_every_check(scored: Path) -> None:
    assert failing(scored) == {}
    assert [check.name for check in verify(scored)] == [
        HASH,
        POLICY,
        LIMITS,
        "200 rows, as in the manifest",
        "every work of the frame has a row",
        METADATA,
        SCHEMA,
        STAMPED,
        VERSIONS,
        SCORES,
        SEGMENTS,
        UNION,
        INTERSECTION,
        CALLS,
        AXES,
        REVIEW,
        COUNTS,
        IDS,
    ]


def test_a_file_that_is_only_written_anew_passes(damaged: Callable[..., Path]) -> None:
    assert failing(damaged(lambda table: table)) == {}


def test_a_changed_byte_is_caught(scored: Path, tmp_path: Path) -> None:
    """A byte of the footer's own text, so that the file can still be read."""
    content = scored.read_bytes()
    at = content.rindex(b"parquet-cpp")
    path = tmp_path / "out.parquet"
    path.write_bytes(content[:at] + b"q" + content[at + 1 :])
    manifest_path(path).write_bytes(manifest_path(scored).read_bytes())
    found, size = sha256(path), len(content)
    said = read_manifest(scored).output.sha256
    assert failing(path) == {
        HASH: [
            f"sha256 {found[:12]}…, {size:,} bytes; the manifest says {said[:12]}…, {size:,} bytes"
        ]
    }


@pytest.mark.parametrize("column", ["id", "segment", "score_codex_sts", "codex_categories"])
def test_a_damaged_page_is_told_in_plain_words(scored: Path, tmp_path: Path, column: str) -> None:
    """What cannot be read is a failed check or an `InputError`, not an error of pyarrow's."""
    content = bytearray(scored.read_bytes())
    group = pq.read_metadata(scored).row_group(0)
    chunk = next(
        group.column(place)
        for place in range(group.num_columns)
        if group.column(place).path_in_schema.split(".")[0] == column
    )
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path = tmp_path / "out.parquet"
    path.write_bytes(content)
    manifest_path(path).write_bytes(manifest_path(scored).read_bytes())
    try:
        assert HASH in failing(path)
    except InputError as error:
        assert "out.parquet" in str(error)


def test_a_file_that_is_cut_off_is_told(scored: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    path.write_bytes(scored.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"out\.parquet: cut off: it starts as Parquet and lacks"):
        verify(path)


def test_a_missing_manifest_is_told(scored: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    path.write_bytes(scored.read_bytes())
    with pytest.raises(InputError, match=r"out\.parquet\.meta\.json: no manifest, so out\.parquet"):
        verify(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.parquet: no such file\. Check the path\."):
        verify(tmp_path / "x.parquet")


def test_a_changed_stamp_is_caught_in_its_first_five_rows(damaged: Callable[..., Path]) -> None:
    path = damaged(in_rows("prediction_status", [3, 5, 8, 13, 21, 34], lambda _: "validated"))
    assert failing(path) == {STAMPED: [f"row {row} (id W{row + 1})" for row in (3, 5, 8, 13, 21)]}


def test_a_missing_stamp_is_caught(damaged: Callable[..., Path]) -> None:
    path = damaged(in_rows("prediction_status", [199], lambda _: None))
    assert failing(path) == {STAMPED: ["row 199 (id W200)"]}


def test_a_stamp_that_the_metadata_lacks_is_caught(damaged: Callable[..., Path]) -> None:
    path = damaged(lambda table: table.replace_schema_metadata(None))
    assert failing(path) == {METADATA: ["metadata says nothing"]}


def test_another_stamp_in_the_metadata_is_caught(damaged: Callable[..., Path]) -> None:
    path = damaged(lambda t: t.replace_schema_metadata({"prediction_status": "validated"}))
    assert failing(path) == {METADATA: ["metadata says validated"]}


@pytest.mark.parametrize("column", ["model_version", "policy_version", "score_status"])
def test_a_row_of_another_origin_is_caught(damaged: Callable[..., Path], column: str) -> None:
    path = damaged(in_rows(column, [7], lambda _: "other@1"))
    assert failing(path) == {VERSIONS: ["row 7 (id W8)"]}


@pytest.mark.parametrize("score", [1.5, -0.25, float("nan"), float("inf"), None])
def test_a_score_out_of_range_is_caught(damaged: Callable[..., Path], score: float | None) -> None:
    path = damaged(in_rows("score_codex_open_science", [9], lambda _: score))
    found = failing(path)
    assert found[SCORES] == ["row 9 (id W10)"]
    assert set(found) <= {SCORES, REVIEW}


def test_a_changed_score_is_caught_by_what_follows_from_it(
    damaged: Callable[..., Path], scored: Path
) -> None:
    row = row_where(scored, pl.col("codex_categories").list.contains("metaresearch"))
    path = damaged(in_rows("score_codex_metaresearch", [row], lambda _: 0.0))
    assert failing(path)[CALLS] == [f"row {row} (id W{row + 1})"]


def test_a_dropped_call_is_caught(damaged: Callable[..., Path], scored: Path) -> None:
    row = row_where(
        scored,
        pl.col("codex_categories").list.contains("metaresearch")
        & ~pl.col("gemma_categories").list.contains("metaresearch"),
    )

    def damage(table: pa.Table) -> pa.Table:
        for name in ("codex_categories", "candidate_categories"):
            table = in_rows(name, [row], lambda said: [n for n in said if n != "metaresearch"])(
                table
            )
        return table

    # The domain beside it follows from the call that the score makes: the row's only fault is one.
    assert failing(damaged(damage)) == {CALLS: [f"row {row} (id W{row + 1})"]}


def test_a_call_that_no_threshold_makes_is_caught(
    damaged: Callable[..., Path], scored: Path
) -> None:
    row = row_where(scored, pl.col("candidate_categories").list.len() == 0)

    def damage(table: pa.Table) -> pa.Table:
        for kind in ("codex", "gemma", "candidate", "consensus"):
            table = in_rows(f"{kind}_categories", [row], lambda _: ["bibliometrics"])(table)
        return table

    assert failing(damaged(damage)) == {CALLS: [f"row {row} (id W{row + 1})"]}


@pytest.mark.parametrize(
    ("column", "check"),
    [
        ("candidate_categories", UNION),
        ("candidate_flags", UNION),
        ("consensus_categories", INTERSECTION),
        ("consensus_flags", INTERSECTION),
    ],
)
@pytest.mark.parametrize("change", [lambda said: [*said, "sts"], lambda _: None])
def test_a_changed_combination_is_caught(
    damaged: Callable[..., Path],
    column: str,
    check: str,
    change: Callable[[list[str]], list[str] | None],
) -> None:
    """In a covered row without any call: `sts` is too much, null is no list."""
    path = damaged(in_rows(column, [3], change))
    assert failing(path) == {check: ["row 3 (id W4)"], CALLS: ["row 3 (id W4)"]}


def test_calls_out_of_order_are_caught(damaged: Callable[..., Path], scored: Path) -> None:
    row = row_where(scored, pl.col("gemma_categories").list.len() > 1)
    path = damaged(in_rows("gemma_categories", [row], lambda said: said[::-1]))
    assert failing(path) == {CALLS: [f"row {row} (id W{row + 1})"]}


@pytest.mark.parametrize("column", ["teacher_disagreement", "threshold_uncertainty"])
def test_a_changed_review_figure_is_caught(damaged: Callable[..., Path], column: str) -> None:
    path = damaged(in_rows(column, [50], lambda value: np.nextafter(np.float32(value), 1.0)))
    assert failing(path) == {REVIEW: ["row 50 (id W51)"]}


def test_a_changed_classification_is_caught(damaged: Callable[..., Path], scored: Path) -> None:
    row = row_where(scored, pl.col("classification").cast(pl.String) == "none")
    path = damaged(in_rows("classification", [row], lambda _: "consensus"))
    found = [line for lines in failing(path).values() for line in lines]
    assert found == [f"row {row} (id W{row + 1})"]


def test_a_changed_consensus_of_an_axis_is_caught(
    damaged: Callable[..., Path], scored: Path
) -> None:
    row = row_where(scored, pl.col("consensus_genre") == "empirical")
    path = damaged(in_rows("consensus_genre", [row], lambda _: "review"))
    found = [line for lines in failing(path).values() for line in lines]
    assert found == [f"row {row} (id W{row + 1})"]


def test_a_domain_without_its_call_is_caught(damaged: Callable[..., Path], scored: Path) -> None:
    row = row_where(scored, pl.col("candidate_categories").list.len() == 0)
    path = damaged(in_rows("codex_domain", [row], lambda _: "methods"))
    found = [line for lines in failing(path).values() for line in lines]
    assert found == [f"row {row} (id W{row + 1})"]


def test_duplicate_ids_are_caught(damaged: Callable[..., Path]) -> None:
    path = damaged(in_rows("id", [100, 101], lambda _: "W1"))
    assert failing(path) == {
        IDS: ["out.parquet: ids that occur more than once: 1, first: W1 (3 times)."]
    }


def test_null_ids_are_caught(damaged: Callable[..., Path]) -> None:
    path = damaged(in_rows("id", [100], lambda _: None))
    assert failing(path) == {IDS: ["out.parquet: null ids: 1, first in rows 100 (counted from 0)."]}


def test_rows_that_are_missing_are_caught(damaged: Callable[..., Path]) -> None:
    path = damaged(lambda table: table.slice(0, 199), recount=False)
    found = failing(path)
    assert found["200 rows, as in the manifest"] == ["199 rows"]
    assert set(found) == {"200 rows, as in the manifest", COUNTS}


def test_counts_that_are_not_those_of_the_rows_are_caught(
    damaged: Callable[..., Path], scored: Path
) -> None:
    counts = read_manifest(scored).counts.model_dump(mode="json")
    counts["calls"]["metaresearch"]["gemma"] += 1
    assert set(failing(damaged(lambda table: table, counts=counts))) == {COUNTS}


def test_a_policy_under_the_version_of_another_is_caught(
    damaged: Callable[..., Path], scored: Path
) -> None:
    """The calls fit the policy of the manifest, which is not the one that its version names."""
    policy = read_manifest(scored).policy.model_dump(mode="json")
    policy["entries"]["open_science"]["gemma"]["support"]["n_pos"] += 100
    path = damaged(lambda table: table, policy=policy)
    assert failing(path) != {}


def test_a_file_of_other_columns_is_refused(damaged: Callable[..., Path]) -> None:
    path = damaged(lambda table: table.drop_columns("codex_flags"), recount=False)
    with pytest.raises(InputError) as refused:
        verify(path)
    first, second = str(refused.value).splitlines()
    assert first.startswith("not a scored file of this contract: column 15 is gemma_categories ")
    assert "codex_flags" in first
    assert second == "Score the frame again with scorer run."


def test_calls_before_maturity_are_caught(damaged: Callable[..., Path], scored: Path) -> None:
    version = read_manifest(scored).model_version
    only = f"score_only:{version}"

    def damage(table: pa.Table) -> pa.Table:
        return replaced(table, "score_status", [only] * table.num_rows)

    found = failing(damaged(damage, score_status=only))
    assert found == {
        "no call is made before maturity": [f"row {row} (id W{row + 1})" for row in range(5)]
    }
