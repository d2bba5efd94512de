"""Works of any format become one clean frame; what is left out is counted, nothing is lost."""

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine import framefile
from scorer.engine.convert import ConvertReport, ConvertRequest, convert
from scorer.engine.progress import Silence
from scorer.errors import InputError, OutputError, ScorerError, UsageError

WORKS = {
    "id": ["https://openalex.org/W1", "W2", "W3", "W4"],
    "title": ["One", None, "Deleted Work", "Four"],
    "lang": ["fr", "en", "fr", None],
    "year": [2010, 2011, 2012, None],
    "cited": [1, 2, 3, 4],
}
CONTRACT = ["id", "title", "abstract", "venue", "topic", "field", "lang", "type", "year"]

Convert = Callable[..., ConvertReport]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "frame.parquet"


@pytest.fixture
def converted(tmp_path: Path, output: Path) -> Convert:
    """Convert columns, or a file, with further settings of the request."""

    def run(works: dict[str, object] | Path = WORKS, **settings: object) -> ConvertReport:
        if isinstance(works, dict):
            source = tmp_path / "works.parquet"
            pq.write_table(pa.table(works), source)
        else:
            source = works
        return convert(ConvertRequest(**({"frame": source, "output": output} | settings)))

    return run


def refusal(kind: type[ScorerError], converted: Convert, *works: object, **settings: object) -> str:
    with pytest.raises(kind) as caught:
        converted(*works, **settings)
    return str(caught.value)


def test_columns_take_the_contracts_names_and_order(converted: Convert, output: Path) -> None:
    works = {
        "publication_year": [2010.0, None],
        "language": ["fr", "en"],
        "note": [1, 2],
        "display_name": ["One <i>work</i>", "Two"],
        "id": ["https://openalex.org/W1", "W2"],
    }
    report = converted(works, keep=("note",))
    table = pq.read_table(output)
    assert table.schema.names == ["id", "title", "lang", "year", "note"]
    assert [str(kind) for kind in table.schema.types] == [
        *("string", "string", "string", "int32", "int64")
    ]
    assert table.to_pylist() == [
        {"id": "W1", "title": "One <i>work</i>", "lang": "fr", "year": 2010, "note": 1},
        {"id": "W2", "title": "Two", "lang": "en", "year": None, "note": 2},
    ]
    assert (report.read, report.written, report.kept) == (2, 2, ("note",))
    assert report.columns["title"] == "display_name"
    assert report.size == output.stat().st_size


def test_where_drops_works_and_counts_them(converted: Convert, output: Path) -> None:
    report = converted(where="lang = 'fr' AND year >= 2011")
    assert pl.read_parquet(output)["id"].to_list() == ["W3"]
    assert report.dropped == {
        "null_id": 0, "duplicate": 0, "deleted": 0, "merged_away": 0, "where": 3,
    }  # fmt: skip


def test_where_sees_kept_columns(converted: Convert, output: Path) -> None:
    converted(where="cited > 2", keep=("cited",))
    assert pl.read_parquet(output)["cited"].to_list() == [3, 4]


def test_where_no_work_is_left_there_is_a_frame_without_works(
    converted: Convert, output: Path
) -> None:
    converted(where="lang = 'xx'")
    assert pl.read_parquet(output).shape == (0, 4)


def test_a_frame_without_works_stays_one(converted: Convert, output: Path) -> None:
    empty = {name: pa.array([], pa.string()) for name in ("id", "title")}
    assert converted(empty).written == 0
    assert pl.read_parquet(output).schema == {"id": pl.String, "title": pl.String}


def test_where_names_a_column_that_is_not_there(converted: Convert, output: Path) -> None:
    assert refusal(UsageError, converted, where="venue = 'x'") == (
        "--where \"venue = 'x'\": no column 'venue'.\n"
        "Columns: id, title, lang, year. Text stands in 'single quotes'."
    )
    assert not output.exists()


@pytest.mark.parametrize(("keep", "title"), [("first", "old"), ("last", "newer")])
def test_of_an_id_that_occurs_again_one_row_stays(
    converted: Convert, output: Path, keep: str, title: str
) -> None:
    works = {"id": ["W1", "W2", "https://openalex.org/W1"], "title": ["old", "two", "newer"]}
    report = converted(works, on_duplicate=keep)
    frame = pl.read_parquet(output)
    assert frame.filter(pl.col("id") == "W1")["title"].to_list() == [title]
    assert (report.written, report.dropped["duplicate"]) == (2, 1)


