"""A frame of many files is the same frame, however many processes read it."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from scorer.errors import InputError, ScorerError
from scorer.frame import processes, source
from scorer.frame.files import LocalFile
from scorer.frame.frame import Frame
from scorer.frame.readers.base import BadRecords
from scorer.frame.reading import Task
from scorer.frame.source import FrameSource

WANTED = ("id", "title", "abstract", "venue", "year", "abstract_inverted_index")
both = pytest.mark.parametrize("count", [1, 2])
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for child processes")


@pytest.fixture(autouse=True)
def every_file_is_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_TASK_BYTES", 1)
    monkeypatch.setattr(source, "_LARGE_BYTES", 1)
    monkeypatch.setattr(source, "_LARGE_WORKS", 0)


BAD = b'{"x"}\n'


def line(number: int) -> bytes:
    work = {
        "id": f"https://openalex.org/W{number}",
        "title": f"Étude {number}",
        "publication_year": 2000 + number,
        "primary_location": {"source": {"display_name": "Revue"}},
        "abstract_inverted_index": {"œuvres": [1], "des": [0, 2], f'"{number}"': [3]},
    }
    return json.dumps(work).encode() + b"\n"


def write(folder: Path, *parts: list[bytes]) -> Path:
    """Write a folder in the shape of OpenAlex's snapshot, an item a file."""
    for number, lines in enumerate(parts):
        part = folder / f"updated_date=2026-01-0{number + 1}" / f"part é {number}.gz"
        part.parent.mkdir(parents=True)
        part.write_bytes(gzip.compress(b"".join(lines)))
    return folder


def spooled(
    folder: Path,
    into: Path,
    count: int,
    *,
    bad: BadRecords | None = None,
    say: Callable[[int], None] = lambda _: None,
    limit: int | None = None,
    keep: tuple[str, ...] = (),
) -> Frame:
    into.mkdir(exist_ok=True)
    found = FrameSource.find(folder, wanted=WANTED, mapping={}, keep=keep)
    return found.spool(into, bad or BadRecords(), say, limit, deinverted=True, processes=count)


def refusal(folder: Path, into: Path, count: int) -> str:
    with pytest.raises(InputError) as caught:
        spooled(folder, into, count)
    return str(caught.value).replace(f"{folder}/", "")


def works(frame: Frame, limit: int | None = None) -> pl.DataFrame:
    return pl.concat(batch.frame for batch in frame.batches(100, limit=limit))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def children() -> set[int]:
    """The worker processes of this one."""
    found = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


def test_one_process_and_three_write_the_same_bytes(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "works", *([line(n) for n in range(k * 10, k * 10 + k)] for k in range(1, 8))
    )
    frames = {count: spooled(folder, tmp_path / str(count), count) for count in (1, 3)}
    assert contents(tmp_path / "1") == contents(tmp_path / "3")
    assert len(list((tmp_path / "3").glob("*.parquet"))) == 7
    expected = [f"W{k * 10 + n}" for k in range(1, 8) for n in range(k)]
    for frame in frames.values():
        assert works(frame)["id"].to_list() == expected
        assert works(frame)["abstract"].to_list() == [f'des œuvres des "{i[1:]}"' for i in expected]
        assert frame.columns["abstract"] == "abstract_inverted_index"
        assert frame.file_rows() == list(range(1, 8))


@both
def test_records_that_are_skipped_are_listed_in_the_order_of_the_files(
    tmp_path: Path, count: int
) -> None:
    parts = [[line(1), BAD], [line(2), BAD, BAD], [line(3)], [line(4), b"}\n"]]
    folder = write(tmp_path / "works", *parts)
    bad = BadRecords("skip", tmp_path / "skipped.tsv")
    frame = spooled(folder, tmp_path / "spool", count, bad=bad)
    told = [row.split("\t") for row in (tmp_path / "skipped.tsv").read_text().splitlines()]
    found = [(Path(name).name, where, record) for name, where, _, record in told]
    assert found == [
        ("part é 0.gz", "line 2", BAD.decode().strip()),
        ("part é 1.gz", "line 2", BAD.decode().strip()),
        ("part é 1.gz", "line 3", BAD.decode().strip()),
        ("part é 3.gz", "line 2", "}"),
    ]
    assert frame.skipped == bad.count == 4
    assert works(frame)["id"].to_list() == ["W1", "W2", "W3", "W4"]


