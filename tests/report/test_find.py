"""Finding one work: ids with a slip in them suggest the right one, a frame that differs is told."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scorer.report.find
from scorer.engine.files import sha256
from scorer.engine.manifest import Source
from scorer.report.find import bare, frame_notes, names_of, near_ids
from scorer.review.scores import Scores

digits = st.text("0123456789", min_size=4, max_size=10)


def near(ids: Sequence[str], work: str) -> list[str]:
    return near_ids(pl.LazyFrame({"id": ids}, schema={"id": pl.String}), work)


def slips(one: str, other: str) -> int:
    """Edits from one text to another, as long as they touch: plain Python of what is meant."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    same = min(start + end, len(one), len(other))
    return max(len(one), len(other)) - same


@given(number=digits, place=st.integers(0, 9), digit=st.sampled_from("0123456789"))
@settings(max_examples=60)
def test_one_slip_suggests_the_id(number: str, place: int, digit: str) -> None:
    work, at = f"W{number}", 1 + place % len(number)
    slipped = [
        work[:at] + digit + work[at + 1 :],
        work[:at] + digit + work[at:],
        work[:at] + work[at + 1 :],
    ]
    for wrong in slipped:
        if wrong != work:
            assert near([work], wrong) == [work]


@given(ids=st.lists(st.builds("W{}".format, digits), unique=True, max_size=30), number=digits)
@settings(max_examples=60)
def test_suggestions_are_the_nearest_in_order(ids: list[str], number: str) -> None:
    work = f"W{number}"
    known = sorted((slips(one, work), one) for one in ids if slips(one, work) <= 2)
    assert near(ids, work) == [one for _, one in known[:3]]


def test_swapped_digits_and_another_case_suggest_the_id() -> None:
    ids = ["W2741809807", "W1000000000"]
    assert near(ids, "W2741809870") == ["W2741809807"]
    assert near(ids, "w2741809807") == ["W2741809807"]
    assert near(ids, "2741809807") == ["W2741809807"]


@pytest.mark.parametrize("work", ["", "X", "W99", "10.1/abc", "W" * 5000])
def test_what_is_like_none_suggests_none(work: str) -> None:
    assert near(["W2741809807"], work) == []


def test_an_id_is_bare_as_scored_files_have_it() -> None:
    assert [bare(id_) for id_ in ("https://openalex.org/W1", " W1\n", "10.1/W1")] == [
        "W1",
        "W1",
        "10.1/W1",
    ]


@pytest.mark.parametrize(
    "address",
    [
        "https://openalex.org/W12",
        "http://openalex.org/works/w12",
        "https://openalex.org/W12/",
        "https://api.openalex.org/works/W12?mailto=a@b.org",
        "openalex.org/W12",
        "w12",
    ],
)
def test_an_address_at_openalex_names_its_work(address: str) -> None:
    assert names_of(address)[-1] == "W12"


@pytest.mark.parametrize(
    "address",
    ["https://doi.org/10.1/aB", "http://dx.doi.org/10.1/aB", "doi:10.1/aB", "10.1/aB"],
)
@pytest.mark.parametrize("id_", ["10.1/aB", "10.1/ab", "https://doi.org/10.1/ab"])
def test_an_address_of_a_doi_names_the_work_that_goes_by_it(address: str, id_: str) -> None:
    assert id_ in names_of(address)


def test_an_id_means_itself_before_anything_else() -> None:
    assert names_of("w12") == ["w12", "W12"]
    assert names_of("my work") == ["my work"]


@pytest.fixture
def frame(tmp_path: Path) -> Path:
    path = tmp_path / "works.parquet"
    pl.DataFrame({"id": ["W1"], "title": ["Bees"]}).write_parquet(path)
    return path


def scores_of(*frames: Path) -> Scores:
    sources = tuple(
        Source(name=f.name, size=f.stat().st_size, rows=1, sha256=sha256(f)) for f in frames
    )
    manifest = SimpleNamespace(frame=sources)
    return cast("Scores", SimpleNamespace(path=Path("s.parquet"), manifest=manifest))


def test_the_frame_that_was_scored_has_no_note(frame: Path) -> None:
    assert frame_notes(str(frame), scores_of(frame)) == []


def test_a_frame_of_another_size_or_content_is_noted(frame: Path, tmp_path: Path) -> None:
    scores = scores_of(frame)
    other = tmp_path / "other.parquet"
    other.write_bytes(frame.read_bytes()[:-1] + b"?")
    assert [note.key for note in frame_notes(str(other), scores)] == ["frame_differs"]
    other.write_bytes(frame.read_bytes() + b"?")
    (note,) = frame_notes(str(other), scores)
    assert (note.key, note.values) == (
        "frame_differs",
        {"frame": "other.parquet", "scores": "s.parquet"},
    )


def test_a_frame_of_several_files_is_compared_as_a_whole(frame: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("a.parquet", "b.parquet"):
        (folder / name).write_bytes(frame.read_bytes())
    assert frame_notes(str(folder), scores_of(frame, frame)) == []
    assert [note.key for note in frame_notes(str(folder), scores_of(frame))] == ["frame_differs"]


def test_a_large_frame_is_not_hashed(frame: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer.report.find, "_MOST_HASHED", 10)
    monkeypatch.setattr(scorer.report.find, "file_hash", lambda _: pytest.fail("hashed"))
    assert [note.key for note in frame_notes(str(frame), scores_of(frame))] == ["frame_large"]