def test_last_is_the_newest_by_updated_date(converted: Convert, output: Path) -> None:
    works = {
        "id": ["W1", "W1", "W1"],
        "title": ["middle", "newest", "oldest"],
        "updated_date": ["2024-01-02", "2024-02-01T10:00:00", "2023-12-31"],
    }
    converted(works, on_duplicate="last")
    assert pl.read_parquet(output).to_dicts() == [{"id": "W1", "title": "newest"}]


def test_ids_that_differ_in_the_prefix_alone_are_the_same(converted: Convert, output: Path) -> None:
    works = {"id": ["W1", "https://openalex.org/W1"], "title": ["a", "b"]}
    assert refusal(InputError, converted, works) == (
        "works.parquet: ids that occur more than once: 1, first: W1 (2 times).\n"
        "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same): "
        "--on-duplicate first or last."
    )
    assert not output.exists()


def test_null_ids_are_an_error_unless_they_are_to_go(converted: Convert, output: Path) -> None:
    works = {"id": ["W1", None], "title": ["a", "b"]}
    for on_duplicate in ("error", "first"):
        assert refusal(InputError, converted, works, on_duplicate=on_duplicate) == (
            "works.parquet: null ids: 1, first in rows 1 (counted from 0).\n"
            "Every work needs an id: give these rows one, or leave them out: --drop-null-ids."
        )
    report = converted(works, drop_null_ids=True)
    assert (report.written, report.dropped["null_id"]) == (1, 1)
    assert pl.read_parquet(output)["id"].to_list() == ["W1"]


def merged(folder: Path, *ids: str) -> Path:
    path = folder / "merged_ids" / "2022-06-20.csv"
    path.parent.mkdir()
    rows = "".join(f"2022-06-20,{work},W9\n" for work in ids)
    path.write_text("merge_date,id,merge_into_id\n" + rows)
    return path.parent


def test_deleted_and_merged_works_are_counted_and_stay(
    converted: Convert, output: Path, tmp_path: Path
) -> None:
    report = converted(merged_ids=merged(tmp_path, "W1", "W77"))
    assert (report.deleted, report.merged_away, report.written) == (1, 1, 4)
    assert converted(overwrite=True).merged_away is None


def test_deleted_and_merged_works_go_where_they_are_to(
    converted: Convert, output: Path, tmp_path: Path
) -> None:
    report = converted(merged_ids=merged(tmp_path, "W1", "W77"), drop_deleted=True)
    assert (report.dropped["deleted"], report.dropped["merged_away"]) == (1, 1)
    assert pl.read_parquet(output)["id"].to_list() == ["W2", "W4"]


def test_a_work_counts_for_the_first_of_its_reasons(converted: Convert, tmp_path: Path) -> None:
    works = {"id": [None, "W1", "W1", "W2"], "title": ["Deleted Work"] * 4}
    report = converted(
        works,
        drop_null_ids=True,
        on_duplicate="first",
        drop_deleted=True,
        merged_ids=merged(tmp_path, "W1"),
        where="id = 'W9'",
    )
    assert report.dropped == {
        "null_id": 1, "duplicate": 1, "deleted": 2, "merged_away": 0, "where": 0,
    }  # fmt: skip
    assert report.read == report.written + sum(report.dropped.values())


INVERTED = {
    "id": ["W1", "W2"],
    "title": ["a", "b"],
    "abstract_inverted_index": ['{"world": [1], "hello": [0]}', None],
}


def test_an_inverted_index_stays_as_it_is(converted: Convert, output: Path) -> None:
    converted(INVERTED)
    assert pl.read_parquet(output).to_dict(as_series=False) == INVERTED


def test_an_inverted_index_becomes_text(converted: Convert, output: Path) -> None:
    converted(INVERTED | {"lang": ["fr", "en"]}, deinvert=True, where="abstract LIKE 'hello%'")
    assert pl.read_parquet(output).to_dicts() == [
        {"id": "W1", "title": "a", "abstract": "hello world", "lang": "fr"}
    ]


def test_an_abstract_in_the_condition_needs_text(converted: Convert) -> None:
    assert refusal(UsageError, converted, INVERTED, where="abstract LIKE 'hello%'") == (
        "--where \"abstract LIKE 'hello%'\": no column 'abstract'.\n"
        "Columns: id, title, abstract_inverted_index. With --deinvert there is an abstract too. "
        "Text stands in 'single quotes'."
    )


