"""Reading teachers' labels: what is known, what is unknown, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from scorer.errors import InputError, UsageError
from scorer.labels.sample import Labels, read_label_files, read_label_table

Write = Callable[[pl.DataFrame], Labels]


@pytest.fixture
def read(tmp_path: Path) -> Write:
    """Write a label table and read it back as labels."""

    def written(table: pl.DataFrame) -> Labels:
        table.write_parquet(tmp_path / "labels.parquet")
        return read_label_table(tmp_path / "labels.parquet")

    return written


def works(**columns: list[Any]) -> pl.DataFrame:
    count = len(next(iter(columns.values())))
    frame = {"id": [f"W{n}" for n in range(count)], "title": ["Citation impact"] * count}
    return pl.DataFrame(frame | columns, infer_schema_length=None)


def test_a_category_is_judged_unless_the_teacher_declined(read: Write) -> None:
    labels = read(works(codex_categories=[["sts"], [], ["insufficient_payload"], None]))
    assert labels.judged("codex", "sts").tolist() == [True, True, False, False]
    assert labels.positive("codex", "sts").tolist() == [True, False, False, False]
    assert labels.judged("codex", "insufficient_payload").tolist() == [True, True, True, False]
    assert labels.positive("codex", "insufficient_payload").tolist() == [False, False, True, False]


def test_a_flag_of_a_declined_work_is_unknown(read: Write) -> None:
    labels = read(
        works(
            codex_categories=[["sts"], ["insufficient_payload"], []],
            codex_about_ca_topic=[True, True, None],
        )
    )
    assert labels.targets.flags == ["about_ca_topic"]
    assert labels.judged("codex", "about_ca_topic").tolist() == [True, False, False]
    assert labels.positive("codex", "about_ca_topic").tolist() == [True, True, False]


def test_axis_values_are_numbered_in_their_known_order(read: Write) -> None:
    labels = read(
        works(
            codex_categories=[["metaresearch"], [], [], ["insufficient_payload"]],
            codex_genre=["review", "empirical", None, "zine"],
        )
    )
    (axis,) = labels.targets.axes
    assert (axis.name, axis.values) == ("genre", ("empirical", "review", "zine"))
    assert labels.value("codex", "genre").tolist() == [1, 0, -1, 2]
    assert labels.judged("codex", "genre").tolist() == [True, True, False, False]


def test_the_domain_depends_on_metaresearch(read: Write) -> None:
    labels = read(works(codex_categories=[["metaresearch"], []], codex_domain=["methods", None]))
    assert labels.targets.axes[0].only_with == "metaresearch"


def test_targets_stand_in_their_known_order_and_others_by_name(read: Write) -> None:
    labels = read(works(codex_categories=[["zeta", "sts"], ["alpha", "metaresearch"]]))
    assert labels.targets.categories == ["metaresearch", "sts", "alpha", "zeta"]
    assert labels.targets.binary[1].label.fr == "Études des sciences et des technologies"
    assert labels.targets.binary[3].label.en == "Zeta"


def test_a_column_belongs_to_the_longest_head_that_begins_it(read: Write) -> None:
    labels = read(
        works(
            a_categories=[["sts"], []],
            a_b_categories=[[], ["open_science"]],
            a_genre=["review", None],
            a_b_genre=[None, "methods"],
        )
    )
    assert labels.targets.head_names == ["a", "a_b"]
    assert labels.targets.categories == ["sts", "open_science"]
    assert [axis.name for axis in labels.targets.axes] == ["genre"]
    assert labels.positive("a", "sts").tolist() == [True, False]
    assert labels.positive("a_b", "sts").tolist() == [False, False]
    assert labels.value("a", "genre").tolist() == [0, -1]
    assert labels.value("a_b", "genre").tolist() == [-1, 1]


def test_a_head_is_not_asked_about_a_flag_it_lacks(read: Write) -> None:
    labels = read(
        works(
            codex_categories=[["sts"], []],
            gemma_categories=[["sts"], []],
            codex_about_ca_topic=[True, False],
        )
    )
    assert labels.has("codex", "about_ca_topic")
    assert not labels.has("gemma", "about_ca_topic")
    assert labels.has("gemma", "sts")
    assert labels.judged("gemma", "about_ca_topic").tolist() == [False, False]


def test_without_weights_each_work_counts_one(read: Write) -> None:
    labels = read(works(codex_categories=[["sts"], []]))
    assert labels.weight.tolist() == [1.0, 1.0]
    assert labels.weighted is False


def test_weights_are_read(read: Write) -> None:
    labels = read(works(codex_categories=[["sts"], []], weight=[3, 12]))
    assert labels.weight.tolist() == [3.0, 12.0]
    assert labels.weighted is True


@pytest.mark.parametrize(
    ("weight", "said"),
    [(-1.0, "-1.0"), (0.0, "0.0"), (float("nan"), "nan"), (float("inf"), "inf"), (None, "None")],
)
def test_a_weight_that_weighs_nothing_is_refused(
    read: Write, weight: float | None, said: str
) -> None:
    table = works(
        codex_categories=[["sts"], [], []],
        weight=pl.Series([1.0, weight, weight], dtype=pl.Float64),
    )
    with pytest.raises(InputError) as refused:
        read(table)
    assert str(refused.value) == (
        "labels.parquet: 2 weights are missing, infinite or not over 0, first in row 1 "
        f"(counted from 0): {said}.\nA design weight is population / sample."
    )
    assert refused.value.exit_code == 3


def test_weights_that_are_no_numbers_are_refused(read: Write) -> None:
    with pytest.raises(InputError, match=r"labels\.parquet: column 'weight' holds String\."):
        read(works(codex_categories=[["sts"], []], weight=["a", "b"]))


def test_a_table_without_heads_is_refused(read: Write) -> None:
    with pytest.raises(InputError) as refused:
        read(works(categories=[["sts"]], venue=["A"]))
    assert str(refused.value) == (
        "labels.parquet: no column <head>_categories, so no head to learn from.\n"
        "Columns found: id, title, categories, venue."
    )


def test_a_table_without_works_is_refused(read: Write) -> None:
    with pytest.raises(InputError, match=r"labels\.parquet: no works to learn from\."):
        read(works(codex_categories=[["sts"]]).clear())


def test_a_table_without_any_category_is_refused(read: Write) -> None:
    with pytest.raises(InputError, match=r"no work has any category, so there is nothing to"):
        read(
            works(
                codex_categories=pl.Series([[], None], dtype=pl.List(pl.String)).to_list()
            ).with_columns(pl.col("codex_categories").cast(pl.List(pl.String)))
        )


def test_categories_that_are_no_lists_are_refused(read: Write) -> None:
    with pytest.raises(
        InputError, match=r"column 'codex_categories' holds String, expected lists of text\."
    ):
        read(works(codex_categories=["sts", "sts"]))


def test_categories_that_are_numbers_are_refused(read: Write) -> None:
    with pytest.raises(InputError, match="codex_categories"):
        read(works(codex_categories=[[1], [2]])).positive("codex", "1")


@pytest.mark.parametrize("name", ["open science", "œuvre", ""])
def test_a_category_that_cannot_name_a_column_is_refused(read: Write, name: str) -> None:
    with pytest.raises(InputError, match=r"labels\.parquet"):
        read(works(codex_categories=[[name], []]))


@pytest.mark.parametrize("head", ["candidate", "consensus"])
def test_a_head_named_like_a_combination_is_refused(read: Write, head: str) -> None:
    """Its columns would be those of the combination: no scored file could hold both."""
    table = works(codex_categories=[["sts"], []]).with_columns(
        pl.col("codex_categories").alias(f"{head}_categories")
    )
    with pytest.raises(InputError, match=head):
        read(table)


def test_more_categories_than_a_set_of_bits_holds_are_refused(read: Write) -> None:
    with pytest.raises(InputError, match=r"labels\.parquet"):
        read(works(codex_categories=[[f"c{n}"] for n in range(64)]))


@pytest.mark.parametrize("columns", [{"codex_sts": [True, False]}, {"codex_binary": ["yes", "no"]}])
def test_targets_that_share_a_name_are_refused(read: Write, columns: dict[str, list[Any]]) -> None:
    """A flag named like a category; an axis named like the graph's output of all binary targets."""
    with pytest.raises(InputError, match=r"labels\.parquet"):
        read(works(codex_categories=[["sts"], []], **columns))


