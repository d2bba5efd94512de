"""`scorer convert` and `scorer inspect` as a shell sees them."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

Scorer = Callable[..., object]


@pytest.fixture
def works(tmp_path: Path) -> Path:
    path = tmp_path / "works.csv"
    path.write_text(
        "id,title,lang,year\n"
        "W1,A first title of a work,fr,2010\n"
        "https://openalex.org/W1,A second title of a work,fr,2011\n"
        "W2,Deleted Work,en,\n"
        "W3,GSE12345,fr,1985\n"
    )
    return path


def test_convert_tells_what_was_read_left_out_and_written(
    scorer: Scorer, works: Path, tmp_path: Path
) -> None:
    output = tmp_path / "frame.parquet"
    ended = scorer(
        "convert", works, "-o", output, "--on-duplicate", "last", "--where", "lang = 'fr'"
    )
    assert (ended.code, ended.err) == (0, "")
    rows = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert "read 4" in rows
    assert "left out: another row of the same id was kept 1 25 %" in rows
    assert "left out: --where does not hold 1 25 %" in rows
    assert "written 2 50 %" in rows
    assert "Deleted in OpenAlex: 1. --drop-deleted leaves them out.\n" in ended.out
    assert pl.read_parquet(output)["title"].to_list() == ["A second title of a work", "GSE12345"]


def test_convert_in_json(scorer: Scorer, works: Path, tmp_path: Path) -> None:
    output = tmp_path / "frame.parquet"
    ended = scorer("convert", works, "-o", output, "--on-duplicate", "first", "-q", "--json")
    report = json.loads(ended.out)
    assert (report["read"], report["written"], report["dropped"]["duplicate"]) == (4, 3, 1)
    assert report["output"] == str(output)


def test_convert_refuses_with_its_exit_code(scorer: Scorer, works: Path, tmp_path: Path) -> None:
    output = tmp_path / "frame.parquet"
    ended = scorer("convert", works, "-o", output)
    assert (ended.code, ended.err) == (
        3,
        "Error: works.csv: ids that occur more than once: 1, first: W1 (2 times).\n"
        "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same): "
        "--on-duplicate first or last.\n",
    )
    assert scorer("convert", works, "-o", output, "--where", "year >").code == 2
    assert scorer("convert", works, "-o", tmp_path / "none" / "frame.parquet").code == 6
    assert not output.exists()


def test_inspect_shows_what_is_there(scorer: Scorer, works: Path, tiny_bundle: Path) -> None:
    ended = scorer("inspect", works, "--model", tiny_bundle)
    assert (ended.code, ended.err) == (0, "")
    for line in (
        f"{works}: delimited text, 1 file, 0.0 MB",
        "4 works.",
        "The student reads these too, and they are not here: venue, topic, field, type.",
        "Languages: fr 75 %, en 25 %.",
        "Years: 1985 to 2011; missing: 25 %.",
        "        1980s  ███████████████                 1",
        "        2010s  ██████████████████████████████  2",
        "Ids that occur more than once: 1, first: W1 (2 times).",
        "Abstracts: 0 % of the works.",
        "Titles of more than ten characters: 75 %; null: 0 %.",
    ):
        assert line in ended.out.splitlines()
    assert "accession code" in ended.out
    assert "Time to score: under a second for 4 works at " in ended.out


def test_inspect_in_json(scorer: Scorer, works: Path, tiny_bundle: Path) -> None:
    found = json.loads(scorer("inspect", works, "--model", tiny_bundle, "--json", "-q").out)
    assert found["languages"] == {"fr": 3, "en": 1}
    assert found["years"] == {"1985": 1, "2010": 1, "2011": 1}
    assert found["ids"]["duplicates"] == {"W1": 2}
    assert found["odd_titles"][0]["examples"] == [["W3", "GSE12345"]]
    assert found["pace"]["works_a_second"] > 0


def test_inspect_says_where_a_name_lies(
    scorer: Scorer, works: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    lying = works.rename(tmp_path / "works.parquet")
    ended = scorer("inspect", lying, "--model", tiny_bundle, "-q")
    assert f"Note: {lying}: holds comma-separated text; read as that." in ended.out


NO_WORKS = {
    "header.csv": b"id,title,year\n",
    "empty.json": b"[]",
    "page.json": b'{"meta": {"count": 0}, "results": []}',
    "empty.ris": b"TY  - \n",
    "empty.parquet": b"",
    "empty.arrow": b"",
}


@pytest.mark.parametrize("name", NO_WORKS)
def test_a_frame_of_no_works_ends_in_one_line(
    scorer: Scorer, tiny_bundle: Path, tmp_path: Path, name: str
) -> None:
    """An empty part of a large frame must not end a script: the output is there, and empty."""
    frame, output = tmp_path / name, tmp_path / "out.parquet"
    nothing = pl.DataFrame(schema={"id": pl.String, "title": pl.String})
    match frame.suffix:
        case ".parquet":
            nothing.write_parquet(frame)
        case ".arrow":
            nothing.write_ipc(frame)
        case _:
            frame.write_bytes(NO_WORKS[name])
    bad = ("--on-bad-line", "skip") if name == "empty.ris" else ()
    said = " (1 record could not be read)" if bad else ""
    model = ("--model", tiny_bundle)
    for words, where in (
        (("run", frame, *model, "-o", output, *bad), f"{frame.name}{said}"),
        (("convert", frame, "-o", output, "--overwrite", *bad), f"{frame}{said}"),
    ):
        ended = scorer(*words)
        assert (ended.code, ended.out) == (
            0,
            f"No works in {where}; {output} has no rows. Check that it is the one you mean.\n",
        )
        assert pl.read_parquet(output).height == 0
    ended = scorer("inspect", frame, *model)
    assert ended.code == 0
    told = f"No works in {frame}{said}. Check that it is the one you mean."
    assert ended.out.splitlines()[1:] == [told, *ended.out.splitlines()[2:]]
    assert len(ended.out.splitlines()) == (4 if bad else 2)


def test_a_limit_of_no_works_is_no_empty_frame(scorer: Scorer, works: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    ended = scorer("convert", works, "-o", output, "--limit", 0)
    assert ended.out == f"No works: --limit 0 asks for none of {works}; {output} has no rows.\n"


@pytest.mark.parametrize(
    ("name", "content_and_count"),
    [
        ("y.csv", ("id,title,year\na,b,c. 1990\nc,d,2010.0\ne,f, \ng,h,2010.5\ni,j,1990\n", 2)),
        (
            "y.jsonl",
            ('{"id":"a","title":"b","year":"in press"}\n{"id":"c","title":"","year":""}', 1),
        ),
        ("y.json", ('[{"id":"a","title":"b","year":1e99},{"id":"c","title":"","year":null}]', 1)),
        ("y.ris", ("TY  - JOUR\nID  - a\nTI  - b\nPY  - in press\nER  - \n", 1)),
        ("y.bib", ("@article{a, title={b}, year={forthcoming}}\n@article{c, title={d}}", 1)),
    ],
)
def test_years_that_are_no_numbers_are_counted(
    scorer: Scorer, tiny_bundle: Path, tmp_path: Path, name: str, content_and_count: tuple[str, int]
) -> None:
    content, count = content_and_count
    frame, output = tmp_path / name, tmp_path / "out.parquet"
    frame.write_text(content)
    told = (
        "1 year is no whole number; it counts as missing."
        if count == 1
        else "2 years are no whole numbers; they count as missing."
    )
    model = ("--model", tiny_bundle)
    (line,) = (
        line for line in scorer("inspect", frame, *model).out.splitlines() if "Years: " in line
    )
    assert line.endswith(told)
    ended = scorer("convert", frame, "-o", output)
    assert f"Years: {told}" in ended.out.splitlines()
    ended = scorer("convert", frame, "-o", output, "--overwrite", "--json")
    assert json.loads(ended.out)["unreadable_years"] == count
    ended = scorer("run", frame, *model, "-o", output, "--overwrite")
    assert told in ended.err.splitlines()


def test_notes_of_the_reader_are_told_by_inspect_and_convert(
    scorer: Scorer, tiny_bundle: Path, tmp_path: Path
) -> None:
    frame, output = tmp_path / "w.csv", tmp_path / "out.parquet"
    frame.write_bytes("id,title\na,Québec et la recherche\n".encode("cp1252"))
    told = f"{frame}: not UTF-8; read as Windows-1252"
    assert f"Note: {told}." in scorer("inspect", frame, "--model", tiny_bundle).out
    ended = scorer("convert", frame, "-o", output, "--json")
    assert ended.err == f"{told}\n"
    assert json.loads(ended.out)["notes"] == [told]


def test_formats_that_are_mixed_in_a_folder_are_told_with_two_files(
    scorer: Scorer, tiny_bundle: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "works"
    folder.mkdir()
    works = pl.DataFrame({"id": ["a"], "title": ["b"]})
    works.write_parquet(folder / "a.parquet")
    works.write_ndjson(folder / "b.jsonl")
    for words in (("run", folder, "-o", tmp_path / "o"), ("inspect", folder)):
        ended = scorer(*words, "--model", tiny_bundle)
        assert (ended.code, ended.err) == (
            3,
            f"Error: {folder}/b.jsonl: holds JSON Lines, {folder}/a.parquet holds Parquet.\n"
            "A frame has one format: name the files of each by a pattern, such as "
            "'FOLDER/*.parquet'.\n",
        )