def test_maps_and_structs_stay_what_they_are(converted: Convert, output: Path) -> None:
    kind = pa.map_(pa.string(), pa.list_(pa.int32()))
    maps = pa.array([[("hello", [0])], None], kind)
    converted(INVERTED | {"abstract_inverted_index": maps})
    assert pa.types.is_map(pq.read_schema(output).field("abstract_inverted_index").type)
    assert converted(output, output=output.with_name("b.parquet"), deinvert=True).written == 2
    assert pl.read_parquet(output.with_name("b.parquet"))["abstract"].to_list() == ["hello", None]


def test_abstracts_go(converted: Convert, output: Path) -> None:
    converted(INVERTED | {"abstract": ["x", None]}, drop_abstract=True, where="abstract = 'x'")
    assert pl.read_parquet(output).to_dicts() == [{"id": "W1", "title": "a"}]


def test_an_index_of_no_form_names_the_work(converted: Convert, output: Path) -> None:
    works = INVERTED | {"abstract_inverted_index": [None, "[1"]}
    said = refusal(InputError, converted, works, deinvert=True)
    assert said.startswith("works.parquet: work W2: its abstract_inverted_index is not of the form")
    assert not output.exists()


def test_the_same_input_gives_the_same_bytes_in_row_groups(
    converted: Convert, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framefile, "ROW_GROUP", 1000)
    works = {"id": [f"W{n}" for n in range(2500)], "title": ["t"] * 2500}
    converted(works, where="id <> 'W3'")
    first = output.read_bytes()
    converted(works, where="id <> 'W3'", overwrite=True)
    assert output.read_bytes() == first
    groups = pq.ParquetFile(output).metadata
    assert [groups.row_group(n).num_rows for n in range(3)] == [1000, 1000, 499]
    assert groups.row_group(0).column(0).compression == "ZSTD"
    assert pl.read_parquet(output)["id"].to_list() == [f"W{n}" for n in range(2500) if n != 3]


def test_limit_reads_the_first_works(converted: Convert, output: Path) -> None:
    works = {"id": ["W1", "W2", "W1"], "title": ["a", "b", "c"]}
    report = converted(works, limit=2)  # the second W1 is not among them
    assert (report.read, report.written) == (2, 2)


def test_an_output_is_replaced_only_where_that_is_said(converted: Convert, output: Path) -> None:
    output.write_text("mine")
    assert refusal(OutputError, converted) == (
        f"{output}: exists already. Choose another output with -o, or say --overwrite."
    )
    assert output.read_text() == "mine"
    converted(overwrite=True)
    assert pl.read_parquet(output).height == 4


def test_an_input_cannot_be_the_output(converted: Convert, tmp_path: Path) -> None:
    converted()
    source = tmp_path / "works.parquet"
    same = f"{source}: the input itself cannot be the output. Choose another -o."
    assert refusal(UsageError, converted, source, output=source, overwrite=True) == same
    pattern = tmp_path / "w*.parquet"
    assert refusal(UsageError, converted, pattern, output=source, overwrite=True) == same


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"drop_abstract": True, "deinvert": True},
            "--drop-abstract leaves nothing for --deinvert. Leave one out.",
        ),
        ({"limit": -1}, "limit -1: expected 0 or more works."),
        (
            {"output": Path("frame.csv")},
            "frame.csv: frames are written as Parquet. Call it NAME.parquet.",
        ),
        (
            {"keep": ("lang",), "mapping": {"lang": "title"}},
            "--keep lang: 'title' is read as lang already.\n"
            "Leave the option out, or rename the column.",
        ),
    ],
)
def test_words_that_do_not_fit_together(
    converted: Convert, settings: dict[str, object], text: str
) -> None:
    assert refusal(UsageError, converted, **settings) == text


def test_a_kept_column_that_is_there_anyway_stays_once(converted: Convert, output: Path) -> None:
    assert converted(keep=("lang", "cited")).kept == ("cited",)
    assert pl.read_parquet(output).columns == ["id", "title", "lang", "year", "cited"]


def test_nothing_but_the_output_is_left_behind(converted: Convert, tmp_path: Path) -> None:
    converted()
    refusal(InputError, converted, {"id": ["W1", "W1"], "title": ["a", "b"]}, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frame.parquet", "works.parquet"]
    assert (tmp_path / "frame.parquet").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_file_that_changes_while_it_is_read_gives_no_frame(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "works.parquet"
    pq.write_table(pa.table(WORKS), source)

    class Touches(Silence):
        def advance(self, works: int) -> None:
            os.utime(source, ns=(1, 1))

    with pytest.raises(InputError) as caught:
        convert(ConvertRequest(frame=source, output=output), Touches())
    assert str(caught.value) == (
        f"{source}: changed while it was read; no output was written.\n"
        "Give the command again when the file is finished."
    )
    assert not output.exists()
