import polars as pl
import pyarrow as pa
import pytest

from scorer.errors import InputError, UsageError
from scorer.frame.contract import Columns, conform, resolve, text

EVERY = [
    *("id", "title", "abstract", "abstract_inverted_index", "venue", "topic", "field"),
    *("lang", "type", "year"),
]
NATIVE = {
    "id": pa.array(["https://openalex.org/W1", "https://openalex.org/W2"]),
    "display_name": pa.array(["First", None]),
    "publication_year": pa.array([2020, None], pa.int64()),
    "language": pa.array(["en", None]),
    "type": pa.array(["article", None]),
    "primary_location": pa.array(
        [{"is_oa": True, "source": {"id": "S1", "display_name": "Lancet"}}, {"is_oa": False}]
    ),
    "primary_topic": pa.array(
        [{"display_name": "Reviews", "field": {"id": 1, "display_name": "Medicine"}}, None]
    ),
    "abstract_inverted_index": pa.array(['{"b": [1], "a": [0]}', None]),
}


def conformed(table: pa.Table, wanted: list[str] = EVERY, **more) -> pl.DataFrame:
    columns = resolve(table.schema, "f.parquet", wanted=wanted, **more)
    return conform(pl.from_arrow(table), columns, table.schema)


def read(name: str, values: pa.Array) -> list[object]:
    """One contract column after it was found, checked and conformed."""
    others = {"id": pa.array(["a"] * len(values)), "title": pa.array(["t"] * len(values))}
    table = pa.table({**others, name: values})
    return conformed(table, wanted=["id", "title", name])[name].to_list()


def refusal(kind: type[Exception], schema: dict[str, pa.DataType], **more) -> str:
    with pytest.raises(kind) as caught:
        resolve(pa.schema(schema), "f.parquet", **{"wanted": EVERY, **more})
    return str(caught.value)


def test_contract_names_are_found_as_they_are() -> None:
    schema = pa.schema({name: pa.string() for name in EVERY if name != "year"})
    assert resolve(schema, "f.parquet", wanted=EVERY) == Columns(
        {name: name for name in EVERY if name != "year"}, ()
    )


def test_native_openalex_names_are_found_nested_ones_too() -> None:
    table = pa.table(NATIVE)
    assert dict(resolve(table.schema, "f.parquet", wanted=EVERY).paths) == {
        "id": "id",
        "title": "display_name",
        "abstract_inverted_index": "abstract_inverted_index",
        "venue": "primary_location.source.display_name",
        "topic": "primary_topic.display_name",
        "field": "primary_topic.field.display_name",
        "lang": "language",
        "type": "type",
        "year": "publication_year",
    }


def test_native_openalex_columns_become_contract_columns() -> None:
    assert conformed(pa.table(NATIVE)).to_dict(as_series=False) == {
        "id": ["W1", "W2"],
        "title": ["First", None],
        "abstract_inverted_index": ['{"b": [1], "a": [0]}', None],
        "venue": ["Lancet", None],
        "topic": ["Reviews", None],
        "field": ["Medicine", None],
        "lang": ["en", None],
        "type": ["article", None],
        "year": [2020, None],
    }


def test_the_contract_name_wins_over_the_native_one() -> None:
    table = pa.table({"display_name": ["native"], "title": ["contract"], "id": ["a"]})
    assert conformed(table)["title"].to_list() == ["contract"]


def test_a_top_level_name_may_hold_dots() -> None:
    table = pa.table(
        {"id": ["a"], "title": ["t"], "primary_location.source.display_name": ["Lancet"]}
    )
    assert conformed(table)["venue"].to_list() == ["Lancet"]


def test_only_wanted_columns_are_looked_for() -> None:
    schema = pa.schema({"id": pa.string(), "title": pa.string(), "year": pa.string()})
    assert dict(resolve(schema, "f", wanted=["id", "title"]).paths) == {
        "id": "id",
        "title": "title",
    }


def test_columns_that_the_file_lacks_are_left_out() -> None:
    assert conformed(pa.table({"id": ["a"], "title": ["t"]})).columns == ["id", "title"]


def test_mapping_names_another_column_a_nested_one_too() -> None:
    table = pa.table(
        {"id": ["a"], "Titre": ["t"], "title": ["not this"], "revue": [{"nom": {"court": "Rev"}}]}
    )
    mapping = {"title": "Titre", "venue": "revue.nom.court"}
    frame = conformed(table, mapping=mapping)
    assert (frame["title"][0], frame["venue"][0]) == ("t", "Rev")


