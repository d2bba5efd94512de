"""The floor under `scorer run`: what any program must do at the least, in two threads.

It reads the Parquet file, splits the texts on spaces, dictionary-encodes the pieces, and writes a
Parquet file of the size and layout of a scored file: the rows of a scored file again and again,
with the ids of the works. Nothing is cleaned, scored, called, checked, hashed or kept for a
restart.
"""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer
from _measure import console

from scorer.engine.rowgroups import RowGroupWriter, encode, row_group

THREADS: Final = 2
WORKS_A_SPLIT: Final = 32_768
"""Texts that are dictionary-encoded together: the best of those tried, from 4,096 to 131,072."""
_ADDRESS: Final = len("https://openalex.org/")


def floor(frame: Path, like: Path, output: Path) -> int:
    """Do the least with a frame; return the works. `like`: a scored file, of a shard at least."""
    scored = pq.ParquetFile(like)
    rows = scored.read_row_group(0)
    source = pq.ParquetFile(frame)
    texts = [name for name in ("title", "abstract") if name in source.schema_arrow.names]

    def part(works: pa.RecordBatch) -> pa.Buffer:
        for name in texts:
            for start in range(0, works.num_rows, WORKS_A_SPLIT):
                column = works[name].slice(start, WORKS_A_SPLIT)
                pc.dictionary_encode(pc.ascii_split_whitespace(column).flatten())
        ids = pc.utf8_slice_codeunits(works["id"].cast(pa.string()), _ADDRESS)
        place = rows.schema.get_field_index("id")
        made = rows.slice(0, works.num_rows).set_column(place, rows.schema.field(place), ids)
        return encode(made)

    # One thread reads and writes while two do the rest: there are two processors.
    shards = source.iter_batches(rows.num_rows, columns=["id", *texts], use_threads=False)
    with output.open("wb") as file:
        writer = RowGroupWriter(file, rows.schema)
        waiting: deque[Future[pa.Buffer]] = deque()
        with ThreadPoolExecutor(THREADS) as threads:
            for works in shards:
                waiting.append(threads.submit(part, works))
                if len(waiting) > THREADS:
                    writer.add(row_group(waiting.popleft().result(), rows.schema))
        for future in waiting:
            writer.add(row_group(future.result(), rows.schema))
        writer.close()
    return int(source.metadata.num_rows)


def main(
    frame: Annotated[Path, typer.Argument(help="A Parquet file with id, title, maybe abstract.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the rows go.")],
    like: Annotated[Path, typer.Option(help="A scored file, whose first row group is repeated.")],
) -> None:
    """Do with a frame what no program can do without."""
    console.print(f"{floor(frame, like, output):,} works")


if __name__ == "__main__":
    typer.run(main)