@both
def test_the_first_of_the_bad_files_is_named(tmp_path: Path, count: int) -> None:
    many = [line(n) for n in range(3_000)]
    folder = write(tmp_path / "works", [line(1)], [*many, BAD], [line(2)], [line(3), BAD])
    assert refusal(folder, tmp_path / "spool", count) == (
        "updated_date=2026-01-02/part é 1.gz: line 3001: no JSON (Expecting ':' delimiter, "
        "column 5).\nMend the record, or say --on-bad-line skip."
    )


@both
def test_files_that_do_not_go_together_are_both_named(tmp_path: Path, count: int) -> None:
    folder = write(tmp_path / "works", [line(1)], [line(2)])
    (folder / "with tables").mkdir()
    (folder / "with tables" / "works.csv").write_text("id,title\nW3,Three\n")
    assert refusal(folder, tmp_path / "spool", count) == (
        "with tables/works.csv: holds delimited text, updated_date=2026-01-01/part é 0.gz holds "
        "OpenAlex works.\n"
        "A frame has one format: name the files of each by a pattern, such as 'FOLDER/*.parquet'."
    )
    for name, names in (("a.csv", "id,title,year"), ("b.csv", "title,id,venue")):
        (tmp_path / "tables").mkdir(exist_ok=True)
        (tmp_path / "tables" / name).write_text(f"{names}\n1,2,3\n")
    assert refusal(tmp_path / "tables", tmp_path / "other", count) == (
        "b.csv: other columns than a.csv: lacks year, has venue besides.\n"
        "Score files of different columns one by one, or bring them into one form first."
    )


@both
def test_a_limit_leaves_later_files_alone(tmp_path: Path, count: int) -> None:
    folder = write(tmp_path / "works", [line(1), line(2)], [line(3), line(4)], [line(5), BAD])
    frame = spooled(folder, tmp_path / "spool", count, limit=3)
    assert works(frame, limit=3)["id"].to_list() == ["W1", "W2", "W3"]
    assert len(frame.files) == 3


@both
def test_kept_columns_have_the_types_of_the_first_file(tmp_path: Path, count: int) -> None:
    (tmp_path / "works").mkdir()
    for name, kind in (("a.arrow", pa.int64()), ("b.arrow", pa.int16())):
        columns = {"id": [name], "title": ["T"], "cited": pa.array([7], kind)}
        table = pa.table(columns)
        with pa.ipc.new_file(tmp_path / "works" / name, table.schema) as file:
            file.write_table(table)
    frame = spooled(tmp_path / "works", tmp_path / "spool", count, keep=("cited",))
    kept = pa.concat_tables(batch.kept for batch in frame.batches(10))
    assert kept == pa.table({"cited": [7, 7]})


@both
def test_the_number_of_works_read_so_far_only_grows(tmp_path: Path, count: int) -> None:
    folder = write(tmp_path / "works", *([line(n)] * 500 for n in range(4)))
    told: list[int] = []
    spooled(folder, tmp_path / "spool", count, say=told.append)
    assert told == sorted(told)
    assert count > 1 or told == [500, 1000, 1500, 2000]


@both
def test_a_reading_that_failed_goes_on_after_its_finished_files(tmp_path: Path, count: int) -> None:
    folder = write(tmp_path / "works", [line(1)], [line(2), BAD], [line(3)])
    into = tmp_path / "spool"
    refusal(folder, into, count)
    first, second, _ = sorted(folder.rglob("*.gz"))
    first.write_bytes(gzip.compress(line(100)))
    second.write_bytes(gzip.compress(line(2)))
    assert works(spooled(folder, into, count))["id"].to_list() == ["W1", "W2", "W3"]
    second.unlink()  # all was read: files are not looked at again
    third = spooled(folder, into, count)
    assert works(third)["id"].to_list() == ["W1", "W2", "W3"]


