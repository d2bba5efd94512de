"""The second stage of a run: chosen works scored again, their rows put where the first ones were.

The parts of the first stage stay as they are. Those of the second hold the new rows alone, one part
a shard, and are kept in the same checkpoint, so that a run which is cut off goes on in the stage
where it was.
"""

from collections.abc import Callable, Generator
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.counted import counted
from scorer.engine.checkpoint import Checkpoint
from scorer.engine.chosen import Booleans, Chosen, FirstStage, choose_band, choose_share
from scorer.engine.columns import columns_not_found
from scorer.engine.counts import Tally
from scorer.engine.executor import Executor
from scorer.engine.interrupt import deferred
from scorer.engine.job import Job
from scorer.engine.manifest import Refinement, SkippedShard
from scorer.engine.part import Part
from scorer.engine.progress import Progress
from scorer.engine.refining import Refining
from scorer.engine.rows import in_one_piece
from scorer.errors import OutputError
from scorer.policy.calls import COVERED
from scorer.policy.refinement import CRITERION, ranked_columns, thresholds
from scorer.status import score_status

DOING = "refining"


def refine(
    job: Job,
    engine: Executor,
    parts: Checkpoint,
    first: Tally,
    progress: Progress,
    *,
    add: Callable[[Part], int],
) -> Refinement:
    """Score the chosen works again; give every part as it is to be written to `add`, in order.

    `parts` holds all of the first stage, `first` what was counted there. Raises
    `KeyboardInterrupt` after the part in work where the user asked to stop.
    """
    assert job.refining is not None
    shards = -(-job.works // job.works_a_shard)
    chosen = _choose(job, job.refining, parts, shards, first)
    model = job.refining.student.version
    skipped: list[SkippedShard] = []
    if not chosen.works:
        progress.note(_nothing(job.refining))
        for content in parts.load(shards):
            add(job.known_part(content))
        return _told(job.refining, chosen, skipped)
    again = engine.ready(job.again(chosen))
    done = _taken_over(again, parts)
    progress.note(f"Refining {chosen.works:,} of {counted(first.rows, 'work')} by {model}.")
    before = int(chosen.within(0, min(done * job.works_a_shard, job.works)).sum())
    progress.start(chosen.works, before, DOING)
    with deferred(progress) as interrupt, closing(_parts(again, engine, parts, done)) as refined:
        for number, (content, part) in enumerate(zip(parts.load(shards), refined, strict=True)):
            mark = _mark(job, chosen, number)
            add(placed(job, content, part, mark))
            if (lost := part.skipped) is not None:
                skipped.append(lost)
                progress.note(
                    f"Rows {lost.first_row:,} to {lost.last_row:,} keep their first scores: "
                    f"{lost.reason}"
                )
            if number >= done:
                progress.advance(int(mark.sum()))
            if interrupt.asked:
                raise KeyboardInterrupt
    return _told(job.refining, chosen, skipped, lost=_lost(job, chosen, skipped))


def placed(job: Job, content: pa.Buffer, part: Part, mark: Booleans) -> Part:
    """Return a part of the first stage with the rows of the second where `mark` says, bool [works].

    Columns that are kept of the frame stay as they are. Without such rows it is the same part.
    """
    if not part.tally.rows:
        return job.known_part(content)
    job.look_up(content)
    table, rows = pq.read_table(pa.BufferReader(content)), _table(part)
    places = np.flatnonzero(mark)
    if not table["id"].take(pa.array(places)).equals(rows["id"]):
        raise OutputError(
            "the finished parts of the two stages do not hold the same works; nothing was "
            "written.\nDelete the folder of parts beside the output and start again."
        )
    taken = np.arange(table.num_rows)
    taken[places] = table.num_rows + np.arange(len(places))
    columns = [
        _joined(table[name], rows[name]).take(pa.array(taken))
        if name in rows.column_names
        else table[name]
        for name in table.column_names
    ]
    joined = pa.Table.from_arrays(columns, names=table.column_names).cast(job.schema)
    words = [f.name for f in job.schema if pa.types.is_dictionary(f.type)]
    kept = job.frame.kept_schema().names
    return Part.of(in_one_piece(joined, [*words, *kept]), job.targets, job.decision.mode)


def _joined(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return two columns of the same type as one; words of dictionaries are spelled out."""
    first, second = _spelled_out(first), _spelled_out(second)
    return pa.chunked_array([*first.chunks, *second.chunks], first.type).combine_chunks()


def _spelled_out(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_coded = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_coded else column


def _table(part: Part) -> pa.Table:
    return pq.read_table(pa.BufferReader(part.content))


def _choose(job: Job, refining: Refining, parts: Checkpoint, shards: int, first: Tally) -> Chosen:
    paths = [parts.path(number) for number in range(shards)]
    stage = FirstStage(paths, job.works_a_shard, job.works)
    policy = job.decision.policy
    if refining.band is not None:
        return choose_band(stage, thresholds(job.targets, policy), refining.band)
    assert refining.share is not None
    covered = first.counts().segments[COVERED]
    columns = ranked_columns(job.targets, policy)
    return choose_share(stage, columns, refining.share, rows=first.rows, covered=covered)


def _mark(job: Job, chosen: Chosen, number: int) -> Booleans:
    """Return which works of a shard are chosen."""
    start = number * job.works_a_shard
    return chosen.within(start, min(start + job.works_a_shard, job.works))


def _taken_over(again: Job, parts: Checkpoint) -> int:
    """Return how many parts of an earlier second stage are taken over.

    Where shards are not to be skipped, one that was ends them: it is tried again.
    """
    done = parts.done("refined")
    if again.request.on_bad_shard == "error":
        for number, content in enumerate(parts.load(done, "refined")):
            if again.known_part(content).skipped is not None:
                return number
    return done


def _parts(again: Job, engine: Executor, parts: Checkpoint, done: int) -> Generator[Part]:
    """Yield the new rows of every shard, those of an earlier run first; each safe on disk."""
    for content in parts.load(done, "refined"):
        yield again.known_part(content)
    with closing(engine.parts(again, done)) as scored:
        for number, part in enumerate(scored, start=done):
            parts.save(number, part.content, "refined")
            yield part


def _lost(job: Job, chosen: Chosen, skipped: list[SkippedShard]) -> int:
    """Return how many chosen works keep their first rows."""
    return sum(int(chosen.within(s.first_row, s.last_row + 1).sum()) for s in skipped)


def _nothing(refining: Refining) -> str:
    """Say that no work was chosen, and why."""
    if refining.band is not None:
        return f"No work lies within {refining.band:g} of a threshold: nothing was refined."
    return "No work has a usable title, or all are excluded: nothing was refined."


def _told(
    refining: Refining, chosen: Chosen, skipped: list[SkippedShard], *, lost: int = 0
) -> Refinement:
    """Describe the stage for the manifest."""
    student = refining.student.manifest
    assert refining.frame is not None
    return Refinement(
        model_version=student.version,
        model_licence=student.licence,
        attribution=student.training.attribution,
        score_status=score_status(student.version, mature=student.maturity.passed),
        policy_version=refining.decision.policy.version,
        policy=refining.decision.policy,
        by="band" if refining.band is not None else CRITERION,
        share=refining.share,
        band=refining.band,
        works=chosen.works - lost,
        last_rank=chosen.last.rank if chosen.last else None,
        last_id=chosen.last.id if chosen.last else None,
        at_least=dict(chosen.last.at_least) if chosen.last else {},
        columns=dict(refining.frame.columns),
        columns_not_found=tuple(columns_not_found(refining.student, refining.frame.columns)),
        skipped_shards=tuple(skipped),
    )
