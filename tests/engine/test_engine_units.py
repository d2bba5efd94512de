"""The engine's small parts: counts, manifest, checkpoint, executor, rows, files."""

import errno
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from scorer.engine.counts import Tally
from scorer.engine.files import sha256, told, write_atomically
from scorer.engine.local import in_order, usable_threads
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.rows import row_schema, to_table
from scorer.errors import InputError, OutputError
from scorer.policy.policy import Policy, Silent
from scorer.targets import Binary, Head, Label, Targets

LABEL = Label(en="Label", fr="Étiquette")
TARGETS = Targets(
    heads=(Head(name="a"), Head(name="b")),
    binary=(
        Binary(name="one", kind="category", label=LABEL),
        Binary(name="two", kind="category", label=LABEL),
        Binary(name="mark", kind="flag", label=LABEL),
    ),
)


POLICY = Policy(
    entries={
        name: {head: Silent(reason="off") for head in TARGETS.head_names}
        for name in TARGETS.binary_names
    }
)


def part(rows: list[dict[str, object]]) -> pa.Table:
    """Make a part with just the columns that are counted."""
    schema = row_schema(TARGETS, POLICY, "both")
    counted = [
        *("segment", "classification"),
        *(
            f"{k}_{w}"
            for k in ("a", "b", "candidate", "consensus")
            for w in ("categories", "flags")
        ),
    ]
    return pa.Table.from_pylist(
        [{name: [] for name in counted} | row for row in rows],
        schema=pa.schema([schema.field(name) for name in counted]),
    )


def test_a_tally_sums_parts_and_names_every_target() -> None:
    tally = Tally(TARGETS, "both")
    yes = {"segment": "covered", "classification": "candidate"}
    tally.add(
        part([yes | {"a_categories": ["one", "two"], "candidate_categories": ["one", "two"]}]), 1
    )
    short = {"segment": "insufficient_payload", "classification": "consensus"}
    tally.add(
        part([short | {"a_categories": ["insufficient_payload"]}, yes | {"b_flags": ["mark"]}]), 2
    )
    counts = tally.counts()
    assert counts.rows == 3
    assert counts.segments == {"covered": 2, "insufficient_payload": 1, "excluded": 0}
    assert counts.classification == {"candidate": 2, "consensus": 1}
    nobody = {"a": 0, "b": 0, "candidate": 0, "consensus": 0}
    assert counts.calls == {
        "one": nobody | {"a": 1, "candidate": 1},
        "two": nobody | {"a": 1, "candidate": 1},
        "mark": nobody | {"b": 1},
        "insufficient_payload": nobody | {"a": 1},
    }


def test_a_tally_of_nothing_counts_zero() -> None:
    counts = Tally(TARGETS, "both").counts()
    assert (counts.rows, counts.segments["covered"], counts.calls["one"]["a"]) == (0, 0, 0)


def test_a_null_call_list_counts_as_no_call() -> None:
    tally = Tally(TARGETS, "both")
    word = {"segment": "covered", "classification": "score_only"}
    tally.add(part([word | {"a_categories": None, "a_flags": None}]), 1)
    assert tally.counts().calls["one"]["a"] == 0


def test_tallies_of_parts_merge_to_the_tally_of_the_whole() -> None:
    rows: list[dict[str, object]] = [
        {"segment": "covered", "classification": "candidate", "a_categories": ["one"]},
        {"segment": "excluded", "classification": "none"},
        {"segment": "covered", "classification": "candidate", "b_flags": ["mark"]},
    ]
    whole, first, second = (Tally(TARGETS, "both") for _ in range(3))
    whole.add(part(rows), 3)
    first.add(part(rows[:1]), 1)
    second.add(part(rows[1:]), 2)
    first.merge(second)
    assert (first.rows, first.counts()) == (3, whole.counts())
    assert first.counts().segments == {"covered": 2, "insufficient_payload": 0, "excluded": 1}


def test_a_tally_of_majority_mode_counts_the_majority_too() -> None:
    assert Tally(TARGETS, "majority").counts().calls["mark"] == {
        "a": 0,
        "b": 0,
        "candidate": 0,
        "consensus": 0,
        "majority": 0,
    }


def test_the_manifest_lies_beside_the_output() -> None:
    assert manifest_path(Path("folder/x.scored.parquet")) == Path(
        "folder/x.scored.parquet.meta.json"
    )


