"""Verify on files with labels given, works excluded and majorities: what passes, what is found."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decisions import failing, nullable

from scorer.engine.call import CallRequest, call
from scorer.engine.counts import Tally
from scorer.engine.files import sha256
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.engine.verify import verify

CALLS = "calls follow from scores and policy"
AXES = "axes follow from the calls"
SEGMENTS = "segments follow from titles, and from exclusion"
UNION = "candidate is the union of the heads"
INTERSECTION = "consensus is the intersection of the heads"

Forge = Callable[..., dict[str, list[str]]]


@pytest.fixture
def forged(tmp_path: Path) -> Forge:
    """Change cells of a scored file, mend its manifest around them, and return what verify finds.

    `forged(path, row, column=value, ...)`; a manifest without `excluded` by `excluded=None`.
    """

    def forge(
        path: Path, row: int, *, manifest: dict[str, object] | None = None, **cells: object
    ) -> dict[str, list[str]]:
        table = nullable(pq.read_table(path))
        for name, value in cells.items():
            place, field = table.schema.get_field_index(name), table.schema.field(name)
            values = table[name].to_pylist()
            values[row] = value
            if pa.types.is_dictionary(field.type):
                column = pa.array(values, pa.string()).dictionary_encode()
            else:
                column = pa.array(values, field.type)
            table = table.set_column(place, field, column)
        (tmp_path / "forged").mkdir(exist_ok=True)
        made = tmp_path / "forged" / path.name
        pq.write_table(table, made)
        said = read_manifest(path)
        tally = Tally(said.targets, said.mode)
        tally.add(table, table.num_rows)
        content = json.loads(manifest_path(path).read_text())
        content["output"] |= {"size": made.stat().st_size, "sha256": sha256(made)}
        content["counts"] = tally.counts().model_dump(mode="json")
        manifest_path(made).write_text(json.dumps(content | (manifest or {})))
        return {check.name: check.offending for check in verify(made) if check.offending}

    return forge


@pytest.fixture
def direct(request_for: Callable[..., RunRequest], label_files: dict[str, Path]) -> Path:
    """The tiny frame, gemma's labels given."""
    request = request_for(direct={"gemma": label_files["gemma"]})
    run(request)
    return request.output


@pytest.fixture
def excluding(request_for: Callable[..., RunRequest], excluded_ids: Path) -> Path:
    """The tiny frame, every fourth work excluded."""
    request = request_for(exclude_ids=excluded_ids)
    run(request)
    return request.output


def row_where(path: Path, condition: pl.Expr) -> int:
    return int(pl.read_parquet(path).select(condition.arg_true().first()).item())


def at(row: int) -> list[str]:
    return [f"row {row} (id W{row + 1})"]


@pytest.mark.parametrize("heads", [["gemma"], ["codex", "gemma"]], ids=str)
@pytest.mark.parametrize("excluding", [False, True])
def test_files_with_labels_and_exclusion_pass(
    request_for: Callable[..., RunRequest],
    label_files: dict[str, Path],
    excluded_ids: Path,
    heads: list[str],
    *,
    excluding: bool,
) -> None:
    settings = {
        "direct": {head: label_files[head] for head in heads},
        "exclude_ids": excluded_ids if excluding else None,
    }
    run(request_for(**settings))
    assert failing(request_for().output) == []


@pytest.mark.parametrize("made", ["scored", "direct", "excluding"])
def test_a_file_that_is_written_anew_passes(
    request: pytest.FixtureRequest, forged: Forge, made: str
) -> None:
    assert forged(request.getfixturevalue(made), 0) == {}


def test_a_forged_call_of_a_head_that_learned_is_found(direct: Path, forged: Forge) -> None:
    row = row_where(
        direct, (pl.col("candidate_categories").list.len() == 0) & pl.col("usable_title")
    )
    lists = {f"{kind}_categories": ["bibliometrics"] for kind in ("codex", "candidate")}
    assert forged(direct, row, **lists, classification="candidate") == {CALLS: at(row)}


def test_a_forged_call_of_a_direct_head_is_found_by_what_combines_it(
    direct: Path, forged: Forge
) -> None:
    """The rows alone cannot tell what the labels were; but union and intersection must follow."""
    row = row_where(direct, (pl.col("gemma_categories").list.len() == 0) & pl.col("usable_title"))
    found = forged(direct, row, gemma_categories=["open_science"])
    assert found[UNION] == at(row)
    assert set(found) == {UNION, CALLS}


