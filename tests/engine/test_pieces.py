"""How much is read and scored at a time: bounded by memory, and without a say in any byte."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scorer.engine.executor
import scorer.engine.job
import scorer.engine.memory
from scorer.engine.job import Job
from scorer.engine.memory import MEGABYTE, Plan
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.engine.shards import Piece, gathered, pieces
from scorer.errors import InputError, UsageError
from scorer.frame.parquet import Batch

KEPT = ("tags", "words", "doi")


@pytest.fixture(scope="module")
def job(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job of 240 works in row groups of 37, with kept columns of types that readers cut."""
    frame = tmp_path_factory.mktemp("pieces") / "works.parquet"
    table = pa.table(
        {
            "id": [f"W{n}" for n in range(240)],
            "title": [f"Citation impact of journals {n % 7}" for n in range(240)],
            "tags": pa.array([["a"] * (n % 5) for n in range(240)]),
            "words": pa.array([f"word {n % 11}" for n in range(240)]).dictionary_encode(),
            "doi": [None if n % 3 else f"10.1/{n}" for n in range(240)],
        }
    )
    pq.write_table(table, frame, row_group_size=37)
    return Job.prepare(RunRequest(frame=frame, model=str(tiny_bundle), keep=KEPT))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([8, 24, 40, 60, 120]), st.data())
def test_the_size_of_pieces_changes_no_byte(job: Job, shard: int, data: st.DataObject) -> None:
    job = replace(job, request=replace(job.request, limit=120))  # in four row groups
    piece = data.draw(st.sampled_from([n for n in range(1, shard + 1) if shard % n == 0 and n > 3]))

    def parts(works_a_piece: int) -> list[bytes]:
        scored = pieces(
            job.frame, works=120, works_a_shard=shard, works_a_piece=works_a_piece, first=0
        )
        return [
            job.encoded(made).content.to_pybytes() for made in gathered(map(job.scored, scored))
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorer.engine.job, "TITLES_A_BATCH", shard)
        assert parts(piece) == parts(shard)
        whole = [job.part(batch).content.to_pybytes() for batch in job.shards(0)]
        assert whole == parts(shard)
        assert [job.shard(n).content.to_pybytes() for n in range(120 // shard)] == whole


@settings(max_examples=50)
@given(st.data())
def test_pieces_of_any_size_hold_each_work_once(job: Job, data: st.DataObject) -> None:
    piece = data.draw(st.integers(1, 60))
    shard = piece * data.draw(st.integers(1, 5))
    works = data.draw(st.integers(0, 240))
    first = data.draw(st.integers(0, works // shard))
    found = list(
        pieces(job.frame, works=works, works_a_shard=shard, works_a_piece=piece, first=first)
    )
    rows = [
        range(p.content.start, p.content.start + p.content.frame.height)
        for p in found
        if isinstance(p.content, Batch)
    ]
    assert [row for part in rows for row in part] == list(range(first * shard, works))
    assert [p.shard for p in found] == [part.start // shard for part in rows]
    assert [p.ends for p in found] == [
        part.stop in (works, (n.shard + 1) * shard) for n, part in zip(found, rows, strict=True)
    ]


def test_a_shard_fails_for_its_first_reason_and_leaves_the_next_alone() -> None:
    table = pa.table({"x": [1]})
    first, second = InputError("first"), InputError("second")
    shards = list(
        gathered(
            [
                Piece(0, table, ends=False),
                Piece(0, first, ends=False),
                Piece(0, second, ends=True),
                Piece(1, table, ends=True),
            ]
        )
    )
    assert [(shard.number, shard.failed) for shard in shards] == [(0, first), (1, None)]


def held_for(monkeypatch: pytest.MonkeyPatch, megabytes: int) -> None:
    monkeypatch.setattr(scorer.engine.memory, "held", lambda: megabytes * MEGABYTE)


def sample(text: int, kept: int = 0) -> Batch:
    frame = pl.DataFrame({"title": ["x" * text] * 1000})
    return Batch(0, frame, pa.table({"kept": ["y" * kept] * 1000} if kept else {}))


def planned(bound: int, batch: Batch, threads: int = 2) -> Plan:
    return Plan.within(
        bound * MEGABYTE,
        batch,
        works_a_shard=131_072,
        works_a_piece=32_768,
        threads=threads,
    )


def test_a_plan_has_smaller_pieces_then_fewer_threads_within_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held_for(monkeypatch, 230)
    plans = [planned(bound, sample(100)) for bound in (2_000, 800, 600, 500, 450)]
    assert plans[0] == Plan(2, 32_768, 2_000 * MEGABYTE)
    sizes = [plan.works_a_piece for plan in plans]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 8_192
    assert all(32_768 % size == 0 for size in sizes)
    many = planned(500, sample(100), threads=64)
    assert (many.works_a_piece, many.threads) == (1_024, 18)


def test_longer_texts_and_kept_columns_take_room(monkeypatch: pytest.MonkeyPatch) -> None:
    held_for(monkeypatch, 230)
    short, long = planned(700, sample(100)), planned(700, sample(3_000))
    assert long.works_a_piece < short.works_a_piece
    with pytest.raises(UsageError):
        planned(700, sample(100, kept=1_500))


def test_a_bound_that_cannot_be_kept_is_refused_with_one_that_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held_for(monkeypatch, 230)
    with pytest.raises(UsageError) as refused:
        planned(300, sample(100))
    assert str(refused.value) == (
        "--memory 300MB: too little to score this frame in; 450MB is enough.\n"
        "Give that much, or leave the option out."
    )
    assert planned(450, sample(100)).works_a_piece >= 2_048


def test_no_more_is_begun_while_the_bound_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(2, 1_024, 500 * MEGABYTE)
    held_for(monkeypatch, 400)
    assert plan.has_room()
    held_for(monkeypatch, 470)
    assert not plan.has_room()
    assert Plan(2, 1_024).has_room()


def test_free_memory_that_goes_back_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    held_for(monkeypatch, 470)
    monkeypatch.setattr(scorer.engine.memory, "release", lambda: held_for(monkeypatch, 300))
    assert Plan(2, 1_024, 500 * MEGABYTE).has_room()


def test_a_bound_of_memory_changes_no_byte(
    request_for: Callable[..., RunRequest],
    undisturbed: str,
    small_shards: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scorer.engine.memory, "_FEWEST_WORKS", 16)
    seen: list[int] = []
    within = Plan.within

    def tight(bound: int, batch: Batch, **words: int) -> Plan:
        plan = within(bound, batch, **words)
        seen.append(plan.works_a_piece)
        return Plan(plan.threads, 16, plan.bound)

    monkeypatch.setattr(scorer.engine.executor.Plan, "within", tight)
    manifest = run(request_for(memory=5_000 * MEGABYTE))
    assert seen == [64]
    assert manifest.output.sha256 == undisturbed


def test_ids_are_looked_at_in_as_many_shares_as_a_bound_asks_for(
    request_for: Callable[..., RunRequest], tiny_frame: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int | None] = []
    monkeypatch.setattr("scorer.engine.ready.check_ids", lambda *_, held: found.append(held))
    run(request_for())
    run(request_for(memory=5_000 * MEGABYTE, overwrite=True))
    assert found[0] is None
    assert found[1] is not None
    assert found[1] > 1 << 20
