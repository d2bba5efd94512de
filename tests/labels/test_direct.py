"""Labels that are a head's calls: what they say by id, and which files are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import InputError
from scorer.labels.direct import DirectLabels
from scorer.student.bundle import load_student
from scorer.targets import Axis, Binary, Head, Label, Targets

LABEL = Label(en="x", fr="x")
TARGETS = Targets(
    heads=(Head(name="codex"), Head(name="gemma")),
    binary=(
        Binary(name="metaresearch", kind="category", label=LABEL),
        Binary(name="sts", kind="category", label=LABEL),
        Binary(name="system", kind="flag", label=LABEL),
        Binary(name="topic", kind="flag", label=LABEL),
    ),
    axes=(
        Axis(
            name="genre", label=LABEL, values=("empirical", "review"), value_labels=(LABEL, LABEL)
        ),
    ),
)
METARESEARCH, STS, SYSTEM, TOPIC = 1, 2, 4, 8
RECORDS = [
    {"id": "W2", "categories": ["sts", "metaresearch"], "topic": True, "genre": "review"},
    {"id": "https://openalex.org/W1", "categories": [], "topic": False, "genre": None},
    {"id": "W3", "categories": None, "topic": None, "genre": "empirical"},
]

Read = Callable[[Any], DirectLabels]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write labels (records to JSON, tables to Parquet, bytes as they are) and read them back."""

    def written(content: Any) -> DirectLabels:
        path = tmp_path / "labels"
        match content:
            case bytes():
                path.write_bytes(content)
            case pl.DataFrame():
                content.write_parquet(path)
            case pa.Table():
                pq.write_table(content, path)
            case _:
                path.write_text(json.dumps(content))
        return DirectLabels.read("gemma", path, TARGETS)

    return written


def ids(*works: str) -> pl.Series:
    return pl.Series(works, dtype=pl.String)


def test_labels_are_found_by_id_and_null_where_the_file_lacks_one(read: Read) -> None:
    given = read(RECORDS).of(ids("W1", "W9", "W2", "W3"))
    assert given.said.to_list() == [0, None, METARESEARCH + STS + TOPIC, 0]
    judged = METARESEARCH + STS + TOPIC
    assert given.known.to_list() == [judged, None, judged, 0]
    assert {name: values.to_list() for name, values in given.axes.items()} == {
        "genre": [None, None, "review", "empirical"]
    }
    assert given.said.dtype == pl.UInt64
    assert given.axes["genre"].dtype == pl.Enum(["empirical", "review"])


def test_a_flag_or_axis_without_a_column_is_not_spoken_of(read: Read) -> None:
    assert read(RECORDS).flags == ("topic",)
    bare = read([{"id": "W1", "categories": ["sts"]}])
    assert (bare.flags, dict(bare.axes)) == ((), {})
    assert bare.of(ids("W1")).known.to_list() == [METARESEARCH + STS]


def test_json_and_parquet_of_the_same_labels_give_the_same_bits(read: Read) -> None:
    asked = ids("W1", "W2", "W3", "W4")
    tables = [pl.DataFrame(RECORDS), pl.DataFrame(RECORDS).to_arrow()]
    tables.append(tables[0].with_columns(pl.col("genre").cast(pl.Categorical)))
    tables.append(tables[0].with_columns(pl.col("genre").cast(pl.Enum(["review", "empirical"]))))
    expected = read(RECORDS).of(asked)
    for table in tables:
        found = read(table).of(asked)
        assert found.said.equals(expected.said)
        assert found.known.equals(expected.known)
        assert found.axes["genre"].to_list() == expected.axes["genre"].to_list()


def test_a_teachers_own_file_and_a_parquet_of_it_give_the_same_bits(
    shared: Path, shipped_bundle: Path, tmp_path: Path
) -> None:
    file = shared / "labels" / "labels_gemma.json"
    records = json.loads(file.read_text())
    pl.DataFrame(records, infer_schema_length=None).write_parquet(tmp_path / "gemma.parquet")
    targets = load_student(shipped_bundle).manifest.targets
    read = [DirectLabels.read("gemma", p, targets) for p in (file, tmp_path / "gemma.parquet")]
    asked = ids(*(record["id"] for record in records[::7]), "W0")
    one, other = (labels.of(asked) for labels in read)
    assert one.said.null_count() == 1
    assert one.said.equals(other.said)
    assert one.known.equals(other.known)
    for name, values in one.axes.items():
        assert values.equals(other.axes[name])
    bit = targets.binary_names.index
    assert [bool(said >> bit("bibliometrics") & 1) for said in one.said[:-1]] == [
        "bibliometrics" in record["categories"] for record in records[::7]
    ]
    assert [bool(said >> bit("about_ca_topic") & 1) for said in one.said[:-1]] == [
        record["about_ca_topic"] for record in records[::7]
    ]


