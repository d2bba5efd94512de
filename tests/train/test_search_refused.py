"""What a search refuses, before any work, and what it says."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from scorer.counted import counted
from scorer.errors import InputError, OutputError, UsageError
from scorer.labels.sample import Labels, read_label_table
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.search import search
from scorer.train.trained import RoundsRequest, SearchRequest, TrainRequest

RECIPE = Recipe(ngrams=60, folds=2)
ASKED = SearchRequest(trials=3)


@pytest.fixture(scope="module")
def labels(searchable: Path) -> Labels:
    return read_label_table(searchable)


@pytest.fixture
def request_of(searchable: Path, tmp_path: Path) -> Callable[..., TrainRequest]:
    usual = {
        "output": tmp_path / "student",
        "labels": searchable,
        "recipe": RECIPE,
        "search": ASKED,
    }
    return lambda **changes: TrainRequest(**(usual | changes))


def test_an_earlier_table_is_not_overwritten_unasked(
    request_of: Callable[..., TrainRequest], tmp_path: Path
) -> None:
    place = tmp_path / "student.trials.parquet"
    place.write_text("mine")
    with pytest.raises(OutputError) as refused:
        train(request_of())
    assert str(refused.value) == (
        f"{place}: exists already, and the trials of --search go there.\n"
        "Choose another -o, or say --overwrite."
    )
    assert place.read_text() == "mine"


def test_out_of_fold_scores_do_not_take_the_place_of_the_table(
    request_of: Callable[..., TrainRequest], tmp_path: Path
) -> None:
    place = tmp_path / "student.trials.parquet"
    with pytest.raises(UsageError) as refused:
        train(request_of(out_of_fold=place))
    assert str(refused.value) == (
        f"{place}: the trials of --search go there.\n"
        "Keep the out-of-fold scores elsewhere: --out-of-fold."
    )


@pytest.mark.parametrize("budget", [0.0, -2.0, float("nan")])
def test_a_budget_of_nothing_is_refused(
    request_of: Callable[..., TrainRequest], budget: float
) -> None:
    with pytest.raises(UsageError) as refused:
        train(request_of(search=replace(ASKED, budget=budget)))
    assert str(refused.value) == (
        f"--budget {budget:g} leaves no time to search in.\n"
        "Give it minutes, more than 0, or leave it out."
    )


def test_rounds_are_not_searched(request_of: Callable[..., TrainRequest], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        train(request_of(rounds=RoundsRequest(tmp_path / "rounds.json")))
    assert str(refused.value) == (
        "--search chooses a recipe anew, and rounds are compared by one recipe for all.\n"
        "Give --search or --rounds-state, not both."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("venues", [1, 3])
def test_too_few_venues_are_told(labels: Labels, venues: int) -> None:
    """Three venues do for two outer folds; one fold's rest then cannot be parted into three."""
    works = labels.works.with_columns(venue=pl.int_range(pl.len()).mod(venues).cast(pl.String))
    with pytest.raises(InputError) as refused:
        search(replace(labels, works=works), RECIPE, ASKED)
    assert str(refused.value) == (
        f"200 works in {counted(venues, 'venue')} are too few for --search, which parts them into "
        "2 folds, and the rest of each into 3.\nLabel works of more venues, or train without "
        "--search."
    )


def test_too_few_positives_are_told(
    make_labels: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    make_labels(50).write_parquet(tmp_path / "few.parquet")
    with pytest.raises(InputError) as refused:
        search(read_label_table(tmp_path / "few.parquet"), RECIPE, ASKED)
    assert str(refused.value).startswith(
        "--search measures heads and targets with 20 positives or more; there are none among the "
    )
    assert str(refused.value).endswith(
        " works outside fold 1 of 2.\nLabel more works, or train without --search."
    )


def test_design_weights_must_be_there_to_choose_by_them(labels: Labels) -> None:
    with pytest.raises(InputError) as refused:
        search(
            replace(labels, weighted=False), RECIPE, SearchRequest(trials=2, criterion="weighted")
        )
    assert str(refused.value) == (
        "--criterion weighted needs design weights, and the labels have no column 'weight'.\n"
        "Add it (population / sample), or choose --criterion plain."
    )