def test_a_call_of_a_work_without_a_title_is_found(direct: Path, forged: Forge) -> None:
    found = forged(
        direct,
        0,
        gemma_categories=["sts"],
        candidate_categories=["sts", "insufficient_payload"],
        consensus_categories=[],
    )
    assert found[CALLS] == at(0)


def test_a_forged_majority_is_found(
    request_for: Callable[..., RunRequest], three_heads: Path, forged: Forge
) -> None:
    request = request_for(mode="majority", model=str(three_heads))
    run(request)
    assert forged(request.output, 0) == {}
    row = row_where(request.output, pl.col("majority_categories").list.len() == 0)
    found = forged(request.output, row, majority_categories=["metaresearch"])
    assert found == {CALLS: at(row)}
    row = row_where(request.output, pl.col("majority_genre") == "empirical")
    assert forged(request.output, row, majority_genre="review") == {AXES: at(row)}


@pytest.mark.parametrize("kind", ["codex", "gemma", "consensus"])
def test_a_forged_axis_is_found(scored: Path, forged: Forge, kind: str) -> None:
    """A value where there was another; one that the axis does not have; one that is gone."""
    row = row_where(scored, pl.col("consensus_genre") == "empirical")
    for value in ("review", "poem", None):
        assert forged(scored, row, **{f"{kind}_genre": value})[AXES] == at(row)


def test_a_value_that_the_axis_does_not_have_is_found(scored: Path, forged: Forge) -> None:
    row = row_where(scored, pl.col("candidate_genre") == "empirical")
    assert forged(scored, row, candidate_genre="poem") == {AXES: at(row)}


def test_a_forged_best_value_is_found_beside_its_call(scored: Path, forged: Forge) -> None:
    row = row_where(scored, pl.col("codex_domain") == "methods")
    assert forged(scored, row, best_codex_domain="reporting") == {AXES: at(row)}


@pytest.mark.parametrize("kind", ["codex", "gemma", "consensus"])
def test_a_forged_axis_is_found_beside_labels(direct: Path, forged: Forge, kind: str) -> None:
    row = row_where(direct, pl.col("consensus_genre") == "empirical")
    assert forged(direct, row, **{f"{kind}_genre": "review"})[AXES] == at(row)


def test_an_excluded_row_is_found_where_nothing_was_excluded(scored: Path, forged: Forge) -> None:
    row = row_where(scored, pl.col("candidate_categories").list.len() == 0)
    found = forged(scored, row, segment="excluded")
    assert found[SEGMENTS] == at(row)


def test_a_manifest_that_hides_its_exclusion_is_found(excluding: Path, forged: Forge) -> None:
    found = forged(excluding, 0, manifest={"excluded": None})
    assert found == {SEGMENTS: [f"row {row} (id W{row + 1})" for row in (0, 4, 8, 12, 16)]}


def test_a_call_of_an_excluded_work_is_found(excluding: Path, forged: Forge) -> None:
    row = row_where(
        excluding, (pl.col("segment").cast(pl.String) == "excluded") & pl.col("usable_title")
    )
    lists = {f"{k}_categories": ["sts"] for k in ("codex", "gemma", "candidate", "consensus")}
    assert forged(excluding, row, **lists, classification="consensus") == {CALLS: at(row)}


@pytest.mark.parametrize(
    ("segment", "usable"),
    [("covered", False), ("insufficient_payload", True), ("another", True), (None, True)],
)
def test_a_segment_that_the_title_contradicts_is_found(
    scored: Path, forged: Forge, segment: str | None, *, usable: bool
) -> None:
    row = row_where(scored, pl.col("usable_title") == usable)
    assert forged(scored, row, segment=segment)[SEGMENTS] == at(row)


def test_a_called_file_passes_after_each_way_to_decide(
    call_for: Callable[..., CallRequest], label_files: dict[str, Path], excluded_ids: Path
) -> None:
    call(call_for(direct=label_files, exclude_ids=excluded_ids, mode="consensus"))
    assert failing(call_for().output) == []
