"""Verify reads each row as the student that scored it has it, and looks at which rows are new."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.counts import Tally
from scorer.engine.files import sha256
from scorer.engine.manifest import RunManifest, manifest_path, read_manifest
from scorer.engine.scored import ScoredFile
from scorer.engine.verify import verify
from scorer.errors import InputError
from scorer.review.scores import Scores

VERSIONS = "every row says which model, policy and status"
CHOSEN = "the works chosen were scored again, no others"
CALLS = "calls follow from scores and policy"
REVIEW = "disagreement and uncertainty follow from scores and policy"
COUNTS = "counts are those of the manifest"
POLICY = "the manifest's policy is the one of its policy_version"


@pytest.fixture
def manifest(stacked: Path) -> RunManifest:
    """The manifest of the stacked file."""
    return read_manifest(stacked)


@pytest.fixture
def damaged(stacked: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write a copy in which rows say other words: `damaged(column, {row: word})`.

    Its manifest fits but for that; what else is given changes the section on the second stage.
    """

    def write(changes: dict[str, dict[int, object]], **refined: object) -> Path:
        path, table = tmp_path / "out.parquet", pq.read_table(stacked)
        for name, words in changes.items():
            place = table.schema.get_field_index(name)
            values = table[name].to_pylist()
            for row, word in words.items():
                values[row] = word
            column = pa.array(values, pa.string()).dictionary_encode()
            if not pa.types.is_dictionary(table.schema.field(place).type):
                column = pa.array(values, table.schema.field(place).type)
            table = table.set_column(place, table.schema.field(place), column)
        pq.write_table(table, path, compression="zstd")
        content = json.loads(manifest_path(stacked).read_text())
        said = read_manifest(stacked)
        tally = Tally(said.targets, said.mode)
        tally.add(table, table.num_rows)
        content["counts"] = tally.counts().model_dump(mode="json")
        content["output"] |= {"size": path.stat().st_size, "sha256": sha256(path)}
        content["refined"] |= refined
        manifest_path(path).write_text(json.dumps(content))
        return path

    return write


def failing(path: Path) -> dict[str, list[str]]:
    return {check.name: check.offending for check in verify(path) if check.offending}


def rows_by(path: Path, version: str) -> list[int]:
    said = pq.read_table(path, columns=["model_version"])["model_version"].to_pylist()
    return [row for row, word in enumerate(said) if word == version]


def test_a_stacked_file_passes(stacked: Path) -> None:
    assert failing(stacked) == {}


def test_a_row_of_the_first_student_under_the_second_ones_name_is_found(
    stacked: Path, manifest: RunManifest, damaged: Callable[..., Path]
) -> None:
    """Its scores and calls are not those that the second student's policy makes."""
    assert manifest.refined is not None
    row = next(
        row
        for row in rows_by(stacked, manifest.model_version)
        if pq.read_table(stacked)["segment"][row].as_py() == "covered"
    )
    second = manifest.refined
    found = failing(
        damaged(
            {
                "model_version": {row: second.model_version},
                "policy_version": {row: second.policy_version},
                "score_status": {row: second.score_status},
            }
        )
    )
    assert found[REVIEW][0].startswith(f"row {row} (id ")
    assert found[COUNTS] == ["41 works scored again, not 40"]
    assert VERSIONS not in found


def test_a_row_of_the_second_student_under_the_first_ones_name_is_found(
    stacked: Path, manifest: RunManifest, damaged: Callable[..., Path]
) -> None:
    assert manifest.refined is not None
    row = rows_by(stacked, manifest.refined.model_version)[0]
    found = failing(
        damaged(
            {
                "model_version": {row: manifest.model_version},
                "policy_version": {row: manifest.policy_version},
                "score_status": {row: manifest.score_status},
            }
        )
    )
    assert found[REVIEW][0].startswith(f"row {row} (id ")
    assert found[COUNTS] == ["39 works scored again, not 40"]


@pytest.mark.parametrize("column", ["model_version", "policy_version", "score_status"])
def test_words_of_both_stages_in_one_row_are_found(
    stacked: Path, manifest: RunManifest, damaged: Callable[..., Path], column: str
) -> None:
    assert manifest.refined is not None
    row = rows_by(stacked, manifest.refined.model_version)[0]
    found = failing(damaged({column: {row: getattr(manifest, column)}}))
    assert [line.split(" (")[0] for line in found[VERSIONS]] == [f"row {row}"]


def test_a_work_that_ranks_higher_and_was_not_scored_again_is_found(
    stacked: Path, manifest: RunManifest, damaged: Callable[..., Path]
) -> None:
    """Here it is the manifest that draws the line lower than the run did."""
    assert manifest.refined is not None
    column = next(iter(manifest.refined.at_least))
    found = failing(damaged({}, at_least={column: 0.0}))
    assert len(found[CHOSEN]) == 5
    first = min(
        row
        for row in rows_by(stacked, manifest.model_version)
        if pq.read_table(stacked)["segment"][row].as_py() == "covered"
    )
    assert found[CHOSEN][0].startswith(f"row {first} (id ")


def test_another_policy_under_the_second_ones_version_is_found(
    manifest: RunManifest, damaged: Callable[..., Path]
) -> None:
    assert manifest.refined is not None
    other = manifest.policy.model_dump(mode="json")
    found = failing(damaged({}, policy=other))
    assert found[POLICY] == [
        f"its content makes {manifest.policy_version}, not {manifest.refined.policy_version}"
    ]
    assert CALLS in found


def test_a_third_students_rows_are_refused_where_files_are_opened(
    damaged: Callable[..., Path], manifest: RunManifest
) -> None:
    assert manifest.refined is not None
    path = damaged({"model_version": {3: "stranger@000000000000"}})
    with pytest.raises(InputError) as error:
        Scores.open(path)
    assert str(error.value) == (
        f"{path}: some rows do not say {manifest.model_version} or "
        f"{manifest.refined.model_version}; they were changed after scoring.\n"
        "Score the frame again: scorer run --overwrite"
    )


def test_batches_tell_which_student_scored_a_row(stacked: Path, manifest: RunManifest) -> None:
    assert manifest.refined is not None
    file = ScoredFile.open(stacked, stacked=True)
    (rows,) = file.batches(["id", "model_version"])
    assert rows.columns == ["id", "model_version"]
    again = rows["model_version"].cast(str) == manifest.refined.model_version
    assert again.arg_true().to_list() == rows_by(stacked, manifest.refined.model_version)