def test_each_path_is_read_once() -> None:
    schema = pa.schema({"id": pa.string(), "title": pa.string(), "note": pa.string()})
    columns = resolve(schema, "f", wanted=EVERY, mapping={"venue": "title"}, keep=["note", "title"])
    assert columns.leaves() == ["id", "title", "note"]


def test_openalex_ids_lose_their_url_and_others_stay() -> None:
    ids = ["https://openalex.org/W1", "http://openalex.org/W2", "W3", "https://doi.org/10.1/x"]
    table = pa.table({"id": [*ids, None], "title": ["t"] * 5})
    assert conformed(table)["id"].to_list() == ["W1", "W2", "W3", "https://doi.org/10.1/x", None]


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (pa.array([7, None, -1], pa.int64()), ["7", None, "-1"]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([7, 8], pa.int16()).dictionary_encode(), ["7", "8"]),
    ],
)
def test_integer_ids_become_their_decimal_string(ids: pa.Array, found: list[str | None]) -> None:
    frame = conformed(pa.table({"id": ids, "title": ["t"] * len(ids)}))
    assert frame["id"].dtype == pl.String
    assert frame["id"].to_list() == found


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
@pytest.mark.parametrize("name", ["id", "title", "venue", "abstract"])
def test_every_kind_of_string_column_becomes_strings(name: str, kind: pa.DataType) -> None:
    values = pa.array(["a", None, "a"]).cast(kind)
    others = {"id": pa.array(["1", "2", "3"]), "title": pa.array(["t"] * 3)}
    column = conformed(pa.table({**others, name: values}))[name]
    assert column.dtype == pl.String
    assert column.to_list() == ["a", None, "a"]


@pytest.mark.parametrize(
    ("years", "found"),
    [
        (pa.array([1999, None], pa.int16()), [1999, None]),
        (pa.array([1999.0, None, float("nan"), float("inf")]), [1999, None, None, None]),
        (pa.array([2001.0, float("nan")], pa.float32()), [2001, None]),
        (pa.array([None, None], pa.null()), [None, None]),
    ],
    ids=["integers", "floats", "float32", "nulls"],
)
def test_years_become_integers_and_what_is_no_number_null(
    years: pa.Array, found: list[int | None]
) -> None:
    assert read("year", years) == found


def test_a_fraction_is_no_year() -> None:
    assert read("year", pa.array([2019.0, 2019.5])) == [2019, None]


@pytest.mark.parametrize(
    "years", [pa.array([20_240_101_000_000]), pa.array([1e12])], ids=["integer", "float"]
)
def test_a_number_too_large_for_a_year_is_null_or_an_input_error(years: pa.Array) -> None:
    try:
        found = read("year", years)
    except InputError:
        return
    assert found == [None]


def test_columns_of_nulls_alone_are_all_null() -> None:
    nothing = pa.array([None], pa.null())
    assert read("title", nothing) == [None]
    assert read("venue", nothing) == [None]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("id", pa.float64(), "holds double, expected a string or an integer for 'id'"),
        ("title", pa.int32(), "holds int32, expected a string for 'title'"),
        ("title", pa.binary(), "holds binary, expected a string for 'title'"),
        ("venue", pa.list_(pa.string()), "holds list<element: string>, expected a string"),
        ("year", pa.string(), "holds string, expected an integer for 'year'"),
        ("year", pa.date32(), "holds date32[day], expected an integer for 'year'"),
        (
            "abstract_inverted_index",
            pa.list_(pa.string()),
            "expected a JSON string, a struct or a map for 'abstract_inverted_index'",
        ),
    ],
)
def test_a_wrong_type_is_told_with_column_type_and_remedy(
    name: str, kind: pa.DataType, said: str
) -> None:
    first, second = refusal(
        InputError, {"id": pa.string(), "title": pa.string(), name: kind}
    ).splitlines()
    assert first.startswith(f"f.parquet: column '{name}' ")
    assert said.replace("element", "item") in first.replace("element", "item")
    assert second == f"Convert the column, or name another one: --map {name}=COLUMN"


def test_a_wrong_type_names_the_path_in_the_file() -> None:
    text = refusal(InputError, {"id": pa.string(), "display_name": pa.int64()})
    assert text == (
        "f.parquet: column 'display_name' holds int64, expected a string for 'title'.\n"
        "Convert the column, or name another one: --map title=COLUMN"
    )


