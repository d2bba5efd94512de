"""What `scorer bench` measures: works from all over a frame, stages, a timed run, large frames."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.engine.bench import FRAMES, Bench, BenchRequest, _Steady, bench
from scorer.engine.bench_sample import drawn, sample_frame, varied, write_repeated
from scorer.engine.bench_stages import stages
from scorer.engine.bench_trial import Trial
from scorer.engine.job import Job
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.errors import InputError, OutputError, UsageError
from scorer.frame.frame import Frame
from scorer.frame.source import FrameSource

COLUMNS = ["id", "title", "abstract", "abstract_inverted_index", "year"]
LEAST = "scorer.engine.bench_stages._LEAST_SECONDS"
STAGES = ["check", "read", "clean", "encode", "score", "call", "write"]


class Heard(Silence):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.total = self.done = 0

    def start(self, total: int, done: int) -> None:
        self.total = total

    def advance(self, works: int) -> None:
        self.done += works


def opened(works: dict[str, object], path: Path, **settings: object) -> Frame:
    pq.write_table(pa.table(works), path, **settings)
    return FrameSource.find(path, wanted=COLUMNS, mapping={}, keep=()).open()


@pytest.fixture
def many(tmp_path: Path) -> Frame:
    """1,000 works whose years are their rows."""
    works = {"id": [f"W{n}" for n in range(1_000)], "title": ["A title"] * 1_000}
    return opened(
        {**works, "year": list(range(1_000))}, tmp_path / "many.parquet", row_group_size=70
    )


@pytest.fixture(scope="module")
def measured(abstract_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, int]:
    """Measure a frame of 300 short abstracts; with it, how many works progress heard of."""
    folder = tmp_path_factory.mktemp("bench")
    abstracts = ["We audit replication here", "We grow wheat", None] * 100
    titles = [f"A title that tells nothing of {n}" for n in range(300)]
    works = {"id": [f"W{n}" for n in range(300)], "title": titles, "abstract": abstracts}
    pq.write_table(pa.table(works), folder / "frame.parquet")
    heard = Heard()
    request = BenchRequest(
        frame=folder / "frame.parquet", model=str(abstract_bundle), seconds=0.1, folder=folder
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LEAST, 0.0)
        found = bench(request, heard)
    assert [path.name for path in folder.iterdir()] == ["frame.parquet"]  # nothing is left behind
    assert heard.done == heard.total
    return found, heard.done


def test_works_are_drawn_from_all_over_the_frame(many: Frame) -> None:
    years = drawn(many, 160)["year"].to_list()
    assert len(years) == len(set(years)) == 160
    assert min(years) == 0
    assert max(years) >= 980
    assert max(b - a for a, b in pairwise(years)) < 100


@pytest.mark.parametrize("most", [1_000, 5_000])
def test_a_small_frame_is_drawn_whole(many: Frame, most: int) -> None:
    assert drawn(many, most)["year"].to_list() == list(range(1_000))


def test_an_index_in_columns_becomes_text(tmp_path: Path) -> None:
    index = pa.array([[("tea", [0])], None], pa.map_(pa.string(), pa.list_(pa.int64())))
    frame = opened(
        {"id": ["a", "b"], "title": ["x", "y"], "abstract_inverted_index": index},
        tmp_path / "works.parquet",
    )
    found = drawn(frame, 10)
    assert found.columns == ["id", "title", "abstract"]
    assert found["abstract"].to_list() == ["tea", None]


def test_few_works_are_put_together_anew_from_halves() -> None:
    sample = pl.DataFrame(
        {
            "id": ["W1", "W2"],
            "title": ["one two three", "four five six"],
            "abstract": ["a b", None],
            "year": [1, 2],
        }
    )
    made = varied(sample, 200)
    assert made.height == 200
    assert set(made["title"]) == {
        "one two three", "one two six", "four five three", "four five six",
    }  # fmt: skip
    # A missing abstract stays missing, and no work loses its own to one that misses it.
    assert set(made.filter(year=1)["abstract"]) == {"a b"}
    assert made.filter(year=2)["abstract"].null_count() == made.filter(year=2).height > 0
    assert made.equals(varied(sample, 200))


@pytest.mark.parametrize("works", [1, 99, 100, 101, 250])
def test_a_sample_is_repeated_with_ids_of_their_own(works: int, tmp_path: Path) -> None:
    titles = [None, *(f"Title {n}" for n in range(99))]
    sample = pl.DataFrame({"id": ["same"] * 100, "title": titles, "year": range(100)})
    write_repeated(sample, works, tmp_path / "works.parquet")
    found = pl.read_parquet(tmp_path / "works.parquet")
    assert found["id"].n_unique() == found.height == works
    assert found["id"].str.contains(r"^W4\d{9}$").all()
    assert found["title"].to_list() == [titles[n % 100] for n in range(works)]
    assert found["year"].to_list() == [n % 100 for n in range(works)]


def test_the_figures_fit_together(measured: tuple[Bench, int]) -> None:
    found, heard = measured
    assert (found.works, found.drawn, found.sample) == (300, 300, 98_304)
    assert found.scored >= 1_000
    assert heard > found.scored
    assert found.model.startswith("reads@")
    assert found.compiled  # the extra fast is among those of the tests
    assert found.reading_a_second is None
    assert found.works_a_second > 0
    assert found.processors_used > 0  # clocks that tick apart say 2.8 of 2 on a busy machine
    assert found.peak_bytes is not None
    assert 50e6 < found.peak_bytes < 4e9
    assert 1 < found.output_bytes_a_work < 200
    assert [stage.name for stage in found.stages] == STAGES
    assert all(stage.microseconds >= 0 for stage in found.stages)
    assert sum(stage.microseconds for stage in found.stages) > 0


def test_times_are_reckoned_for_the_frame_and_for_large_ones(measured: tuple[Bench, int]) -> None:
    found, _ = measured
    assert [one.works for one in found.estimates] == [300, *FRAMES]
    for one in found.estimates:
        start = found.start_seconds if one.works > found.scored else 0
        seconds = start + one.works / found.works_a_second
        assert one.seconds == pytest.approx(seconds, rel=0.01, abs=0.01)
        size = one.works * found.output_bytes_a_work
        assert one.output_bytes == pytest.approx(size, rel=0.01)


def test_other_formats_are_read_first_and_only_as_far_as_needed(
    abstract_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LEAST, 0.0)
    monkeypatch.setattr("scorer.engine.job.SHARD_OF_ABSTRACTS", 1)
    monkeypatch.setattr("scorer.engine.job.ABSTRACTS_A_BATCH", 100)
    monkeypatch.setattr("scorer.student.bundle.Student.compiled", lambda student: student)
    lines = [f"W{n},Title {n},Abstract {n}" for n in range(300)]
    (tmp_path / "works.csv").write_text("\n".join(["id,title,abstract", *lines]))
    request = BenchRequest(
        frame=tmp_path / "works.csv", model=str(abstract_bundle), seconds=0.01, folder=tmp_path
    )
    found = bench(request)
    assert (found.works, found.drawn, found.sample) == (None, 96, 100)
    assert not found.compiled
    assert found.reading_a_second is not None
    assert [one.works for one in found.estimates] == list(FRAMES)


def test_the_stages_leave_the_job_and_its_scores_as_they_are(
    tiny_frame: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LEAST, 0.0)
    job = Job.prepare(RunRequest(frame=tiny_frame, model=str(tiny_bundle)))
    shard = next(job.shards(0))
    before = job.part(shard).content.to_pybytes()
    found = stages(job, tmp_path)
    assert job.part(shard).content.to_pybytes() == before
    assert list(tmp_path.iterdir()) == []
    cost = {stage.name: stage.microseconds for stage in found}
    assert cost["write"] > 0
    assert cost["encode"] + cost["clean"] > 0


def test_a_trial_tells_what_the_run_raised(tiny_bundle: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["W1", "W1"], "title": ["a", "b"]}), tmp_path / "twice.parquet")
    request = RunRequest(
        frame=tmp_path / "twice.parquet", output=tmp_path / "out.parquet", model=str(tiny_bundle)
    )
    with pytest.raises(InputError, match=r"twice\.parquet: .*W1"):
        Trial.of(request, lambda works: None)


def test_a_trial_writes_what_a_run_writes(
    tiny_frame: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    heard: list[int] = []
    request = RunRequest(
        frame=tiny_frame, output=tmp_path / "out.parquet", model=str(tiny_bundle), threads=1
    )
    found = Trial.of(request, heard.append)
    assert heard == [200]
    assert found.works == pq.read_metadata(tmp_path / "out.parquet").num_rows == 200
    assert found.output_bytes == (tmp_path / "out.parquet").stat().st_size
    assert found.processor_seconds > 0


def test_bad_input_is_told_in_a_line(tiny_bundle: Path, tmp_path: Path) -> None:
    none = pa.table({"id": pa.array([], pa.string()), "title": pa.array([], pa.string())})
    pq.write_table(none, tmp_path / "none.parquet")
    request = BenchRequest(
        frame=tmp_path / "none.parquet", model=str(tiny_bundle), folder=tmp_path, seconds=1
    )
    with pytest.raises(InputError, match=r"none\.parquet: holds no works, so there is nothing"):
        bench(request)
    for seconds in (0.0, -1.0, 3_601.0, float("nan")):
        with pytest.raises(UsageError, match="expected more than 0, at most 3,600"):
            bench(replace(request, seconds=seconds))
    with pytest.raises(OutputError, match=r"away: cannot be written .* the timed run writes there"):
        bench(replace(request, folder=tmp_path / "away"))


def test_the_sample_frame_is_there() -> None:
    assert pq.read_metadata(sample_frame()).num_rows == 2_000


def test_a_short_run_that_met_trouble_does_not_spoil_the_figures() -> None:
    short = Trial(1_000, 9.0, 20.0, None, 10)
    steady = _Steady(short, Trial(10_000, 5.0, 8.0, None, 100))
    assert (steady.works, steady.seconds, steady.processor_seconds) == (9_000, 4.5, 7.2)
    steady = _Steady(replace(short, seconds=1.0, processor_seconds=2.0), steady.whole)
    assert (steady.seconds, steady.processor_seconds) == (4.0, 6.0)
    assert steady.before == pytest.approx(1 - 1_000 * 4 / 9_000)