@on_linux
def test_no_worker_is_left_where_the_user_interrupts(tmp_path: Path) -> None:
    folder = write(tmp_path / "works", [line(1)], [line(2)])
    pipe = folder / "updated_date=2026-01-03" / "part.gz"
    pipe.parent.mkdir()
    pipe.write_bytes(gzip.compress(line(3)))
    found = FrameSource.find(folder, wanted=WANTED, mapping={}, keep=())
    pipe.unlink()
    os.mkfifo(pipe)  # reading it never ends

    def interrupt(_: int) -> None:
        if children():
            raise KeyboardInterrupt

    before = children()
    (tmp_path / "spool").mkdir()
    with pytest.raises(KeyboardInterrupt):
        found.spool(tmp_path / "spool", BadRecords(), interrupt, processes=2)
    assert children() == before


@on_linux
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    folder = write(tmp_path / "works", [line(1)], [line(2)])
    orders = [
        (one_task(tmp_path / f"{number}.parquet"), [LocalFile(path, 1, "")])
        for number, path in enumerate(sorted(folder.rglob("*.gz")))
    ]
    for _, (file,) in orders:
        file.path.unlink()
        os.mkfifo(file.path)
    script = f"""
from contextlib import suppress
from pathlib import Path, PosixPath
from scorer.frame.files import LocalFile
from scorer.frame.processes import read_aside
from scorer.frame.reading import Task

def tell(_):
    found = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            found += (task / "children").read_text().split()
    print(*found, flush=True)

list(read_aside({orders!r}, 2, tell))
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert len(workers) == 2
    until = time.monotonic() + 120
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < until, "a worker outlives its parent"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # nobody may be there to take note of its end


def one_task(target: Path) -> Task:
    return Task(target, "openalex", "first", WANTED, {}, (), "error", None, deinverted=True)


@pytest.fixture
def worker() -> Iterator[processes._Worker]:
    worker = processes._Worker()
    yield worker
    worker.end()


def test_a_worker_that_ends_by_itself_is_told(tmp_path: Path, worker: processes._Worker) -> None:
    worker._process.send_signal(signal.SIGTERM)
    with pytest.raises(ScorerError) as caught:
        worker.read((one_task(tmp_path / "0.parquet"), []), lambda _: None)
    assert str(caught.value) == (
        "a process that read the frame ended by itself (signal 15); memory may have run out.\n"
        "Give the command again with --threads 1."
    )


def test_what_the_system_refuses_a_worker_is_raised_as_such(
    tmp_path: Path, worker: processes._Worker
) -> None:
    folder = write(tmp_path / "works", [line(1)])
    files = [LocalFile.at(path) for path in folder.rglob("*.gz")]
    for _ in range(2):  # the worker goes on
        with pytest.raises(FileNotFoundError, match="No such file or directory"):
            worker.read((one_task(tmp_path / "absent" / "0.parquet"), files), lambda _: None)


def test_what_nobody_expected_keeps_its_traceback(
    tmp_path: Path, worker: processes._Worker
) -> None:
    order = (one_task(tmp_path / "0.parquet"), [])  # no file at all: readers always give a piece
    with pytest.raises(RuntimeError, match=r"(?s)Traceback .* line \d+, in close.*AssertionError"):
        worker.read(order, lambda _: None)


def test_a_script_without_a_main_guard_is_run_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "works", [line(1)], [line(2)])
    (tmp_path / "spool").mkdir()
    script = tmp_path / "script.py"
    script.write_text(f"""
from pathlib import Path
from scorer.frame import source
from scorer.frame.readers.base import BadRecords
print("begun")
source._TASK_BYTES = source._LARGE_BYTES = 1
found = source.FrameSource.find({str(folder)!r}, wanted={WANTED!r}, mapping={{}}, keep=())
print(found.spool(Path({str(tmp_path / "spool")!r}), BadRecords(), print, processes=2).rows)
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    said = done.stdout.split()
    assert said.count("begun") == 1
    assert said[-1] == "2"
    assert done.stderr == ""
