"""Parts on disk and the file that they become: whole or absent, one job's and one process's."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.checkpoint import Checkpoint
from scorer.engine.output import OutputFile
from scorer.engine.rowgroups import encode, row_group
from scorer.errors import OutputError


def table(value: int) -> pa.Table:
    return pa.table({"x": [value] * 3, "word": pa.array(["a"] * 3).dictionary_encode()})


def content(value: int) -> pa.Buffer:
    return encode(table(value))


def test_a_checkpoint_gives_back_what_it_was_given(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "parts", "job") as parts:
        assert (parts.claim(), parts.done()) == (False, 0)
        for index in range(3):
            parts.save(index, content(index))
    with Checkpoint(tmp_path / "parts", "job") as parts:
        assert (parts.claim(), parts.done()) == (False, 3)
        assert [part.equals(content(n)) for n, part in enumerate(parts.load(3))] == [True] * 3
        parts.remove()
    assert not (tmp_path / "parts").exists()


def test_a_checkpoint_of_another_job_starts_empty(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "parts", "job") as parts:
        parts.claim()
        parts.save(0, content(0))
    with Checkpoint(tmp_path / "parts", "another") as parts:
        assert parts.done() == 0
        assert (parts.claim(), parts.done()) == (True, 0)


def test_a_checkpoint_without_parts_leaves_no_folder(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "parts", "job") as parts:
        parts.claim()
        assert (tmp_path / "parts").is_dir()
    assert not (tmp_path / "parts").exists()


def test_a_damaged_part_counts_as_not_there(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "parts", "job") as parts:
        parts.claim()
        for index in range(3):
            parts.save(index, content(index))
        path = tmp_path / "parts" / "part-000001.parquet"
        path.write_bytes(path.read_bytes()[:-20])
        assert parts.done() == 1


def test_a_checkpoint_belongs_to_one_at_a_time(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "parts", "job") as parts:
        parts.save(0, content(0))
        with pytest.raises(OutputError, match="another run is writing this output now"):
            Checkpoint(tmp_path / "parts", "another").__enter__()
        assert parts.done() == 1
    with Checkpoint(tmp_path / "parts", "job") as parts:
        assert parts.done() == 1


@pytest.fixture
def output_file(tmp_path: Path) -> Callable[[], OutputFile]:
    return lambda: OutputFile(tmp_path / "out.parquet", tmp_path, table(0).schema)


def test_an_output_appears_when_it_is_published(
    output_file: Callable[[], OutputFile], tmp_path: Path
) -> None:
    with output_file() as file:
        file.append(row_group(content(1), table(1).schema))
        file.append(row_group(content(2), table(2).schema))
        assert [path.name for path in tmp_path.iterdir()] == ["output.tmp"]
        file.finish()
        file.publish()
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == [1, 1, 1, 2, 2, 2]
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_row_groups == 2


def test_an_output_that_fails_leaves_nothing(
    output_file: Callable[[], OutputFile], tmp_path: Path
) -> None:
    with pytest.raises(ZeroDivisionError), output_file() as file:
        file.append(row_group(content(1), table(1).schema))
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
