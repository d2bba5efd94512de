"""What the model card says of the fields that a student learned from."""

from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from scorer.student.folder import read_card
from scorer.train.card import _fields_beside_texts
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.trained import TrainRequest


@pytest.mark.parametrize(
    ("fields", "lacking", "told"),
    [
        (
            ("title", "venue", "topic", "field", "lang", "type", "year"),
            (),
            "so do its scores; without venue, topic, field and type it scores worse.\n",
        ),
        (
            ("title", "venue", "type", "year"),
            ("type",),
            "so do its scores; without venue it scores worse.\n"
            "- Its labels had no type: it learned nothing from that.\n",
        ),
        (
            ("title", "lang"),
            ("lang", "venue"),
            "so do its scores.\n- Its labels had no lang or venue: it learned nothing from that.\n",
        ),
    ],
)
def test_the_card_says_without_what_it_scores_worse(
    fields: tuple[str, ...], lacking: tuple[str, ...], told: str
) -> None:
    settings = SimpleNamespace(fields=lambda: list(fields))
    assert f"so do its scores{_fields_beside_texts(settings, lacking)}\n" == told


def test_the_card_of_a_bundle_says_what_its_labels_lacked(
    tiny_labels: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.parquet"
    pl.read_parquet(tiny_labels).drop("topic", "field", "type", strict=False).write_parquet(labels)
    train(TrainRequest(labels=labels, output=tmp_path / "less", recipe=Recipe(ngrams=60)))
    card = read_card(tmp_path / "less")
    assert "scores; without venue it scores worse.\n- Its labels had no topic, field" in card