def test_an_axis_kept_as_a_dictionary_is_read(read: Write) -> None:
    table = works(codex_categories=[["sts"], []], codex_genre=["review", "methods"])
    labels = read(table.with_columns(pl.col("codex_genre").cast(pl.Categorical)))
    assert [axis.name for axis in labels.targets.axes] == ["genre"]
    assert labels.value("codex", "genre").tolist() == [0, 1]


def test_free_text_about_a_work_is_no_axis(read: Write) -> None:
    """Teachers give reasons; a column of sentences must not become hundreds of axis values."""
    table = works(
        codex_categories=[["sts"], [], []],
        codex_rationale=["It studies a lab.", "It does not.", "A table, no study."],
    )
    try:
        labels = read(table)
    except InputError as error:
        assert "codex_rationale" in str(error)
    else:
        assert labels.targets.axes == ()


def test_duplicate_ids_are_refused(read: Write) -> None:
    with pytest.raises(
        InputError, match=r"ids that occur more than once: 1, first: W1 \(2 times\)\."
    ):
        read(works(codex_categories=[["sts"], []]).with_columns(id=pl.lit("W1")))


def test_a_table_without_titles_is_refused(read: Write) -> None:
    """`train` has no --map: the hint must not name an option that is not there."""
    with pytest.raises(InputError) as refused:
        read(works(codex_categories=[["sts"], []]).drop("title"))
    assert str(refused.value).startswith("labels.parquet: no column 'title'. Columns found: id, ")
    assert "--map" not in str(refused.value)