@pytest.mark.parametrize(
    ("schema", "name", "hint"),
    [
        (["id", "Titre"], "title", "If it is 'Titre', say: --map title=Titre"),
        (["id", "TITLE"], "title", "If it is 'TITLE', say: --map title=TITLE"),
        (["id", "titles"], "title", "If it is 'titles', say: --map title=titles"),
        (["id", "x"], "title", "If another column holds it, say: --map title=COLUMN"),
        (["title", "DOI"], "id", "If it is 'DOI', say: --map id=DOI"),
        (["title", "work_id"], "id", "If it is 'work_id', say: --map id=work_id"),
    ],
)
def test_a_missing_column_is_told_with_what_is_there_and_what_to_say(
    schema: list[str], name: str, hint: str
) -> None:
    assert refusal(InputError, dict.fromkeys(schema, pa.string())) == (
        f"f.parquet: no column '{name}'. Columns found: {', '.join(schema)}.\n{hint}"
    )


def test_a_missing_column_in_a_wide_file_names_the_first_twenty() -> None:
    schema = {f"c{number}": pa.string() for number in range(30)}
    first = refusal(InputError, schema).splitlines()[0]
    assert first.endswith("c18, c19, ….")
    assert "c20" not in first


def test_a_file_without_columns_says_so() -> None:
    assert refusal(InputError, {}).startswith("f.parquet: no column 'id'. Columns found: none.")


def test_mapping_to_or_from_nothing_is_a_usage_error() -> None:
    schema = {"id": pa.string(), "title": pa.string(), "place": pa.struct({"name": pa.string()})}
    assert refusal(UsageError, schema, mapping={"venue": "Revue"}) == (
        "--map venue=Revue: f.parquet has no column 'Revue'. Columns found: id, title, place."
    )
    assert refusal(UsageError, schema, mapping={"venue": "place.town"}).startswith(
        "--map venue=place.town: f.parquet has no column 'place.town'."
    )
    assert refusal(UsageError, schema, mapping={"journal": "title"}).startswith(
        "--map journal=title: no such frame column; there are id, title, abstract, "
    )


def test_keeping_a_column_that_is_not_there_is_a_usage_error() -> None:
    schema = {"id": pa.string(), "title": pa.string()}
    assert refusal(UsageError, schema, keep=["note"]) == (
        "--keep note: f.parquet has no such column. Columns found: id, title."
    )


def test_a_column_name_that_occurs_twice_is_an_input_error_that_names_it() -> None:
    schema = pa.schema([("id", pa.string()), ("title", pa.string()), ("title", pa.string())])
    with pytest.raises(InputError, match="title"):
        resolve(schema, "f.parquet", wanted=EVERY)


def test_text_of_a_column_that_the_frame_lacks_is_null() -> None:
    frame = pl.DataFrame({"id": ["a", "b"]})
    assert text(frame, "venue").to_list() == [None, None]
    assert text(frame, "venue").dtype == pl.String


def test_an_abstract_is_de_inverted_only_where_there_is_no_running_text() -> None:
    frame = pl.DataFrame(
        {
            "id": ["a", "b", "c", "d"],
            "abstract": ["as it is", None, None, "kept"],
            "abstract_inverted_index": ["not read", '{"in": [1], "turned": [0]}', None, None],
        }
    )
    assert text(frame, "abstract").to_list() == ["as it is", "turned in", None, "kept"]
    assert text(frame.drop("abstract").tail(3), "abstract").to_list() == ["turned in", None, None]


def test_an_empty_abstract_is_a_missing_one_where_there_is_an_inverted_index() -> None:
    frame = pl.DataFrame(
        {
            "id": ["a", "b", "c"],
            "abstract": ["", " \n", ""],
            "abstract_inverted_index": ['{"in": [1], "turned": [0]}', "{}", None],
        }
    )
    assert text(frame, "abstract").to_list() == ["turned in", None, ""]


def test_an_inverted_index_may_be_a_list_of_keys_and_values() -> None:
    indexes = pa.array([[{"key": "b", "value": [1]}, {"key": "a", "value": [0]}], None])
    table = pa.table({"id": ["1", "2"], "title": ["t", "u"], "abstract_inverted_index": indexes})
    assert text(conformed(table), "abstract").to_list() == ["a b", None]


def test_an_inverted_index_that_cannot_be_read_names_its_own_work() -> None:
    frame = pl.DataFrame(
        {"id": ["a", "b", "c"], "abstract_inverted_index": [None, '{"x": [0]}', "{"]}
    )
    with pytest.raises(InputError, match=r"^work c: its abstract_inverted_index"):
        text(frame, "abstract")
