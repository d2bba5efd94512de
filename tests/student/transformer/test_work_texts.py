import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.student.manifest import TokenizerSettings
from scorer.student.transformer.texts import work_texts

SETTINGS = TokenizerSettings(vocabulary=1, width=1)
FIELDS = ("title", "venue", "topic", "field")


def texts(**columns: str | None) -> str:
    frame = pl.DataFrame({"id": ["W1"]} | {name: [value] for name, value in columns.items()})
    return work_texts(frame, SETTINGS).item()


def test_a_work_is_its_title_then_venue_topic_and_field() -> None:
    found = texts(title="Peer Review", venue="Nature", topic="Bias", field="Arts", lang="en")
    assert found == "Peer Review [SEP] Nature; Bias; Arts"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"title": "Peer Review", "venue": None, "topic": "Bias", "field": " "},
            "Peer Review [SEP] Bias",
        ),
        ({"title": "Peer Review", "venue": None}, "Peer Review"),
        ({"title": None, "field": "Arts"}, "Arts"),
        ({"title": ""}, ""),
        ({"title": None}, ""),
    ],
)
def test_what_is_missing_is_left_out_with_the_words_around_it(
    columns: dict[str, str | None], expected: str
) -> None:
    assert texts(**columns) == expected


def test_markup_goes_and_case_stays() -> None:
    title = "  Of <i>E. coli</i> &amp;amp; H<sub>2</sub>O:\n\tp < 0.05  "
    assert texts(title=title) == "Of E. coli & H2O: p < 0.05"


WORD = st.none() | st.sampled_from(["", " ", "Peer", "review of", "Ünï"])


@given(st.lists(st.tuples(WORD, WORD, WORD, WORD), max_size=8))
def test_texts_are_those_of_a_plain_loop(rows: list[tuple[str | None, ...]]) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(FIELDS, pl.String), orient="row")

    def plain(row: tuple[str | None, ...]) -> str:
        title, *others = [(value or "").strip() for value in row]
        return " [SEP] ".join(part for part in (title, "; ".join(filter(None, others))) if part)

    assert work_texts(frame, SETTINGS).to_list() == [plain(row) for row in rows]