@pytest.fixture
def read_json(tmp_path: Path) -> Callable[[Any, Any], Labels]:
    """Write a sample and one head's labels as JSON, and read them back as labels."""

    def written(sample: Any, head: Any) -> Labels:
        (tmp_path / "sample.json").write_text(json.dumps(sample))
        (tmp_path / "codex.json").write_text(json.dumps(head))
        return read_label_files(tmp_path / "sample.json", {"codex": tmp_path / "codex.json"})

    return written


SAMPLE = [{"id": "W1", "title": "Citation impact", "weight": 2.0}, {"id": "W2", "title": None}]
SAID = [{"id": "W2", "categories": []}, {"id": "W1", "categories": ["sts"], "genre": "review"}]


def test_json_files_join_by_id(read_json: Callable[[Any, Any], Labels]) -> None:
    labels = read_json([work | {"weight": 2.0} for work in SAMPLE], SAID)
    assert labels.works["id"].to_list() == ["W1", "W2"]
    assert labels.positive("codex", "sts").tolist() == [True, False]
    assert labels.value("codex", "genre").tolist() == [0, -1]
    assert labels.weight.tolist() == [2.0, 2.0]


def test_a_work_that_a_head_lacks_was_not_judged(
    read_json: Callable[[Any, Any], Labels],
) -> None:
    labels = read_json([{"id": i, "title": "x"} for i in ("W1", "W2")], SAID[1:])
    assert labels.judged("codex", "sts").tolist() == [True, False]


def test_labels_of_works_outside_the_sample_are_refused(
    read_json: Callable[[Any, Any], Labels], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read_json([{"id": "W1", "title": "x"}], SAID)
    assert str(refused.value) == (
        f"{tmp_path}/codex.json: ids that sample.json lacks: 1, first: W2.\n"
        "Labels belong to works of the sample."
    )


def test_ids_with_and_without_the_openalex_prefix_are_the_same(
    read_json: Callable[[Any, Any], Labels],
) -> None:
    sample = [{"id": f"https://openalex.org/{i}", "title": "x"} for i in ("W1", "W2")]
    assert read_json(sample, SAID).positive("codex", "sts").tolist() == [True, False]


@pytest.mark.parametrize(
    ("sample", "head", "said"),
    [
        ([{"title": "x"}], SAID, "sample.json"),
        ([], SAID, "sample.json"),
        ({"works": 1}, SAID, "sample.json"),
        (["W1"], SAID, "sample.json"),
        ([{"id": 1, "title": "x"}, {"id": 2, "title": "x"}], SAID, "codex.json"),
        ([{"id": 1, "title": "x"}], [{"id": i, "categories": ["a"]} for i in (1, 2)], "codex.json"),
        (SAMPLE, [{"id": "W1"}], "codex.json: no record has 'categories'; each one needs it."),
        (SAMPLE, [{"id": None, "categories": ["a"]}], "codex.json: null ids: 1,"),
    ],
)
def test_json_of_another_shape_is_refused(
    read_json: Callable[[Any, Any], Labels], sample: Any, head: Any, said: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_json(sample, head)
    assert said in str(refused.value)


def test_a_json_file_that_is_missing_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: no such file\. Check the path\."):
        read_label_files(tmp_path / "none.json", {"codex": tmp_path / "none.json"})
    (tmp_path / "no.json").write_text("{")
    with pytest.raises(InputError, match=r"no\.json: not a JSON list of records \("):
        read_label_files(tmp_path / "no.json", {"codex": tmp_path / "no.json"})


def test_a_sample_without_heads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--sample needs at least one --head NAME=FILE\."):
        read_label_files(tmp_path / "sample.json", {})


def test_the_shared_table_and_json_files_give_equal_labels(shared: Path) -> None:
    folder = shared / "labels"
    table = read_label_table(folder / "teacher_sample.parquet")
    files = read_label_files(
        folder / "sample.json",
        {head: folder / f"labels_{head}.json" for head in ("codex", "gemma")},
    )
    assert table.works.height == 7708
    assert table.works.equals(files.works)
    assert np.array_equal(table.weight, files.weight)
    assert abs(table.weight.sum() - 4_258_728) < 1
    assert table.targets == files.targets
    assert len(table.targets.categories) == 9
    for head in table.targets.head_names:
        for target in table.targets.binary_names:
            assert np.array_equal(table.judged(head, target), files.judged(head, target))
            assert np.array_equal(table.positive(head, target), files.positive(head, target))
        for axis in table.targets.axes:
            assert np.array_equal(table.judged(head, axis.name), files.judged(head, axis.name))
            assert np.array_equal(table.value(head, axis.name), files.value(head, axis.name))
    assert table.positive("codex", "metaresearch").sum() == 912