def test_labels_remember_which_of_them_were_met(read: Read) -> None:
    labels = read(RECORDS)
    for batch in (["W9", "W1"], [], ["W1", "W3"]):
        labels.of(ids(*batch))
    assert (labels.found.count(), len(labels.lookup)) == (2, 3)


def test_the_hash_is_that_of_the_file_not_of_what_it_says(read: Read) -> None:
    one, other = read(RECORDS), read(json.dumps(RECORDS, indent=1).encode())
    assert one.of(ids("W2")).said.equals(other.of(ids("W2")).said)
    assert one.sha256 != other.sha256


def test_integer_ids_and_a_byte_order_mark_are_read(read: Read) -> None:
    assert read([{"id": 7, "categories": ["sts"]}]).of(ids("7")).said.to_list() == [STS]
    marked = b"\xef\xbb\xbf" + json.dumps(RECORDS).encode()
    assert read(marked).of(ids("W1")).said.to_list() == [0]


def test_labels_without_a_record_say_nothing(read: Read) -> None:
    empty = pl.DataFrame(schema={"id": pl.String, "categories": pl.List(pl.String)})
    labels = read(empty)
    assert len(labels.lookup) == 0
    assert labels.of(ids("W1")).said.to_list() == [None]


def record(**more: Any) -> list[dict[str, Any]]:
    return [{"id": "W1", "categories": [], **more}]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            [*record(), {"id": "https://openalex.org/W1", "categories": ["sts"]}],
            "labels: ids that occur more than once: 1, first: W1 (2 times).\n"
            "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same).",
        ),
        (
            record(id=None),
            "labels: null ids: 1, first in rows 0 (counted from 0).\n"
            "Every work needs an id: give these rows one, or leave them out.",
        ),
        (record(id=["W1"]), "{path}: column 'id' holds List(String), expected text or integers."),
        (record(id=1.5), "{path}: column 'id' holds Float64, expected text or integers."),
        (
            [{"categories": []}],
            "{path}: no record has 'id'; each one needs it. Found: categories.",
        ),
        (
            [{"id": "W1", "genre": "review"}],
            "{path}: no record has 'categories'; each one needs it. Found: id, genre.",
        ),
        ([], "{path}: no record has 'id'; each one needs it. Found: nothing."),
        (
            [
                {"id": "W1", "categories": ["sts"]},
                {"id": "W2", "categories": ["STS", "sts", "poetry"]},
                {"id": "W3", "categories": ["STS"]},
            ],
            "{path}: unknown category: 'STS', 'poetry', in 2 labels, first W2.\n"
            "The student has metaresearch, sts.",
        ),
        (
            [*record(genre="review"), {"id": "W2", "categories": [], "genre": "poem"}],
            "{path}: unknown genre value: 'poem', in 1 label, first W2.\n"
            "The student has empirical, review.",
        ),
        (
            record(categories="sts"),
            "{path}: column 'categories' holds String, expected lists of text.",
        ),
        (
            record(categories=[1]),
            "{path}: column 'categories' holds List(Int64), expected lists of text.",
        ),
        (record(topic="yes"), "{path}: column 'topic' holds String, expected true, false or null."),
        (record(topic=1), "{path}: column 'topic' holds Int64, expected true, false or null."),
        (record(genre=True), "{path}: column 'genre' holds Boolean, expected text."),
        ({"W1": []}, "{path}: not a JSON list of records (it holds something else)."),
        (
            b"",
            "{path}: not a JSON list of records (Expecting value: line 1 column 1 (char 0)).",
        ),
        (
            b"\x89PNG",
            "{path}: not a JSON list of records ('utf-8' codec can't decode byte 0x89 in position "
            "0: invalid start byte).",
        ),
        (
            b"PAR1 and no more",
            "{path}: cut off: it starts as Parquet and lacks its end (size 16 bytes).\n"
            "Copy or make the file again.",
        ),
    ],
)
def test_a_file_that_breaks_its_contract_is_refused(
    read: Read, tmp_path: Path, content: Any, text: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(content)
    assert str(refused.value) == text.replace("{path}", str(tmp_path / "labels"))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        DirectLabels.read("gemma", tmp_path / "no.json", TARGETS)
    assert str(refused.value) == f"{tmp_path}/no.json: no such file. Check the path."
