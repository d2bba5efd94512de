"""Columns of the frame that are carried along, of whatever type, and those that cannot be."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decisions import failing

from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import UsageError

STAMP = "machine_predicted_unvalidated"


def test_kept_columns_stand_at_the_end_unchanged(
    request_for: Callable[..., RunRequest], tiny_frame: Path
) -> None:
    request = request_for(keep=("doi", "year"))
    run(request)
    there, frame = pl.read_parquet(request.output), pl.read_parquet(tiny_frame)
    assert there.columns[-3:] == ["best_candidate_domain", "doi", "year"]
    assert there["doi"].equals(frame["doi"])
    assert there["year"].equals(frame["year"])
    assert failing(request.output) == []


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["x", "y"])),
        pa.array([[1, 2], [], None]),
        pa.array([{"a": 1}, {"a": None}, {"a": 3}]),
        pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
        pa.array([1, None, 3], pa.timestamp("us", "UTC")),
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array([b"a", None, b"b"]),
    ],
    ids=lambda values: str(values.type),
)
def test_a_kept_column_of_any_type_comes_through(
    request_for: Callable[..., RunRequest], tmp_path: Path, values: pa.Array
) -> None:
    frame = tmp_path / "kept.parquet"
    titles = ["Citation impact of journals"] * 3
    pq.write_table(pa.table({"id": ["W1", "W2", "W3"], "title": titles, "kept": values}), frame)
    request = request_for(frame=frame, keep=("kept",))
    run(request)
    assert pq.read_table(request.output)["kept"].to_pylist() == values.to_pylist()
    assert failing(request.output) == []


def test_a_kept_polars_enum_with_a_null_comes_through(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    frame = tmp_path / "enum.parquet"
    pl.DataFrame(
        {
            "id": ["W1", "W2"],
            "title": ["Citation impact of journals"] * 2,
            "status": pl.Series(["open", None], dtype=pl.Enum(["closed", "open"])),
        }
    ).write_parquet(frame)
    request = request_for(frame=frame, keep=("status",))
    run(request)
    assert pq.read_table(request.output)["status"].to_pylist() == ["open", None]


def test_a_kept_column_named_like_an_output_column_is_refused(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    frame = tmp_path / "stamped.parquet"
    pl.DataFrame(
        {"id": ["W1"], "title": ["Citation impact"], "prediction_status": ["human_validated"]}
    ).write_parquet(frame)
    with pytest.raises(UsageError) as refused:
        run(request_for(frame=frame, keep=("prediction_status",)))
    assert str(refused.value) == (
        "--keep prediction_status: the output has a column of that name already.\n"
        "Rename the frame's column first."
    )
    assert not request_for().output.exists()
    run(request_for(frame=frame))
    assert pl.read_parquet(request_for().output)["prediction_status"].to_list() == [STAMP]


def test_a_column_kept_twice_is_carried_once_or_refused(
    request_for: Callable[..., RunRequest],
) -> None:
    request = request_for(keep=("doi", "doi"))
    try:
        run(request)
    except UsageError:
        return
    assert pl.read_parquet(request.output).columns[-2:] == ["best_candidate_domain", "doi"]


def test_a_kept_column_that_is_not_there_is_refused(
    request_for: Callable[..., RunRequest],
) -> None:
    with pytest.raises(UsageError, match=r"--keep pmid: tiny.parquet has no such column\. Columns"):
        run(request_for(keep=("pmid",)))
