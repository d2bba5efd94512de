"""A scored file opens for people only as the one that its manifest speaks of."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from scorer.engine.manifest import manifest_path
from scorer.errors import InputError, UsageError
from scorer.review.scores import Scores, check_segments

Remade = Callable[[Path, Callable[[pa.Table], pa.Table]], Path]


@pytest.fixture
def copied(scored: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy.parquet"
    shutil.copy(scored, copy)
    shutil.copy(manifest_path(scored), manifest_path(copy))
    return copy


def test_rows_targets_and_statuses_are_there(scored: Path):
    scores = Scores.open(scored)
    assert scores.rows == 200
    assert scores.heads == ["codex", "gemma"]
    assert not scores.score_only
    assert scores.statuses["prediction_status"] == "machine_predicted_unvalidated"
    assert scores.statuses["score_status"] == f"calls:{scores.manifest.model_version}"
    assert scores.lazy().collect().height == 200


def test_batches_hold_what_is_asked_for_in_that_order(scored: Path):
    columns = ["prediction_status", "id", "segment", "score_status"]
    rows = pl.concat(Scores.open(scored).batches(columns))
    assert rows.columns == columns
    assert rows["prediction_status"].unique().to_list() == ["machine_predicted_unvalidated"]
    assert rows["id"].to_list() == pl.read_parquet(scored)["id"].to_list()


def test_a_file_without_manifest_is_refused(copied: Path):
    manifest_path(copied).unlink()
    with pytest.raises(InputError, match=r"no manifest, so copy.parquet is not known to be compl"):
        Scores.open(copied)


def test_a_file_changed_since_is_refused_even_where_its_size_is_the_same(copied: Path):
    content = bytearray(copied.read_bytes())
    content[40] ^= 1
    copied.write_bytes(content)
    with pytest.raises(
        InputError, match=r"sha256 is .*its manifest says .*: changed after scoring"
    ):
        Scores.open(copied)


def test_a_file_that_grew_is_refused(copied: Path):
    copied.write_bytes(b"PAR1" + copied.read_bytes())
    with pytest.raises(InputError, match=r"bytes, its manifest says .*: changed after scoring"):
        Scores.open(copied)


def test_rows_that_lost_their_status_are_refused(scored: Path, remade: Remade):
    def without(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index("prediction_status")
        words = pa.array(["validated"] * table.num_rows).dictionary_encode()
        return table.set_column(place, table.schema.field(place), words)

    with pytest.raises(InputError, match="some rows do not say machine_predicted_unvalidated"):
        Scores.open(remade(scored, without))


def test_scores_alone_open_and_say_so(scores_alone: Path):
    scores = Scores.open(scores_alone)
    assert scores.score_only
    assert scores.statuses["score_status"].startswith("score_only:")
    assert scores.call_lists("metaresearch") == {}


def test_works_come_in_the_order_asked_and_null_where_they_are_not(scored: Path):
    asked = pl.Series(["W200", "W7", "nowhere"])
    found = Scores.open(scored).of_works(asked, ["segment", "doi"])
    assert found["id"].to_list() == ["W200", "W7", "nowhere"]
    assert found["doi"].to_list() == ["10.1/199", "10.1/6", None]
    assert found["segment"].dtype == pl.String


def test_call_says_how_a_target_is_called(scored: Path):
    scores = Scores.open(scored)
    rows = pl.read_parquet(scored).with_columns(call=scores.call("metaresearch"))
    for row in rows.iter_rows(named=True):
        consensus = "metaresearch" in row["consensus_categories"]
        candidate = "metaresearch" in row["candidate_categories"]
        said = "consensus" if consensus else "candidate" if candidate else "none"
        assert row["call"] == said
    assert set(rows["call"]) == {"consensus", "candidate", "none"}


def test_names_that_are_none_are_refused(scored: Path):
    with pytest.raises(UsageError, match=r"--by genre: no category or flag of tiny.scored.parquet"):
        Scores.open(scored).check_target("genre", "--by")
    with pytest.raises(UsageError, match="--segment all: there are covered, insufficient_payload"):
        check_segments(["covered", "all"])