def test_a_missing_manifest_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_manifest(tmp_path / "x.parquet")
    assert str(refused.value) == (
        f"{tmp_path}/x.parquet.meta.json: no manifest, so x.parquet is not known to be complete.\n"
        "Copy the manifest along with the file, or score again with scorer run --overwrite."
    )


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"{}",
        b"\xff\xfe",
    ],
)
def test_a_broken_manifest_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.parquet.meta.json").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.parquet\.meta\.json: not a manifest \("):
        read_manifest(tmp_path / "x.parquet")


def test_a_manifest_with_another_stamp_is_no_manifest(scored: Path, tmp_path: Path) -> None:
    content = json.loads(manifest_path(scored).read_text())
    content["prediction_status"] = "human_validated"
    (tmp_path / "x.parquet.meta.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="not a manifest"):
        read_manifest(tmp_path / "x.parquet")


def test_results_come_in_the_order_of_the_shards() -> None:
    first = threading.Event()

    def work(shard: int) -> int:
        if shard == 0:
            assert first.wait(60)
        else:
            first.set()
        return shard * 10

    assert list(in_order(work, range(5), 2)) == [0, 10, 20, 30, 40]


def test_few_shards_are_read_ahead() -> None:
    read: list[int] = []

    def shards() -> Iterator[int]:
        for shard in range(50):
            read.append(shard)
            yield shard

    results = in_order(lambda shard: shard, shards(), 2)
    assert next(results) == 0
    assert read == [0, 1, 2]
    assert next(results) == 1
    assert read == [0, 1, 2, 3]
    results.close()


def test_a_shard_that_fails_ends_the_work_after_those_before_it() -> None:
    def work(shard: int) -> int:
        if shard == 2:
            raise InputError("shard 2")
        return shard

    results = in_order(work, range(5), 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(InputError, match="shard 2"):
        next(results)


def test_threads_are_at_least_one() -> None:
    assert usable_threads() >= 1


def test_a_table_has_the_types_of_the_schema() -> None:
    schema = row_schema(TARGETS, POLICY, "both", pa.schema([pa.field("kept", pa.large_string())]))
    words = pl.Enum(["covered", "insufficient_payload"])
    columns: dict[str, pl.Series] = {}
    for field in schema:
        if pa.types.is_dictionary(field.type):
            columns[field.name] = pl.Series(["covered"], dtype=words)
        elif pa.types.is_list(field.type):
            columns[field.name] = pl.Series([["one"]])
        elif pa.types.is_floating(field.type):
            columns[field.name] = pl.Series([0.5], dtype=pl.Float32)
        elif pa.types.is_boolean(field.type):
            columns[field.name] = pl.Series([True])
        else:
            columns[field.name] = pl.Series(["W1"])
    made = to_table(columns | {"kept": pa.chunked_array([["W1"]])}, schema)
    assert made.cast(schema).schema.equals(schema, check_metadata=True)
    assert made.schema.metadata == schema.metadata
    of_one_byte = pa.dictionary(pa.uint8(), pa.string())
    for field, held in zip(schema, made.schema, strict=True):
        assert held.type == (of_one_byte if pa.types.is_dictionary(field.type) else field.type)
    assert made["kept"].to_pylist() == ["W1"]
    assert made["segment"].to_pylist() == ["covered"]


def test_a_file_is_written_whole_or_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.json"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("scorer.engine.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"newer")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (
            errno.ENOSPC,
            "/d/f: no space left on the disk.\n"
            "Free some and give the same command again: a run goes on from its finished parts.",
        ),
        (errno.EACCES, "/d/f: may not be written. Check permissions, or choose -o elsewhere."),
        (errno.EROFS, "/d/f: may not be written. Check permissions, or choose -o elsewhere."),
        (errno.ENOENT, "/d: no such folder. Make it first, or choose -o elsewhere."),
        (errno.EIO, "/d/f: cannot be written (broken)."),
    ],
)
def test_a_refusal_of_the_system_is_told_in_plain_words(number: int, text: str) -> None:
    with pytest.raises(OutputError) as refused, told(Path("/d/f")):
        raise OSError(number, "broken")
    assert str(refused.value) == text


def test_the_hash_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256(tmp_path / "abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
